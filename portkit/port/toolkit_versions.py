"""Features that choose a version of CUDA's toolkit, such as ``cuda-12000``.

The bindings of ROCm have none. A crate whose versions turn CUDA's feature on may leave that feature
empty and have each version turn on what CUDA needs; ROCm's feature then turns that on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from portkit.profiles.profile import VendorProfile
from portkit.syntax.features import parse_feature_member
from portkit.workspace.cargo_resolution import Manifest, find_declared_dependencies


def is_version_feature(vendor: VendorProfile, name: str) -> bool:
    """Whether a feature chooses a version of the toolkit, as cudarc calls them."""
    versions = r"(?:\d+|version-from-build-system)"
    return re.fullmatch(rf"{re.escape(vendor.source)}[-_]?{versions}", name) is not None


def find_shared_members(
    vendor: VendorProfile, source_feature: str, manifest: Manifest
) -> tuple[str, ...]:
    """Return the members that all versions of a crate have beside CUDA's feature and a version."""
    features: Mapping[str, Sequence[str]] = manifest.get("features", {})
    versions = [
        members
        for name, members in features.items()
        if is_version_feature(vendor, name) and source_feature in members
    ]
    if not versions:
        return ()
    optional = {
        name for _, name, said in find_declared_dependencies(manifest) if said.get("optional")
    }
    lists = [
        [m for each in members if (m := _drop_version(vendor, optional, each)) != source_feature]
        for members in versions
    ]
    first, *others = lists
    return tuple(dict.fromkeys(m for m in first if m and all(m in other for other in others)))


def _drop_version(vendor: VendorProfile, optional: set[str], member: str) -> str:
    """Return a member without the version that it chooses: ``dep:glow`` of ``glow/cuda-12000``."""
    if not is_version_feature(vendor, parse_feature_member(member)):
        return member
    crate, slash, _ = member.partition("/")
    return f"dep:{crate}" if slash and crate in optional else ""
