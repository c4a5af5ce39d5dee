"""The page that a run of the cross-check leaves: what agreed, what differs and why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from portkit.numerics.known_differences import CLASSES, find_idle_entries, find_reasons

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from portkit.numerics.comparison import Comparison
    from portkit.numerics.known_differences import Judgement
    from portkit.verify.crosscheck import CrosscheckRun


def page(title: str, date: str, runs: Sequence[CrosscheckRun], *, whole: bool = True) -> str:
    """Return the page, as Markdown.

    Args:
        title: what was compared, such as ``toy 1.2.3``.
        date: of the run.
        runs: at least one.
        whole: whether they took every operation, so that an entry that explains nothing is told.
    """
    first = runs[0].comparison
    lines = [
        f"# Cross-check by operation: {title}",
        "",
        f"Taken on {date}. Seed {first.seed}, up to {first.cases} cases of each operation and type."
        " Each result is held against arithmetic of our own in f64; the CPU backend takes the same"
        " cases.",
        "",
        *_table(
            ("on", "cases", "agree", "both refuse", "differ", "of them not understood"),
            (
                (
                    each.run.on,
                    *map(str, map(each.comparison.total, ("cases", "agreed", "refused"))),
                    str(each.comparison.total("differed")),
                    str(len(each.judged.unexplained)),
                )
                for each in runs
            ),
        ),
    ]
    for each in runs:
        lines += ["", f"## {each.run.on}", "", *_operations(each.comparison)]
        lines += ["", *_explained(each.judged)]
        if each.judged.unexplained:
            lines += ["", "Not understood:", ""]
            lines += [f"- {who}: {difference}" for difference, who in each.judged.unexplained]
        if each.seen.launches:
            lines += ["", *_kernels(each)]
    left = find_idle_entries([each.judged for each in runs]) if whole else ()
    if left:
        lines += ["", "## Entries of the table that explain nothing here", ""]
        lines += [f"- {e.kind}: {e.operation} ({e.differs}): {e.reason.strip()}" for e in left]
    return "\n".join(lines) + "\n"


def _operations(comparison: Comparison) -> Iterator[str]:
    yield from _table(
        ("operation", "cases", "agree", "both refuse", "differ"),
        (
            (name, *(str(counts[what]) for what in ("cases", "agreed", "refused", "differed")))
            for name, counts in sorted(comparison.counts.items())
        ),
    )


def _explained(judged: Judgement) -> Iterator[str]:
    """Yield what is understood, by its reason."""
    yield "What differs, and why:"
    yield ""
    entries = {id(entry): entry for _, _, entry in judged.explained}
    rows = []
    for key, entry in entries.items():
        found = [(difference, who) for difference, who, by in judged.explained if id(by) == key]
        operations = _few({difference.operation for difference, _ in found})
        elements = _few({difference.elements for difference, _ in found})
        times = sum(difference.times for difference, _ in found)
        who = " and ".join(sorted({who for _, who in found}))
        rows.append((entry.kind, operations, elements, who, str(times), entry.reason.strip()))
    order = list(CLASSES)
    rows.sort(key=lambda row: (order.index(row[0]), row[1:]))
    yield from _table(("whose", "operations", "types", "who differs", "cases", "why"), rows)
    yield ""
    yield from (f"- {name}: {meaning}" for name, meaning in CLASSES.items())


def _kernels(compared: CrosscheckRun) -> Iterator[str]:
    launches = compared.seen.launches
    never = compared.seen.never_launched
    yield f"{len(launches) - len(never)} of {len(launches)} kernels were launched. Not launched:"
    yield ""
    why = find_reasons(never, compared.table, compared.comparison.version)
    counts = Counter(why.values())
    rows = (
        (str(count), _few({name for name, of in why.items() if of == reason}), reason or "?")
        for reason, count in sorted(counts.items())
    )
    yield from _table(("kernels", "such as", "why"), rows)


def _few(names: Iterable[str], most: int = 6) -> str:
    ordered = sorted(names)
    more = f" and {len(ordered) - most} more" if len(ordered) > most else ""
    return ", ".join(ordered[:most]) + more


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', '/') for cell in row)} |"
