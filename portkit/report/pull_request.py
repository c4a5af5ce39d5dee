"""The text of a pull request with a port, in the Markdown that GitHub takes.

What asks something of a reviewer comes first. Places, reasons and counts are those of the reports;
lines are git's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from portkit.report.markdown import (
    escape_cell,
    escape_code,
    escape_markdown,
    render_markdown_table,
    render_reasons,
    render_sites,
)
from portkit.report.model import MEANINGS, State, count_noun, count_places, count_states
from portkit.report.public_api import ApiChanges
from portkit.rules import cfg_conditions, profile_patches
from portkit.syntax.value import Value
from portkit.workspace.finding import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from portkit.report.model import Report, ReportedSite
    from portkit.report.stored_reports import Entry
    from portkit.workspace.git_series import SeriesCommit

LONGEST: Final = 65_536
"""How many characters GitHub takes (its API answers "body is too long (maximum is 65536
characters)")."""
_SHOWN: Final = (None, 20, 5, 2, 0)
"""How many places of one reason are named, the next where the text is too long."""
_EVIDENCE: Final = 3
_CUT: Final = "\n\n_The rest does not fit: `portkit scan --format markdown` has it._\n"
_REPAIRS: Final = (
    f"The defects ({profile_patches.REPAIR.code}) are on the CUDA side too, which this leaves"
    " alone: `portkit repairs` writes a commit with a test for each."
)


class PullRequestFacts(Value, frozen=True):
    """Facts for a pull request that the report of the ported tree lacks.

    Attributes:
        renamed: a name of the source's as the written vendor has it.
        lines: lines added and removed since then, by file.
        api: what is new to who uses the crates.
        series: the commits of the series; none where there is none.
        verified: the document of a verification, if there is one.
    """

    renamed: Callable[[str], str]
    feature: str
    crates: tuple[str, ...]
    base: str
    lines: Mapping[str, tuple[int, int]]
    api: ApiChanges = ApiChanges()
    series: tuple[SeriesCommit, ...] = ()
    verified: Entry | None = None


def render_pull_request(report: Report, facts: PullRequestFacts) -> str:
    """Return the text, with a newline at its end, and no longer than GitHub takes."""
    text = ""
    for shown in _SHOWN:
        text = "\n".join(_render_lines(report, facts, shown)) + "\n"
        if len(text) <= LONGEST:
            return text
    whole_lines = text[: LONGEST - len(_CUT)].rpartition("\n")[0]
    return whole_lines + _CUT


def _render_lines(report: Report, facts: PullRequestFacts, shown: int | None) -> Iterator[str]:
    counts = count_states(report.sites)
    mentions = count_noun(len(report.unaccounted), "backend mention")
    yield (
        f"{report.title} on AMD GPUs, by {report.platform}: {count_places(report.sites)}"
        f" ({', '.join(f'{n} {state.word}' for state, n in counts.items() if n)}), {mentions}"
        " unaccounted for."
    )
    yield from _render_additions(report, facts)
    yield from _render_reviews(report, shown)
    yield from _render_evidence(facts)
    yield from _render_limits(report)
    yield from _render_sizes(report, facts)


def _render_additions(report: Report, facts: PullRequestFacts) -> Iterator[str]:
    yield from ("", "## What is new for a user", "")
    api = facts.api
    if facts.crates:
        off = "" if api.closed or api.defaults else "; nothing changes for who leaves it off"
        yield f"- The feature `{facts.feature}` of {_render_series(facts.crates)}{off}."
    for name, crates in api.features.items():
        if name != facts.feature:
            yield f"- The feature `{escape_code(name)}` of {_render_series(crates)}."
    for name, crates in api.defaults.items():
        yield (
            f"- `{escape_code(name)}` is a default feature of {_render_series(crates)} now: who"
            " takes one with"
            " `default-features = false` has to ask for it."
        )
    added = sorted(
        path.removesuffix("/Cargo.toml")
        for path in facts.lines
        if path.endswith("/Cargo.toml") and _is_added(report, path, facts)
    )
    if added:
        yield f"- New crates: {', '.join(f'`{escape_code(path)}`' for path in added)}."
    for kind, names in api.names.items():
        yield f"- New public {kind}: {_render_series(names)}."
    if shared := _list_shared_functions(report, facts):
        yield f"- Functions that run on {report.platform} as well: {_render_series(shared)}."
    if api.enums:
        yield f"- A variant for {report.platform} in {_render_series(api.enums)}."
    if api.closed:
        yield (
            f"- **A breaking change**: the variants of {_render_series(api.closed)} are there"
            " in every"
            " build, so that a `match` on one of these enums that has no `_` does not compile any"
            " more."
        )
    programs = [p for p in facts.lines if "/examples/" in p and facts.feature in p]
    if programs:
        yield f"- Examples: {', '.join(f'`{escape_code(p)}`' for p in programs)}."
    if facts.series:
        yield from ("", f"In {count_noun(len(facts.series), 'commit')}, to be read in turn:", "")
        yield from (f"1. {escape_markdown(member.subject)}" for member in facts.series)


def _list_shared_functions(report: Report, facts: PullRequestFacts) -> Iterable[str]:
    """Return the functions whose copies are called by the names that they had."""
    return dict.fromkeys(
        site.symbol
        for site in report.sites
        if site.code == cfg_conditions.CFG_FUNCTION.code
        and site.status is Status.PORTED
        and facts.renamed(site.symbol) == site.symbol
        and not any(folder in site.path.split("/") for folder in ("tests", "examples"))
    )


def _is_added(report: Report, path: str, facts: PullRequestFacts) -> bool:
    """Whether the port adds a crate: nothing of its manifest was there before."""
    folder = path.removesuffix("/Cargo.toml")
    inside = [facts.lines[p] for p in facts.lines if p.startswith(f"{folder}/")]
    mentions = any(site.path == path for site in report.sites)
    return not mentions and not any(removed for _, removed in inside)


def _render_series(names: Iterable[str]) -> str:
    return ", ".join(f"`{escape_code(name)}`" for name in names)


def _render_reviews(report: Report, shown: int | None) -> Iterator[str]:
    yield from ("", "## What to look at", "")
    asking = [s for s in report.sites if s.state in (State.MANUAL, State.REVIEW)]
    if not asking:
        yield "No place asks for a decision."
    else:
        yield (
            f"{count_places(asking)}, those of one reason together; all others follow from the"
            " CUDA side"
            " by a rule each."
        )
        for state in (State.MANUAL, State.REVIEW):
            if found := [site for site in asking if site.state is state]:
                yield from ("", f"### {state.capitalize()}: {MEANINGS[state]}", "")
                yield from render_sites(found, shown)
        if any(site.code == profile_patches.REPAIR.code for site in asking):
            yield from ("", _REPAIRS)
    kept: list[ReportedSite] = [site for site in report.sites if site.state is State.KEPT]
    if kept:
        yield from ("", f"### No change: {MEANINGS[State.KEPT]}", "")
        yield from render_reasons(kept)


def _render_evidence(facts: PullRequestFacts) -> Iterator[str]:
    yield from ("", "## What was proven, and how to repeat it", "")
    steps: Sequence[Any] = facts.verified["steps"] if facts.verified is not None else ()
    if not steps:
        yield (
            "Nothing is recorded here yet: `portkit verify --json verify.json`, then"
            " `portkit pull-request --verified verify.json`."
        )
    else:
        rows = [
            [
                step["step"],
                escape_markdown(str(step["shows"])).replace("|", "\\|"),
                step["verdict"],
                "<br>".join(escape_cell(str(line)) for line in step["evidence"][:_EVIDENCE]),
            ]
            for step in steps
        ]
        yield from render_markdown_table(("step", "shows", "verdict", "evidence"), rows)
    walked = ", `portkit verify --series` for each commit" if facts.series else ""
    yield from ("", f"To repeat it: `portkit verify --baseline {facts.base[:12]}`{walked}.")
    yield from ("", "## What was not proven", "")
    yield (
        "- Nothing ran on an AMD GPU, unless the step device above names one: `portkit trial` makes"
        " one file for a machine that has one."
    )
    for step in steps:
        skipped = step["evidence"][:1] if step["verdict"] == "skipped" else []
        for reason in (*skipped, *step["left_out"]):
            yield f"- {step['step']}: {escape_markdown(str(reason))}"
    for step in steps:
        if step["verdict"] == "not taken":
            yield f"- {step['step']}: not taken"


def _render_limits(report: Report) -> Iterator[str]:
    missing = [site for site in report.sites if site.is_left_out]
    manual = [site for site in report.sites if site.state is State.MANUAL]
    todo = [s for s in report.sites if s.state is State.MECHANICAL]
    said = [
        f"- {words}: {count_places(found)}."
        for words, found in (
            ("Left out, and answered by an error", missing),
            ("Still to be written by a person", manual),
            ("Still to be written by `portkit apply`", todo),
        )
        if found
    ]
    if report.unaccounted:
        mentions = count_noun(len(report.unaccounted), "mention")
        said.append(f"- {mentions} of a backend that no rule explains.")
    if any(site.state is State.KEPT for site in report.sites):
        said.append(
            "- The findings under *No change*, above, stay as they are, each with its reason."
        )
    yield from ("", "## Limits", "", *(said or ["None that the reports know."]))


def _render_sizes(report: Report, facts: PullRequestFacts) -> Iterator[str]:
    yield from ("", "## Sizes", "", f"Since {facts.base[:12]}, by `git diff --numstat`:", "")
    folders = {crate.path for crate in report.crates} | {
        path.removesuffix("/Cargo.toml") for path in facts.lines if path.endswith("/Cargo.toml")
    }
    grouped: dict[str, list[tuple[int, int]]] = {}
    for path, lines in facts.lines.items():
        inside = (folder for folder in folders if path.startswith(f"{folder}/"))
        grouped.setdefault(max(inside, key=len, default="."), []).append(lines)
    rows = [[escape_cell(name), *_add_lines(found)] for name, found in sorted(grouped.items())]
    rows.append(["all", *_add_lines(list(facts.lines.values()))])
    yield from render_markdown_table(("crate", "files", "lines added", "lines removed"), rows)


def _add_lines(found: Sequence[tuple[int, int]]) -> tuple[int, int, int]:
    return len(found), sum(added for added, _ in found), sum(removed for _, removed in found)
