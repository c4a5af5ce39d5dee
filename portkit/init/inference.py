"""Infers a profile from a tree that has none."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Final

from msgspec.structs import replace

from portkit.codebases.registry import find_announced, find_codebase, find_shipped, list_codebases
from portkit.context.port_job import PortJob
from portkit.engine.dependency_ports import add_dependency_ports
from portkit.engine.scan import Scan
from portkit.fetch.workspace import list_published_crates
from portkit.init.build_files import list_build_files
from portkit.init.draft import Draft, Inferred, Question
from portkit.port import cuda_only_deps, cuda_tools
from portkit.port.hip_bindings import has_bindings_dependency
from portkit.port.toolkit_versions import is_version_feature
from portkit.port.whole_crates import find_whole_crates
from portkit.profiles.profile import CudaOnlyCrate, PortedDependency, load_codebase
from portkit.rules import cfg_conditions, named_items
from portkit.syntax.features import enables_any, is_feature_name
from portkit.workspace import lock_file
from portkit.workspace.cargo_resolution import find_declared_dependencies
from portkit.workspace.cargo_workspace import Crate
from portkit.workspace.finding import Finding, Status
from portkit.workspace.manifest import parse_manifest

_WITHOUT: Final = re.compile(r"(?i)^(?:not?_?(?:compiled|built)|without|missing)")
"""How the name of an error begins that says that a backend was not built."""
_TRANSLATED: Final = ".cu"
_LISTED: Final = 8
"""How many build files have a line each."""
_TRIAL: Final = re.compile("(?:examples?|bench(?:es|marks?)?|demos?|tests?|test-[a-z]+)")


def infer_profile(found: Scan) -> Draft:
    """Infer a profile from a scan of a tree."""
    job = found.job
    uses = tuple(_uses(job))
    codebase = replace(job.codebase, uses=tuple(each.value for each in uses))
    codebase = add_dependency_ports(codebase, job.vendor.name)
    whole = find_whole_crates(job.workspace, job.vendor, codebase)
    features = _find_cuda_features(job, whole, codebase.ported)
    crate, why = _find_marker(job, whole)
    name, named_by = _name(job, crate)
    variants = [f for f in found.findings if f.code == named_items.ENUM_VARIANT.code]
    version = job.workspace.version
    bindings = _bindings(job, uses)
    return Draft(
        name=Inferred(name, named_by),
        crate=Inferred(crate.name, why),
        first_version=Inferred(
            re.split(r"[-+]", version)[0] or "0.0.0",
            "The version of the tree" if version else "The tree states no version",
        ),
        options=(*_source_feature(job, features), *_error(variants)),
        uses=uses,
        bindings=bindings,
        sources=tuple(_sources(job, whole)),
        kept=tuple(_list_scripts(found)),
        derived=(*_devices(variants), *_list_cuda_only(job), *map(_counterpart, whole)),
        questions=tuple(find_questions(found)),
        left=(
            *_list_features(features),
            *_list_undecided(job, whole),
            *_list_unbound(job, uses, bindings),
            *_list_unlocked(job),
            *_list_build_files(job),
        ),
    )


def _find_marker(job: PortJob, whole: Sequence[CudaOnlyCrate]) -> tuple[Crate, str]:
    """Return the crate with CUDA's code that most others of the tree are built on, and why.

    It has the feature, or is CUDA-only. Programs to try or measure others come last, and before
    them crates whose feature only turns that of others on.
    """
    crates = job.workspace.crates
    only = {each.directory for each in whole}
    having = [c for c in crates if job.source_feature in c.features or c.directory in only]
    having = having or [*crates]
    dependents = Counter(
        other.name
        for crate in crates
        for other in having
        if crate is not other and _depends_on(job, crate, other)
    )
    first = min(
        having,
        key=lambda c: (_is_trial(c), _forwards(job, c), -dependents[c.name], c.directory),
    )
    manifest = posixpath.normpath(f"{first.directory}/Cargo.toml")
    count = dependents[first.name]
    has = f"it has the feature {job.source_feature}" if job.source_feature in first.features else ""
    has = has or ("it is CUDA-only" if first.directory in only else "")
    built = f"{count} of the {len(crates)} crates depend on it" if count else ""
    why = ", and ".join(filter(None, (has, built))) or "it is the first crate"
    return first, f"{manifest}: {why}"


def _is_trial(crate: Crate) -> bool:
    """Whether a crate is an example, a benchmark or a test of others, by the folder it lies in."""
    return any(_TRIAL.fullmatch(part) for part in crate.directory.split("/"))


def _forwards(job: PortJob, crate: Crate) -> bool:
    """Whether the feature of a crate only turns on features of other crates of the tree."""
    members = crate.manifest.get("features", {}).get(job.source_feature, ())
    names = {each.name for each in job.workspace.crates}
    asked = (member.partition("/") for member in members)
    crates = [
        str(job.workspace.dependency(crate, name.rstrip("?")).get("package", name)) if slash else ""
        for name, slash, _ in asked
    ]
    return bool(crates) and all(each in names for each in crates)


def _depends_on(job: PortJob, crate: Crate, other: Crate) -> bool:
    for table, name, _ in find_declared_dependencies(crate.manifest):
        if not table.endswith("build-dependencies"):
            said = job.workspace.dependency(crate, name)
            if str(said.get("package", name)) == other.name:
                return True
    return False


def _name(job: PortJob, marker: Crate) -> tuple[str, str]:
    """Return the common beginning of all crate names, else the marker's name."""
    parts = [crate.name.split("-") for crate in job.workspace.crates]
    shared = "-".join(posixpath.commonprefix(parts)) if len(parts) > 1 else ""
    if shared and shared not in list_codebases():
        return shared, "The names of all crates begin so"
    core = rf"[-_](?:core|{re.escape(job.vendor.source)})$"
    return re.sub(core, "", marker.name), "It is the name of that crate"


def _source_feature(
    job: PortJob, found: Mapping[str, tuple[str, str]]
) -> Iterator[tuple[str, Inferred]]:
    """Yield the name of the CUDA feature if no crate has one of the usual name."""
    if len(found) == 1:
        [(feature, (path, asked))] = found.items()
        why = f"{path}: it turns {asked} on, and no crate has {job.source_feature!r}"
        yield "source_feature", Inferred(feature, why)


def _find_cuda_features(
    job: PortJob, whole: Sequence[CudaOnlyCrate], ported: Mapping[str, PortedDependency]
) -> Mapping[str, tuple[str, str]]:
    """Return the features that lead to CUDA if none has the usual name, with file and crate.

    A feature leads there that turns on cudarc, a CUDA-only crate, or CUDA in a crate that is
    ported. Of features that turn another one of them on, only that one counts.
    """
    if any(job.source_feature in crate.features for crate in job.workspace.crates):
        return {}
    targets = {job.vendor.bindings, *(each.name for each in whole)}
    found: dict[str, tuple[str, str]] = {}
    above: set[str] = set()
    for crate in job.workspace.crates:
        features = crate.manifest.get("features", {})
        leading = {}
        for feature, members in features.items():
            if is_version_feature(job.vendor, feature) or not is_feature_name(feature):
                continue
            asked = (_find_target(job, crate, m, targets, ported) for m in members)
            if target := next(filter(None, asked), ""):
                leading[feature] = f"{crate.directory}/Cargo.toml", target
        for feature in features:
            others = leading.keys() - {feature}
            if others and enables_any(features, feature, others):
                above.add(feature)
        for feature, place in leading.items():
            found.setdefault(feature, place)
    return {
        feature: place for feature, place in found.items() if feature not in {"default", *above}
    }


def _find_target(
    job: PortJob,
    crate: Crate,
    member: str,
    targets: Set[str],
    ported: Mapping[str, PortedDependency],
) -> str:
    """Return the crate of a member that leads to CUDA, or an empty string."""
    name, _, feature = member.removeprefix("dep:").partition("/")
    if name.endswith("?"):
        return ""  # it turns nothing on
    package = str(job.workspace.dependency(crate, name).get("package", name))
    if package in ported:
        return package if feature == ported[package].source_feature else ""
    return package if package in targets else ""


def _error(variants: Sequence[Finding]) -> Iterator[tuple[str, Inferred]]:
    """Yield the error for a missing feature, if exactly one variant looks like it."""
    found = [
        (finding.renamed[1], f"{finding.path}: {finding.symbol}")
        for finding in variants
        if _WITHOUT.match(finding.renamed[1])
    ]
    if len(found) == 1:
        yield "error_without_feature", Inferred(*found[0])


def _uses(job: PortJob) -> Iterator[Inferred]:
    """Yield the codebases whose crate the tree depends on, except for tests."""
    own = {crate.name for crate in job.workspace.crates}
    for directory in (*find_shipped().values(), *find_announced().values()):
        codebase = load_codebase(directory)
        crates = (codebase.crate,)
        if codebase.crate in own or not job.workspace.depends_on_crate(
            crates, shared=False, tests=False
        ):
            continue
        place = next(iter(_find_manifest_lines(job, crates)), "the manifests")
        yield Inferred(codebase.name, f"{place}: a crate of {codebase.name}'s")


def _bindings(job: PortJob, uses: Sequence[Inferred]) -> Inferred | None:
    """Return the bindings that a tree uses from a port beside it."""
    if not uses_bindings(job):
        return None
    found = (find_bindings_beside(job, used.value) for used in uses)
    return next((said for said in found if said is not None), None)


def _list_unbound(
    job: PortJob, uses: Sequence[Inferred], bindings: Inferred | None
) -> Iterator[str]:
    if uses and bindings is None and uses_bindings(job):
        below = load_codebase(find_codebase(uses[0].value))
        yield (
            f"The tree asks for cudarc itself: name in portkit.toml where the port of {below.name}"
            " has its bindings, such as"
            f' bindings = {{ path = "../{below.name}/{below.bindings}" }}, or its streams are'
            " others (docs/decisions.md)"
        )


def _find_manifest_lines(job: PortJob, crates: Iterable[str]) -> Iterator[str]:
    """Yield the lines of manifests that ask for one of some crates."""
    wanted = re.compile(
        rf'^\s*"?(?:{"|".join(map(re.escape, crates))})"?\s*=|"(?:'
        rf'{"|".join(map(re.escape, crates))})"'
    )
    for path, source in sorted(job.workspace.sources.items()):
        if path.rpartition("/")[2] == "Cargo.toml":
            for number, line in enumerate(source.text(0, len(source.data)).split("\n"), 1):
                if wanted.search(line):
                    yield f"{path}:{number}"


def _counterpart(whole: CudaOnlyCrate) -> str:
    said = whole.unported or f"{whole.place} is its counterpart"
    return f"{whole.directory} is CUDA's as a whole: {said}"


def _is_within(whole: Iterable[CudaOnlyCrate], path: str) -> bool:
    return any(path.startswith(f"{each.directory}/") for each in whole)


def _sources(job: PortJob, whole: Sequence[CudaOnlyCrate]) -> Iterator[Inferred]:
    """Yield a pattern for each folder of CUDA sources, with the build script that is nearest.

    Folders beside each other in one folder of a crate have one pattern, which is that folder's.
    Those of a crate that is CUDA's as a whole go into its counterpart, and need none.
    """
    folders = Counter(
        posixpath.dirname(path)
        for path in job.workspace.sources
        if path.endswith(_TRANSLATED) and not _is_within(whole, path)
    )
    beside = Counter(shared for folder in folders if (shared := _shared(job, folder)))
    held = {*folders, *(folder for folder, count in beside.items() if count > 1)}
    tops = [f for f in held if not any(f.startswith(f"{other}/") for other in held)]
    for folder in sorted(tops):
        count = sum(n for f, n in folders.items() if f == folder or f.startswith(f"{folder}/"))
        crate = job.workspace.crate_of(f"{folder}/a.cu")
        built = _describe_build(job, crate) if crate is not None else "no crate builds them"
        yield Inferred(
            f"{folder}/*{_TRANSLATED}" if folder else f"*{_TRANSLATED}",
            f"{count} kernel source{'s' if count > 1 else ''}; {built}",
        )


def _list_scripts(found: Scan) -> Iterator[Inferred]:
    """Yield the scripts and settings whose mentions of a backend no rule explains.

    Cargo reads none of them. A module of a Python package is none: what imports it may be ported.
    """
    ported = {finding.path for finding in found.findings if finding.status is not Status.NONE}
    lines = Counter(path for path, _ in {(each.path, each.line) for each in found.unaccounted})
    for path, count in sorted(lines.items()):
        folder, _, name = path.rpartition("/")
        beside = posixpath.join(folder, "__init__.py")
        is_script = path.endswith(".py") and beside not in found.job.workspace.sources
        is_setting = path.endswith(".toml") and name.startswith(".")
        if (is_script or is_setting) and path not in ported:
            named = "one line names" if count == 1 else f"{count} lines name"
            yield Inferred(
                path, f"cargo does not read it; {named} a backend: write what ROCm needs by hand"
            )


def _shared(job: PortJob, folder: str) -> str:
    """Return the folder of a crate, no source folder of Rust's, that holds a folder, or nothing."""
    crate = job.workspace.crate_of(f"{folder}/a{_TRANSLATED}")
    if crate is None:
        return ""
    below = folder.removeprefix(f"{crate.directory}/") if crate.directory != "." else folder
    first, _, rest = below.partition("/")
    return folder.removesuffix(f"/{rest}") if rest and first != "src" else ""


def _describe_build(job: PortJob, crate: Crate) -> str:
    """Return how a crate builds its kernels."""
    script = _script(job, crate)
    if not script:
        return "its crate has no build script: who loads them, compiles them"
    return f"{script} {_compiles(job, script) or 'does not say how they are compiled'}"


def _script(job: PortJob, crate: Crate) -> str:
    paths = (p for p in job.workspace.sources if job.workspace.is_build_script(p))
    return next((p for p in sorted(paths) if job.workspace.crate_of(p) is crate), "")


def _compiles(job: PortJob, script: str) -> str:
    """Return the CUDA tool that a build script uses, as half a sentence, or nothing."""
    source = job.workspace.sources[script]
    text = source.text(0, len(source.data))
    run = cuda_tools.find_cuda_programs(job, text)
    crates = sorted(
        name
        for name, kind in job.vendor.dependencies.items()
        if kind in ("", "driver") and re.search(rf"\b{name.replace('-', '_')}\b", text)
    )
    if crates:
        return f"calls {' and '.join(crates)}"
    if run:
        return f"runs {' and '.join(run)}"
    return "has cc run nvcc" if cuda_tools.runs_nvcc_through_cc(text, job.vendor.source) else ""


def _devices(variants: Sequence[Finding]) -> Iterator[str]:
    for finding in variants:
        where = f"{finding.path}: {finding.symbol}"
        yield f"{where}: {finding.message}"


def _list_cuda_only(job: PortJob) -> Iterator[str]:
    for crate in job.workspace.crates:
        for name, why in cuda_only_deps.find_cuda_only_dependencies(job, crate).items():
            yield f"{crate.name}: {name} and what needs it is not ported: {why.reason}"


def find_questions(found: Scan) -> Iterator[Question]:
    """Yield the modules whose copies have no name yet."""
    taken: Mapping[str, str] = found.job.codebase.words
    asked: set[str] = set()
    for finding in found.findings:
        name, proposed = finding.renamed
        if finding.code == cfg_conditions.CFG_ITEM.code and name and name not in {*asked, *taken}:
            asked.add(name)
            evidence = f"{finding.path} declares it under the feature, and its file names CUDA"
            yield Question(name, proposed, evidence)


def _list_features(found: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    if len(found) > 1:
        listed = " and ".join(sorted(found))
        yield f"The features {listed} lead to CUDA: name one as source_feature in this profile"


def _list_build_files(job: PortJob) -> Iterator[str]:
    found = [*list_build_files(job.workspace.root)]
    for path, count in found[:_LISTED]:
        lines = "one line names" if count == 1 else f"{count} lines name"
        yield f"{path}: {lines} CUDA, and portkit does not read it. Write what ROCm needs there"
    if len(found) > _LISTED:
        paths = ", ".join(path for path, _ in found[_LISTED:])
        yield f"So with {len(found) - _LISTED} more files: {paths}"


def _list_unlocked(job: PortJob) -> Iterator[str]:
    if not job.workspace.locked and any(c.manifest.get("features") for c in job.workspace.crates):
        yield (
            "The tree has no Cargo.lock, which says what optional dependencies need: run"
            " `cargo generate-lockfile`, then scan again"
        )


def _list_undecided(job: PortJob, whole: Sequence[CudaOnlyCrate]) -> Iterator[str]:
    for path in sorted(job.workspace.sources):
        if _is_within(whole, path):
            continue  # a scan says where it is for a person
        if job.workspace.is_build_script(path) and (how := _compiles(job, path)):
            yield (
                f"{path} {how}: what it compiles for ROCm is a template of the profile (PK104), or"
                " written by hand"
            )


def find_ported_folder(after: Scan, codebase: str) -> str:
    """Return a folder outside the tree that a manifest names, with a ported crate of a codebase.

    Returns:
        The folder, from the root; empty where there is none.
    """
    ported, workspace = after.job.codebase.ported, after.job.workspace
    for path in sorted(workspace.outside):
        try:
            manifest = parse_manifest((workspace.root / path / "Cargo.toml").read_bytes())
        except (OSError, ValueError):
            continue
        known = ported.get(str(manifest.get("package", {}).get("name")))
        if known and known.codebase == codebase and known.feature in manifest.get("features", {}):
            return path
    return ""


def list_missing_dependencies(after: Scan, codebase: str) -> Iterator[str]:
    """Yield the commands and lines by which a tree uses the port of a codebase."""
    workspace, ported = after.job.workspace, after.job.codebase.ported
    directory, place = find_codebase(codebase), f"../{codebase}"
    found = (
        lock_file.find_locked_version(workspace.root, load_codebase(directory).crate) or "VERSION"
    )
    fetched = (
        f"`portkit fetch {codebase}@{found} {place}`, " if list_published_crates(directory) else ""
    )
    yield f"{fetched}`portkit apply {place}`, and in the root manifest:"
    yield "  [patch.crates-io]"
    for crate in sorted(name for name, each in ported.items() if each.codebase == codebase):
        if workspace.depends_on_crate({crate}):
            yield f'  {crate} = {{ path = "{place}/{crate}" }}'


def uses_bindings(job: PortJob) -> bool:
    """Whether the tree itself depends on the crate that the HIP bindings replace."""
    return has_bindings_dependency(job.workspace, job.vendor, job.codebase)


def find_bindings_beside(job: PortJob, codebase: str) -> Inferred | None:
    """Return the folder of the bindings in the port of a codebase beside the tree.

    A tree on top of that port has to take those: with a copy of its own, a stream of the one would
    be no stream of the other.
    """
    package = load_codebase(find_codebase(codebase)).bindings
    for path in sorted(job.workspace.outside):
        place = posixpath.normpath(posixpath.join(path, "..", package))
        if (job.workspace.root / place / "Cargo.toml").is_file():
            return Inferred(place, f"those of the port of {codebase}, whose types its crates take")
    return None
