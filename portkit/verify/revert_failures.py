"""Drop the findings that would not type-check from a port before it is written.

The plan is compiled in a copy of the tree (`portkit.verify.scratch_tree`), without the feature and
with it. Each error is led back to the sites that wrote the lines that rustc names, the primary
ones first. These are left out, with rustc's words for a reason, and the rest
is compiled again. Only the errors that are explained best are acted on at once, since many of the
others follow from them. What cannot be led back to a place takes everything back.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace as replace_value
from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from portkit.engine.exclusions import make_unchanged
from portkit.engine.partial_ports import (
    find_missing_variants,
    restore_required_arms,
)
from portkit.errors import BrokenBuildError, VerificationError
from portkit.rules import manifest_features
from portkit.verify.blame import align_authors, attribute_edited_lines
from portkit.verify.scratch_tree import ScratchTree
from portkit.verify.type_check import check, list_complaints
from portkit.workspace.finding import Place, Status
from portkit.workspace.process import end_on_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from portkit.engine.plan import Plan
    from portkit.engine.scan import Scan
    from portkit.verify.diagnostics import Diagnostic, LineRange
    from portkit.verify.type_check import CheckRun
    from portkit.verify.verified_tree import VerifiedTree
    from portkit.workspace.finding import Finding

LIMIT: Final = 25
"""How often something is taken back before everything is; in each round at least one place is."""
STEP: Final = "taken back: "
"""What begins the line that tells of a round."""
_NAMED: Final = 3
"""How many complaints a sentence has."""
_DETAIL: Final = "taken back by --verify"
_VARIANT: Final = "it names a variant that was taken back"


@dataclass(frozen=True)
class TypeCheckedPort:
    """The part of a port that type-checks.

    Attributes:
        whole: the scan of the tree, what was taken back told apart.
        chosen: the same with the places alone that are to be written.
        features: the features that the compiler was run with, in words.
    """

    whole: Scan
    chosen: Scan
    plan: Plan
    taken: Mapping[Place, str]
    features: str = ""


def check_port(
    tree: VerifiedTree,
    chosen: Scan,
    planned: Callable[[Scan], Plan],
    *,
    consent: Callable[[Path], object],
    all_or_nothing: bool = False,
) -> TypeCheckedPort:
    """Return the part of a port that type-checks, with and without the feature.

    Nothing is written into the tree.

    Args:
        tree: the tree before the port.
        chosen: its scan with the places alone that are to be written.
        planned: makes the plan of a scan.
        consent: is given the tree's root before anything that the tree brings is run outside a
            sandbox, and raises a ``PortkitError`` where that may not be.
        all_or_nothing: whether everything is taken back as soon as something is.
    """
    _ = tree.sandbox
    if not tree.options.sandbox:
        consent(tree.root)
    scratch = ScratchTree(tree.scan.job.workspace, "apply")
    taken: dict[Place, str] = {}
    with end_on_signals(), scratch.lock():
        for _ in range(LIMIT):
            now = _plan_without(tree.scan, chosen, planned, taken)
            if not any(f.status is Status.TODO and not f.excluded for f in now.chosen.findings):
                raise _make_broken_error(
                    tree, f"nothing of it is left ({_format_list(taken.values())})"
                )
            scratch.write_tree(now.plan.changes)
            features, found = _run_checks(tree, scratch.folder, now.chosen)
            if found.good:
                both = f"without the feature and with {features}" if features else "no feature on"
                return replace_value(now, features=both)
            if not features:
                _check_before(tree)
            errors = {d: named for d, named in found.found.items() if d.level == "error"}
            complaints = list_complaints(list(errors), found.said)
            said = f"{features or 'no feature'}: {_format_list(complaints)}"
            if all_or_nothing:
                raise _make_broken_error(tree, said)
            explained = _explain_failures(_Writers(now), errors)
            if not explained:
                raise _make_broken_error(tree, f"no place explains it ({said})")
            tree.say(f"{STEP}{len(explained)}, since {_format_list(explained.values())}")
            taken |= explained
    raise _make_broken_error(
        tree, f"{LIMIT} times something was taken back, and it still does not ({said})"
    )


def _plan_without(
    whole: Scan, chosen: Scan, planned: Callable[[Scan], Plan], taken: dict[Place, str]
) -> TypeCheckedPort:
    """Return the plan without some findings and those that need their variants.

    The latter are added to the places.
    """
    left = _drop_findings(whole, taken)
    for finding in find_missing_variants(left, _drop_findings(chosen, taken)):
        taken[finding.place] = _VARIANT
    left = _drop_findings(whole, taken)
    ported = restore_required_arms(left, _drop_findings(chosen, taken))
    return TypeCheckedPort(left, ported, planned(ported), taken)


def _drop_findings(scan: Scan, taken: Mapping[Place, str]) -> Scan:
    def kept(finding: Finding) -> Finding:
        reason = taken.get(finding.place)
        if reason is None:
            return finding
        return replace(make_unchanged(finding, reason, _DETAIL), reason=reason)

    return replace(scan, findings=tuple(map(kept, scan.findings)))


def _run_checks(tree: VerifiedTree, folder: Path, ported: Scan) -> tuple[str, CheckRun]:
    """Return how the compiler fares without the feature, and with it if that is well.

    Cargo refuses a feature that no member has, as where its place is not among the chosen ones.
    """
    found = check(tree, "check", (), folder=folder)
    has = any(tree.feature in crate.features for crate in ported.job.workspace.crates) or any(
        f.code == manifest_features.FEATURE.code and f.status is Status.TODO
        for f in ported.findings
    )
    if not found.good or not has:
        return "", found
    return tree.feature, check(tree, "check", (tree.feature,), folder=folder)


def _check_before(tree: VerifiedTree) -> None:
    scratch = ScratchTree(tree.scan.job.workspace, "before")
    with scratch.lock():
        scratch.write_tree()
        found = check(tree, "check", (), folder=scratch.folder)
    if not found.good:
        errors = [d for d in found.found if d.level == "error"]
        raise VerificationError(
            f"{tree.root} does not type-check before the port either"
            f" ({_format_list(list_complaints(errors, found.said))}), so portkit cannot tell"
            " what the port"
            " breaks: fix that, or pass --no-verify; nothing was written"
        )


class _Writers:
    """The findings that wrote the lines of a plan."""

    def __init__(self, now: TypeCheckedPort) -> None:
        self.scan = now.chosen
        self.after = {change.path: change.after for change in now.plan.changes}
        self._known: dict[str, list[Place | None]] = {}

    def of(self, lines: LineRange) -> set[Place]:
        """Return the findings that wrote some of these lines."""
        if lines.path not in self._known:
            self._known[lines.path] = self._read(lines.path)
        found = self._known[lines.path][lines.first - 1 : lines.last]
        return {each for each in found if each is not None}

    def _read(self, path: str) -> list[Place | None]:
        after = self.after.get(path)
        if after is None:
            return []
        if (writer := self._files.get(path)) is not None:
            return [writer] * (after.count(b"\n") + 1)
        todo = [f for f in self.scan.findings if f.path == path and f.status is Status.TODO]
        edits = [(edit, finding.place) for finding in todo for edit in finding.edits]
        return align_authors(
            attribute_edited_lines(self.scan.job.workspace.sources[path].data, edits), after
        )

    @cached_property
    def _files(self) -> Mapping[str, Place]:
        todo = (f for f in self.scan.findings if f.status is Status.TODO)
        return {file.path: finding.place for finding in todo for file in finding.files()}


def _explain_failures(
    writers: _Writers, errors: Mapping[Diagnostic, Sequence[LineRange]]
) -> dict[Place, str]:
    """Return the findings to drop, each with rustc's reason.

    Those that the first line of an error leads to, if there are any; else those in all that errors
    are about; else those that they say more by, such as the variant that a ``match`` lacks.
    """
    open_ = {f.place for f in writers.scan.findings if f.status is Status.TODO and not f.excluded}
    for nearness in (_find_first_line, _find_primary_lines, lambda _, named: named):
        found: dict[Place, str] = {}
        for error, named in errors.items():
            for lines in nearness(error, named):
                for each in sorted(writers.of(lines) & open_):
                    found.setdefault(
                        each, f"with it the tree does not type-check: {error.text_without_position}"
                    )
        if found:
            return found
    return {}


def _find_first_line(error: Diagnostic, named: Sequence[LineRange]) -> Iterator[LineRange]:
    for lines in named:
        if lines.primary and (lines.path, lines.first) == (error.path, error.line):
            yield lines._replace(last=lines.first)


def _find_primary_lines(error: Diagnostic, named: Sequence[LineRange]) -> Iterator[LineRange]:
    return (lines for lines in named if lines.primary)


def _format_list(said: Iterable[str]) -> str:
    each = list(dict.fromkeys(said))
    more = len(each) - _NAMED
    return "; ".join([*each[:_NAMED], *([f"and {more} more"] if more > 0 else [])]) or "no message"


def _make_broken_error(tree: VerifiedTree, why: str) -> BrokenBuildError:
    return BrokenBuildError(
        f"the port of {tree.root} would not type-check, {why}: exclude what breaks it, by --skip"
        " or in portkit.toml, or pass --no-verify and fix it yourself; nothing was written"
    )
