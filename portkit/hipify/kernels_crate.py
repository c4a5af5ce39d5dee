"""The kernels crate of a ROCm port, made from the kernels crate of the CUDA side.

The CUDA crate has modules that are loaded by name (``mdl!`` lines in its ``lib.rs``), launchers
that are linked as a static library (sources named in its ``build.rs``, declared in its
``ffi.rs``), and headers. The ROCm crate offers the same surface with HIP's names. Its HIP sources
are translations of the CUDA crate's, and the modules that the profile adds.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import field
from msgspec.structs import replace

from portkit.codebases.directory import TEMPLATES
from portkit.hipify.errors import KernelPatchError, KernelsCrateError
from portkit.hipify.kernel_profile import FILE as PROFILE
from portkit.hipify.kernel_profile import NO_PROFILE, KernelProfile
from portkit.hipify.paths import BUILD_SCRIPT, derive_hip_path
from portkit.hipify.prelude import load_build_support, load_device_files, load_support_page
from portkit.hipify.rules.rule import report_site
from portkit.hipify.shared_sources import SharedSources
from portkit.hipify.translated_sources import TranslatedSources, find_needed_headers
from portkit.syntax.value import Value
from portkit.templates import Templates, list_template_files
from portkit.workspace.finding import Applicability, Finding
from portkit.workspace.manifest import parse_manifest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from portkit.codebases.directory import Directory
    from portkit.hipify.translator import Translation
    from portkit.templates.plain_values import PlainValue

FileContent = TypeVar("FileContent")

FOLDER: Final = "kernels"
"""Among the templates."""

_SOURCES = "src/"

_LAUNCHER_FILES: Final = ("hip_runtime.cpp", "launchers.hip")
"""What a crate of kernels with launchers has of that crate's."""

_TOY = "TOY_ROCM"
"""How the names of variables begin on the page of the crate that compiles kernels."""

_MODULE = re.compile(r"^mdl!\(\s*(\w+)\s*,\s*\w+\s*\)\s*;", re.MULTILINE)
_CONSTANT = re.compile(
    r'^pub const \w+: &str = include_str!\(concat!\(env!\("OUT_DIR"\), "/(\w+)\.ptx"\)\);',
    re.MULTILINE,
)
_STATIC_SOURCE = re.compile(r'"src/([\w/]+)\.cu"')
_FOREIGN_BLOCK = re.compile(r'^extern "C" \{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
_FEATURE_GATE = re.compile(r"^ *#\[cfg\(feature = [^\n]*\)\]\n", re.MULTILINE)
_CUDA_SOURCE = re.compile(r"\b(\w+)\.cu\b")


class KernelModule(Value, frozen=True):
    """A module of kernels that is loaded by name."""

    name: str  # the stem of its source, such as ``affine``
    constant: str  # the constant in the crate's root, such as ``AFFINE``

    @classmethod
    def named(cls, name: str) -> KernelModule:
        """Return the module of a name, its other names as the CUDA crate would spell them."""
        return cls(name, name.upper())


class KernelsLayout(Value, frozen=True):
    """What a CUDA kernels crate consists of."""

    modules: tuple[KernelModule, ...]  # the modules loaded by name, in the order of ``lib.rs``
    # sources of the static library, without ``src/`` and suffix, in order
    launchers: tuple[str, ...]
    declarations: str  # the body of the ``extern "C"`` block of ``ffi.rs``; empty without one
    # whether a module is a constant with its PTX, as ``bindgen_cuda`` writes them
    # (``Bindings::write``), and not a ``Module`` with an ``Id``
    plain: bool = False


def read_layout(source: Mapping[str, bytes]) -> KernelsLayout:
    """Read the layout of a CUDA kernels crate.

    Raises:
        KernelsCrateError: no ``src/lib.rs``, no modules in it, or an ``ffi.rs`` without a block.
    """
    library = _read_text(source, "src/lib.rs")
    if library is None:
        raise KernelsCrateError("the kernels crate has no src/lib.rs: give the whole crate")
    modules = tuple(KernelModule(name.lower(), name) for name in _MODULE.findall(library))
    plain = () if modules else tuple(map(KernelModule.named, _CONSTANT.findall(library)))
    if not (modules or plain):
        raise KernelsCrateError(
            "src/lib.rs of the kernels crate declares no module, neither with mdl! nor as a"
            " constant with its PTX"
        )
    launchers = tuple(dict.fromkeys(_STATIC_SOURCE.findall(_read_text(source, "build.rs") or "")))
    declarations = _read_declarations(_read_text(source, "src/ffi.rs"))
    return KernelsLayout(modules or plain, launchers, declarations, bool(plain))


class KernelsCrate(Value, frozen=True, dict=True):
    """The ROCm kernels crate for a CUDA kernels crate, not yet written.

    Which files it has is known without translating a kernel.
    """

    source: Mapping[str, bytes]  # the CUDA kernels crate's files, path inside the crate to content
    version: str  # the version that the workspace gives its crates
    name: str  # the name of the emitted crate
    facade: str  # the name of the crate of HIP bindings
    # how the names of the environment variables begin that the build script reads, such as
    # ``TOY_ROCM``
    variables: str
    edition: str = "2021"  # the workspace's Rust edition
    repository: str = ""  # the workspace's repository; left out of the manifest when empty
    # what the manifest says of that crate, without braces; by default it lies beside
    dependency: str = ""
    package: str = ""  # the crate's own name, where it is another
    profile: KernelProfile = NO_PROFILE  # what is known of the CUDA sources
    # translations that were made elsewhere, by the path of the CUDA source in its crate
    known: Mapping[str, Translation] = field(default_factory=dict)
    own: Directory | None = None  # the codebase's directory, whose templates are looked for first
    # what the manifest says of the crate that compiles kernels, without braces; empty for a copy of
    # its modules. It takes ``shared``
    support: str = ""
    # the way from the crate to the CUDA crate, where the CUDA sources are compiled as they stand
    # (see ``Shared``); empty for translations of them
    shared: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        """The crate's files, sorted."""
        there = {_SOURCES + path for path in load_device_files()} if self.support else set()
        made = {*self._added, *(_SOURCES + path for path in self._kernels.paths)}
        return tuple(sorted({*self._frame, *(made - there)}))

    def text(self, path: str) -> str:
        """Return the text of one of the files."""
        if path in self._frame:
            return self._frame[path]
        if path in self._added:
            return self._added[path]
        return self._kernels.text(path.removeprefix(_SOURCES))

    @property
    def files(self) -> dict[str, str]:
        """Each file's path and its text, sorted by path; it raises what ``text`` raises."""
        return {path: self.text(path) for path in self.paths}

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What the translation says, with paths inside the CUDA crate."""
        found = [replace(f, path=_SOURCES + f.path) for f in self._kernels.findings]
        expected = self.profile.expected.get(self.version)
        return (*found, *_check_expected(found, expected, self.version))

    @property
    def kernels(self) -> tuple[str, ...]:
        """The CUDA sources, by their path inside the CUDA crate."""
        return tuple(_SOURCES + path for path in self._kernels.targets)

    def translation(self, path: str) -> Translation:
        """Return the translation of one CUDA source, given by its path inside the CUDA crate."""
        return self._kernels.translation(path.removeprefix(_SOURCES))

    def target(self, path: str) -> str:
        """Return the file that a CUDA source becomes, or an empty string for another file."""
        target = self._kernels.targets.get(path.removeprefix(_SOURCES), "")
        return target and _SOURCES + target

    @cached_property
    def _kernels(self) -> TranslatedSources | SharedSources:
        sources, known = _find_source_files(self.source), _find_source_files(self.known)
        if self.shared:
            name = str(_read_package(self.source).get("name", "the CUDA crate"))
            return SharedSources(sources, self.profile, known, name)
        return TranslatedSources(sources, self.profile, known, headers_too=True)

    @property
    def _includes(self) -> list[str]:
        """The pairs of headers in Rust's words, where the build includes HIP's for CUDA's."""
        shared = self._kernels
        pairs = shared.hip_headers if isinstance(shared, SharedSources) else {}
        return [f'("{cuda}", "{hip}")' for cuda, hip in pairs.items()]

    @cached_property
    def _added(self) -> dict[str, str]:
        """The HIP sources of the profile's modules, and the prelude's headers that they include.

        The CUDA sources may need fewer: they may have no use for matrix cores, say.
        """
        modules = dict(self.profile.modules)
        needed = find_needed_headers(text.encode() for text in modules.values()) if modules else {}
        sources = {derive_hip_path(f"{name}.cu"): text for name, text in modules.items()}
        return {_SOURCES + path: text for path, text in {**needed, **sources}.items()}

    def _modules(self, layout: KernelsLayout) -> tuple[KernelModule, ...]:
        """Return every module: the CUDA crate's, then the profile's."""
        taken = {module.name for module in layout.modules}
        for name, _ in self.profile.modules:
            if name in taken:
                raise KernelsCrateError(
                    f"the kernels crate has a module {name}, as [modules] of {PROFILE} has: give"
                    " the profile's another name"
                )
        return (*layout.modules, *(KernelModule.named(name) for name, _ in self.profile.modules))

    @cached_property
    def _frame(self) -> dict[str, str]:
        layout = read_layout(self.source)
        package = _read_package(self.source)
        values: dict[str, PlainValue] = {
            "variables": self.variables,
            "description": _render_package(package, "description"),
            "about": _render_package(package, "keywords", "categories", "license"),
            "kernels": {
                "name": self.name,
                "module": self.name.replace("-", "_"),
                "source": str(package.get("name", "the CUDA crate")),
            },
            "workspace": {
                "version": self.version,
                "edition": self.edition,
                "repository": self.repository,
            },
            "modules": tuple(
                {"name": module.name, "constant": module.constant}
                for module in self._modules(layout)
            ),
            "plain": layout.plain,
            "facade": {
                "name": self.facade,
                "module": self.facade.replace("-", "_"),
                "package": self.package or self.facade,
                "dependency": self.dependency
                or f'path = "../{self.facade}", version = "{self.version}"',
            },
            "static_families": layout.launchers,
            "launchers": (*layout.launchers, "launchers") if layout.declarations else (),
            "ffi": layout.declarations,
            "building": _describe_build(self.variables),
            "shared": self.shared,
            "support": self.support
            and {
                "name": BUILD_SCRIPT,
                "module": BUILD_SCRIPT.replace("-", "_"),
                "said": self.support,
            },
            "includes": tuple(self._includes),
        }
        templates = Templates(self.own, trim=True)
        files = {
            name.removesuffix(".j2"): templates.render(f"{FOLDER}/{name}", values)
            for name in list_template_files(FOLDER)
        }
        if not layout.declarations:
            del files[f"{_SOURCES}ffi.rs"]
        if self.support:
            return files
        files |= load_build_support(shared=bool(self.shared))
        if layout.declarations:
            for name in _LAUNCHER_FILES:
                files[_SOURCES + name] = _choose_file(self.own, name)
        return files


def _find_source_files(files: Mapping[str, FileContent]) -> dict[str, FileContent]:
    """Return what there is for files among the crate's sources, by their path below those."""
    return {p.removeprefix(_SOURCES): c for p, c in files.items() if p.startswith(_SOURCES)}


def _check_expected(
    findings: Sequence[Finding], expected: Mapping[str, int] | None, version: str
) -> list[Finding]:
    """Return a finding for each rule that finds another number of places than is known."""
    if expected is None:
        return []
    found = Counter(finding.code for finding in findings)
    unexpected = []
    for code in sorted(expected.keys() | found.keys()):
        if found[code] == expected.get(code, 0):
            continue
        message = f"{code} finds {found[code]} places in {version}, not {expected.get(code, 0)}"
        if not found[code]:
            raise KernelPatchError(
                f"the kernels crate: {message}: compare its sources with another version's"
            )
        place, construct = _SOURCES.rstrip("/"), "number of hits"
        unexpected.append(report_site(code, place, construct, code, message, Applicability.REVIEW))
    return unexpected


def _choose_file(own: Directory | None, name: str) -> str:
    """Return a file that goes with the launchers: a codebase may have one in its place."""
    place = f"{TEMPLATES}/{FOLDER}/{_SOURCES}{name}"
    return own.text(place) if own is not None and own.has(place) else load_device_files()[name]


def _describe_build(variables: str) -> str:
    """Return what the page of the crate that compiles kernels says of building, for its copy."""
    said = load_support_page().partition("## Building\n\n")[2].partition("\n\n")[2]
    return said.replace(_TOY, variables).replace("## The tools\n\n", "")


def _read_declarations(ffi: str | None) -> str:
    if ffi is None:
        return ""
    block = _FOREIGN_BLOCK.search(ffi)
    if block is None:
        raise KernelsCrateError('src/ffi.rs of the kernels crate has no extern "C" block')
    body = _FEATURE_GATE.sub("", block.group(1))
    return _CUDA_SOURCE.sub(r"\1.hip", body).rstrip("\n")


def _read_package(source: Mapping[str, bytes]) -> Mapping[str, Any]:
    """Return what the CUDA crate's manifest says of the package; empty where it is not there."""
    manifest = parse_manifest(source.get("Cargo.toml", b""))
    package = manifest.get("package", {})
    return package if isinstance(package, dict) else {}


def _render_package(package: Mapping[str, Any], *keys: str) -> tuple[str, ...]:
    """Return the lines of a manifest that say the same of the ROCm crate."""
    found = []
    for key in keys:
        value = package.get(key)
        if isinstance(value, str):
            # Strings and lists of strings in TOML and JSON are alike.
            value = re.sub(r"\bcuda\b", "ROCm", value, flags=re.IGNORECASE)
            found.append(f"{key} = {json.dumps(value, ensure_ascii=False)}")
        elif isinstance(value, list):
            words = [word for word in value if "cuda" not in word.lower()]
            found.append(f"{key} = {json.dumps(words, ensure_ascii=False)}")
        elif value == {"workspace": True}:
            found.append(f"{key}.workspace = true")
    return tuple(found)


def _read_text(source: Mapping[str, bytes], path: str) -> str | None:
    content = source.get(path)
    return None if content is None else content.decode()
