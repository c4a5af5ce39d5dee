"""What portkit brings besides Python: ``crates/``, the CPU device and pages on defects upstream.

In a checkout, also one that is installed as editable, they stand beside the package. A wheel has
them in this folder, where ``pyproject.toml`` (``force-include``) puts them.
"""

from __future__ import annotations

from pathlib import Path

from portkit.errors import InstallationError

_HERE = Path(__file__).resolve().parent


def shipped(name: str) -> Path:
    """Return one of the folders.

    Args:
        name: such as ``crates/hip``, relative to the root of the repository.

    Raises:
        InstallationError: it is not there.
    """
    places = (_HERE / name, _HERE.parents[1] / name)
    for place in places:
        if place.is_dir():
            return place
    raise InstallationError(
        f"this portkit has no {name}, neither in {_HERE} nor beside its package: install it anew"
    )
