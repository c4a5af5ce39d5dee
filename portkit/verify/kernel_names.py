"""The step that checks that every kernel that Rust code loads by name exists."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from portkit.errors import ToolError
from portkit.hipify.prelude import load_prelude_headers
from portkit.hipify.symbols import read_symbols
from portkit.verify.hip_sources import is_compiled_from_cuda, open_hip_folder
from portkit.verify.requested_kernels import (
    ANYTHING,
    DTYPE,
    find_kernel_requests,
    find_loader,
    list_dtypes,
)
from portkit.verify.step_runner import Step, fail_step, mark_inapplicable, pass_step, skip_step
from portkit.workspace.cargo_workspace import SKIPPED_DIRECTORIES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from portkit.hipify.symbols import Symbols
    from portkit.verify.requested_kernels import KernelRequest, Loader
    from portkit.verify.step_runner import Outcome
    from portkit.verify.verified_tree import VerifiedTree

_FOREIGN: Final = re.compile(r"\bpub fn (\w+)\s*\(")
_HOLE: Final = re.compile(f"{re.escape(DTYPE)}|{re.escape(ANYTHING)}")


@dataclass(frozen=True, slots=True)
class NameComparison:
    """The requested kernel names, sorted into found, wrong and unimplemented.

    Attributes:
        wrong: what is not as it must be, one sentence each.
        unimplemented: what differs from a kernel's name in the dtype alone: the dtypes, by module
            and by the rest of the name.
    """

    found: int
    wrong: tuple[str, ...]
    unimplemented: Mapping[str, Mapping[str, tuple[str, ...]]]

    @property
    def absent(self) -> int:
        """How many names differ from a kernel's in the dtype alone."""
        return sum(len(n) for each in self.unimplemented.values() for n in each.values())


def check_kernel_names(tree: VerifiedTree) -> Outcome:
    """Compare the names in Rust's sources with those that the HIP sources define."""
    job, settings = tree.scan.job, tree.settings.names
    if settings is None or job.codebase.kernels is None:
        return mark_inapplicable("portkit knows no kernels of this codebase")
    crate = tree.root / job.codebase.kernels.name
    asked = find_kernel_requests(job, settings)
    if not asked:
        return skip_step("no kernel is asked for by name: is the tree ported?")
    cuda = tree.root / job.codebase.kernels.source
    try:
        defined = _find_definitions(tree.root, crate, cuda)
    except ToolError as error:
        return skip_step(str(error))
    load = find_loader(job, settings)
    names = compare_names(asked, defined, list_dtypes(job, settings), load)
    wrong = [*names.wrong, *_find_unlinked_functions(crate, cuda, defined)]
    if names.absent and not load.explains:
        wrong.append(
            f"{names.absent} names differ from a kernel's in the dtype alone, and"
            f" {' and '.join(settings.loaders)} do not say that it is not implemented"
        )
    figures = {"found": names.found, "not implemented": names.absent, "wrong": len(wrong)}
    if wrong:
        return fail_step(*wrong, figures=figures)
    evidence = [f"{names.found} names that {len(asked)} places ask for are kernels"]
    if names.absent:
        evidence.append(
            f"{names.absent} more have no kernel of that dtype in the sources: the error says so"
        )
        evidence += _describe_missing_dtypes(names)
    return pass_step(*evidence, figures=figures)


def _describe_missing_dtypes(names: NameComparison) -> Iterator[str]:
    """Yield a line for each module: its operations without a kernel for some dtype."""
    for module, operations in names.unimplemented.items():
        alike: dict[tuple[str, ...], list[str]] = {}
        for operation, lacking in operations.items():
            alike.setdefault(lacking, []).append(operation)
        for lacking, found in sorted(alike.items(), key=lambda each: each[1]):
            yield f"{module}: not for {', '.join(lacking)}: {', '.join(found)}"


def compare_names(
    asked: Sequence[KernelRequest],
    defined: Mapping[str, Symbols],
    known_dtypes: Sequence[str],
    load: Loader,
) -> NameComparison:
    """Compare requested kernel names with defined ones."""
    found: set[tuple[str, str]] = set()
    wrong: list[str] = []
    unimplemented: dict[str, dict[str, set[str]]] = {}
    spelled = [spelling for dtype in known_dtypes for spelling in load.candidate_names(dtype)]
    for call in asked:
        if call.unknown:
            wrong.append(f"{call.place}: it cannot be told which kernel {call.unknown} names")
            continue
        stem = call.module.lower()
        if stem not in defined:
            wrong.append(f"{call.place}: there is no HIP source for the module {call.module}")
            continue
        kernels = defined[stem].kernels
        spellings = {_normalize_name(kernel): kernel for kernel in kernels}
        implemented = {_strip_dtype(kernel, spelled) for kernel in kernels} - {""}
        for pattern in call.names:
            names = [
                _choose_spelling(load, n, kernels) for n in _expand_pattern(pattern, known_dtypes)
            ]
            there = [name for name in names if _has_kernel(name, kernels)]
            found.update((stem, name) for name in there)
            for name in sorted(set(names).difference(there)):
                other = spellings.get(_normalize_name(name))
                operation = _strip_dtype(name, spelled)
                if other is not None:
                    wrong.append(f"{call.place}: {name} is asked for, and the kernel is {other}")
                elif operation in implemented or (there and operation and DTYPE in pattern):
                    lacking = unimplemented.setdefault(stem, {}).setdefault(operation, set())
                    lacking.add(name.removeprefix(f"{operation}_"))
                else:
                    shown = pattern.replace(DTYPE, "*").replace(ANYTHING, "*")
                    wrong.append(f"{call.place}: {stem}.hip has no kernel {shown}")
    return NameComparison(
        len(found),
        tuple(dict.fromkeys(wrong)),
        {
            stem: {op: tuple(sorted(lacking)) for op, lacking in sorted(operations.items())}
            for stem, operations in sorted(unimplemented.items())
        },
    )


def find_unrequested_kernels(tree: VerifiedTree) -> frozenset[str]:
    """Return the kernels that no Rust code requests, of modules that are loaded by name."""
    job, settings = tree.scan.job, tree.settings.names
    if settings is None or job.codebase.kernels is None:
        return frozenset()
    known, load = list_dtypes(job, settings), find_loader(job, settings)
    crate = job.codebase.kernels
    defined = _find_definitions(tree.root, tree.root / crate.name, tree.root / crate.source)
    names: dict[str, set[str]] = {}
    for call in find_kernel_requests(job, settings):
        stem = call.module.lower()
        if stem in defined:
            kernels = defined[stem].kernels
            filled = (name for pattern in call.names for name in _expand_pattern(pattern, known))
            names.setdefault(stem, set()).update(_choose_spelling(load, n, kernels) for n in filled)
    return frozenset(
        kernel
        for stem, wanted in names.items()
        for kernel in defined[stem].kernels
        if not any(_has_kernel(name, (kernel,)) for name in wanted)
    )


def _find_definitions(root: Path, crate: Path, cuda: Path) -> dict[str, Symbols]:
    """Return the symbols that each HIP source of a tree defines, by its name without suffix.

    Where two have one name, that of the crate of kernels counts: modules are named after its files.
    """
    if is_compiled_from_cuda(crate):
        with open_hip_folder(crate, cuda) as made:
            return {**_read_definitions(root, crate), **_read_definitions(made, made)}
    return _read_definitions(root, crate)


def _read_definitions(root: Path, crate: Path) -> dict[str, Symbols]:
    files: dict[Path, dict[str, str]] = {}
    for place in sorted(_list_hip_files(root)):
        files.setdefault(place.parent, {})
    found: dict[str, Symbols] = {}
    for folder in files:
        top = _find_top_folder(folder, files)
        texts = {
            path.relative_to(top).as_posix(): path.read_text(encoding="utf-8", errors="replace")
            for path in sorted(top.rglob("*"))
            if path.suffix in (".hip", ".h", ".cuh") and path.is_file()
        }
        below = folder.relative_to(top)
        for name, text in load_prelude_headers().items():
            # A build may take them from the crate of kernels.
            texts.setdefault((below / name).as_posix(), text)
        sources = [path.relative_to(top).as_posix() for path in sorted(folder.glob("*.hip"))]
        for source, what in read_symbols(texts, sources).items():
            stem = source.rpartition("/")[2].removesuffix(".hip")
            if stem not in found or folder.is_relative_to(crate):
                found[stem] = what
    return found


def _find_top_folder(folder: Path, folders: Iterable[Path]) -> Path:
    """Return the outermost folder of HIP sources that holds a folder: its headers may lie there."""
    return min(
        (outer for outer in folders if folder.is_relative_to(outer)), key=lambda f: len(f.parts)
    )


def _list_hip_files(root: Path) -> Iterator[Path]:
    for path in root.rglob("*.hip"):
        if SKIPPED_DIRECTORIES.isdisjoint(path.relative_to(root).parts) and path.is_file():
            yield path


def _find_unlinked_functions(crate: Path, cuda: Path, defined: Mapping[str, Symbols]) -> list[str]:
    declarations = (cuda if is_compiled_from_cuda(crate) else crate) / "src" / "ffi.rs"
    if not declarations.is_file():
        return []
    functions = frozenset[str]().union(*(what.functions for what in defined.values()))
    declared = _FOREIGN.findall(declarations.read_text(encoding="utf-8"))
    return [
        f"{declarations.parts[-3]}/src/ffi.rs: no HIP source defines {name}"
        for name in declared
        if name not in functions
    ]


def _expand_pattern(pattern: str, known_dtypes: Sequence[str]) -> list[str]:
    """Return the names of a pattern, one for each dtype; unknown parts stay in them."""
    parts = _HOLE.split(pattern)
    holes = [known_dtypes if hole == DTYPE else (ANYTHING,) for hole in _HOLE.findall(pattern)]
    return [
        "".join(itertools.chain(*zip(parts, (*choice, ""), strict=True)))
        for choice in itertools.product(*holes)
    ]


def _choose_spelling(load: Loader, name: str, kernels: Collection[str]) -> str:
    """Return the spelling of a name that there is a kernel of; the first where there is none."""
    spellings = load.candidate_names(name)
    return next((each for each in spellings if _has_kernel(each, kernels)), spellings[0])


def _has_kernel(name: str, kernels: Iterable[str]) -> bool:
    if ANYTHING not in name:
        return name in kernels
    wanted = re.compile(r"\w+".join(map(re.escape, name.split(ANYTHING))))
    return any(wanted.fullmatch(kernel) for kernel in kernels)


def _strip_dtype(name: str, spelled: Iterable[str]) -> str:
    """Return a name without the dtype that it ends with; empty where it ends with none."""
    ends = (f"_{dtype}" for dtype in spelled)
    return next((name.removesuffix(end) for end in ends if name.endswith(end)), "")


def _normalize_name(name: str) -> str:
    """Return a name without differences of spelling."""
    return name.replace("_", "").lower()


NAMES: Final = Step(
    "names", "each kernel that is asked for by name is there", 47, check_kernel_names, looks=True
)
