"""The rules that a scan asks, by what they look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from portkit.context.port_job import PortJob
from portkit.rules import FileFilter, FileRule, GapRule, Rule, SiteRule, TreeRule
from portkit.syntax.source_file import SourceFile
from portkit.syntax.value import Value
from portkit.workspace.finding import Finding


class RuleIndex(Value, frozen=True):
    """Rules, by what they look at."""

    node_rules: Mapping[str, tuple[SiteRule, ...]]
    file_rules: tuple[FileRule, ...]
    tree_rules: tuple[TreeRule, ...]
    finds_gaps: bool

    @classmethod
    def of(cls, chosen: Iterable[Rule]) -> RuleIndex:
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

    def find_node_rules(self, kind: str) -> tuple[SiteRule, ...]:
        """Return the rules that look at a kind of node."""
        return self.node_rules.get(kind) or self.node_rules.get("*", ())

    def run_file_rules(
        self, when: FileFilter, job: PortJob, source: SourceFile
    ) -> Iterator[Finding]:
        """Yield what the rules about files say of one."""
        for rule in self.file_rules:
            if rule.when is when:
                yield from rule.check(job, source)
