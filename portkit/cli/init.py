"""``portkit init``: the first profile of a codebase, as far as its tree tells it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from portkit.cli.command import make_command
from portkit.cli.options import Directory, option
from portkit.cli.output import ask, can_ask, print_text
from portkit.report.progress import show_waiting
from portkit.syntax.shell import quote_tree_argument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.engine.scan import Scan
    from portkit.init.draft import Draft

RULES: Final = "docs/guide-rule.md"
GUIDE: Final = "docs/guide-crate.md"
"""The page that goes on, and the one of what is built on another codebase."""


@make_command("portkit init", "portkit init mine --yes", "portkit init mine --profile rocm/port")
def init(
    directory: Directory = Path(),
    profile: Annotated[
        str, typer.Option("--profile", metavar="DIR", help="The profile's new folder, in the tree.")
    ] = "port",
    yes: Annotated[
        bool, option("--yes -y", "Ask nothing: what is left open is listed instead.")
    ] = False,
) -> None:
    """Infer a profile for a codebase that has none, each line with its evidence.

    It runs nothing of the tree, and writes the profile and the line of portkit.toml that names it.
    Asked is what no tree tells, such as what a copy is called whose name is no vendor's.
    """
    from msgspec.structs import replace

    from portkit.engine.session import scan_tree
    from portkit.init.name_questions import draft_profile
    from portkit.init.profile_folder import build_changes, check_new
    from portkit.transaction.transaction import write_plan

    check_new(directory, profile)
    with show_waiting(f"Looking at {directory}"):
        found = scan_tree(directory)
        check_new(directory, profile, found.job.codebase)
        draft = draft_profile(directory, found)
    if not yes and can_ask():
        draft = replace(draft, words=tuple(_ask_names(draft)))
    write_plan(directory, build_changes(directory, profile, draft))
    with show_waiting(f"Looking at {directory} with it"):
        after = scan_tree(directory)
    print_text("\n".join(_render_result(directory, profile, draft, after)))


def _ask_names(draft: Draft) -> Iterator[tuple[str, str]]:
    """Yield the names that a person gives; an empty answer leaves it open, as Ctrl-D does."""
    for question in draft.questions:
        answer = ask(
            f"{question.evidence}.\nWhat is ROCm's {question.key} called? Such as"
            f" {question.proposed}; empty where it gets none yet: "
        ).strip()
        while answer and not answer.isidentifier():
            answer = ask(f"{answer!r} is no name that Rust takes: ").strip()
        if answer:
            yield question.key, answer


def _render_result(directory: Path, profile: str, draft: Draft, after: Scan) -> Iterator[str]:
    from portkit.init.inference import find_ported_folder, list_missing_dependencies
    from portkit.workspace.finding import Applicability, Status

    yield f"{profile}/codebase.toml is the profile of {draft.name.value}; portkit.toml names it."
    for key in ("crate", "first_version"):
        said = getattr(draft, key)
        yield f"  {key} = {said.value}: {said.evidence}"
    for key, said in draft.options:
        yield f"  {key} = {said.value}: {said.evidence}"
    for used in draft.uses:
        yield f"  built on {used.value}: {used.evidence}"
    if draft.bindings is not None:
        yield f"  bindings = {draft.bindings.value}: {draft.bindings.evidence}"
    for source in draft.sources:
        yield f"  {source.value}: {source.evidence}"
    for kept in draft.kept:
        yield f"  {kept.value}: {kept.evidence}"
    for derived in draft.derived:
        yield f"  {derived}"
    given = dict(draft.words)
    left = [f"{q.key}: {q.evidence}" for q in draft.questions if q.key not in given]
    left += draft.left
    counts = {
        "manual": _count_entries(after, Applicability.MANUAL),
        "for review": _count_entries(after, Applicability.REVIEW),
        "unaccounted": len(after.unaccounted),
    }
    if left:
        yield "Left to a person:"
        yield from (f"  {each}" for each in left)
    todo = sum(f.status is Status.TODO for f in after.findings)
    rest = ", ".join(f"{number} {what}" for what, number in counts.items() if number)
    where = quote_tree_argument(directory.as_posix())
    yield f"`portkit apply{where}` would write {todo} findings{f'; {rest}' if rest else ''}."
    for used in draft.uses:
        if place := find_ported_folder(after, used.value):
            yield f"The tree takes {used.value} from its port: {place} has the feature."
            continue
        yield f"The tree needs the port of {used.value}, beside it for one:"
        yield from (f"  {line}" for line in list_missing_dependencies(after, used.value))
    guide = GUIDE if draft.uses else RULES
    is_open = left or rest or draft.uses
    decide = (
        f" `portkit scan{where}` lists what you decide in the profile ({guide})." if is_open else ""
    )
    yield f"Next: commit {profile} and portkit.toml.{decide} Then `portkit apply{where}`."


def _count_entries(after: Scan, trust: object) -> int:
    return sum(f.applicability is trust for f in after.findings)
