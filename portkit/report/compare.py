"""Compare two scans, such as those of two upstream versions.

Two places are the same where their identities are: the code, the file, the construct, the item that
holds it and the number among its like. A place whose file was renamed has another identity; it
counts as moved where one place of the same code, construct and symbol is gone and one is new.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from portkit.report.model import State, count_noun, find_state
from portkit.report.scan_json import SCHEMA
from portkit.report.terminal import align_locations, wrap_text
from portkit.syntax.shell import quote_tree_argument
from portkit.workspace.finding import Applicability, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from portkit.report.stored_reports import Entry
    from portkit.report.terminal import Terminal


class Kind(StrEnum):
    """How a finding differs between two scans."""

    NEW = "new"
    """It stands in the newer scan alone."""
    GONE = "gone"
    """It stood in the older scan alone."""
    MOVED = "moved"
    """It stands in another file."""
    CHANGED = "changed"
    """It stands where it stood, with another state or reason."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A finding that differs; ``before`` or ``after`` is None if it does not exist."""

    kind: Kind
    before: Entry | None
    after: Entry | None

    @property
    def place(self) -> Entry:
        """The place as it is, or as it was where it is gone."""
        found = self.after or self.before
        assert found is not None  # one of them stands
        return found


@dataclass(frozen=True)
class Comparison:
    """The differences between two scans.

    Attributes:
        old: what the older scan looked at, such as ``toy 1.2.3``.
        differences: by kind, then by path and line.
        shifted: how many places stand in their file, as they were, at another line.
        same: how many places are as they were.
        root: the newer tree, as the user named it.
        todo: how many places of the newer scan ``portkit apply`` writes.
    """

    old: str
    new: str
    differences: tuple[Difference, ...]
    shifted: int
    same: int
    root: str
    todo: int

    def of(self, kind: Kind) -> tuple[Difference, ...]:
        """Return the differences of a kind."""
        return tuple(d for d in self.differences if d.kind is kind)


def compare_scans(old: Entry, new: Entry) -> Comparison:
    """Return the differences between two documents of scans."""
    before = {site["id"]: site for site in old["sites"]}
    after = {site["id"]: site for site in new["sites"]}
    found: list[Difference] = []
    shifted = same = 0
    for identity in before.keys() & after.keys():
        was, now = before[identity], after[identity]
        if _read_state(was) != _read_state(now):
            found.append(Difference(Kind.CHANGED, was, now))
        elif was["line"] != now["line"]:
            shifted += 1
        else:
            same += 1
    gone = [site for site in old["sites"] if site["id"] not in after]
    fresh = [site for site in new["sites"] if site["id"] not in before]
    moved = _match_moved(gone, fresh)
    left = {site["id"] for site in moved.values()}
    found += (Difference(Kind.MOVED, s, moved[s["id"]]) for s in gone if s["id"] in moved)
    found += (Difference(Kind.GONE, s, None) for s in gone if s["id"] not in moved)
    found += (Difference(Kind.NEW, None, s) for s in fresh if s["id"] not in left)
    kinds = list(Kind)
    found.sort(key=lambda d: (kinds.index(d.kind), d.place["path"], d.place["line"], d.place["id"]))
    versions = [_read_title(document) for document in (old, new)]
    todo = sum(site["status"] == Status.TODO for site in new["sites"])
    return Comparison(
        versions[0],
        versions[1],
        tuple(found),
        shifted,
        same,
        root=str(new.get("root", ".")),
        todo=todo,
    )


def _match_moved(gone: Sequence[Entry], fresh: Sequence[Entry]) -> Mapping[str, Entry]:
    """Return the new place of each finding that moved, by its old identity, if it is unique."""
    was, now = Counter(map(_measure_likeness, gone)), Counter(map(_measure_likeness, fresh))
    homes = {_measure_likeness(site): site for site in fresh}
    return {
        site["id"]: homes[_measure_likeness(site)]
        for site in gone
        if was[_measure_likeness(site)] == now[_measure_likeness(site)] == 1
    }


def _read_state(site: Entry) -> tuple[str, str, str]:
    return site["applicability"], site["status"], _read_reason(site)


def _read_reason(site: Entry) -> str:
    """Return the message of a place without figures of its tree."""
    return str(site.get("reason", site["message"]))


def _measure_likeness(site: Entry) -> tuple[str, str, str]:
    return site["code"], site["construct"], site["symbol"]


def _read_title(document: Entry) -> str:
    codebase = document.get("summary", {}).get("codebase") or document.get("root", "")
    return f"{codebase} {document.get('version', '')}".strip()


def render_comparison_json(found: Comparison) -> str:
    """Return the comparison as a document; ``diff.schema.json`` beside this file describes it."""
    document = {
        "schema": SCHEMA,
        "old": found.old,
        "new": found.new,
        "summary": {
            **{kind.value: len(found.of(kind)) for kind in Kind},
            "shifted": found.shifted,
            "same": found.same,
        },
        "differences": [
            {"kind": d.kind.value, "before": d.before, "after": d.after} for d in found.differences
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def render_comparison_text(found: Comparison, terminal: Terminal) -> str:
    """Return the comparison for a terminal."""
    return "\n".join(_render_lines(found, terminal)) + "\n"


_TITLES: Final = {
    Kind.NEW: "New: not in the older scan",
    Kind.GONE: "Gone: not in the newer scan",
    Kind.MOVED: "Moved to another file",
    Kind.CHANGED: "Changed: another state or reason",
}


def _render_lines(found: Comparison, terminal: Terminal) -> Iterator[str]:
    counts = ", ".join(f"{len(found.of(kind))} {kind}" for kind in Kind)
    headline = (
        f"From {found.old} to {found.new}: {counts}; {found.shifted} at another line,"
        f" {found.same} as they were"
    )
    for line in wrap_text(headline, terminal.width):
        yield terminal.bold(line)
    for kind, title in _TITLES.items():
        differences = found.of(kind)
        if not differences:
            continue
        yield ""
        yield from map(
            terminal.notable, wrap_text(f"{title} ({_render_count(differences)})", terminal.width)
        )
        for heading, group in _group_differences(differences):
            yield from wrap_text(f"  {heading}", terminal.width, "      ")
            rows = [(_format_position(d), d.place["symbol"]) for d in group]
            for line in align_locations(rows, width=terminal.width, indent="      "):
                yield terminal.dim(line)
    if found.todo:
        where = quote_tree_argument(found.root)
        text = f"Next: `portkit apply{where}` writes {count_noun(found.todo, 'place')}."
        yield from ("", *map(terminal.bold, wrap_text(text, terminal.width)))


def _render_count(differences: Sequence[Difference]) -> str:
    states = Counter(_find_state(d.place) for d in differences)
    kinds = ", ".join(f"{states[state]} {state.word}" for state in State if states[state])
    return f"{count_noun(len(differences), 'place')}: {kinds}"


def _group_differences(differences: Iterable[Difference]) -> Iterator[tuple[str, list[Difference]]]:
    """Yield the differences of one rule and one reason together, with a heading.

    What asks for something comes first. Places that are kept are many and ask for nothing: those
    that are new or gone are counted in their heading, not listed.
    """
    order = list(State)
    grouped: dict[tuple[int, str], list[Difference]] = {}
    for difference in differences:
        place = difference.place
        heading = f"{place['code']} {place['construct']}: {_render_change(difference)}"
        state = order.index(_find_state(place))
        grouped.setdefault((state, heading), []).append(difference)
    for (state, heading), group in sorted(grouped.items(), key=lambda item: item[0]):
        if order[state] is State.KEPT and group[0].kind in (Kind.NEW, Kind.GONE):
            yield f"{heading} ({count_noun(len(group), 'place')})", []
        else:
            yield heading, group


def _render_change(difference: Difference) -> str:
    was, now = difference.before, difference.after
    if difference.kind is not Kind.CHANGED or was is None or now is None:
        return _name_state(difference.place)
    return f"{' -> '.join(dict.fromkeys(map(_name_state, (was, now))))}: {_read_reason(now)}"


def _name_state(site: Entry) -> str:
    """Return what reports call the state of a place; one for review is written, or is not yet."""
    asked = {Status.TODO: ", to do", Status.PORTED: ", ported"}
    state = _find_state(site)
    return state.word + (asked.get(site["status"], "") if state is State.REVIEW else "")


def _find_state(site: Entry) -> State:
    return find_state(Applicability(site["applicability"]), Status(site["status"]))


def _format_position(difference: Difference) -> str:
    place, was = difference.place, difference.before
    position = f"{place['path']}:{place['line']}"
    if difference.kind is Kind.MOVED and was is not None:
        return f"{was['path']}:{was['line']} -> {position}"
    return position


def render_comparison_markdown(found: Comparison) -> str:
    """Return the comparison for a pull request."""
    return "\n".join(_render_markdown(found)) + "\n"


def _render_markdown(found: Comparison) -> Iterator[str]:
    from portkit.report.markdown import escape_code, escape_markdown

    yield f"# From {escape_markdown(found.old)} to {escape_markdown(found.new)}"
    yield ""
    yield "| what | places |"
    yield "| --- | ---: |"
    for kind in Kind:
        yield f"| {kind} | {len(found.of(kind))} |"
    yield f"| at another line | {found.shifted} |"
    yield f"| as they were | {found.same} |"
    for kind, title in _TITLES.items():
        differences = found.of(kind)
        if differences:
            yield from ("", f"## {title} ({_render_count(differences)})", "")
        for heading, group in _group_differences(differences):
            yield f"- {escape_markdown(heading)}"
            for difference in group:
                position = escape_code(_format_position(difference))
                yield f"  - `{position}` `{escape_code(difference.place['symbol'])}`"
