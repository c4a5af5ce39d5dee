"""A rule of the kernels stage, and the hits that it finds in a source."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from portkit.syntax.span import Span
from portkit.syntax.value import Value
from portkit.workspace.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from portkit.hipify.kernel_source import KernelSource

_START: Final = Span(0, 0)


def report_site(
    code: str,
    path: str,
    construct: str,
    symbol: str,
    message: str,
    applicability: Applicability,
    span: Span = _START,
) -> Finding:
    """Return a finding that writes nothing, by default about a file as a whole."""
    return Finding(code, path, span, construct, symbol, applicability, Status.NONE, message)


class Hit(NamedTuple):
    """A construct, by the indices of its first and last token.

    Without edits it is for a person, with edits it is mechanical, unless ``applicability`` says
    otherwise. The construct is the rule's unless it has one of its own.
    """

    first: int
    last: int
    message: str
    edits: tuple[Edit, ...] = ()
    construct: str = ""
    applicability: Applicability | None = None


class KernelRule(Value, frozen=True):
    """One rule."""

    code: str  # stable, ``PHnnn``: 1nn rewrites, 2nn refuses; 3nn are a profile's patches
    name: str  # the name of its page in ``pages.toml`` and of its folder of fixtures
    construct: str  # the kind of construct in words
    # yields the hits in one source, or findings about the whole file
    find: Callable[[KernelSource], Iterable[Hit | Finding]]

    @property
    def doc(self) -> str:
        """The text of its page."""
        return _load_pages()[self.name]

    def apply(self, source: KernelSource) -> Iterator[Finding]:
        """Yield the findings in one source."""
        for hit in self.find(source):
            if isinstance(hit, Finding):
                yield hit
                continue
            first, last, message, edits, construct, applicability = hit
            span = Span(source.tokens[first].start, source.tokens[last].end)
            yield Finding(
                code=self.code,
                path=source.path,
                span=span,
                construct=construct or self.construct,
                symbol=source.texts[first],
                applicability=applicability
                or (Applicability.SAFE if edits else Applicability.MANUAL),
                status=Status.TODO if edits else Status.NONE,
                message=message,
                edits=edits,
                claims=(span,),
            )


@cache
def _load_pages() -> dict[str, str]:
    pages: dict[str, str] = tomllib.loads(
        Path(__file__).with_name("pages.toml").read_text(encoding="utf-8")
    )
    return pages
