"""What the declarations of one repair make of files, as often as they say."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from portkit.copying.analog import indented, text_of
from portkit.copying.patches import places_in
from portkit.hipify.engine import apply_edits
from portkit.hipify.kernel_source import KernelSource
from portkit.hipify.patch import Patch
from portkit.lang.source import Source
from portkit.lang.tokens import fill
from portkit.lang.value import Value
from portkit.profile.entries import Repair, Within
from portkit.profile.upstream import Change
from portkit.tree.edits import with_newlines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from portkit.copying.patches import Hit
    from portkit.site.context import Job


class Mended(Value, frozen=True):
    """What became of a file by one declaration.

    Attributes:
        path: the file.
        data: what it holds now.
        places: how often the declaration was found.
        fits: whether that is as often as it says.
    """

    path: str
    data: bytes
    places: int
    fits: bool


def mended(
    job: Job, declaration: Within | Patch, files: Mapping[str, bytes], sources: str
) -> Iterator[Mended]:
    """Yield what a declaration makes of each file that it is about.

    Args:
        job: the job.
        declaration: a patch of the codebase's or of its kernels', or a change of a repair's own.
        files: the tree as it stands with the repairs before.
        sources: the folder of the kernels' sources, with ``/`` at its end.
    """
    if isinstance(declaration, Patch):
        for path in sorted(files):
            below = path.removeprefix(sources)
            if below != path and declaration.concerns(below):
                yield _kernel(declaration, path, below, files[path])
        return
    for path in sorted(files):
        if path.endswith(".rs") and fnmatchcase(path, declaration.path):
            yield _rust(job, declaration, Source(path, files[path]))


def _kernel(patch: Patch, path: str, below: str, data: bytes) -> Mended:
    source = KernelSource(below, data.decode("latin-1"))
    if not patch.belongs(source):
        return Mended(path, data, 0, fits=True)
    found = [*patch.repaired().find(source)]
    newline = Source(path, data).newline
    edits = (
        edit._replace(text=edit.text.replace("\n", newline))
        for finding in found
        for edit in finding.edits
    )
    text, _ = apply_edits(source.text, edits, path)
    return Mended(path, text.encode("latin-1"), len(found), fits=len(found) in patch.hits)


def _rust(job: Job, patch: Within, source: Source) -> Mended:
    looked = [*places_in(job, source, (patch,))]
    hits = sorted((hit for each in looked for hit in each.hits), key=lambda hit: hit.span)
    anywhere = isinstance(patch, Change) and not patch.count
    fits = anywhere or (bool(looked) and all(each.fits for each in looked))
    out, at = [], 0
    for hit in hits:
        out += [source.data[at : hit.span.start], _written(job, source, hit)]
        at = hit.span.end
    return Mended(source.path, b"".join([*out, source.data[at:]]), len(hits), fits)


def _written(job: Job, source: Source, hit: Hit) -> bytes:
    patch = hit.patch
    text = (patch.source if isinstance(patch, Repair) else "") or text_of(job, patch)
    captured = {name: source.text(span.start, span.end) for name, span in hit.captured.items()}
    text = text.strip("\n") if "\n" in text else text
    return with_newlines(source, fill(indented(text, source.indent(hit.span.start)), captured))
