"""From a tree to its findings.

Only what holds a backend mention is looked at: a walk descends from the root of a file's syntax
tree into the nodes that hold a mention which no finding has claimed yet. What is left when the walk
ends is *unaccounted*, so that nothing can be passed over in silence.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from portkit.copying import whole_files as files
from portkit.copying.additions import additions
from portkit.copying.intents import finding_of
from portkit.lang.items import item_symbol
from portkit.lang.source import ATTACHED, field_text, grouped, language, node_text
from portkit.lang.span import Span
from portkit.lang.words import finder
from portkit.rules import FileRule, SiteRule, TreeRule, When, rules
from portkit.scan.parallel import together
from portkit.site.context import Gating, Job, Learnt, Scope, Site
from portkit.site.macros import described

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set

    from tree_sitter import Node

    from portkit.copying.additions import Addition
    from portkit.hipify.engine import Translation
    from portkit.lang.source import Source
    from portkit.profile.profile import CodebaseProfile, VendorProfile
    from portkit.rules import Rule
    from portkit.scan.parallel import Team
    from portkit.site.context import DeviceMacro
    from portkit.tree.finding import Finding
    from portkit.tree.workspace import Workspace

CONTAINERS = {"trait_item": "trait", "impl_item": "impl", "mod_item": "", "foreign_mod_item": ""}


@dataclass(frozen=True, slots=True, order=True)
class Unaccounted:
    """A backend mention that no finding accounts for."""

    path: str
    offset: int
    line: int
    text: str


@dataclass(frozen=True)
class Scan:
    """What a scan says about a tree.

    Attributes:
        job: the job, with all that was learnt about the tree.
        findings: sorted by path and position.
        unaccounted: mentions that no finding accounts for, sorted.
    """

    job: Job
    findings: tuple[Finding, ...]
    unaccounted: tuple[Unaccounted, ...]


@dataclass(frozen=True)
class _Asked:
    """The rules that are asked, by what they look at."""

    by_node: Mapping[str, tuple[SiteRule, ...]]
    of_files: tuple[FileRule, ...]
    of_tree: tuple[TreeRule, ...]

    @classmethod
    def of(cls, chosen: Iterable[Rule]) -> _Asked:
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
        )

    def of_kind(self, kind: str) -> tuple[SiteRule, ...]:
        """Return the rules that look at a kind of node."""
        return self.by_node.get(kind) or self.by_node.get("*", ())

    def of_file(self, when: When, job: Job, source: Source) -> Iterator[Finding]:
        """Yield what the rules about files say of one."""
        for rule in self.of_files:
            if rule.when is when:
                yield from rule.check(job, source)


def scan(
    workspace: Workspace,
    vendor: VendorProfile,
    codebase: CodebaseProfile,
    *,
    gating: str = "dummy",
    chosen: Iterable[Rule] | None = None,
    regenerate: bool = False,
    kernels: bool = False,
) -> Scan:
    """Find every place in a workspace where a backend decision stands.

    Args:
        workspace: the tree.
        vendor: the vendor to port to.
        codebase: what is particular to the codebase.
        gating: ``dummy`` or ``cfg``.
        chosen: the rules to ask; all of them by default.
        regenerate: whether files that were written before are replaced where they differ.
        kernels: whether the sources of kernels are looked into, place by place.
    """
    asked = _Asked.of(rules() if chosen is None else chosen)
    job = Job(workspace, vendor, codebase, Gating(gating), regenerate, kernels)
    language("lib.rs")  # what both processes need is loaded before they part
    return together(
        lambda team: _scanned(team, job, asked),
        sum(len(source.data) for source in workspace.sources.values()),
    )


def in_order(finding: Finding) -> tuple[str, Span, str, str]:
    """Return what findings are sorted by."""
    return finding.path, finding.span, finding.code, finding.symbol


def _scanned(team: Team, job: Job, asked: _Asked) -> Scan:
    """Scan with a team; what the first process returns is whole."""
    job, teaching, mine = _learnt(team, job)
    # Neither a parsed tree nor what makes a file is sent between processes.
    mine = [path for path in mine if path not in job.learnt.analogs]
    mine += job.learnt.analogs if team.first else ()
    translations = _translations(job) if job.kernels else {}
    others = sorted(job.workspace.sources.keys() - {*teaching, *job.learnt.analogs})
    others.sort(key=partial(_weight, job), reverse=True)
    others.sort(key=translations.__contains__, reverse=True)
    is_written = partial(_is_written, frozenset(job.learnt.analogs.values()), (*additions(job),))
    looked, translated = [], {}
    for path in chain(mine, team.draw(others)):
        looked.append(_looked_at(job, path, asked, is_written))
        if path in translations:
            translated[path] = translations[path]()
    findings: list[Finding] = []
    unaccounted: list[Unaccounted] = []
    for share, made in team.collect((looked, translated)):
        for found, left in share:
            findings += found
            unaccounted += left
        translated.update(made)
    if team.first:
        job = replace(job, translated=translated) if translated else job
        findings += (f for rule in asked.of_tree for f in rule.check(job))
    findings.sort(key=in_order)
    return Scan(job, tuple(findings), tuple(sorted(unaccounted)))


def _learnt(team: Team, job: Job) -> tuple[Job, list[str], list[str]]:
    """Return the job with what the tree as a whole says.

    With it come the files that said something, and those of them that this process has read.
    """
    mentions, teaching = _mentions(team, job)
    mine = team.share(teaching, lambda path: len(job.workspace.sources[path].data))
    read = [(path, _device_macros(job, path), files.declared(job, path)) for path in mine]
    gathered = sorted(
        (each for share in team.gather(read) for each in share), key=lambda each: each[0]
    )
    macros = {macro.name: macro for _, found, _ in gathered for macro in found}
    analogs = files.analogs(job, mentions, (found for _, _, found in gathered))
    learnt = Learnt(mentions, dict(sorted(macros.items())), analogs)
    return replace(job, learnt=learnt), teaching, mine


def _translations(job: Job) -> Mapping[str, Callable[[], Translation]]:
    return {p: make for a in additions(job) for p, make in a.translations().items()}


def _looked_at(
    job: Job, path: str, asked: _Asked, is_written: Callable[[str], bool]
) -> tuple[list[Finding], list[Unaccounted]]:
    """Return what is found in a file, and what no finding accounts for."""
    source = job.workspace.sources[path]
    found = list(asked.of_file(When.ALWAYS, job, source))
    places = sorted({*job.learnt.mentions.get(path, ()), *_seeds(job, source)})
    if not places or is_written(path):
        return found, []
    whole = list(asked.of_file(When.MENTIONS, job, source))
    if whole:
        return [*found, *whole], []
    walked, left = _Walk(job, source, places, asked).run()
    return found + walked, left


def _is_written(copies: Set[str], added: Sequence[Addition], path: str) -> bool:
    """Whether a file is one that the port writes as a whole, so that it is ROCm's own."""
    return path in copies or any(a.holds(path) for a in added)


def _mentions(team: Team, job: Job) -> tuple[Mapping[str, list[int]], list[str]]:
    """Return the offsets of the mentions in each file with any, and the files that may teach."""
    words_in = finder((*job.vendor.vocabulary, *job.vendor.peer_vocabulary))
    sources = team.share(job.workspace.sources.values(), lambda source: len(source.data))
    found = [
        (source.path, offsets, _may_teach(job, source))
        for source in sources
        if (offsets := job.mentions(source, words_in(source.data)))
    ]
    gathered = sorted(each for share in team.gather(found) for each in share)
    return (
        {path: offsets for path, offsets, _ in gathered},
        [path for path, _, teaches in gathered if teaches],
    )


def _weight(job: Job, path: str) -> int:
    """Return how long it takes to look at a file, roughly: one without a mention is not parsed."""
    return len(job.workspace.sources[path].data) if path in job.learnt.mentions else 0


def _may_teach(job: Job, source: Source) -> bool:
    """Whether what a file says must be known before the others are looked at."""
    if not source.path.endswith(".rs") or job.codebase.kept(source.path):
        return False
    return bool(_macro_parameter(job).search(source.data)) or files.may_declare(source.data)


def _macro_parameter(job: Job) -> re.Pattern[bytes]:
    return re.compile(rf"\$\w*(?:{job.vendor.source})\w*\s*:".encode())


def _device_macros(job: Job, path: str) -> list[DeviceMacro]:
    """Return the macros that a file defines and that take an argument for the source vendor."""
    source = job.workspace.sources[path]
    if not _macro_parameter(job).search(source.data):
        return []
    definition = b"macro_rules!"
    found = []
    pending = [source.tree_around([*_occurrences(source.data, definition)]).root_node]
    while pending:
        node = pending.pop()
        if node.type == "macro_definition":
            found.append(described(job, node))
        elif source.data.find(definition, node.start_byte, node.end_byte) >= 0:
            pending += node.named_children
    return [macro for macro in found if macro is not None]


def _seeds(job: Job, source: Source) -> list[int]:
    """Return the offsets that are looked at although they hold no mention."""
    if source.path.endswith("Cargo.toml"):
        names = "|".join(("members", "exclude", *job.vendor.dependencies))
        keys = re.compile(rf"^(?:{names})\s*=".encode(), re.MULTILINE)
        return [m.start() for m in keys.finditer(source.data)]
    if not source.path.endswith(".rs"):
        return []
    return [o for name in job.learnt.macros for o in _occurrences(source.data, f"{name}!".encode())]


def _occurrences(data: bytes, wanted: bytes) -> Iterator[int]:
    at = data.find(wanted)
    while at >= 0:
        yield at
        at = data.find(wanted, at + 1)


class _Walk:
    """One walk over one file."""

    def __init__(
        self,
        job: Job,
        source: Source,
        places: list[int],
        asked: _Asked,
    ) -> None:
        self.job = job
        self.source = source
        self.open = list(places)
        self.asked = asked
        self.crate = job.workspace.crate_of(source.path)
        self.findings: list[Finding] = []

    def run(self) -> tuple[list[Finding], list[Unaccounted]]:
        """Walk from the root; return what was found, and what nothing has claimed."""
        tree = self.source.tree_around(self.open, self.job.own_words)
        root = tree.root_node
        if root.has_error:
            self.findings += self.asked.of_file(When.BROKEN, self.job, self.source)
        pending: list[tuple[Site, Scope]] = []
        self._push(pending, root, Scope())
        while pending:
            site, _scope = pending.pop()
            if not self._holds_open(site.span):
                continue
            for rule in self.asked.of_kind(site.kind):
                for intent in rule.check(site):
                    finding = finding_of(site, rule.code, intent)
                    self.findings.append(finding)
                    self._claim(finding.claims)
            if self._holds_open(site.span):
                self._push(pending, site.node, _inside(site))
        return self.findings, self._left()

    def _left(self) -> list[Unaccounted]:
        found = []
        for offset in self.open:
            line, column = self.source.position(offset)
            start = offset + 1 - column
            end = self.source.data.find(b"\n", start)
            text = self.source.data[start : end if end >= 0 else None]
            said = text.decode(errors="replace").strip()
            found.append(Unaccounted(self.source.path, offset, line, said))
        return found

    def _push(self, pending: list[tuple[Site, Scope]], node: Node, scope: Scope) -> None:
        siblings = tuple(grouped(node))
        for child, attributes in reversed(siblings):
            start = attributes[0].start_byte if attributes else child.start_byte
            if not self._holds_open(Span(start, child.end_byte)):
                continue
            site = Site(child, attributes, siblings, self.source, scope, self.crate, self.job)
            pending.append((site, scope))
            # Comments among the attributes of an item that nobody claims are places of their own.
            for attached in attributes:
                if attached.type != "attribute_item":
                    comment = Site(attached, (), siblings, self.source, scope, self.crate, self.job)
                    pending.insert(0, (comment, scope))

    def _holds_open(self, span: Span) -> bool:
        at = bisect.bisect_left(self.open, span.start)
        return at < len(self.open) and self.open[at] < span.end

    def _claim(self, spans: Iterable[Span]) -> None:
        for span in spans:
            low = bisect.bisect_left(self.open, span.start)
            high = bisect.bisect_left(self.open, span.end)
            del self.open[low:high]


def _inside(site: Site) -> Scope:
    """Return the scope of what a place holds."""
    scope, node = site.scope, site.node
    vendor = scope.vendor or _vendor(site)
    gated = scope.gated or site.requires(site.job.feature)
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
        name = item_symbol(node)
        container = CONTAINERS.get(node.type, "")
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
    if node.type in ("declaration_list", "enum_variant_list", "field_declaration_list"):
        return replace(scope, vendor=vendor, gated=gated)
    return replace(scope, vendor=vendor, gated=gated, container="")


def _vendor(site: Site) -> str:
    """Return the vendor that a place is specific to, or an empty string."""
    job, kind = site.job, site.kind
    if site.unported_feature:
        return "unported"
    if kind in ATTACHED:
        return ""
    if site.is_source:
        return job.vendor.source
    if site.requires(job.feature):
        return job.vendor.name
    if kind in ("function_item", "struct_item", "trait_item", "mod_item", "const_item"):
        named = job.vendor_of(site.name)
        return named if named in (job.vendor.source, job.vendor.name) else ""
    if kind == "impl_item":
        head = field_text(site.node, "type") + " " + field_text(site.node, "trait")
        if job.renames_code(head):
            return job.vendor.source
        if job.vendor.variant in head:
            return job.vendor.name
    if kind == "match_arm":
        pattern = node_text(site.node.child_by_field_name("pattern"))
        return job.vendor.name if re.search(rf"\b{job.vendor.variant}\b", pattern) else ""
    return ""
