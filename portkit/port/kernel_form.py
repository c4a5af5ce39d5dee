"""How a port has the kernels: translated, or CUDA's own sources with a patch beside them.

What compiles the latter is a copy of the crate in ``crates/build``, or that crate from elsewhere.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from portkit.errors import ConfigError
from portkit.hipify.paths import BUILD_SCRIPT, PATCH_FILE
from portkit.profiles.settings import BINDINGS as SOURCE
from portkit.profiles.settings import NAME
from portkit.workspace.manifest import parse_manifest

if TYPE_CHECKING:
    from portkit.profiles.profile import CodebaseProfile
    from portkit.profiles.settings import Settings
    from portkit.workspace.cargo_workspace import Workspace


def choose_kernel_form(
    codebase: CodebaseProfile, said: Settings, workspace: Workspace
) -> CodebaseProfile:
    """Return a codebase whose kernels have the form that they have in the tree, or are to have.

    Raises:
        ConfigError: the tree has a crate of the other form than ``portkit.toml`` says.
    """
    kernels = codebase.kernels
    if kernels is None:
        return codebase
    form = said.kernels or kernels.form
    support = dict(said.build)
    if f"{kernels.name}/Cargo.toml" in workspace.sources:
        patched = workspace.root / kernels.name / "src" / PATCH_FILE
        standing = "shared" if patched.is_file() else "translated"
        if said.kernels not in ("", standing):
            raise ConfigError(
                f"{NAME}:{said.kernels_line}: the kernels are {said.kernels}, and those in"
                f" {kernels.name} are {standing}: remove that crate, or take out what is said of"
                " kernels"
            )
        form = standing
        support = _compiled_by(workspace, kernels.name, said)
    if said.build and form != "shared":
        raise ConfigError(
            f"{NAME}:{said.build_line}: what compiles kernels is taken from elsewhere, and"
            ' translations bring their own: write kernels = "shared", or take out what is said of'
            " build"
        )
    return replace(codebase, kernels=replace(kernels, form=form), support=support)


def _compiled_by(workspace: Workspace, name: str, said: Settings) -> dict[str, str]:
    """Return where a crate of kernels takes what compiles it from; nothing where it has a copy.

    Raises:
        ConfigError: ``portkit.toml`` says something else.
    """
    place = f"{name}/Cargo.toml"
    manifest = parse_manifest(workspace.sources[place].data)
    standing = manifest.get("build-dependencies", {}).get(BUILD_SCRIPT, {})
    found = {key: standing[key] for key in SOURCE if key in standing}
    if "path" in found:
        found["path"] = posixpath.relpath(posixpath.join(name, found["path"]), ".")
    if said.build and said.build != found:
        raise ConfigError(
            f"{NAME}:{said.build_line}: what compiles kernels is taken from elsewhere, and"
            f" {place} {'names another place' if found else 'has a copy of it'}: remove that crate,"
            " or take out what is said of build"
        )
    return found
