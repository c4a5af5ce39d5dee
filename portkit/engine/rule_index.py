"""The rules of a scan, by their subject."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from portkit.context.port_job import PortJob
from portkit.rules import FileFilter, FileRule, Rule, SiteRule, TreeRule
from portkit.rules.match_arms import MATCH_GAP
from portkit.syntax.source_file import SourceFile
from portkit.syntax.value import Value
from portkit.workspace.finding import Finding


class RuleIndex(Value, frozen=True):
    """Rules by their subject: nodes, files, the tree."""

    node_rules: Mapping[str, tuple[SiteRule, ...]]
    file_rules: tuple[FileRule, ...]
    tree_rules: tuple[TreeRule, ...]
    finds_gaps: bool

    @classmethod
    def of(cls, chosen: Iterable[Rule]) -> RuleIndex:
        """Sort rules by their subject."""
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
            MATCH_GAP in every,
        )

    def find_node_rules(self, kind: str) -> tuple[SiteRule, ...]:
        """Return the rules for a kind of node."""
        return self.node_rules.get(kind) or self.node_rules.get("*", ())

    def run_file_rules(
        self, when: FileFilter, job: PortJob, source: SourceFile
    ) -> Iterator[Finding]:
        """Yield the findings of the file rules for one file."""
        for rule in self.file_rules:
            if rule.when is when:
                yield from rule.check(job, source)
