"""What the ladder has to know of a codebase: ``profiles/verify``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from portkit.errors import ProfileError
from portkit.profile.profile import PROFILES

if TYPE_CHECKING:
    from collections.abc import Mapping


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


def every_settings() -> tuple[Settings, ...]:
    """Return the settings of every codebase that has some.

    Raises:
        ProfileError: a file is malformed.
    """
    return tuple(load_settings(p.stem) for p in sorted((PROFILES / "verify").glob("*.toml")))


def load_settings(codebase: str) -> Settings:
    """Return the settings of a codebase; one without a profile has none.

    Raises:
        ProfileError: the file is malformed.
    """
    place = PROFILES / "verify" / f"{codebase}.toml"
    if not codebase or not place.is_file():
        return Settings()
    try:
        data = tomllib.loads(place.read_text(encoding="utf-8"))
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
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ProfileError(f"{place} is malformed: {error!r}") from None
