"""The names of the two Cargo features of a port, and that each is a feature of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.codebases.registry import MAIN
from portkit.errors import ProfileError

if TYPE_CHECKING:
    from portkit.profiles.profile import CodebaseProfile
    from portkit.profiles.vendor_file import VendorFile


def name_features(vendor: VendorFile, codebase: CodebaseProfile | None) -> tuple[str, str]:
    """Return the features of what is read and of what is written.

    Raises:
        ProfileError: the codebase gives one of them a name that stands for something else; with
            the line.
    """
    if codebase is None:
        return vendor.source, vendor.name
    libraries = (*vendor.libraries, *vendor.libraries.values())
    source, written = codebase.source_feature or vendor.source, codebase.feature or vendor.name
    for key, name, words in (
        ("feature", written, (*vendor.vocabulary.source, *vendor.vocabulary.peers)),
        ("source_feature", source, vendor.vocabulary.peers),
    ):
        word = next((word for word in words if word in name.lower()), "")
        if source == written:
            fault = f"feature and source_feature are both {name!r}"
        elif name in (*vendor.peers, *vendor.unported, *codebase.unported, *libraries):
            fault = f"{name!r} is the feature of a peer, of a library, or of what is not ported"
        elif word:
            fault = f"{name!r} holds {word!r}, by which another platform is known"
        else:
            continue
        if getattr(codebase, key):
            raise _error(codebase, key, f"{fault}: name another")
    return source, written


def _error(codebase: CodebaseProfile, key: str, fault: str) -> ProfileError:
    place = codebase.directory
    return place.fault(MAIN, (key,), fault) if place is not None else ProfileError(fault)
