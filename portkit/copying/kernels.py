"""How a port has the kernels: translated, or CUDA's own sources with a patch beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from portkit.errors import ConfigError
from portkit.hipify.paths import PATCH
from portkit.profile.settings import NAME

if TYPE_CHECKING:
    from portkit.profile.profile import CodebaseProfile
    from portkit.profile.settings import Settings
    from portkit.tree.workspace import Workspace


def formed(codebase: CodebaseProfile, said: Settings, workspace: Workspace) -> CodebaseProfile:
    """Return a codebase whose kernels have the form that they have in the tree, or are to have.

    Raises:
        ConfigError: the tree has a crate of the other form than ``portkit.toml`` says.
    """
    kernels = codebase.kernels
    if kernels is None:
        return codebase
    form = said.kernels or kernels.form
    if f"{kernels.name}/Cargo.toml" in workspace.sources:
        patched = workspace.root / kernels.name / "src" / PATCH
        standing = "shared" if patched.is_file() else "translated"
        if said.kernels not in ("", standing):
            raise ConfigError(
                f"{NAME}:{said.kernels_line}: the kernels are {said.kernels}, and those in"
                f" {kernels.name} are {standing}: remove that crate, or take out what is said of"
                " kernels"
            )
        form = standing
    return replace(codebase, kernels=replace(kernels, form=form))
