"""Files that were written as a whole before: what they lack, and what differs in them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from portkit.syntax.span import Span
from portkit.workspace.cargo_workspace import CUDA_CODE
from portkit.workspace.finding import Applicability, Edit, Finding, NewFile, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from portkit.context.port_job import PortJob


def find_drift(job: PortJob, code: str, path: str, make: Callable[[], str]) -> Iterator[Finding]:
    """Yield what a file that was written before lacks, and what differs in it."""
    from portkit.port import item_diff

    source = job.workspace.sources.get(path)
    found = partial(Finding, code=code, path=path, applicability=Applicability.SAFE)
    if source is None or path.endswith(CUDA_CODE):
        if not job.stands(path):
            yield found(
                span=Span(0, 0),
                construct="new file",
                symbol=path,
                status=Status.TODO,
                message="the file is missing from what was written before",
                files=lambda: (NewFile(path, make()),),
            )
        elif job.kernels:
            yield from _other_content(job, code, path, make)
        return
    if not job.regenerate and not path.endswith(".rs"):
        return
    text = make()
    if job.regenerate:
        if item_diff.count_words(text) != item_diff.count_words(source.text(0, len(source.data))):
            yield found(
                span=Span(0, len(source.data)),
                construct="new file",
                symbol=path,
                status=Status.TODO,
                message="it is replaced by what would be written now",
                edits=(Edit(0, len(source.data), text),),
            )
        return
    missing, differing = item_diff.compare_items(text, source)
    for item in missing:
        yield found(
            span=Span(item.edit.start, item.edit.end),
            construct="item of a copy",
            symbol=item.symbol,
            status=Status.TODO,
            message=f"{item.symbol} is missing from what was written before",
            edits=(item.edit,),
        )
    for other in differing:
        yield Finding(
            code=code,
            path=path,
            span=other.span,
            construct="item of a copy",
            symbol=other.symbol,
            applicability=Applicability.REVIEW,
            status=Status.PORTED,
            message=f"{other.symbol} is not what would be written now; it is left alone "
            "(--regenerate replaces the file)",
            outdated=True,
        )


def _other_content(
    job: PortJob, code: str, path: str, make: Callable[[], str]
) -> Iterator[Finding]:
    """Yield the finding about a file of kernels that is not what would be written now."""
    before, text = (job.workspace.root / path).read_bytes(), make()
    if before == text.encode():
        return
    replaced = job.regenerate
    yield Finding(
        code=code,
        path=path,
        span=Span(0, 0),
        construct="new file",
        symbol=path,
        applicability=Applicability.SAFE if replaced else Applicability.REVIEW,
        status=Status.TODO if replaced else Status.PORTED,
        message="it is replaced by what would be written now"
        if replaced
        else "it is not what would be written now; it is left alone (--regenerate replaces it)",
        files=lambda: (NewFile(path, text, before),) if replaced else (),
        outdated=not replaced,
    )


def list_outdated_files(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the files that were written as a whole and are not what would be written now, sorted.

    Upstream's code or portkit has changed since, or a person has changed the file: nothing in a
    tree says which. So they are left alone unless a person asks for ``--regenerate``.
    """
    found = {f.path for f in findings if f.outdated}
    return tuple(sorted(found))


def explain_regeneration(outdated: Sequence[str], tree: str) -> str:
    """Return what to do about files that are not what would be written now, as half a sentence."""
    first, *more = outdated
    others = f" and {len(more)} other file{'s' * (len(more) > 1)}" if more else ""
    return (
        f"{first}{others} {'are' if more else 'is'} not what portkit would write now, as after a"
        f" merge of upstream: `portkit apply{tree} --regenerate` writes"
        f" {'them' if more else 'it'} anew, and `git diff` shows then whether a person's change is"
        f" lost with it; a change that is to stay `portkit review{tree}` accepts"
    )
