"""Files with the declarations of one repair applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from portkit.context.port_job import PortJob
from portkit.hipify.kernel_source import KernelSource
from portkit.hipify.patch import Patch
from portkit.hipify.translator import apply_edits
from portkit.port.copy_item import indent_lines, render_patch
from portkit.port.item_patches import PatchMatch, find_items_of_patches
from portkit.profiles.defects import DefectPatch
from portkit.profiles.entries import CopyRepair, TokenPatch
from portkit.syntax.source_file import SourceFile
from portkit.syntax.token_patterns import fill_template
from portkit.syntax.value import Value
from portkit.workspace.edits import match_newlines


class RepairedFile(Value, frozen=True):
    """A file after one declaration was applied."""

    path: str
    data: bytes
    places: int
    fits: bool


def repair_files(
    job: PortJob, declaration: TokenPatch | Patch, files: Mapping[str, bytes], sources: str
) -> Iterator[RepairedFile]:
    """Apply a declaration to each file that it is about.

    Args:
        declaration: a patch of the codebase's or of its kernels', or a change of a repair's own.
    """
    if isinstance(declaration, Patch):
        for path in sorted(files):
            below = path.removeprefix(sources)
            if below != path and declaration.concerns(below):
                yield _kernel(declaration, path, below, files[path])
        return
    for path in sorted(files):
        if path.endswith(".rs") and fnmatchcase(path, declaration.path):
            yield _rust(job, declaration, SourceFile(path, files[path]))


def _kernel(patch: Patch, path: str, below: str, data: bytes) -> RepairedFile:
    source = KernelSource(below, data.decode("latin-1"))
    if not patch.is_likely_in(source):
        return RepairedFile(path, data, 0, fits=True)
    found = [*patch.build_repair().find(source)]
    newline = SourceFile(path, data).newline
    edits = (
        edit._replace(text=edit.text.replace("\n", newline))
        for finding in found
        for edit in finding.edits
    )
    text, _ = apply_edits(source.text, edits, path)
    return RepairedFile(path, text.encode("latin-1"), len(found), fits=len(found) in patch.hits)


def _rust(job: PortJob, patch: TokenPatch, source: SourceFile) -> RepairedFile:
    looked = [*find_items_of_patches(job, source, (patch,))]
    hits = sorted((hit for each in looked for hit in each.hits), key=lambda hit: hit.span)
    anywhere = isinstance(patch, DefectPatch) and not patch.count
    fits = anywhere or (bool(looked) and all(each.fits for each in looked))
    out, at = [], 0
    for hit in hits:
        out += [source.data[at : hit.span.start], _written(job, source, hit)]
        at = hit.span.end
    return RepairedFile(source.path, b"".join([*out, source.data[at:]]), len(hits), fits)


def _written(job: PortJob, source: SourceFile, hit: PatchMatch) -> bytes:
    patch = hit.patch
    text = (patch.source if isinstance(patch, CopyRepair) else "") or render_patch(job, patch)
    captured = {name: source.text(span.start, span.end) for name, span in hit.captured.items()}
    text = text.strip("\n") if "\n" in text else text
    return match_newlines(
        source, fill_template(indent_lines(text, source.indent(hit.span.start)), captured)
    )
