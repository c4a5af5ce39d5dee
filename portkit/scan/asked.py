"""The rules that a scan asks, by what they look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.lang.value import Value
from portkit.rules import FileRule, GapRule, SiteRule, TreeRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from portkit.lang.source import Source
    from portkit.rules import Rule, When
    from portkit.site.context import Job
    from portkit.tree.finding import Finding


class Asked(Value, frozen=True):
    """Rules, by what they look at."""

    by_node: Mapping[str, tuple[SiteRule, ...]]
    of_files: tuple[FileRule, ...]
    of_tree: tuple[TreeRule, ...]
    of_gaps: bool

    @classmethod
    def of(cls, chosen: Iterable[Rule]) -> Asked:
        """Sort rules by what they look at."""
        every = tuple(chosen)
        by_node: dict[str, list[SiteRule]] = {}
        for rule in every:
            if not isinstance(rule, SiteRule):
                continue
            for kind in rule.nodes:
                by_node.setdefault(kind, []).append(rule)
        always = by_node.get("*", [])
        return cls(
            {
                kind: (*found, *always) if kind != "*" else (*always,)
                for kind, found in by_node.items()
            },
            tuple(rule for rule in every if isinstance(rule, FileRule)),
            tuple(rule for rule in every if isinstance(rule, TreeRule)),
            any(isinstance(rule, GapRule) for rule in every),
        )

    def of_kind(self, kind: str) -> tuple[SiteRule, ...]:
        """Return the rules that look at a kind of node."""
        return self.by_node.get(kind) or self.by_node.get("*", ())

    def of_file(self, when: When, job: Job, source: Source) -> Iterator[Finding]:
        """Yield what the rules about files say of one."""
        for rule in self.of_files:
            if rule.when is when:
                yield from rule.check(job, source)
