"""Functions of C that Rust code declares itself, and links by their names.

HIP has a function for most of CUDA's API, by the table that `portkit hipify` uses: ``hipMalloc``
for ``cudaMalloc``. A copy declares that one. If the table lacks a function, or the vendor's
profile lacks a CUDA library, a person writes the block. Any other function is one of the tree's own
kernels.

Source: the Rust reference, chapter "External blocks".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace
from tree_sitter import Node

from portkit.context.port_job import PortJob, Site
from portkit.hipify.api_table import find_mapping
from portkit.profiles.profile import VendorProfile
from portkit.syntax.cfg import find_attributes
from portkit.syntax.name_table import strip_comments_and_strings
from portkit.syntax.source_file import (
    SourceFile,
    field_text,
    find_descendants,
    group_attributes,
    node_text,
)
from portkit.syntax.value import Value
from portkit.workspace.cargo_workspace import Crate, Workspace

_EXTERN: Final = re.compile(r'\bextern\s*(?:"")?\s*\{')
LINKED: Final = "what it declares is linked by its name: see that the kernels for ROCm have it"
_BLOCK: Final = re.compile(rb'\bextern\s*(?:"[^"\n]*")?\s*\{')
_LIBRARIES: Final = "cublas|cublasLt|cudnn|cufft|curand|cusolver|cusparse|nccl|nvml|nvrtc"
_OF_API: Final = re.compile(rf"(?:cu|cuda|{_LIBRARIES})[A-Z]\w*")
"""Names of CUDA's own API (CUDA Runtime API, CUDA Driver API, and those of its libraries)."""
_DECLARED: Final = re.compile(rf'(?:\bfn\s+|\blink_name\s*=\s*"){_OF_API.pattern}'.encode())
"""Such a name where a block may declare it; few files hold one."""
_OF_CUDA: Final = re.compile(rf"(?:cuda|cudart|{_LIBRARIES})(?:_static)?")
"""CUDA's own libraries, as a linker is told their names (CUDA Installation Guide)."""
_GROUPS: Final = ("runtime", "driver")
_GATED_MODULE: Final = r"\bcfg\b[^\]]*\]\s*(?:pub\s*(?:\([^)]*\)\s*)?)?mod\s+(?:%s)\b"
_NAME: Final = re.compile(r'\bname\s*=\s*"([^"]*)"')
_LINK_NAME: Final = re.compile(r'\blink_name\s*=\s*"([^"]*)"')


class ForeignBlock(Value, frozen=True):
    """A block that declares functions of C."""

    symbols: tuple[str, ...]  # the names by which they are linked
    library: str  # the library that is linked, or nothing
    has_condition: bool  # whether it, or a module of the file around it, is in some builds only


def add_c_names(vendor: VendorProfile, workspace: Workspace) -> VendorProfile:
    """Return a vendor whose name table has HIP's names of the functions that a tree declares."""
    found = find_hip_names(workspace)
    if not found:
        return vendor
    words = {**found, **vendor.names.words}
    return replace(vendor, names=replace(vendor.names, words=words))


def find_hip_names(workspace: Workspace) -> Mapping[str, str]:
    """Return HIP's names of the functions of CUDA's API that a tree declares.

    Two functions with one counterpart have none here: a block declares a name once.
    """
    symbols = {
        symbol
        for path, source in workspace.sources.items()
        if path.endswith(".rs") and b"extern " in source.data and _DECLARED.search(source.data)
        for block in find_foreign_blocks(source)
        for symbol in block.symbols
        if _OF_API.fullmatch(symbol)
    }
    known = ((symbol, find_mapping(symbol)) for symbol in sorted(symbols))
    found = {
        s: m.hip for s, m in known if m and m.group in _GROUPS and m.kind == "function" and m.hip
    }
    times = Counter(found.values())
    return {symbol: hip for symbol, hip in found.items() if times[hip] == 1}


def find_foreign_blocks(source: SourceFile) -> Iterator[ForeignBlock]:
    """Yield the blocks of a file that declare functions of C."""
    places = [match.start() for match in _BLOCK.finditer(source.data)]
    if not places:
        return
    root = source.tree_around(places).root_node
    attributes = {
        n.id: a for each in [root, *_list_modules(root)] for n, a in group_attributes(each)
    }
    for node in find_descendants(root, "foreign_mod_item"):
        body = node.child_by_field_name("body")
        own = [node_text(a) for a in find_attributes(node, attributes.get(node.id, ()))]
        libraries = (_NAME.search(text) for text in own if "link" in text)
        symbols = [
            _read_link_name(field_text(child, "name"), [*map(node_text, attached)])
            for child, attached in (group_attributes(body) if body is not None else ())
            if child.type == "function_signature_item"
        ]
        library = next((m[1] for m in libraries if m is not None), "")
        yield ForeignBlock(tuple(symbols), library, _has_condition(node, attributes))


def explain_missing_c_function(job: PortJob, text: str) -> str:
    """Return why a copy would declare what no library for ROCm has, or an empty string."""
    title = job.vendor.title
    for block in find_foreign_blocks(SourceFile("text.rs", text.encode())):
        for symbol in block.symbols:
            if _OF_API.fullmatch(symbol) and symbol not in job.vendor.names.words:
                return (
                    f"This code declares `{symbol}` of CUDA's API, for which the table of HIP's"
                    f" names has no single counterpart. Declare what {title} has for it by hand"
                )
        library = block.library
        if _OF_CUDA.fullmatch(library) and library not in job.vendor.names.words:
            return (
                f"This code links CUDA's library `{library}`. Link what {title} has for it, and"
                " declare the functions that the library has, by hand"
            )
    return ""


def explain_no_counterpart(site: Site) -> str:
    """Return why a function has no counterpart in its own block, or an empty string."""
    block = site.outer.outer if site.outer is not None else None
    if block is None or block.kind != "foreign_mod_item" or site.kind != "function_signature_item":
        return ""
    text = site.source.text(block.start, block.node.end_byte)
    libraries = [each.library for each in find_foreign_blocks(SourceFile("text.rs", text.encode()))]
    symbol = _read_link_name(site.name, [*map(node_text, site.attributes)])
    if not (_OF_API.fullmatch(symbol) or any(map(_OF_CUDA.fullmatch, libraries))):
        return ""
    title, feature = site.job.vendor.title, site.job.feature
    return (
        f"Every build has this block, which declares `{symbol}` of CUDA. A library for {title} does"
        f" not have it. Put the block, and another one for {title}, each under its feature"
        f" ({site.job.source_feature}, {feature}), by hand"
    )


def explain_c_review(job: PortJob, text: str) -> str:
    """Return what a person checks of the functions that the copy of a text declares, or nothing."""
    symbols = [
        s for b in find_foreign_blocks(SourceFile("text.rs", text.encode())) for s in b.symbols
    ]
    counterparts = find_c_names(job)
    own = next((symbol for symbol in symbols if symbol not in counterparts), "")
    known = next((symbol for symbol in symbols if symbol in counterparts), "")
    if own or not known:
        return LINKED if symbols else ""
    return (
        f"`{counterparts[known]}` takes the place of `{known}`, by the table of HIP's names. Check"
        " that each declared function has HIP's arguments"
    )


def find_c_names(job: PortJob) -> Mapping[str, str]:
    """Return `find_hip_names` of a job's tree."""
    return job.memoize("foreign", make=lambda: find_hip_names(job.workspace))


def declares_cuda_always(workspace: Workspace, crate: Crate) -> bool:
    """Whether each build of a crate declares a function of CUDA's API, and so links CUDA."""
    inside = "" if crate.directory == "." else f"{crate.directory}/"
    for path, source in workspace.sources.items():
        if (
            path.startswith(f"{inside}src/")
            and path.endswith(".rs")
            and _DECLARED.search(source.data)
            and any(_OF_API.fullmatch(s) for b in _list_ungated(source) for s in b.symbols)
            and not _is_module_gated(workspace, inside, path)
        ):
            return True
    return False


def declares_functions_always(workspace: Workspace, crate: Crate) -> bool:
    """Whether each build of a crate declares functions of C, which its build script compiles."""
    inside = "" if crate.directory == "." else f"{crate.directory}/"
    return any(
        path.startswith(f"{inside}src/")
        and path.endswith(".rs")
        and any(block.symbols for block in _list_ungated(source))
        and not _is_module_gated(workspace, inside, path)
        for path, source in workspace.sources.items()
    )


def _list_ungated(source: SourceFile) -> Iterator[ForeignBlock]:
    return (block for block in find_foreign_blocks(source) if not block.has_condition)


def _is_module_gated(workspace: Workspace, inside: str, path: str) -> bool:
    """Whether a module of a path may be declared under a condition, in any file of the crate."""
    names = {part.removesuffix(".rs") for part in path.removeprefix(f"{inside}src/").split("/")}
    names -= {"lib", "main", "mod"}
    if not names:
        return False
    wanted = re.compile(_GATED_MODULE % "|".join(map(re.escape, sorted(names))))
    return any(
        each.startswith(f"{inside}src/")
        and each.endswith(".rs")
        and b"cfg" in source.data
        and wanted.search(source.text(0, source.size))
        for each, source in workspace.sources.items()
    )


def _has_condition(node: Node, attributes: Mapping[int, Sequence[Node]]) -> bool:
    """Whether an item, or an item around it in the file, has an attribute ``cfg``."""
    each: Node | None = node
    while each is not None:
        if any("cfg" in node_text(a) for a in find_attributes(each, attributes.get(each.id, ()))):
            return True
        each = each.parent
    return False


def _list_modules(root: Node) -> Iterator[Node]:
    for node in find_descendants(root, "mod_item"):
        body = node.child_by_field_name("body")
        if body is not None:
            yield body


def _read_link_name(name: str, attributes: list[str]) -> str:
    """Return the name by which a function is linked."""
    found = (_LINK_NAME.search(text) for text in attributes)
    return next((match[1] for match in found if match is not None), name)


def has_linked_functions(text: str) -> bool:
    """Whether Rust source declares functions that are linked by their names."""
    return "extern" in text and _EXTERN.search(strip_comments_and_strings(text)) is not None
