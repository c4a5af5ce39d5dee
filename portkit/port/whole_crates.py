"""Crates that are the source vendor's as a whole: they have no feature for it, and need it always.

They take what binds it, declare its functions, or their build script compiles for it.

What such a crate says in no condition, a feature could not take apart: a function's name and what
surrounds it are of no vendor, and its body is CUDA's. So the counterpart of the crate is a crate,
as that of a file is a file. It lies beside the one that it was made from, which stays as it is.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from portkit.context.port_job import PortJob
from portkit.hipify.paths import BUILD_SCRIPT
from portkit.port.toolkit_versions import is_version_feature
from portkit.profiles.profile import (
    CodebaseProfile,
    CudaOnlyCrate,
    VendorProfile,
    format_dependency,
)
from portkit.syntax.features import is_feature_spelling
from portkit.syntax.name_table import strip_comments, strip_comments_and_strings
from portkit.syntax.word_search import build_word_finder
from portkit.workspace.cargo_resolution import find_requestable_features
from portkit.workspace.cargo_workspace import Crate, Workspace

_ASKS: Final = re.compile(r"\bcfg\b|\bCARGO_(?:FEATURE|CFG)_")
"""What asks in a build script what is built (the Cargo book, "Environment Variables")."""
_RUNS_NVCC: Final = re.compile(r'"(?:[^"\s]*[/\\])?nvcc(?:\.exe)?"')
_MAY_BUILD: Final = re.compile(rb"nvcc|\.cuda\b")
COUNTERPART: Final = "counterpart"
"""What a dependency on such a crate becomes, among the kinds of a vendor's dependencies."""


def find_whole_crates(
    workspace: Workspace, vendor: VendorProfile, codebase: CodebaseProfile
) -> tuple[CudaOnlyCrate, ...]:
    """Return the crates of a workspace that need the source vendor whatever features are on.

    One does that takes CUDA's bindings, CUDA's feature of a crate that has one, or another such
    crate, and none of them by a feature of its own, that declares functions of CUDA's API in every
    build, or that compiles for CUDA in every build. So does a crate named after CUDA whose tests
    need such a crate. A crate that runs CUDA's compiler for build scripts is one if only such
    crates take it. What the profile keeps is none, nor is one whose kernels are translated beside
    themselves.
    """
    from portkit.port.c_declarations import declares_cuda_always

    found: dict[str, CudaOnlyCrate] = {}
    pending = [crate for crate in workspace.crates if _may_be(workspace, vendor, codebase, crate)]
    while True:
        named = {each.name: each for each in found.values()}
        new = {
            crate.directory: _make_whole_crate(workspace, vendor, crate, named)
            for crate in pending
            if crate.directory not in found
            and (
                _needs(workspace, vendor, codebase, crate, named)
                or _is_of_kernels(workspace, vendor, codebase, crate)
                or declares_cuda_always(workspace, crate)
                or _is_builder_of(workspace, vendor, crate, found)
            )
        }
        if not new:
            own = _without_counterparts([found[directory] for directory in sorted(found)])
            return _without_counterparts(_make_copy_names_unique(vendor, own))
        found |= new


def _without_counterparts(found: Sequence[CudaOnlyCrate]) -> tuple[CudaOnlyCrate, ...]:
    """Leave out crates that lie where the counterpart of another one does: they are it."""
    places = {each.place for each in found}
    return tuple(each for each in found if each.directory not in places)


def is_cuda_always_compiled(
    workspace: Workspace, vendor: VendorProfile, codebase: CodebaseProfile, crate: Crate
) -> bool:
    """Whether a crate has the source vendor's compiler run in every build of it.

    Its build script needs a crate that runs that compiler, has ``cc`` run it, or runs it for
    functions that each build of the crate declares. Nothing in the script asks what is built. What
    a patch of the profile changes there is somebody's decision.
    """
    from portkit.port import cuda_tools

    said = list_table_entries(workspace, crate.manifest.get("build-dependencies"))
    needed = {str(each.get("package", name)) for name, each in said if not each.get("optional")}
    compilers = {name for name in needed if vendor.dependencies.get(name) == "driver"}
    compilers |= {c.name for c in workspace.crates if c.name in needed and _builds(workspace, c)}
    for path in workspace.sources:
        if workspace.is_build_script(path) and workspace.crate_of(path) == crate:
            source = workspace.sources[path]
            text = strip_comments(source.text(0, source.size))
            code = strip_comments_and_strings(text)
            runs = (
                cuda_tools.runs_nvcc_through_cc(code, vendor.source)
                or any(re.search(rf"\b{name.replace('-', '_')}\b", code) for name in compilers)
                or (_RUNS_NVCC.search(text) is not None and _links(workspace, crate))
            )
            patched = any(patch.path == path for patch in codebase.patches)
            return runs and _ASKS.search(text) is None and not patched
    return False


def _links(workspace: Workspace, crate: Crate) -> bool:
    from portkit.port.c_declarations import declares_functions_always

    return declares_functions_always(workspace, crate)


def _builds(workspace: Workspace, crate: Crate) -> bool:
    """Whether the code of a crate, its build script aside, runs CUDA's compiler."""
    from portkit.port import cuda_tools

    start = "src/" if crate.directory == "." else f"{crate.directory}/src/"
    for path, source in workspace.sources.items():
        if path.startswith(start) and path.endswith(".rs") and _MAY_BUILD.search(source.data):
            text = strip_comments(source.text(0, source.size))
            if _RUNS_NVCC.search(text) or cuda_tools.runs_nvcc_through_cc(text, "cuda"):
                return True
    return False


def _is_builder_of(
    workspace: Workspace, vendor: VendorProfile, crate: Crate, found: Mapping[str, CudaOnlyCrate]
) -> bool:
    """Whether a crate runs CUDA's compiler for build scripts, all of CUDA-only crates."""
    takers = [
        other
        for other in workspace.crates
        if any(
            str(said.get("package", name)) == crate.name
            for kind in ("dependencies", "build-dependencies", "dev-dependencies")
            for name, said in list_table_entries(workspace, other.manifest.get(kind))
        )
    ]
    return (
        bool(takers)
        and all(other.directory in found for other in takers)
        and vendor.dependencies.get(crate.name) in (None, COUNTERPART)
        and _builds(workspace, crate)
    )


def add_counterparts(
    codebase: CodebaseProfile, whole: tuple[CudaOnlyCrate, ...]
) -> CodebaseProfile:
    """Return a codebase that knows such crates, and takes the counterparts where it takes them.

    What its profile says of a dependency counts more.
    """
    taken = {each.name: COUNTERPART for each in whole if not each.unported}
    return replace(codebase, whole=whole, dependencies={**taken, **codebase.dependencies})


def list_rust_copies(job: PortJob) -> Mapping[str, str]:
    """Return the Rust files of such crates, with the path of the copy of each.

    Their build scripts are not among them, where they compile CUDA, nor is what is kept.
    """
    from portkit.port import cuda_tools

    found = {}
    for path, source in job.workspace.sources.items():
        whole = job.codebase.find_cuda_only_crate(path)
        if whole is None or whole.unported or not path.endswith(".rs") or job.codebase.kept(path):
            continue
        if job.workspace.is_build_script(path) and cuda_tools.may_run_cuda_tools(job, source):
            continue
        found[path] = find_copy_path(job, whole, path)
    return found


def find_copy_path(job: PortJob, whole: CudaOnlyCrate, path: str) -> str:
    """Return where the copy of a file of such a crate lies: a module has its file's new name."""
    parts = path.removeprefix(f"{whole.directory}/").split("/")
    ends = [part.partition(".") for part in parts]
    return "/".join([whole.place, *(job.vendor.names.word(n) + dot + end for n, dot, end in ends)])


def rename_feature(job: PortJob, name: str) -> str:
    """Return what a feature of such a crate is called in the counterpart, as its code has it."""
    if name in job.counterparts:
        return job.counterparts[name]
    renamed = re.search('"([^"]*)"', job.rename(f'cfg!(feature = "{name}")'))
    return renamed[1] if renamed is not None else name


def list_table_entries(workspace: Workspace, table: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what a table of dependencies says, by name, with what the workspace says of each.

    Features that both ask for are asked for together (the Cargo book, chapter "Specifying
    Dependencies", section "Inheriting a dependency from a workspace").
    """
    shared = workspace.manifest.get("workspace", {}).get("dependencies", {})
    for name, said in table.items() if isinstance(table, dict) else ():
        own = {"version": said} if isinstance(said, str) else said
        if not isinstance(own, dict):
            continue
        if own.get("workspace") is True:
            taken = shared.get(name, {})
            taken = {"version": taken} if isinstance(taken, str) else taken
            rest = {key: value for key, value in own.items() if key != "workspace"}
            features = [*_list(taken.get("features")), *_list(own.get("features"))]
            own = {**taken, **rest, **({"features": features} if features else {})}
        yield name, own


def list_cuda_features(
    workspace: Workspace, vendor: VendorProfile, codebase: CodebaseProfile, package: str
) -> Mapping[str, str]:
    """Return the features of a crate that are the source vendor's, and what is written for each."""
    ported = codebase.ported.get(package)
    if ported is not None:
        return {**ported.libraries, ported.source_feature: ported.feature}
    crate = next((each for each in workspace.crates if each.name == package), None)
    if crate is None or vendor.source_feature not in crate.features:
        return {}
    return {**vendor.libraries, vendor.source_feature: vendor.feature}


def _list(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def _may_be(
    workspace: Workspace, vendor: VendorProfile, codebase: CodebaseProfile, crate: Crate
) -> bool:
    kernels = codebase.kernels
    if crate.directory == "." or (kernels is not None and crate.directory == kernels.source):
        return False
    offered = find_requestable_features(crate.manifest)
    if any(is_feature_spelling(feature, vendor.source_feature) for feature in offered):
        return False
    roots = [f"{crate.directory}/src/{name}.rs" for name in ("lib", "main")]
    standing = [path for path in roots if path in workspace.sources]
    return bool(standing) and not any(
        codebase.kept(path) or codebase.find_no_feature_entry(path) for path in standing
    )


def _needs(
    workspace: Workspace,
    vendor: VendorProfile,
    codebase: CodebaseProfile,
    crate: Crate,
    known: Mapping[str, CudaOnlyCrate],
) -> bool:
    tests = list_table_entries(workspace, crate.manifest.get("dev-dependencies"))
    if vendor.source in crate.name and any(
        str(said.get("package", name)) in known for name, said in tests
    ):
        return True  # tests of CUDA by the crate's name
    for name, said in list_table_entries(workspace, crate.manifest.get("dependencies")):
        package = str(said.get("package", name))
        if said.get("optional"):
            continue
        if vendor.dependencies.get(package) in ("facade", "generator") or package in known:
            return True
        own = list_cuda_features(workspace, vendor, codebase, package)
        if any(feature in own for feature in _list(said.get("features"))):
            return package in codebase.ported or _names_source(workspace, vendor, crate)
    return False


def _names_source(workspace: Workspace, vendor: VendorProfile, crate: Crate) -> bool:
    """Whether code of a crate names the source vendor other than as a variant of an enum.

    An arm for a variant is ported beside it. A copy of the crate would lack the other arm.
    """
    variant = re.compile(rf"\b(?:\w+::)+{vendor.source.capitalize()}\b")
    words = build_word_finder(vendor.vocabulary)
    for path, source in workspace.sources.items():
        if not path.startswith(f"{crate.directory}/") or not path.endswith(".rs"):
            continue
        if words(source.data):
            code = variant.sub("", strip_comments_and_strings(source.text(0, source.size)))
            if words(code.encode()):
                return True
    return False


def _is_of_kernels(
    workspace: Workspace, vendor: VendorProfile, codebase: CodebaseProfile, crate: Crate
) -> bool:
    """Whether a crate compiles for the source vendor, and nothing says what takes its place."""
    inside = f"{crate.directory}/"
    if any(each.source.startswith(inside) for each in codebase.hip_sources):
        return False
    return is_cuda_always_compiled(workspace, vendor, codebase, crate)


def _explain_no_copy(
    workspace: Workspace, vendor: VendorProfile, crate: Crate, known: Mapping[str, CudaOnlyCrate]
) -> str:
    """Return why a crate gets no counterpart, or an empty string."""
    for name, said in list_table_entries(workspace, crate.manifest.get("dependencies")):
        package = str(said.get("package", name))
        if package in known and known[package].unported:
            return f"it needs {package}: {known[package].unported}"
        if package != vendor.bindings:
            continue
        for feature in _list(said.get("features")):
            if feature in vendor.unported:
                return vendor.unported[feature]
    return ""


def _make_copy_names_unique(
    vendor: VendorProfile, found: Sequence[CudaOnlyCrate]
) -> tuple[CudaOnlyCrate, ...]:
    """Return the crates, renamed so that no two counterparts share a name or a folder.

    ``tract-cuda`` becomes ``tract-rocm``, and so ``tract`` beside it becomes ``rocm-tract``.
    """
    taken: set[str] = set()
    named: dict[str, CudaOnlyCrate] = {}
    # A crate with the source vendor in its name has a better claim to the renamed name.
    for each in sorted(found, key=lambda w: w.copy == f"{w.name}-{vendor.name}"):
        made = each
        for prefix in ("", f"{vendor.name}-", f"{vendor.name}-{vendor.name}-"):
            if prefix:
                above, folder = posixpath.split(each.directory)
                made = replace(
                    each,
                    copy=f"{prefix}{each.name}",
                    place=posixpath.join(above, f"{prefix}{folder}"),
                    copied_module=f"{prefix}{each.module}".replace("-", "_"),
                )
            if taken.isdisjoint({made.copy, made.place}):
                break
        taken |= {made.copy, made.place}
        named[each.directory] = made
    return tuple(named[each.directory] for each in found)


def _make_whole_crate(
    workspace: Workspace, vendor: VendorProfile, crate: Crate, known: Mapping[str, CudaOnlyCrate]
) -> CudaOnlyCrate:
    above, folder = posixpath.split(crate.directory)
    library = crate.manifest.get("lib")
    said = library.get("name") if isinstance(library, dict) else None
    module = said if isinstance(said, str) else crate.name.replace("-", "_")
    return CudaOnlyCrate(
        name=crate.name,
        directory=crate.directory,
        copy=_write_copy_name(vendor, crate.name),
        place=posixpath.join(above, _write_copy_name(vendor, folder)),
        module=module,
        copied_module=_write_copy_name(vendor, module).replace("-", "_"),
        unported=_explain_no_copy(workspace, vendor, crate, known),
    )


def _write_copy_name(vendor: VendorProfile, name: str) -> str:
    renamed = vendor.names.word(name.replace("-", "_")).replace("_", "-")
    return renamed if renamed != name.replace("_", "-") else f"{name}-{vendor.name}"


def write_requirement(job: PortJob, crate: str, directory: str, said: Mapping[str, Any]) -> str:
    """Return what a manifest says of a crate that takes another's place, without braces.

    The counterpart of a crate that is CUDA's as a whole has that one's version and features, so
    what is asked of it is what was asked of the other. The crates that the port makes have the
    version of the tree.
    """
    up = "" if directory in ("", ".") else "../" * (directory.count("/") + 1)
    if crate == job.vendor.facade.name:
        return job.vendor.facade.dependency(up or "./", job.workspace.version)
    if crate == BUILD_SCRIPT:
        return format_dependency(job.codebase.support, up or "./")
    whole = next((each for each in job.codebase.whole if each.copy == crate), None)
    if whole is None:
        return f'path = "{up or "./"}{crate}", version = "{job.workspace.version}"'
    asked: dict[str, object] = {"path": posixpath.relpath(whole.place, directory or ".")}
    asked |= {key: said[key] for key in ("version", "default-features") if key in said}
    features = said.get("features")
    if isinstance(features, list):
        kept = [
            rename_feature(job, f)
            for f in features
            if f not in job.vendor.unported and not is_version_feature(job.vendor, f)
        ]
        asked["features"] = [*dict.fromkeys(kept)]
    return ", ".join(f"{key} = {json.dumps(value)}" for key, value in asked.items())
