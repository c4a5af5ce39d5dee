"""The crate of HIP bindings: copied into the tree, or taken from where the user says.

portkit brings the crate (``crates/hip``). A copy bears the name that the profile gives, and has
the version of the tree and the dependencies that its crates share; nothing else of it differs. A
tree that takes it from elsewhere renames it in Cargo's way, ``package = "hiprc"`` or what a copy in
another port is called, so that the rest of the port is the same.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from portkit.context.port_job import PortJob
from portkit.errors import ConfigError
from portkit.port.toolkit_versions import find_shared_members
from portkit.profiles.profile import CodebaseProfile, Facade, VendorProfile
from portkit.profiles.settings import BINDINGS, NAME, Settings
from portkit.shipped import shipped
from portkit.syntax.features import enables_any, enables_dependency, is_feature_spelling
from portkit.workspace.cargo_workspace import Crate, Workspace

HOME: Final = "crates/hip"
"""Where the crate is."""

BUILD_CRATE: Final = "hiprc-build"
"""The crate that compiles kernels; where a port takes it from nowhere, build scripts have it."""

FLOAT8: Final = "float8"
"""The feature for types of 8 bits, and the crate that has them."""


_TITLES: Final = {"miopen": "MIOpen", "rccl": "RCCL"}
"""What the crate's page calls the libraries that a copy may have no module for."""


def list_binding_files(facade: Facade, maker: str = "") -> Mapping[str, Callable[[], str]]:
    """Return the files of a copy, by their path in it, and what makes the text of each.

    The manifest is not among them: it is a template, ``bindings/Cargo.toml.j2``.
    """
    home = shipped(HOME)
    files = [home / "README.md", *sorted((home / "src").rglob("*.rs"))]
    unused = tuple(f"src/{module}/" for module in _list_unused_modules(facade))
    return {
        name: partial(_render_binding_file, name, facade, maker or f"`{BUILD_CRATE}`")
        for name in (path.relative_to(home).as_posix() for path in files)
        if not name.startswith(unused)
    }


def _list_unused_modules(facade: Facade) -> list[str]:
    """Return the modules for code that the tree has none of."""
    return sorted({*facade.older.values(), *facade.unused} - {facade.shape})


def _render_binding_file(name: str, facade: Facade, maker: str) -> str:
    text = (shipped(HOME) / name).read_text(encoding="utf-8").replace(f"`{BUILD_CRATE}`", maker)
    if name == "src/lib.rs":
        for module in _list_unused_modules(facade):
            text = text.replace(f"pub mod {module};\n", "")
            text = re.sub(rf"(?m)^//! \| \[`{module}`\].*\n", "", text)
    for module in sorted(_TITLES.keys() & {*_list_unused_modules(facade)}):
        text = _remove_library_mentions(text, module, of_page=name == "README.md")
    own = facade.module if name.endswith(".rs") else facade.name
    # Another crate's name may begin with it: that one is called so wherever the bindings are.
    return re.sub(rf"\b{facade.package}\b(?!-)", own, text)


def _remove_library_mentions(text: str, module: str, *, of_page: bool) -> str:
    """Return a text without a library in its list, and a page without what is about it."""
    title = _TITLES[module]
    text = re.sub(rf", {title}(?=,| and )", "", text)
    if not of_page:
        return text
    blocks = re.split(r"\n(?=\n|- |\| )", text)
    return "\n".join(b for b in blocks if not re.search(rf"`{module}\b|\b{title}\b", b))


def list_bindings_features(job: PortJob) -> tuple[str, ...]:
    """Return the features of the crate of HIP bindings, as its manifest has them."""
    offered = job.workspace.manifest.get("workspace", {}).get("dependencies", {})
    return (FLOAT8, "default") if FLOAT8 in offered else (FLOAT8,)


def requires_bindings(
    workspace: Workspace, vendor: VendorProfile, codebase: CodebaseProfile
) -> bool:
    """Whether something of a port is written against the bindings.

    A tree that uses CUDA through a crate that it depends on has them from there, under the name
    that they have in that crate's port.
    """
    own = codebase.kernels is not None or has_bindings_dependency(workspace, vendor, codebase)
    return own or bool(workspace.find_requirement(vendor.generator.source))


def has_bindings_dependency(
    workspace: Workspace, vendor: VendorProfile, codebase: CodebaseProfile
) -> bool:
    """Whether a crate of the tree takes itself what the bindings stand for.

    One that is CUDA's as a whole and gets no counterpart is none.

    One that offers it by features of its own, such as ``linked-cuda = ["dep:cudarc"]`` of a
    program, or by the dependency's name alone, chooses how it is linked, and no counterpart of
    those features is written.
    """
    names = {name for name, kind in vendor.dependencies.items() if kind == "facade"}
    if not workspace.depends_on_crate(names, shared=False):
        return False
    alone = {each.directory for each in codebase.whole if each.unported}
    return any(
        crate.depends_on_any(names)
        and crate.directory not in alone
        and not _is_apart(workspace, vendor, crate, names)
        for crate in workspace.crates
    )


def _is_apart(
    workspace: Workspace, vendor: VendorProfile, crate: Crate, names: Collection[str]
) -> bool:
    """Whether only features of a crate that get no counterpart turn a dependency on."""
    rest = {key: table for key, table in crate.manifest.items() if key != "dependencies"}
    if replace(crate, manifest=rest).depends_on_any(names):
        return False  # by its tests, or for some target
    asked: set[str] = set()
    features = crate.manifest.get("features", {})
    shared = find_shared_members(vendor, vendor.source_feature, crate.manifest)
    for name in crate.manifest.get("dependencies", {}):
        said = workspace.dependency(crate, name)
        if str(said.get("package", name)) in names:
            if not said.get("optional") or any(enables_dependency(m, name) for m in shared):
                return False
            asked |= {
                f
                for f, members in features.items()
                if any(enables_dependency(m, name) for m in members)
            }
            asked.add(name)  # its implicit feature
    written = {
        f
        for f in {*features, *asked}
        if is_feature_spelling(f, vendor.source_feature) or f in vendor.libraries
    }
    return not any(enables_any(features, each, asked) for each in written)


def locate_bindings(facade: Facade, said: Settings, workspace: Workspace) -> Facade:
    """Return the bindings with where the tree takes them from, if it takes them from elsewhere.

    What the root manifest says already counts as much as ``portkit.toml``.

    Raises:
        ConfigError: both say something, and not the same; the tree has a copy, against what
            ``portkit.toml`` says; the bindings do not know the types that the tree has.
    """
    shared = workspace.manifest.get("workspace", {}).get("dependencies", {})
    standing = shared.get(facade.name)
    standing = standing if isinstance(standing, dict) and "package" in standing else {}
    source = {key: standing[key] for key in BINDINGS if key in standing}
    package = str(standing.get("package", facade.package))
    if said.bindings:
        where = f"{NAME}:{said.bindings_line}: the bindings are taken from elsewhere"
        if f"{facade.name}/Cargo.toml" in workspace.sources:
            raise ConfigError(
                f"{where}, and the tree has a copy in {facade.name}: remove it with its entries in"
                " the manifests, or take out what is said of bindings"
            )
        if source and source != said.bindings:
            raise ConfigError(
                f"{where}, and the root manifest names another place for {facade.name}: make them"
                " the same"
            )
        source = dict(said.bindings)
        if "path" in source:
            package = _read_package_name(workspace.root, source["path"], where)
    if not source:
        return facade
    features = _list_needed_features(shared.get(FLOAT8), said)
    return replace(facade, source=source, package=package, features=features)


def _read_package_name(root: Path, path: str, where: str) -> str:
    """Return what a crate is called that the bindings are taken from: a copy has another name."""
    manifest = root / path / "Cargo.toml"
    try:
        return str(tomllib.loads(manifest.read_text(encoding="utf-8"))["package"]["name"])
    except OSError:
        raise ConfigError(f"{where}, and {path!r} holds no crate: name the folder of one") from None
    except (ValueError, KeyError, TypeError):
        raise ConfigError(
            f"{where}, and {manifest} names no package: name the folder of a crate"
        ) from None


def _list_needed_features(float8: object, said: Settings) -> tuple[str, ...]:
    """Return the features that the tree needs of bindings that are not a copy."""
    if float8 is None:
        return ()
    manifest = tomllib.loads((shipped(HOME) / "Cargo.toml").read_text(encoding="utf-8"))
    wanted = manifest["dependencies"][FLOAT8]["version"]
    has = str(float8.get("version", "") if isinstance(float8, dict) else float8)
    if _compatible_version(has) != _compatible_version(wanted):
        raise ConfigError(
            f"{NAME}:{said.bindings_line}: the bindings know the types of float8 {wanted}, and the"
            f" workspace has {has or 'one without a version'}: leave out what is said of bindings,"
            " so that portkit copies them into the tree"
        )
    return (FLOAT8,)


def _compatible_version(version: str) -> tuple[str, ...]:
    """Return the part of a version that two of one kind share (Cargo's book, "SemVer")."""
    parts = [*version.lstrip("^~= ").split("."), "0", "0"][:3]
    first = next((i for i, part in enumerate(parts) if part != "0"), 2)
    return tuple(parts[: first + 1])
