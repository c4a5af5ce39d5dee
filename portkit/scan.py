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
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from portkit import files
from portkit.additions import additions
from portkit.finding import Applicability, Finding, Span, Status
from portkit.guards import guarded
from portkit.parallel import together
from portkit.port import Gating, Place, Port, Scope, item_symbol
from portkit.rules import rules
from portkit.source import ATTACHED, field_text, grouped, node_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tree_sitter import Node

    from portkit.hipify.engine import Translation
    from portkit.parallel import Team
    from portkit.port import DeviceMacro
    from portkit.profile import CodebaseProfile, VendorProfile
    from portkit.rules import Rule
    from portkit.source import Source
    from portkit.workspace import Workspace

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
        port: the job, with all that was learnt about the tree.
        findings: sorted by path and position.
        unaccounted: mentions that no finding accounts for, sorted.
    """

    port: Port
    findings: tuple[Finding, ...]
    unaccounted: tuple[Unaccounted, ...]


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
    rules_asked = rules() if chosen is None else tuple(chosen)
    port = Port(workspace, vendor, codebase, Gating(gating), regenerate, kernels)
    return together(
        lambda team: _scanned(team, port, rules_asked),
        sum(len(source.data) for source in workspace.sources.values()),
    )


def _scanned(team: Team, port: Port, asked: Iterable[Rule]) -> Scan:
    """Scan with a team; what the first process returns is whole."""
    port = replace(port, mentions=_mentions(team, port))
    teaching = [path for path in port.mentions if _may_teach(port, path)]
    mine = team.share(teaching, lambda path: len(port.workspace.sources[path].data))
    learnt = [(path, _device_macros(port, path), files.declared(port, path)) for path in mine]
    gathered = sorted(
        (each for share in team.gather(learnt) for each in share), key=lambda each: each[0]
    )
    macros = {macro.name: macro for _, found, _ in gathered for macro in found}
    port = replace(port, macros=dict(sorted(macros.items())))
    port = replace(port, analogs=files.analogs(port, (found for _, _, found in gathered)))
    by_node: dict[str, list[Rule]] = {}
    for rule in asked:
        for kind in rule.nodes:
            by_node.setdefault(kind, []).append(rule)
    # Neither a parsed tree nor what makes a file is sent between processes.
    mine = [path for path in mine if path not in port.analogs]
    mine += port.analogs if team.first else ()
    translations = _translations(port) if port.kernels else {}
    others = sorted(port.workspace.sources.keys() - {*teaching, *port.analogs})
    others.sort(key=partial(_weight, port), reverse=True)
    others.sort(key=translations.__contains__, reverse=True)
    looked, translated = [], {}
    for path in chain(mine, team.draw(others)):
        looked.append(_looked_at(port, path, by_node))
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
        port = replace(port, translated=translated)
        findings += [*files.unread(port), *files.added(port)]
    findings.sort(key=lambda f: (f.path, f.span, f.code, f.symbol))
    return Scan(port, tuple(findings), tuple(sorted(unaccounted)))


def _translations(port: Port) -> Mapping[str, Callable[[], Translation]]:
    return {p: make for a in additions(port) for p, make in a.translations().items()}


def _looked_at(
    port: Port, path: str, by_node: Mapping[str, list[Rule]]
) -> tuple[list[Finding], list[Unaccounted]]:
    """Return what is found in a file, and what no finding accounts for."""
    source = port.workspace.sources[path]
    mentions = port.mentions.get(path, [])
    found = list(guarded(port, source))
    places = sorted({*mentions, *_seeds(port, source)})
    if not places:
        return found, []
    if _is_written(port, path):
        return found, []
    whole = files.whole_file(port, source, len(mentions))
    if whole:
        return [*found, *whole], []
    walked, left = _Walk(port, source, places, by_node).run()
    return found + walked, left


def _is_written(port: Port, path: str) -> bool:
    """Whether a file is one that the port writes as a whole, so that it is ROCm's own."""
    return path in port.analogs.values() or any(a.holds(path) for a in additions(port))


def _mentions(team: Team, port: Port) -> Mapping[str, list[int]]:
    words = (*port.vendor.vocabulary, *port.vendor.peer_vocabulary)
    sources = team.share(port.workspace.sources.values(), lambda source: len(source.data))
    found = [(source.path, source.offsets(words)) for source in sources]
    gathered = sorted(each for share in team.gather(found) for each in share)
    return {path: offsets for path, offsets in gathered if offsets}


def _weight(port: Port, path: str) -> int:
    """Return how long it takes to look at a file, roughly: one without a mention is not parsed."""
    return len(port.workspace.sources[path].data) if path in port.mentions else 0


def _may_teach(port: Port, path: str) -> bool:
    """Whether what a file says must be known before the others are looked at."""
    data = port.workspace.sources[path].data
    teaches = _macro_parameter(port).search(data) or files.may_declare(data)
    return bool(teaches) and path.endswith(".rs") and not port.codebase.kept(path)


def _macro_parameter(port: Port) -> re.Pattern[bytes]:
    return re.compile(rf"\$\w*(?:{port.vendor.source})\w*\s*:".encode())


def _device_macros(port: Port, path: str) -> list[DeviceMacro]:
    """Return the macros that a file defines and that take an argument for the source vendor."""
    from portkit.rules.device_macro import describe

    source = port.workspace.sources[path]
    if not _macro_parameter(port).search(source.data):
        return []
    definition = b"macro_rules!"
    found = []
    pending = [source.tree.root_node]
    while pending:
        node = pending.pop()
        if node.type == "macro_definition":
            found.append(describe(port, node))
        elif source.data.find(definition, node.start_byte, node.end_byte) >= 0:
            pending += node.named_children
    return [macro for macro in found if macro is not None]


def _seeds(port: Port, source: Source) -> list[int]:
    """Return the offsets that are looked at although they hold no mention."""
    if source.path.endswith("Cargo.toml"):
        names = "|".join(("members", "exclude", *port.vendor.dependencies))
        keys = re.compile(rf"^(?:{names})\s*=".encode(), re.MULTILINE)
        return [m.start() for m in keys.finditer(source.data)]
    if not source.path.endswith(".rs"):
        return []
    return [o for name in port.macros for o in _occurrences(source.data, f"{name}!".encode())]


def _occurrences(data: bytes, wanted: bytes) -> Iterator[int]:
    at = data.find(wanted)
    while at >= 0:
        yield at
        at = data.find(wanted, at + 1)


class _Walk:
    """One walk over one file."""

    def __init__(
        self,
        port: Port,
        source: Source,
        places: list[int],
        by_node: Mapping[str, list[Rule]],
    ) -> None:
        self.port = port
        self.source = source
        self.open = list(places)
        self.by_node = by_node
        self.crate = port.workspace.crate_of(source.path)
        self.findings: list[Finding] = []

    def run(self) -> tuple[list[Finding], list[Unaccounted]]:
        """Walk from the root; return what was found, and what nothing has claimed."""
        tree = self.source.tree_around(self.open, self.port.vendor.own_vocabulary)
        root = tree.root_node
        if root.has_error:
            self.findings.append(_syntax_error(self.source, root))
        pending: list[tuple[Place, Scope]] = []
        self._push(pending, root, Scope())
        while pending:
            place, _scope = pending.pop()
            if not self._holds_open(place.span):
                continue
            for rule in (*self.by_node.get(place.kind, ()), *self.by_node.get("*", ())):
                for finding in rule.check(place):
                    self.findings.append(finding)
                    self._claim(finding.claims)
            if self._holds_open(place.span):
                self._push(pending, place.node, _inside(place))
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

    def _push(self, pending: list[tuple[Place, Scope]], node: Node, scope: Scope) -> None:
        siblings = tuple(grouped(node))
        for child, attributes in reversed(siblings):
            start = attributes[0].start_byte if attributes else child.start_byte
            if not self._holds_open(Span(start, child.end_byte)):
                continue
            place = Place(child, attributes, siblings, self.source, scope, self.crate, self.port)
            pending.append((place, scope))
            # Comments among the attributes of an item that nobody claims are places of their own.
            for attached in attributes:
                if attached.type != "attribute_item":
                    comment = Place(
                        attached, (), siblings, self.source, scope, self.crate, self.port
                    )
                    pending.insert(0, (comment, scope))

    def _holds_open(self, span: Span) -> bool:
        at = bisect.bisect_left(self.open, span.start)
        return at < len(self.open) and self.open[at] < span.end

    def _claim(self, spans: Iterable[Span]) -> None:
        for span in spans:
            low = bisect.bisect_left(self.open, span.start)
            high = bisect.bisect_left(self.open, span.end)
            del self.open[low:high]


def _inside(place: Place) -> Scope:
    """Return the scope of what a place holds."""
    scope, node = place.scope, place.node
    vendor = scope.vendor or _vendor(place)
    gated = scope.gated or place.requires(place.port.vendor.name)
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
            symbol=place.symbol(name),
            function=field_text(node, "name") if "function" in node.type else scope.function,
            type_name=type_name,
            container=container,
            vendor=vendor,
            gated=gated,
        )
    if node.type in ("declaration_list", "enum_variant_list", "field_declaration_list"):
        return replace(scope, vendor=vendor, gated=gated)
    return replace(scope, vendor=vendor, gated=gated, container="")


def _vendor(place: Place) -> str:
    """Return the vendor that a place is specific to, or an empty string."""
    port, kind = place.port, place.kind
    from portkit.emit import unported_feature

    if unported_feature(place):
        return "unported"
    if kind in ATTACHED:
        return ""
    if place.requires(port.vendor.source):
        return port.vendor.source
    if place.requires(port.vendor.name):
        return port.vendor.name
    if kind in ("function_item", "struct_item", "trait_item", "mod_item", "const_item"):
        named = port.vendor_of(place.name)
        return named if named in (port.vendor.source, port.vendor.name) else ""
    if kind == "impl_item":
        head = field_text(place.node, "type") + " " + field_text(place.node, "trait")
        if port.renames_code(head):
            return port.vendor.source
        if port.vendor.variant in head:
            return port.vendor.name
    if kind == "match_arm":
        pattern = node_text(place.node.child_by_field_name("pattern"))
        return port.vendor.name if re.search(rf"\b{port.vendor.variant}\b", pattern) else ""
    return ""


def _syntax_error(source: Source, root: Node) -> Finding:
    node = root
    while True:
        inner = next((c for c in node.children if c.has_error or c.is_missing), None)
        if inner is None or inner.type == "ERROR":
            node = inner or node
            break
        node = inner
    # What is missing at the end of the file has no bytes of its own.
    start = min(node.start_byte, len(source.data) - 1)
    return Finding(
        code="PK901",
        path=source.path,
        span=Span(start, max(node.end_byte, start + 1)),
        construct="syntax error",
        symbol=PurePosixPath(source.path).name,
        applicability=Applicability.MANUAL,
        status=Status.NONE,
        message="the file is not parsed whole; what stands around this place was still looked at",
    )
