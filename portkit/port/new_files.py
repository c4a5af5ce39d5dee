"""The files that a port adds to a tree and that no file of the tree stands for."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cached_property, partial
from itertools import chain
from posixpath import relpath
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec.structs import replace

from portkit.hipify.paths import derive_hip_path
from portkit.port.hip_bindings import list_binding_files, list_bindings_features, requires_bindings
from portkit.port.template_values import read_workspace, render_template
from portkit.profiles.profile import format_dependency
from portkit.syntax.value import Value
from portkit.templates import list_template_files
from portkit.workspace.finding import Applicability, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set

    from portkit.context.port_job import PortJob
    from portkit.hipify.kernel_profile import KernelProfile
    from portkit.hipify.kernels_crate import KernelsCrate
    from portkit.hipify.translated_sources import TranslatedSources
    from portkit.hipify.translator import Translation
    from portkit.profiles.entries import HipSources
    from portkit.profiles.profile import CudaOnlyCrate
    from portkit.workspace.cargo_resolution import Manifest

Kind = TypeVar("Kind")

WORKFLOWS: Final = ".github/workflows"
"""Where GitHub looks for workflows ("Workflow syntax for GitHub Actions")."""


class AddedFiles(Value, frozen=True):
    """Files that a port adds together.

    Attributes:
        name: the file, or the folder that holds them all, relative to the workspace root.
        message: what it is, for the reader of the report.
        files: says which files there are: path relative to the root, and what makes its text. Both
            are called only when they are needed, since most runs find the files standing.
        findings: what is said of the sources that the files are made from, with paths in the tree.
            It takes as long as making the files.
        translations: what translates the CUDA sources that the files are made from, by their path
            in the tree. ``PortJob`` takes the result.
        beside: a pattern over the other files, where they lie among files of the tree's own; empty
            where the name says it all.
        find_obstacle: returns why none of the files can be added: another file of the tree has the
            name of one.
        manifest: what other manifests need to know of a crate that comes from templates: its name,
            version and features. To render it takes far longer.
    """

    name: str
    message: str
    files: Callable[[], Mapping[str, Callable[[], str]]]
    findings: Callable[[], tuple[Finding, ...]] = tuple
    translations: Callable[[], Mapping[str, Callable[[], Translation]]] = dict
    beside: str = ""
    find_obstacle: Callable[[], str] = str
    manifest: Manifest | None = None

    def holds(self, path: str) -> bool:
        """Whether a file of the tree is one of the files, by its name."""
        if path == self.name or path.startswith(f"{self.name}/"):
            return True
        return bool(self.beside) and fnmatchcase(path, self.beside)


class PortMark(Value, frozen=True):
    """What every port of a tree has and no tree before one."""

    path: str  # a file that the port adds, or one of upstream's
    # how a line of it begins that the port adds, as a POSIX extended regular expression;
    # empty for a file that is the port's as a whole
    line: str = ""


def find_port_mark(job: PortJob) -> PortMark | None:
    """Return what tells the port of a tree; none where there is nothing to tell it by."""
    for addition in list_added_files(job):
        manifest = f"{addition.name}/Cargo.toml"
        return PortMark(manifest if manifest in addition.files() else addition.name)
    feature = re.sub(r"[.+]", r"[\g<0>]", job.feature)
    for crate in job.workspace.crates:
        if job.source_feature in crate.features:
            path = "Cargo.toml" if crate.directory == "." else f"{crate.directory}/Cargo.toml"
            return PortMark(path, rf'^ *"?{feature}"? *=')
    return None


def list_added_files(job: PortJob) -> Iterator[AddedFiles]:
    """Yield what the port adds to the tree: crates of its own, kernels, tests and pages."""
    facade = job.vendor.facade
    if not facade.source and requires_bindings(job.workspace, job.vendor, job.codebase):
        yield AddedFiles(
            facade.name,
            "the HIP bindings, with the shape of the CUDA bindings that the tree uses",
            partial(_list_facade_files, job),
            manifest=_make_manifest(job, facade.name, list_bindings_features(job)),
        )
    generator = job.vendor.generator
    if job.workspace.find_requirement(generator.source):
        yield AddedFiles(
            generator.name,
            f"the generator of HIP sources, in the place of {generator.source}",
            partial(_render_crate_files, job, "generator", generator.name),
            manifest=_make_manifest(job, generator.name),
        )
    crate = _find_kernel_crate(job)
    if crate is not None and f"{crate.source}/Cargo.toml" in job.workspace.sources:
        message = f"the HIP kernels, from {crate.source}; --kernels lists the places in them"
        made = crate.files, crate.findings, crate.translations
        yield AddedFiles(crate.name, message, *made, manifest=_make_manifest(job, crate.name))
    for whole in job.codebase.whole:
        if not whole.unported:
            yield _make_counterpart_crate(job, whole)
    for site in job.codebase.hip_sources:
        if source := site.found(job.workspace.sources):
            beside = _make_adjacent(job, site)
            made = beside.files, beside.findings, beside.translations
            headers = f"{site.folder}/hipx*.h"
            named = derive_hip_path(source)
            yield AddedFiles(
                named, site.reason, *made, beside=headers, find_obstacle=beside.find_obstacle
            )
    for path, template in sorted(job.codebase.templates.items()):
        if _has_crate_folder(job, path):
            text = partial(render_template, job, template)
            yield AddedFiles(path, "a file that the port adds", partial(dict, {path: text}))


def _make_manifest(job: PortJob, name: str, features: Iterable[str] = ()) -> Manifest:
    package = {"name": name, "version": job.workspace.version}
    return {"package": package, "features": {key: [] for key in features}}


def _make_counterpart_crate(job: PortJob, whole: CudaOnlyCrate) -> AddedFiles:
    from portkit.port.crate_copies import CrateCopy  # few trees have such crates

    made = CrateCopy(job, whole, _kernel_profile(job))
    return AddedFiles(
        whole.place,
        f"the counterpart of {whole.directory}, which is CUDA's as a whole",
        made.files,
        lambda: tuple(_relocate_finding(job, *each) for each in made.findings()),
        made.translations,
    )


def _has_crate_folder(job: PortJob, path: str) -> bool:
    """Whether there is a crate for a file, and for a module the folder that it lies in.

    A workflow has one where the tree has workflows, and where ``portkit.toml`` says so.
    """
    if "/" not in path:
        return True
    if path.startswith(f"{WORKFLOWS}/"):
        wanted = job.codebase.ci
        return _has_workflows(job) if wanted is None else wanted
    if "/src/" not in path:
        return job.workspace.crate_of(path) is not None
    folder = f"{path.rpartition('/')[0]}/"
    return any(
        each.startswith(folder)
        for each in chain(job.workspace.sources, job.tree_facts.copied_files.values())
    )


def _has_workflows(job: PortJob) -> bool:
    folder = job.workspace.root / WORKFLOWS
    return folder.is_dir() and not folder.is_symlink()


def _list_facade_files(job: PortJob) -> Mapping[str, Callable[[], str]]:
    facade = job.vendor.facade
    manifest = partial(render_template, job, "bindings/Cargo.toml.j2")
    files: dict[str, Callable[[], str]] = {"Cargo.toml": manifest}
    files |= list_binding_files(facade, _name_launcher_compiler(job))
    return {f"{facade.name}/{path}": text for path, text in files.items()}


def _name_launcher_compiler(job: PortJob) -> str:
    """Return what makes libraries of launchers in the tree, as prose has it.

    Empty where it is the crate that compiles kernels, taken from elsewhere.
    """
    kernels = job.codebase.kernels
    if job.codebase.support:
        return ""
    return "a build script" if kernels is None else f"the build script of `{kernels.name}`"


def _render_crate_files(
    job: PortJob, templates: str, crate: str
) -> Mapping[str, Callable[[], str]]:
    """Return the files of a crate that comes from a folder of templates."""
    return {
        f"{crate}/{file.removesuffix('.j2')}": partial(render_template, job, f"{templates}/{file}")
        for file in list_template_files(templates)
    }


class _KernelCrate(Value, frozen=True, dict=True):
    """The crate of HIP kernels, made when it is asked for."""

    job: PortJob
    source: str
    name: str
    shared: bool

    @property
    def paths(self) -> Sequence[str]:
        return self._crate.paths

    def files(self) -> Mapping[str, Callable[[], str]]:
        return {f"{self.name}/{p}": partial(self._crate.text, p) for p in self.paths}

    def findings(self) -> tuple[Finding, ...]:
        return tuple(
            _relocate_finding(
                self.job, finding, self.source, f"{self.name}/{target}" if target else ""
            )
            for finding in self._crate.findings
            for target in [self._crate.target(finding.path)]
        )

    def translations(self) -> Mapping[str, Callable[[], Translation]]:
        crate = self._crate
        return {f"{self.source}/{p}": partial(crate.translation, p) for p in crate.kernels}

    @cached_property
    def _crate(self) -> KernelsCrate:
        from portkit.hipify.kernels_crate import KernelsCrate

        workspace, codebase = read_workspace(self.job), self.job.codebase
        own, facade = codebase.directory, self.job.vendor.facade
        return KernelsCrate(
            _read_contents(self.job, self.source),
            name=self.name,
            facade=facade.name,
            variables=codebase.variables,
            own=own,
            dependency=facade.dependency("../", workspace["version"]),
            package=facade.package if facade.source else facade.name,
            version=workspace["version"],
            edition=workspace["edition"],
            repository=workspace["repository"],
            profile=_kernel_profile(self.job),
            known=_select_below(self.job.translated, self.source),
            support=format_dependency(codebase.support, "../") if codebase.support else "",
            shared=relpath(self.source, self.name) if self.shared else "",
        )


def _find_kernel_crate(job: PortJob) -> _KernelCrate | None:
    said = job.codebase.kernels
    if said is None:
        return None
    shared = said.form == "shared"
    return job.memoize(_KernelCrate, make=lambda: _KernelCrate(job, said.source, said.name, shared))


def explain_adjacent_file(job: PortJob, path: str) -> str:
    """Return why a file is left alone in a folder of CUDA sources, or an empty string."""
    for site in job.codebase.hip_sources:
        if not (site.holds(path) and site.found(job.workspace.sources)):
            continue
        made, name = _make_adjacent(job, site).translated, path.removeprefix(f"{site.folder}/")
        if name in made.targets:
            return "CUDA code, whose translation lies beside it"
        if name in made.shared:
            return "a header that the HIP sources include as it is"
        if name in made.targets.values():
            return "a HIP source that is made from CUDA's beside it"
    return ""


def _make_adjacent(job: PortJob, site: HipSources) -> _AdjacentTranslations:
    return job.memoize(
        _AdjacentTranslations, site.source, make=lambda: _AdjacentTranslations(job, site)
    )


class _AdjacentTranslations(Value, frozen=True, dict=True):
    """HIP sources that lie beside the CUDA sources they are made from."""

    job: PortJob
    site: HipSources

    def files(self) -> Mapping[str, Callable[[], str]]:
        folder, made = self.site.folder, self.translated
        elsewhere = self._elsewhere
        return {
            f"{folder}/{path}": partial(made.text, path)
            for path in made.paths
            if path not in elsewhere
        }

    def findings(self) -> tuple[Finding, ...]:
        folder, made = self.site.folder, self.translated
        return tuple(
            _relocate_finding(self.job, finding, folder, f"{folder}/{made.targets[finding.path]}")
            for finding in made.findings
        )

    def translations(self) -> Mapping[str, Callable[[], Translation]]:
        folder, made = self.site.folder, self.translated
        return {f"{folder}/{path}": partial(made.translation, path) for path in made.targets}

    def find_obstacle(self) -> str:
        """Return why a source cannot have its translation beside it, or an empty string."""
        if not self._may_be_in_the_way:
            return ""
        for path, target in self.translated.targets.items():
            place = f"{self.site.folder}/{target}"
            if self.job.stands(place):
                return (
                    f"the translation of {self.site.folder}/{path} would be {place}, which stands"
                    " already: give one of the two another name"
                )
        return ""

    @property
    def _may_be_in_the_way(self) -> bool:
        """Whether a file has a name that a translation could have, for to make those is dear."""
        for path in _select_below(self.job.workspace.sources, self.site.folder):
            folder, slash, name = path.rpartition("/")
            renamed = {derive_hip_path(path), f"{folder}{slash}{name.replace('cuda', 'hip')}"} - {
                path
            }
            stands = any(self.job.stands(f"{self.site.folder}/{each}") for each in renamed)
            if stands or name.startswith("hip_"):
                return True
        return False

    @property
    def _elsewhere(self) -> Set[str]:
        """The prelude's headers that the crate of kernels, or its build, has for these too."""
        from portkit.hipify.prelude import load_prelude_headers

        crate = _find_kernel_crate(self.job)
        if self.site.prelude == "beside" or crate is None:
            return frozenset()
        if self.job.codebase.support:
            return load_prelude_headers().keys()
        return {path.removeprefix("src/") for path in crate.paths} & load_prelude_headers().keys()

    @cached_property
    def translated(self) -> TranslatedSources:
        """The translation of the folder."""
        from portkit.hipify.translated_sources import TranslatedSources

        folder = self.site.folder
        known = _select_below(self.job.translated, folder)
        return TranslatedSources(_read_contents(self.job, folder), _kernel_profile(self.job), known)


def _kernel_profile(job: PortJob) -> KernelProfile:
    """Return what is known of the codebase's kernels."""
    from portkit.hipify.kernel_profile import NO_PROFILE, load_profile

    own = job.codebase.directory
    return load_profile(own, job.codebase.name) if own else NO_PROFILE


def _read_contents(job: PortJob, folder: str) -> dict[str, bytes]:
    return {path: s.data for path, s in _select_below(job.workspace.sources, folder).items()}


def _select_below(files: Mapping[str, Kind], folder: str) -> dict[str, Kind]:
    """Return what there is for files below a folder of the tree, by their path below it."""
    start = f"{folder}/"
    return {path.removeprefix(start): v for path, v in files.items() if path.startswith(start)}


def _relocate_finding(job: PortJob, finding: Finding, folder: str, target: str) -> Finding:
    """Return what is said of a CUDA source below a folder as a finding of the tree.

    The CUDA source itself stays as it is: what the finding would edit is written to the HIP source.
    """
    status = finding.status
    if finding.applicability in (Applicability.KEEP, Applicability.MANUAL):
        status = Status.NONE
    elif target and job.stands(target):
        status = Status.PORTED
    return replace(finding, path=f"{folder}/{finding.path}", status=status, edits=(), claims=())
