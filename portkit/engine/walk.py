"""The findings of one file, by a walk into the nodes that hold unclaimed mentions."""

from __future__ import annotations

import bisect
import os
import re
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence

from msgspec.structs import replace
from tree_sitter import Node

from portkit.context.macro_fragments import parse_tokens
from portkit.context.port_job import PortJob, Scope, Site
from portkit.engine.rule_index import RuleIndex
from portkit.errors import PlanError, PortkitError
from portkit.port.emit import make_finding
from portkit.port.reexported_bindings import adapt_to_file
from portkit.rules import FileFilter
from portkit.rules.file_rules import report_failed_file, report_unread_file
from portkit.syntax.cfg import FIELD_VALUES
from portkit.syntax.items import describe_item
from portkit.syntax.source_file import (
    ATTACHED,
    SourceFile,
    field_text,
    group_attributes,
    node_text,
    span_of,
)
from portkit.syntax.span import Span
from portkit.syntax.value import Value
from portkit.syntax.word_search import build_word_finder, find_occurrences
from portkit.workspace.cargo_workspace import KERNELS
from portkit.workspace.edits import apply_edits
from portkit.workspace.finding import Finding

_NOT_WHOLE = (
    "the parser does not understand the item around this place (PK901), so nothing is written: do"
    " it by hand"
)
DEEPEST = 1_000
"""How many levels of syntax are looked into: time grows with their square; a codebase has 20."""
MOST_PLACES = 200_000
"""How many places of one file are looked at; a codebase has 200."""
MOST_READ = 1 << 26
"""How many bytes the nodes of one file may have that rules are asked about; a codebase has 1 MB."""
_CONTAINERS = {"trait_item": "trait", "impl_item": "impl", "mod_item": "", "foreign_mod_item": ""}


class TooMuchError(Exception):
    """A file exceeds a limit; the message is half a sentence."""


class Unaccounted(Value, frozen=True, order=True):
    """A backend mention that no finding accounts for."""

    path: str
    offset: int
    line: int
    text: str


class Walk:
    """One walk over one file."""

    def __init__(
        self,
        job: PortJob,
        source: SourceFile,
        places: list[int],
        asked: RuleIndex,
    ) -> None:
        self.job = job
        self.source = source
        self.places = list(places)
        self.read = 0
        # A union-find: from each place towards the first one from there on that is not claimed.
        self.next = list(range(len(places) + 1))
        self.known: dict[tuple[Hashable, ...], object] = {}
        self.asked = asked
        self.crate = job.workspace.crate_of(source.path)
        self.findings: list[Finding] = []
        self.broken: list[Span] = []

    def run(self) -> tuple[list[Finding], list[Unaccounted]]:
        """Walk from the root; return the findings and the unaccounted mentions."""
        tree = self.source.tree_around(self.places, self.job.rocm_words)
        root = tree.root_node
        if root.has_error:
            self.findings += self.asked.run_file_rules(FileFilter.BROKEN, self.job, self.source)
            broken = [c for c in root.children if c.has_error or c.is_missing]
            # Where no part is broken the parser could make no file of the parts.
            self.broken = [span_of(node) for node in broken or [root]]
        whole = self._make_site(root, (), (), Scope(), None)
        pending: deque[Site] = deque()
        self._push_children(pending, whole, Scope())
        while pending:
            site = pending.pop()
            if not self._holds_open(site.start, site.node.end_byte):
                continue
            self.read += site.node.end_byte - site.start
            if self.read > MOST_READ:
                raise TooMuchError("its places lie too deep in each other for their number")
            for rule in self.asked.find_node_rules(site.kind):
                for intent in rule.check(site):
                    finding = self._make_manual_if_broken(make_finding(site, rule.code, intent))
                    self.findings.append(finding)
                    self._claim(finding.claims)
            if self._holds_open(site.start, site.node.end_byte):
                self._push_children(pending, site, _make_inner_scope(site))
        return self.findings, self._list_unaccounted()

    def _make_manual_if_broken(self, finding: Finding) -> Finding:
        """Return a finding as manual if it edits an item with a syntax error."""
        edits = finding.edits
        within = any(s.start <= e.end and e.start <= s.end for s in self.broken for e in edits)
        return finding.to_manual(f"{finding.message}; {_NOT_WHOLE}") if within else finding

    def _list_unaccounted(self) -> list[Unaccounted]:
        found = []
        at = self._find_open(0)
        while at < len(self.places):
            offset = self.places[at]
            line, column = self.source.position(offset)
            said = self.source.line_around(offset, offset + 1 - column)
            found.append(Unaccounted(self.source.path, offset, line, said))
            at = self._find_open(at + 1)
        return found

    def _push_children(self, pending: deque[Site], site: Site, scope: Scope) -> None:
        node = site.node
        # Attributes of such a node are its own, not those of the child behind them.
        own = node.type in FIELD_VALUES
        code = parse_tokens(site) or node
        siblings = tuple((c, ()) for c in node.children) if own else tuple(group_attributes(code))
        for child, attributes in reversed(siblings):
            start = attributes[0].start_byte if attributes else child.start_byte
            if not self._holds_open(start, child.end_byte):
                continue
            pending.append(self._make_site(child, attributes, siblings, scope, site))
            # Comments among the attributes of an item that nobody claims are places of their own.
            for attached in attributes:
                if attached.type != "attribute_item":
                    pending.appendleft(self._make_site(attached, (), siblings, scope, site))

    def _make_site(
        self,
        node: Node,
        attributes: tuple[Node, ...],
        siblings: tuple[tuple[Node, tuple[Node, ...]], ...],
        scope: Scope,
        outer: Site | None,
    ) -> Site:
        level = 0 if outer is None else outer.level + 1
        if level > DEEPEST:
            raise TooMuchError(f"it is nested deeper than {DEEPEST:,} levels")
        crate, job = self.crate, self.job
        return Site(
            node, attributes, siblings, self.source, scope, crate, job, outer, level, self.known
        )

    def _holds_open(self, start: int, end: int) -> bool:
        at = self._find_open(bisect.bisect_left(self.places, start))
        return at < len(self.places) and self.places[at] < end

    def _find_open(self, at: int) -> int:
        """Return the index of the first unclaimed place from an index on."""
        last = at
        while self.next[last] != last:
            last = self.next[last]
        while self.next[at] != last:
            self.next[at], at = last, self.next[at]
        return last

    def _claim(self, spans: Iterable[Span]) -> None:
        for span in spans:
            high = bisect.bisect_left(self.places, span.end)
            at = self._find_open(bisect.bisect_left(self.places, span.start))
            while at < high:
                self.next[at] = at + 1
                at = self._find_open(at + 1)


def _make_inner_scope(site: Site) -> Scope:
    """Return the scope inside a site."""
    scope, node = site.scope, site.node
    vendor = scope.vendor or _find_vendor(site)
    gated = scope.gated or site.is_rocm_only
    if node.type in (
        "function_item",
        "trait_item",
        "impl_item",
        "mod_item",
        "enum_item",
        "struct_item",
        "macro_definition",
        "function_definition",
        "class_definition",
    ):
        name = describe_item(node)
        container = _CONTAINERS.get(node.type, "")
        if container == "impl" and node.child_by_field_name("trait") is not None:
            container = "trait impl"
        type_name = scope.type_name
        if node.type in ("impl_item", "trait_item"):
            type_name = name.rsplit(" for ", 1)[-1].removeprefix("trait ")
        return Scope(
            symbol=site.symbol(name),
            function=field_text(node, "name") if "function" in node.type else scope.function,
            type_name=type_name,
            container=container,
            vendor=vendor,
            gated=gated,
        )
    lists = ("declaration_list", "enum_variant_list", "field_declaration_list")
    container = scope.container if node.type in lists else ""
    if (vendor, gated, container) == (scope.vendor, scope.gated, scope.container):
        return scope  # as within most nodes
    return replace(scope, vendor=vendor, gated=gated, container=container)


def _find_vendor(site: Site) -> str:
    """Return the vendor that a site is specific to, or an empty string."""
    job, kind = site.job, site.kind
    if site.unported_feature:
        return "unported"
    if kind in ATTACHED:
        return ""
    if site.is_cuda_only:
        return job.vendor.source
    if site.is_rocm_only:
        return job.vendor.name
    if kind in ("function_item", "struct_item", "trait_item", "mod_item", "const_item"):
        named = job.find_vendor(site.name)
        return named if named in (job.vendor.source, job.vendor.name) else ""
    if kind == "impl_item":
        head = field_text(site.node, "type") + " " + field_text(site.node, "trait")
        if job.rename_changes_code(head):
            return job.vendor.source
        if job.vendor.variant in head:
            return job.vendor.name
    if kind == "match_arm":
        pattern = node_text(site.node.child_by_field_name("pattern"))
        return job.vendor.name if re.search(rf"\b{job.vendor.variant}\b", pattern) else ""
    return ""


_UNSETTLED = (
    "with what would be written the parser understands this file otherwise, so nothing is written:"
    " do it by hand"
)


def scan_file(
    job: PortJob, path: str, asked: RuleIndex, is_written: Callable[[str], bool]
) -> tuple[list[Finding], list[Unaccounted]]:
    """Return the findings of a file, and its unaccounted mentions.

    A file that portkit fails on is one finding, and the others are looked at.
    """
    try:
        return _walk_file(job, path, asked, is_written)
    except TooMuchError as error:
        return [report_unread_file(path, str(error), job.workspace.sources[path].size)], []
    except PortkitError:
        raise
    except Exception as error:
        if os.environ.get("PORTKIT_TRACEBACK"):
            raise
        return [report_failed_file(path, error, job.workspace.sources[path].size)], []
    finally:
        job.workspace.sources[path].forget()


def _walk_file(
    job: PortJob, path: str, asked: RuleIndex, is_written: Callable[[str], bool]
) -> tuple[list[Finding], list[Unaccounted]]:
    source = job.workspace.sources[path]
    job = adapt_to_file(job, source)
    found = list(asked.run_file_rules(FileFilter.ALWAYS, job, source))
    places = sorted({*job.tree_facts.mentions.get(path, ()), *_find_seeds(job, source)})
    # Most files have no place, and to see whether the port writes one takes longer.
    if not (places or path in job.tree_facts.copied_files) or is_written(path):
        return found, []
    if len(places) > MOST_PLACES:
        raise TooMuchError(f"it names backends {len(places):,} times, more than {MOST_PLACES:,}")
    whole = list(asked.run_file_rules(FileFilter.MENTIONS, job, source))
    if whole:
        return [*found, *whole], []
    walk = Walk(job, source, places, asked)
    walked, left = walk.run()
    found += walked
    # The parser of Python reads much that is none, by its own lights.
    doubtful = walk.broken or path.endswith((".py", ".pyi"))
    if doubtful and any(f.edits for f in found) and _is_unsettled(walk, found):
        found = [f.to_manual(f"{f.message}; {_UNSETTLED}") if f.edits else f for f in found]
    return found, left


def _is_unsettled(walk: Walk, findings: Sequence[Finding]) -> bool:
    """Whether a second scan of the written file would find more to do.

    What the parser does not understand it may understand otherwise then.
    """
    try:
        source = SourceFile(walk.source.path, apply_edits(walk.source, findings))
    except PlanError:
        return True
    words = (*walk.job.vendor.vocabulary, *walk.job.vendor.peer_vocabulary)
    places = sorted({*walk.job.mentions(source, words), *_find_seeds(walk.job, source)})
    again, _ = Walk(walk.job, source, places, walk.asked).run()
    return any(f.edits for f in again) or (not walk.broken and source.tree.root_node.has_error)


def _find_seeds(job: PortJob, source: SourceFile) -> list[int]:
    """Return the offsets to visit although they hold no mention."""
    if source.path.endswith("Cargo.toml"):
        names = "|".join(("members", "exclude", *job.vendor.dependencies))
        heads = rf"^(?:\xef\xbb\xbf)?[ \t]*\[[ \t]*([^]\n]*?)[ \t]*\]|^[\"']?({names})[\"']?\s*="
        found, table = [], b""
        for line in re.finditer(heads.encode(), source.data, re.MULTILINE):
            if line[2] is None:
                table = line[1]
            # `exclude` of a package names files that are not published.
            elif line[2] not in (b"members", b"exclude") or table == b"workspace":
                found.append(line.start())
        return found
    if source.path.endswith(KERNELS):
        translated = any(each.holds(source.path) for each in job.codebase.hip_sources)
        return [] if translated or job.codebase.kept(source.path) else [0]
    if not source.path.endswith(".rs"):
        return []
    # A program is spoken of in comments and named in strings; these are looked at.
    programs = [f'{name}"' for name in job.vendor.programs]
    wanted = build_word_finder((*(f"{name}!" for name in job.tree_facts.macros), *programs))
    return [
        at for word in wanted(source.data) for at in find_occurrences(source.data, word.encode())
    ]
