"""Find each ``match`` that lacks an arm for a variant that its enum gains. This is no check.

A ``match`` without an arm for the new variant compiles in no build (rustc: E0004). Such a ``match``
is found by the enum, through imports, aliases and ``Self``: one over pairs of backends, one with
aliased names, one in the CUDA side's own code, one among the tokens of a macro. A gap is a set of
values that no arm takes after the port, although every value was taken before it.

Not read: a pattern that is a macro, a tuple with ``..``, an enum of another crate.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import chain, combinations
from typing import TYPE_CHECKING, Final

from portkit.checks.enums import Enums
from portkit.checks.pattern_reader import PatternReader, measure_slices
from portkit.checks.scopes import Scopes
from portkit.context.device_macros import list_parameters
from portkit.context.match_gap import MatchGap, MissingArmBehavior
from portkit.port import error_arms, match_facts
from portkit.port.copy_item import substitute_peer
from portkit.rules import named_items
from portkit.syntax import patterns
from portkit.syntax.cfg import find_attributes, find_conditions_around, parse_conditions
from portkit.syntax.exhaustiveness import (
    Constructor,
    OrPattern,
    Pattern,
    UnsupportedPatternError,
    covers_value,
    find_constructors,
    find_missing,
)
from portkit.syntax.items import ITEMS, describe_item
from portkit.syntax.name_table import normalize_rust
from portkit.syntax.source_file import SourceFile, contains_place, field_text, node_text
from portkit.syntax.span import Span
from portkit.syntax.value import Value
from portkit.syntax.word_search import find_occurrences
from portkit.workspace.finding import Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node

    from portkit.checks.ported_tree import PortedTree, WrittenFile
    from portkit.context.port_job import PortJob
    from portkit.syntax.cfg import Cfg

_MOST_FEATURES: Final = 4
"""How many features are tried on and off; with more, those of other vendors stay off."""
_MATCH: Final = re.compile(rb"\bmatch\b")
_ALIAS: Final = re.compile(rb"\w+\s+as\s+(\w+)")
_HEAD: Final = re.compile(rb"\w+\b[^;]{0,600}?=>")
"""A name in the pattern of an arm, and sometimes one before a ``match``."""
_WRAPPED: Final = b"fn f() {"
"""Stands before the tokens of a macro so that they are parsed as a function's body."""
_BLOCKS: Final = frozenset(
    {
        "async_block",
        "block",
        "const_block",
        "for_expression",
        "if_expression",
        "loop_expression",
        "match_expression",
        "unsafe_block",
        "while_expression",
    }
)
"""Values of an arm that need no comma (the Rust reference, chapter "Match expressions")."""
_PARAMETER: Final = re.compile(r"\$(?!crate\b)\w+")
_UNDECIDED: Final = "left out: write what this value does"


class _Arm(Value, frozen=True):
    """An arm: what it takes, when it exists, what it does.

    Attributes:
        node: the arm; among tokens, its parameters are read as names.
        pattern: the values that it takes.
        conditions: those of its attributes.
        is_guarded: whether it has an ``if``.
        head: its pattern, as written in the file.
        value: its code, as written in the file.
    """

    node: Node
    pattern: Pattern
    conditions: tuple[Cfg, ...]
    is_guarded: bool
    head: str
    value: str

    def is_compiled_with(self, on: frozenset[str]) -> bool:
        """Whether the arm is compiled if only these features are on."""
        return all(cfg.holds(on) for cfg in self.conditions)


class _Added(Value, frozen=True):
    """An arm that is added, and one pattern that it is for."""

    of: Pattern
    gate: str
    pattern: str
    value: str
    answer: MissingArmBehavior


def find_gaps(ported: PortedTree, paths: Sequence[str] | None = None) -> Iterator[MatchGap]:
    """Yield the gaps of the tree after the port.

    Args:
        ported: the tree.
        paths: the files to look into; all of them by default.
    """
    if not any(map(_is_variant, ported.findings)):
        return
    job = ported.job
    rust = tuple(path for path in job.workspace.sources if path.endswith(".rs"))
    enums = Enums(rust, ported.source)
    gained = _find_gained(ported, enums)
    words = sorted({old.encode() for pairs in gained.values() for old, _ in pairs})
    for path in paths or [path for path in job.tree_facts.mentions if path.endswith(".rs")]:
        before = job.workspace.sources.get(path)
        if before is None or b"match" not in before.data:
            continue
        if any(word in before.data for word in words):
            yield from _File(job, ported.written(path) or before, enums, gained, words).find_gaps()


_Pairs = tuple[tuple[str, str], ...]
"""Variants of the source vendor's, each with the new one that takes its place."""


def _find_gained(ported: PortedTree, enums: Enums) -> Mapping[str, _Pairs]:
    """Return the variants that each enum gains, by the enum's key."""
    job = ported.job
    found: dict[str, _Pairs] = {}
    written = {
        (finding.path, name): None
        for finding in filter(_is_variant, ported.findings)
        for name in finding.types
    }
    for path, name in written:  # each enum once, whatever number of variants it gains
        old = Enums((path,), job.workspace.sources.get).find_enums(name)
        before = next((each for each in old if each.path), None)
        after = next((e for e in enums.find_enums(name) if e.path == path), None)
        if before is None or after is None:
            continue
        renamed = ((each, job.rename(each)) for each in before.variants)
        found[after.key] = tuple((v, to) for v, to in renamed if v != to and to in after.variants)
    return found


def _is_variant(finding: Finding) -> bool:
    done = bool(finding.edits) or finding.status is Status.PORTED
    return finding.code == named_items.ENUM_VARIANT.code and done


class _File:
    """A file, and what is known of it."""

    def __init__(
        self,
        job: PortJob,
        file: SourceFile | WrittenFile,
        enums: Enums,
        gained: Mapping[str, _Pairs],
        words: Sequence[bytes],
    ) -> None:
        self.job = job
        self.file = file
        self.source = source = file if isinstance(file, SourceFile) else file.source
        self.enums = enums
        self.gained = gained
        data = source.data
        found = [at for word in words for at in find_occurrences(data, word)]
        aliases = [match[1] for at in found if (match := _ALIAS.match(data, at))]
        named = re.compile(rb"\b(?:%s)\b" % b"|".join(aliases)) if aliases else None
        found += [match.start() for match in named.finditer(data)] if named is not None else []
        self.places = sorted(at for at in found if _HEAD.match(data, at))
        self.scopes = Scopes()

    @cached_property
    def root(self) -> Node:
        """The root of at least the items that hold such a name."""
        return self.file.tree_around(self.places).root_node

    def find_gaps(self) -> Iterator[MatchGap]:
        """Yield the gaps of the file, in order."""
        pending = [self.root] if self.places else []
        while pending:
            node = pending.pop()
            if not contains_place(self.places, node):
                continue
            if node.type == "match_block":
                yield from self._find_gap(node, self.source, 0)
            if node.type in ("macro_definition", "macro_invocation"):
                yield from self._find_token_gaps(node)
            else:
                pending += reversed(node.named_children)

    def _find_token_gaps(self, macro: Node) -> Iterator[MatchGap]:
        """Yield the gaps among the tokens of a macro, whose parameters are read as names."""
        data = self.source.data
        for match in _MATCH.finditer(data, macro.start_byte, macro.end_byte):
            end = _find_match_end(data, match.start(), macro.end_byte)
            if end is None:
                continue
            text = data[match.start() : end].replace(b"$", b"_")
            source = SourceFile("tokens.rs", _WRAPPED + text + b"}")
            root = source.tree.root_node
            if root.has_error:
                continue
            pending = [root]
            while pending:
                node = pending.pop()
                if node.type == "match_block":
                    yield from self._find_gap(node, source, match.start() - len(_WRAPPED))
                    break
                pending += reversed(node.named_children)

    def _find_gap(self, block: Node, source: SourceFile, shift: int) -> Iterator[MatchGap]:
        """Yield the gap of a ``match``, if it has one.

        Args:
            block: its arms.
            source: what they were read from.
            shift: how far the file is ahead of that.
        """
        nodes = [node for node in block.named_children if node.type == "match_arm"]
        heads = [h for n in nodes if (h := n.child_by_field_name("pattern")) is not None]
        places = self.places if not shift else [at - shift for at in self.places]
        if block.has_error or not any(contains_place(places, head) for head in heads):
            return
        if any(map(match_facts.is_catch_all, nodes)):
            return
        longest, is_open = measure_slices(heads)
        reader = PatternReader(self.source.path, self.enums, self.scopes, longest, is_open)
        try:
            arms = [_read_arm(reader, node, self.source, shift) for node in nodes]
            bound = self._find_parameters(block, shift) if shift else None
            match = _Match(self.job, reader, arms, self.gained, bound)
            outer = [*find_conditions_around(self.root, block.start_byte + shift)]
            added = [*match.find_missing_arms(outer)]
        except UnsupportedPatternError:
            return
        if added or self._stands(match, block, shift):
            yield self._make_gap(block, source, shift, match, added)

    def _stands(self, match: _Match, block: Node, shift: int) -> bool:
        """Whether a ``match`` of the tree has such arms already."""
        before = self.job.workspace.sources.get(self.source.path)
        if before is None or before.data != self.source.data or not match.has_own_arm():
            return False
        symbol = _find_symbol(self._find_holder(block, shift))
        return not self.job.mentions_cuda(symbol.rpartition("::")[2])

    def _find_parameters(self, block: Node, shift: int) -> frozenset[str]:
        """Return the parameters of the macro rule around a ``match``."""
        rule: Node | None = self._find_holder(block, shift)
        while rule is not None and rule.type != "macro_rule":
            rule = rule.parent
        return frozenset(list_parameters(rule)) if rule is not None else frozenset()

    def _find_holder(self, block: Node, shift: int) -> Node:
        """Return the node that holds a ``match``; for one among tokens, the macro."""
        if not shift:
            return block
        return (
            self.root.descendant_for_byte_range(block.start_byte + shift, block.end_byte + shift)
            or self.root
        )

    def _make_gap(
        self, block: Node, source: SourceFile, shift: int, match: _Match, added: Sequence[_Added]
    ) -> MatchGap:
        last = match.find_place(added)
        indent = self.source.indent(last.start_byte + shift)
        value = last.child_by_field_name("value")
        ends = node_text(last).rstrip().endswith(",") or (
            value is not None and value.type in _BLOCKS
        )
        comma = "" if ends else ","
        at = last.end_byte if comma else source.line_tail(last.end_byte)
        owner = block.parent or block
        error = f'{match.macro}!("{_UNDECIDED}")'

        def written(values: Sequence[str]) -> str:
            lines = [comma]
            for arm, value in zip(added, values, strict=True):
                gate = f"{indent}{arm.gate}\n" if arm.gate else ""
                lines.append(f"{gate}{indent}{arm.pattern} => {value},")
            return "\n".join(lines)

        return MatchGap(
            path=self.source.path,
            span=Span(owner.start_byte + shift, owner.end_byte + shift),
            at=at + shift,
            symbol=_find_symbol(self._find_holder(block, shift)),
            enums=tuple(match.named),
            arms=written([arm.value or error for arm in added]),
            errors=written([error_arms.write_error_value(match.macro) for _ in added]),
            answer=max(
                (arm.answer for arm in added),
                key=[*MissingArmBehavior].index,
                default=MissingArmBehavior.STANDS,
            ),
        )


class _Match:
    """A ``match`` whose arms are understood."""

    def __init__(
        self,
        job: PortJob,
        reader: PatternReader,
        arms: list[_Arm],
        gained: Mapping[str, _Pairs],
        bound: frozenset[str] | None,
    ) -> None:
        self.job = job
        self.reader = reader
        self.arms = arms
        self.bound = bound  # the parameters of the macro rule; None outside tokens
        self.gained = {key: gained[key] for key in reader.met if key in gained}
        self.named = [reader.met[key].name for key in self.gained]
        self.macro = match_facts.find_error_macro(arm.value for arm in arms)

    def find_missing_arms(self, outer: Sequence[Cfg]) -> Iterator[_Added]:
        """Yield the arms that the ``match`` lacks.

        Args:
            outer: the conditions around it.
        """
        if not self.gained:
            return
        builds = [on for on in self._list_builds(outer) if self._was_exhaustive(on)]
        missing: dict[str, tuple[Pattern, list[frozenset[str]]]] = {}
        for on in builds:
            for pattern in find_missing(self._list_rows(on), self._list_constructors(on)):
                text = self._write_pattern(pattern)
                missing.setdefault(text, (pattern, []))[1].append(on)
        # An or-pattern with one of the source vendor's variants is a site of its own (PK302).
        found: dict[tuple[str, str | None, bool], list[str]] = {}
        firsts: dict[tuple[str, str | None, bool], Pattern] = {}
        copies: dict[str, _Added] = {}
        for text, (pattern, where) in missing.items():
            gate = self._gate(pattern, builds, where)
            own = self._find_own_copy(pattern)
            if own is not None:
                copies.setdefault(own[0], _Added(pattern, gate, *own, MissingArmBehavior.COPY))
                continue
            key = gate, self._find_shared_value(pattern), self.job.mentions_cuda(text)
            found.setdefault(key, []).append(text)
            firsts.setdefault(key, pattern)
        yield from copies.values()
        for key, texts in found.items():
            gate, value, _ = key
            answer = MissingArmBehavior.ERROR if value is None else MissingArmBehavior.OTHERS
            yield _Added(firsts[key], gate, " | ".join(texts), value or "", answer)

    def find_place(self, added: Sequence[_Added]) -> Node:
        """Return the arm behind which arms are set: the source vendor's, or else the last."""
        direct = [
            a.of for a in added if isinstance(a.of, Constructor) and a.of.family in self.gained
        ]
        backs = [self._replace_variants(pattern, 0) for pattern in direct]
        own = [arm for arm in self.arms if any(covers_value(arm.pattern, back) for back in backs)]
        return (own if own and len(direct) == len(added) else self.arms)[-1].node

    def has_own_arm(self) -> bool:
        """Whether an arm is on a new variant and is no copy of another arm."""
        copies = [
            (self._rename_variants(arm.pattern), normalize_rust(self.job.rename(arm.value)))
            for arm in self.arms
        ]
        return any(
            self._names(arm.pattern, 1) and (arm.pattern, normalize_rust(arm.value)) not in others
            for number, arm in enumerate(self.arms)
            for others in (copies[:number] + copies[number + 1 :],)
        )

    def _names(self, pattern: Pattern, side: int) -> bool:
        """Whether a pattern names a variant of the source vendor's (0), or a new one (1)."""
        ours = {(key, pair[side]) for key, pairs in self.gained.items() for pair in pairs}
        return any((ctor.family, ctor.name) in ours for ctor in find_constructors(pattern))

    def _list_builds(self, outer: Sequence[Cfg]) -> list[frozenset[str]]:
        """Return the sets of features that make a difference here."""
        conditions = [*outer, *chain.from_iterable(arm.conditions for arm in self.arms)]
        for enum in self.reader.met.values():
            for variant in enum.variants.values():
                conditions += variant.conditions
        named = sorted(frozenset().union(*(cfg.features() for cfg in conditions)))
        own = [f for f in (self.job.source_feature, self.job.feature) if f in named]
        rest = [feature for feature in named if feature not in own]
        tried = [*own, *rest][:_MOST_FEATURES]
        sets = chain.from_iterable(combinations(tried, n) for n in range(len(tried) + 1))
        return [on for on in map(frozenset, sets) if all(cfg.holds(on) for cfg in outer)]

    def _list_rows(
        self, on: frozenset[str], without: frozenset[str] = frozenset()
    ) -> list[Pattern]:
        """Return the patterns of the arms that exist, but for those on some variants."""
        rows = (arm.pattern for arm in self.arms if arm.is_compiled_with(on) and not arm.is_guarded)
        kept = (_remove_variants(row, without) for row in rows)
        return [row for row in kept if row != OrPattern(())]

    def _list_constructors(
        self, on: frozenset[str], without: frozenset[str] = frozenset()
    ) -> dict[str, dict[str, int]]:
        """Return the constructors that exist, but for some variants."""
        found = dict(self.reader.families)
        for key, enum in self.reader.met.items():
            found[key] = {
                name: len(variant.fields)
                for name, variant in enum.variants.items()
                if f"{key}:{name}" not in without
                and all(cfg.holds(on) for cfg in variant.conditions)
            }
        return found

    def _was_exhaustive(self, on: frozenset[str]) -> bool:
        """Whether each value was taken before the port, or before the copy was renamed.

        A copy that was renamed names no variant of the source vendor's.
        """
        is_renamed = not any(self._names(arm.pattern, 0) for arm in self.arms)
        for side in (1, 0) if is_renamed else (1,):
            gone = frozenset(
                f"{key}:{pair[side]}" for key, pairs in self.gained.items() for pair in pairs
            )
            if not find_missing(self._list_rows(on, gone), self._list_constructors(on, gone)):
                return True
        return False

    def _gate(
        self, pattern: Pattern, builds: Sequence[frozenset[str]], where: Sequence[frozenset[str]]
    ) -> str:
        """Return the attribute under which an arm is missing; empty for every build.

        Raises:
            UnsupportedPatternError: no attribute fits.
        """
        met = [(self.reader.met.get(c.family), c.name) for c in find_constructors(pattern)]
        variants = [enum.variants[name] for enum, name in met if enum is not None]
        own = [cfg for variant in variants for cfg in variant.conditions]
        gates = dict.fromkeys(gate for variant in variants for gate in variant.gates)
        feature = self.job.feature
        held = {
            "": [*builds],
            " ".join(gates): [on for on in builds if all(cfg.holds(on) for cfg in own)],
            f'#[cfg(not(feature = "{feature}"))]': [on for on in builds if feature not in on],
        }
        for gate, fitting in held.items():
            if fitting == [*where]:
                return gate
        raise UnsupportedPatternError("no condition fits")

    def _find_own_copy(self, pattern: Pattern) -> tuple[str, str] | None:
        """Return the copy of the source vendor's arm, where no rule has written one.

        That is among tokens, and where the arm names the source vendor by an alias.
        """
        if not self.reader.aliases and self.bound is None:
            return None
        back = self._replace_variants(pattern, 0)
        arms = [arm for arm in self.arms if covers_value(arm.pattern, back)]
        if (
            not arms
            or arms[0].is_guarded
            or not covers_value(self._rename_variants(arms[0].pattern), pattern)
        ):
            return None
        text = [arms[0].head, arms[0].value]
        for alias, path in self.reader.aliases.items():
            text = [re.sub(rf"(?<![\w.:]){alias}\b(?!\s*::)", path, each) for each in text]
        renamed = [self._bind_parameters(self.job.rename(each), each) for each in text]
        named = _PARAMETER.sub("", " ".join(renamed))
        if renamed[0] == text[0] or self.job.mentions_cuda(named):
            return None
        return renamed[0], renamed[1]

    def _bind_parameters(self, new: str, old: str) -> str:
        """Return a copy whose parameters of the macro rule are those that the rule binds."""
        before = _PARAMETER.findall(old)
        if self.bound is None or len(before) != len(_PARAMETER.findall(new)):
            return new
        names, bound = iter(before), {f"${name}" for name in self.bound}
        return _PARAMETER.sub(lambda m: (next(names), m[0])[m[0] in bound], new)

    def _rename_variants(self, pattern: Pattern) -> Pattern:
        """Return a pattern with the new variant for each of the source vendor's."""
        if isinstance(pattern, OrPattern):
            return OrPattern(tuple(map(self._rename_variants, pattern.members)))
        if not isinstance(pattern, Constructor):
            return pattern
        args = tuple(map(self._rename_variants, pattern.args))
        names = dict(self.gained.get(pattern.family, ()))
        return Constructor(pattern.family, names.get(pattern.name, pattern.name), args)

    def _replace_variants(
        self, pattern: Pattern, side: int, names: Mapping[str, str] | None = None
    ) -> Pattern:
        """Return a pattern with another variant for each new one: the source's, or a given one."""
        if not isinstance(pattern, Constructor):
            return pattern
        args = tuple(self._replace_variants(arg, side, names) for arg in pattern.args)
        for pair in self.gained.get(pattern.family, ()):
            if pattern.name != pair[1]:
                continue
            name = names[pattern.family] if names is not None else pair[side]
            size = len(self.reader.met[pattern.family].variants[name].fields)
            return Constructor(pattern.family, name, (None,) * size)
        return Constructor(pattern.family, pattern.name, args)

    def _find_shared_value(self, pattern: Pattern) -> str | None:
        """Return what the arms do with other backends in the place of the new one, if they agree.

        The peers' arms count first, which are about other devices as well.
        """
        for of_peers in (True, False):
            values = [
                self._value_with(pattern, names)
                for names in self._list_other_variants(of_peers=of_peers)
            ]
            if (
                values
                and None not in values
                and len({normalize_rust(v or "") for v in values}) == 1
            ):
                return values[0]
        return None

    def _list_other_variants(self, *, of_peers: bool) -> Iterator[dict[str, str]]:
        """Yield one other variant of each enum: a peer's, or of no backend's."""
        ((key, gained), *more) = self.gained.items()
        new = {each for pair in gained for each in pair}
        for name in self.reader.met[key].variants if not more else ():
            if name not in new and self.job.mentions_peer(name) is of_peers:
                yield {key: name}

    def _value_with(self, pattern: Pattern, names: Mapping[str, str]) -> str | None:
        value = self._replace_variants(pattern, 0, names)
        arm = next(
            (a for a in self.arms if not a.is_guarded and covers_value(a.pattern, value)), None
        )
        head = arm.node.child_by_field_name("pattern") if arm is not None else None
        if arm is None or head is None:
            return None
        words = {
            *re.findall(r"\w+", field_text(arm.node, "value"))
        }  # a text to be formatted may name some
        if any(
            n.type == "macro_invocation" or node_text(n) in words
            for n in patterns.find_bindings(head)
        ):
            return None
        return self._bind_parameters(
            substitute_peer(self.job, arm.value, self.job.vendor.name), arm.value
        )

    def _write_pattern(self, pattern: Pattern) -> str:
        """Return a pattern as Rust."""
        if not isinstance(pattern, Constructor):
            return "_"
        args = [*map(self._write_pattern, pattern.args)]
        enum = self.reader.met.get(pattern.family)
        if enum is None:
            return self._plain(pattern, args)
        prefix = self.reader.prefixes[pattern.family].replace("_crate", "$crate")
        path = f"{prefix}::{pattern.name}" if prefix else pattern.name
        fields = enum.variants[pattern.name].fields
        if enum.variants[pattern.name].is_struct:
            named = [f"{f}: {a}" for f, a in zip(fields, args, strict=True) if a != "_"]
            return f"{path} {{ {', '.join([*named, '..'])} }}"
        if len(args) > 1 and set(args) == {"_"}:
            return f"{path}(..)"
        return f"{path}({', '.join(args)})" if args else path

    def _plain(self, pattern: Constructor, args: list[str]) -> str:
        if pattern.family == "slice":
            longer = self.reader.is_open and int(pattern.name) > self.reader.longest
            return f"[{', '.join([*args, '..'] if longer else args)}]"
        if pattern.family.startswith("tuple"):
            return f"({', '.join(args)}{',' if len(args) == 1 else ''})"
        return pattern.name


def _read_arm(reader: PatternReader, node: Node, source: SourceFile, shift: int) -> _Arm:
    head = node.child_by_field_name("pattern")
    if head is None:
        raise UnsupportedPatternError("an arm without a pattern")
    conditions = parse_conditions(find_attributes(node, ()))
    guarded = head.child_by_field_name("condition") is not None
    value = node.child_by_field_name("value") or head
    texts = [source.text(n.start_byte + shift, n.end_byte + shift) for n in (head, value)]
    return _Arm(
        node, reader.read(head), tuple(cfg for _, cfg in conditions), guarded, texts[0], texts[1]
    )


def _remove_variants(pattern: Pattern, gone: frozenset[str]) -> Pattern:
    """Return a pattern without the values of some variants; an empty one if nothing is left."""
    if isinstance(pattern, OrPattern):
        kept = tuple(
            each for m in pattern.members if (each := _remove_variants(m, gone)) != OrPattern(())
        )
        return OrPattern(kept)
    if not isinstance(pattern, Constructor):
        return pattern
    if f"{pattern.family}:{pattern.name}" in gone:
        return OrPattern(())
    args = tuple(_remove_variants(arg, gone) for arg in pattern.args)
    return (
        OrPattern(()) if OrPattern(()) in args else Constructor(pattern.family, pattern.name, args)
    )


def _find_symbol(node: Node) -> str:
    """Return the names of the items around a node."""
    names: list[str] = []
    outer: Node | None = node
    while outer is not None:
        names += [describe_item(outer)] if outer.type in ITEMS else []
        outer = outer.parent
    return "::".join(filter(None, reversed(names)))


def _find_match_end(data: bytes, start: int, limit: int) -> int | None:
    """Return where the ``match`` among tokens ends that begins at an offset."""
    depth = 0
    opened = False
    for token in re.compile(rb"[(\[{]|[)\]}]").finditer(data, start, limit):
        if token[0] == b"{" and not depth:
            opened = True
        depth += 1 if token[0] in b"([{" else -1
        if depth < 0:
            return None
        if opened and not depth:
            return token.end()
    return None
