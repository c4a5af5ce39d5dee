"""What the ladder has to know of a codebase: ``verify.toml`` in its directory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from portkit.errors import ProfileError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from portkit.profile.profile import CodebaseProfile

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


def load_settings(codebase: CodebaseProfile) -> Settings:
    """Return the settings of a codebase: what its directory says, and what every port is told.

    Without a GPU and without hipcc the build script of the crate of kernels writes empty code
    objects, and the Rust side can be type-checked and tested all the same; tests on a device need
    the kernels.

    Raises:
        ProfileError: the file is malformed.
    """
    said: dict[str, Any] = {}
    directory = codebase.directory
    if directory is not None and directory.has(FILE):
        said = directory.table(FILE)
    every = codebase.variables
    own = codebase.kernels is not None
    try:
        names = said.get("names")
        device = {f"{every}_KERNELS": "all"} if own else {}
        device |= said.get("device", {})
        cpu_device = {f"{every}_ARCHS": "{archs}", f"{every}_CACHE": "{cache}"} if own else {}
        return Settings(
            tuple(said.get("tested", ())),
            ({f"{every}_KERNELS": "none"} if own else {}) | said.get("environment", {}),
            {name: value for name, value in device.items() if name != "cpu"},
            cpu_device | said.get("device", {}).get("cpu", {}),
            None if names is None else Names(**{**names, "loaders": tuple(names["loaders"])}),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ProfileError(f"{directory}: {FILE} is malformed: {error!r}") from None
