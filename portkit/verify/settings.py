"""What the ladder has to know of a codebase: ``verify.toml`` in its directory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from portkit.errors import ProfileError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from portkit.codebases.directory import Directory

FILE: Final = "verify.toml"


@dataclass(frozen=True)
class Names:
    """How Rust code names the kernels that it loads.

    Attributes:
        loaders: methods whose first argument is a kernel's name and whose last is the module.
        suffixed: the function that sets a dtype at the end of a name.
        dtypes: the symbol of the function that spells the dtypes.
        explained: what the error of a loader says where there is no kernel for a dtype.
    """

    loaders: tuple[str, ...]
    suffixed: str
    dtypes: str
    explained: str


@dataclass(frozen=True)
class Settings:
    """How one codebase is built and tested.

    Attributes:
        tested: the crates whose CPU tests are compared with the baseline's; none for the whole
            workspace.
        environment: set for every cargo command.
        device: set where tests are built for a device.
        cpu_device: set beside that where it is the CPU device; ``{archs}`` stands for the
            architectures that it answers as, ``{cache}`` for a folder for what is compiled.
        names: how its kernels are named; none where it has none that are loaded by name.
    """

    tested: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    device: Mapping[str, str] = field(default_factory=dict)
    cpu_device: Mapping[str, str] = field(default_factory=dict)
    names: Names | None = None


def load_settings(directory: Directory | None) -> Settings:
    """Return the settings in a codebase's directory; there may be none.

    Raises:
        ProfileError: the file is malformed.
    """
    if directory is None or not directory.has(FILE):
        return Settings()
    data = directory.table(FILE)
    try:
        names = data.get("names")
        device = dict(data.get("device", {}))
        cpu_device = device.pop("cpu", {})
        return Settings(
            tuple(data["tested"]),
            dict(data["environment"]),
            device,
            cpu_device,
            names and Names(**{**names, "loaders": tuple(names["loaders"])}),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ProfileError(f"{directory.root / FILE} is malformed: {error!r}") from None
