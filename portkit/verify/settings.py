"""What the ladder has to know of a codebase: ``profiles/verify``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from portkit.errors import ProfileError
from portkit.profile import PROFILES

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Settings:
    """How one codebase is built and tested.

    Attributes:
        tested: the crates whose CPU tests are compared with the baseline's; none for the whole
            workspace.
        environment: set for every cargo command.
    """

    tested: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


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
        return Settings(tuple(data["tested"]), dict(data["environment"]))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ProfileError(f"{place} is malformed: {error!r}") from None
