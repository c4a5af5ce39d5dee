"""How a tree spells the feature of the source vendor: ``cuda``, or ``_cuda`` behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from portkit.syntax.features import is_feature_spelling

if TYPE_CHECKING:
    from portkit.profiles.profile import CodebaseProfile, VendorProfile
    from portkit.workspace.cargo_workspace import Workspace


def find_feature_spelling(
    vendor: VendorProfile, codebase: CodebaseProfile, workspace: Workspace
) -> VendorProfile:
    """Return a vendor whose feature is the one that a backend stands under in a tree.

    ``cuda = ["_cuda"]`` beside ``_cuda = ["dep:cudarc"]`` leaves a choice to what turns ``_cuda``
    on, such as how CUDA is linked. What is written has one feature for both.
    """
    name = vendor.source_feature
    crates = [crate.features for crate in workspace.crates]
    hidden = sorted(
        {f for features in crates for f in features if f != name and is_feature_spelling(f, name)}
    )
    if codebase.source_feature or len(hidden) != 1:
        return vendor
    [own] = hidden
    names = replace(vendor.names, feature=(own, vendor.feature))
    return replace(vendor, source_feature=own, spellings=(name,), names=names)
