"""Copies of items and files under the name table.

A copy is more than renaming: code under a feature without a counterpart is evaluated away, items
whose libraries really differ come from a template, and inside code that is specific to the source
vendor, the places where a peer is turned away gain the source vendor as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from msgspec.structs import replace
from tree_sitter import Node

from portkit.context.port_job import PortJob, Site
from portkit.port.item_patches import (
    IN_PLACE,
    PatchMatch,
    find_patch_matches,
    find_text_places,
    is_patch_excluded,
)
from portkit.port.match_facts import list_members
from portkit.port.peer_arms import DefaultAnswers, find_backend_answer
from portkit.port.template_values import render_template
from portkit.port.whole_files import is_own_module
from portkit.profiles.entries import CopyRepair, ItemOverride, TokenPatch
from portkit.syntax.cfg import (
    ITEMS_WITH_INNER_ATTRIBUTES,
    Cfg,
    drop_features,
    find_attributes,
    parse_cfg,
    parse_cfg_macro,
    parse_conditions,
)
from portkit.syntax.items import ITEMS, describe_item
from portkit.syntax.name_table import TOKEN, normalize_rust
from portkit.syntax.source_file import (
    SourceFile,
    contains_place,
    field_text,
    group_attributes,
    node_text,
    span_of,
)
from portkit.syntax.span import Span
from portkit.syntax.token_patterns import fill_template
from portkit.syntax.value import Value

_USE: Final = re.compile(r"\buse\s+(?:\w+\s*::\s*)+(\w*[a-z]\w*)\s*::\s*(CU[A-Z0-9_]+)\s*;")
"""A value of an enum of CUDA's, whose name is in capitals, and the enum, whose name is not."""


def qualify_enum_values(job: PortJob, source: SourceFile, copy: str) -> str:
    """Return the copy of a file with the values of enums named through their types."""
    if b"::CU" not in source.data:
        return copy
    words = job.vendor.names.words
    found = _USE.findall(source.text(0, source.size))
    known = [(words[kind], words[value]) for kind, value in found if {kind, value} <= words.keys()]
    brought: set[str] = set()
    for kind, value in known:
        pattern = rf"(\buse\s+[\w:\s]+::\s*{kind})\s*::\s*{value}\s*;(\n?)"
        again = kind in brought or re.search(rf"\buse\s+[\w:\s]+::\s*{kind}\s*;", copy) is not None
        copy = re.sub(pattern, "" if again else r"\1;\2", copy)
        brought.add(kind)
        copy = TOKEN.sub(partial(_qualify_value, kind, value), copy)
    return copy


def _qualify_value(kind: str, value: str, token: re.Match[str]) -> str:
    through = token.string.endswith("::", 0, token.start())
    return f"{kind}::{value}" if token.group() == value and not through else token.group()


_CONDITIONS: Final = ("cfg(", "cfg_attr")
"""Words of the items whose conditions a copy may have evaluated."""


class _Piece(Value, frozen=True):
    """What stands in the copy for the bytes ``[start, end)``; not renamed again."""

    start: int
    end: int
    text: str
    hit: PatchMatch | None = None

    @classmethod
    def of(cls, hit: PatchMatch) -> _Piece:
        """Return the place of a patch, whose text depends on the other pieces."""
        return cls(hit.span.start, hit.span.end, "", hit)


def copy_site(site: Site, instead: Iterable[tuple[Span, str]] = ()) -> str:
    """Return the copy of a place, its attributes included."""
    return copy_range(
        site.job,
        site.source,
        site.start,
        site.node.end_byte,
        site.node,
        site.scope.symbol,
        (*instead, *_drop_unported_features(site)),
    )


def _drop_unported_features(site: Site) -> Iterator[tuple[Span, str]]:
    """Yield the site's own conditions that name an unported feature, as its copy has them."""
    off = frozenset(site.job.vendor.unported)
    for attribute, cfg in site.conditions:
        if not cfg.features().isdisjoint(off) and cfg.without(off) is None:
            yield span_of(attribute), site.job.rename(drop_features(node_text(attribute), off))


def copy_file(job: PortJob, source: SourceFile) -> str:
    """Return the copy of a whole file."""
    whole = Span(0, len(source.data))
    if job.patches(ItemOverride, source.path):
        root = source.tree.root_node
    else:
        root = source.tree_around(_find_candidates(job, source, whole), _CONDITIONS).root_node
    copy = copy_range(job, source, whole.start, whole.end, root, "")
    copy = qualify_enum_values(job, source, copy)
    if job.codebase.find_cuda_only_crate(source.path) is None:
        return copy
    # Few trees have such crates.
    from portkit.port.c_launchers import declare_with_macro
    from portkit.port.kernel_files import rename_kernel_paths

    return declare_with_macro(job, source, rename_kernel_paths(job, source, copy))


def copy_range(
    job: PortJob,
    source: SourceFile,
    start: int,
    end: int,
    node: Node,
    symbol: str,
    instead: Iterable[tuple[Span, str]] = (),
) -> str:
    """Return the copy of the bytes ``[start, end)``, which hold ``node``."""
    hits = find_patch_matches(job, source, start, end)
    pieces = sorted(_find_pieces(job, source, node, symbol), key=lambda p: (p.start, p.end, p.text))
    if pieces and (pieces[0].start, pieces[0].end) == node.byte_range and node.type in ITEMS:
        # A template for the whole item brings its own attributes and documentation.
        pieces[0] = replace(pieces[0], start=start)
    pieces += _find_text_patches(job, source, start, end)
    pieces += (_Piece(*span, text) for span, text in instead)
    return _assemble_copy(job, source, start, end, [*map(_Piece.of, hits), *pieces])


def copy_with(
    job: PortJob, source: SourceFile, start: int, end: int, hits: Iterable[PatchMatch]
) -> str:
    """Return the bytes ``[start, end)`` under the name table, with some patches alone."""
    return _assemble_copy(job, source, start, end, map(_Piece.of, hits))


def _find_text_patches(job: PortJob, source: SourceFile, start: int, end: int) -> Iterator[_Piece]:
    """Yield the texts that the port writes in another way in the bytes ``[start, end)``."""
    for text in find_text_places(job, source):
        if text.standing or not start <= text.span.start <= text.span.end <= end:
            continue
        if not is_patch_excluded(job, source, IN_PLACE, text.symbol, text.span):
            yield _Piece(*text.span, job.rename(text.new))


def _assemble_copy(
    job: PortJob, source: SourceFile, start: int, end: int, pieces: Iterable[_Piece]
) -> str:
    """Return the copy of the bytes ``[start, end)``, of which pieces are given."""
    # Of two that begin together a patch counts, which knows what it takes away.
    ordered = sorted(pieces, key=lambda p: (p.start, p.hit is None, p.end, p.text))
    out, at = [], start
    for piece in ordered:
        if piece.start < at or piece.end > end:
            continue
        text = piece.text
        if piece.hit is not None:
            text = _render_match(job, source, piece.hit, [p for p in ordered if p is not piece])
        out += [job.rename(source.text(at, piece.start)), text]
        at = piece.end
    return "".join([*out, job.rename(source.text(at, end))])


def _render_match(job: PortJob, source: SourceFile, hit: PatchMatch, pieces: list[_Piece]) -> str:
    """Return what the copy has in a place that a patch has found."""
    captured = {
        name: _assemble_copy(job, source, span.start, span.end, pieces)
        for name, span in hit.captured.items()
    }
    patch = hit.patch
    text = render_patch(job, patch)
    if isinstance(patch, CopyRepair):
        text = job.rename(text)
    return fill_template(indent_lines(text, source.indent(hit.span.start)), captured)


def render_patch(job: PortJob, patch: TokenPatch) -> str:
    """Return what a patch writes, with the names of its captures."""
    return patch.write or render_template(job, patch.template).strip("\n")


def find_override(job: PortJob, source: SourceFile, symbol: str) -> ItemOverride | None:
    """Return the template that an item of a copy comes from, if any."""
    return next((p for p in job.patches(ItemOverride, source.path) if p.symbol == symbol), None)


def _find_pieces(job: PortJob, source: SourceFile, node: Node, symbol: str) -> Iterator[_Piece]:
    beside: _Beside = {}
    rests: DefaultAnswers = {}
    places = _find_candidates(job, source, span_of(node))
    templates = job.patches(ItemOverride, source.path)
    pending: list[tuple[Node, tuple[Node, ...], str]] = [(node, (), symbol)]
    while pending:
        current, attached, outer = pending.pop()
        inner = "::".join(s for s in (outer, describe_item(current)) if s)
        if current.type in ITEMS and inner:
            override = find_override(job, source, inner)
            if override is not None:
                start = attached[0].start_byte if attached else current.start_byte
                text = render_template(job, override.template).strip("\n")
                yield _Piece(start, current.end_byte, indent_lines(text, source.indent(start)))
                continue
        dropped = _evaluate_cfg(job, source, current, attached)
        yield from dropped
        if dropped and dropped[0].end >= current.end_byte:
            continue
        is_item = current.type in ITEMS
        if current.type == "match_arm":
            yield from _add_peer_arm(job, source, current, beside)
            # A file of the vendor's is compiled with it alone, and an arm stands beside its copy.
            if node.type not in ("match_arm", "source_file"):
                yield from _add_cuda_arm(job, source, current, rests)
        if current.type == "macro_invocation" and _is_cuda_cfg_macro(job, source, current):
            as_it_is = source.text(current.start_byte, current.end_byte)
            yield _Piece(current.start_byte, current.end_byte, as_it_is)
            continue
        is_name = current.type == "identifier" and job.mentions_cuda(node_text(current))
        if is_name and is_own_module(job, source.path, current):
            yield _Piece(current.start_byte, current.end_byte, node_text(current))
            continue
        if current.type == "parameter":
            text = source.data[current.start_byte : current.end_byte].decode()
            if text in job.vendor.parameters:
                yield _Piece(current.start_byte, current.end_byte, job.vendor.parameters[text])
        if current.child_count == 0 or not (
            contains_place(places, current) or any(p.symbol.startswith(inner) for p in templates)
        ):
            continue
        # The attributes of such a node are its own, not those of the child behind them.
        own = current.type in ITEMS_WITH_INNER_ATTRIBUTES
        children = ((c, ()) for c in current.children) if own else group_attributes(current)
        pending += [(c, a, inner if is_item else outer) for c, a in children]


def _find_candidates(job: PortJob, source: SourceFile, span: Span) -> list[int]:
    """Return where a span holds something that a copy may have otherwise than by its name."""
    kinds = [job.otherwise, re.compile(rb"::%s\b" % job.vendor.source.capitalize().encode())]
    if job.codebase.find_no_feature_entry(source.path) is not None:
        kinds.append(re.compile(rb"\b\w*%s\w*\s*::" % job.vendor.source.encode()))
        feature = re.escape(job.source_feature).encode()
        kinds.append(re.compile(rb'feature\s*=\s*"%s"' % feature))
    found = (kind.finditer(source.data, *span) for kind in kinds)
    return sorted({match.start() for each in found for match in each})


def _evaluate_cfg(
    job: PortJob, source: SourceFile, node: Node, attached: tuple[Node, ...]
) -> tuple[_Piece, ...]:
    """Evaluate a ``cfg`` that names an unported feature with that feature off.

    What stands under the written vendor's feature is its own and no part of a copy, but for an arm
    that is turned round.
    """
    own = list(find_attributes(node, attached))
    off = job.list_disabled_features(source.path)
    for attribute, standing in parse_conditions(own):
        cfg = _find_replaced_cfg(job, source, attribute) or standing
        value = cfg.without(off)
        if job.cfg_requires_rocm(cfg):
            value = (
                None
                if node.type == "match_arm"
                and job.mentions_rocm(node_text(node.child_by_field_name("pattern")))
                else False
            )
        if value is None and job.codebase.find_no_feature_entry(source.path) is not None:
            # What it asks of the source's feature stays a question about that.
            as_it_is = source.text(attribute.start_byte, attribute.end_byte)
            return (_Piece(attribute.start_byte, attribute.end_byte, as_it_is),)
        is_profiles = _has_text_place(job, source, attribute)
        if value is None and not is_profiles and not cfg.features().isdisjoint(off):
            text = node_text(attribute)
            return (_Piece(*attribute.byte_range, job.rename(drop_features(text, off))),)
        if value is None:
            continue
        if value and _ends_its_block(node) and len(own) == 1:
            inside = source.data[node.start_byte + 1 : node.end_byte - 1]
            start = node.start_byte + 1 + len(inside) - len(inside.lstrip())
            end = node.end_byte - 1 - len(inside) + len(inside.rstrip())
            braces = _Piece(attribute.start_byte, start, ""), _Piece(end, node.end_byte, "")
            return braces if start < end else ()
        if value:
            following = re.compile(rb"\s*").match(source.data, attribute.end_byte)
            assert following is not None  # the pattern matches the empty string
            return (_Piece(attribute.start_byte, following.end(), ""),)
        start = min(n.start_byte for n in (node, *own))
        end = node.end_byte
        return (_remove_range(source, start, end),)
    return ()


def _is_cuda_cfg_macro(job: PortJob, source: SourceFile, macro: Node) -> bool:
    """Whether a ``cfg!`` asks for the source's feature in a file that does without it."""
    if job.codebase.find_no_feature_entry(source.path) is None:
        return False
    cfg = parse_cfg_macro(node_text(macro))
    return cfg is not None and job.cfg_mentions_cuda(cfg)


def _find_replaced_cfg(job: PortJob, source: SourceFile, attribute: Node) -> Cfg | None:
    """Return the condition that the port writes for another, if it does."""
    pieces = list(_find_text_patches(job, source, *attribute.byte_range))
    if not pieces:
        return None
    return parse_cfg(_assemble_copy(job, source, *attribute.byte_range, pieces))


def _has_text_place(job: PortJob, source: SourceFile, node: Node) -> bool:
    """Whether the profile says what a part of a node is, whether that is written yet or not."""
    span = Span(*node.byte_range)
    return any(span.encloses(place.span) for place in find_text_places(job, source))


def _remove_range(source: SourceFile, start: int, end: int) -> _Piece:
    """Return the piece that takes a range away, with its comma and the lines that are its own."""
    end = source.find_comma_end(end) or end
    tail = re.compile(rb"[ \t]*\r?\n?").match(source.data, end)
    line = source.data.rfind(b"\n", 0, start) + 1
    if tail is not None and not source.data[line:start].strip():
        start, end = line, tail.end()
    elif tail is not None:
        end += len(tail.group().rstrip(b"\r\n"))
    return _Piece(start, end, "")


def _ends_its_block(node: Node) -> bool:
    """Whether a node is a block at the end of another, which needs no braces of its own."""
    inner = node.named_children[0] if node.type == "expression_statement" else node
    parent = node.parent
    return (
        inner.type == "block"
        and inner.byte_range == node.byte_range
        and parent is not None
        and parent.type == "block"
        and parent.named_children[-1].id == node.id
    )


def _add_peer_arm(job: PortJob, source: SourceFile, arm: Node, beside: _Beside) -> Iterator[_Piece]:
    """Give the copy of a source-specific match an arm on the source where a peer has one.

    Where the match has one on the written vendor already, that one is turned round instead.
    """
    members = list_members(arm)
    for member in members:
        text = node_text(member)
        if job.mentions_cuda(text):
            continue
        if job.mentions_rocm(text) and _can_join(job, arm, _read_match(job, arm, beside)):
            yield _remove_range(source, arm.start_byte, arm.end_byte)
        elif job.mentions_rocm(text):
            whole = member if len(members) > 1 else arm
            yield _Piece(whole.start_byte, whole.end_byte, _swap_vendors(job, source, whole))
        elif job.mentions_peer(text) and not _read_match(job, arm, beside).turns_vendor_away:
            if len(members) > 1:
                new = substitute_peer(job, job.rename(text), job.vendor.source)
                yield _Piece(member.end_byte, member.end_byte, f" | {new}")
                continue
            copy = job.rename(source.text(arm.start_byte, arm.end_byte))
            separator = "" if copy.endswith((",", "}")) else ","
            indent = source.indent(arm.start_byte)
            yield _Piece(
                arm.end_byte,
                arm.end_byte,
                f"{separator}\n{indent}{substitute_peer(job, copy, job.vendor.source)}",
            )


def _add_cuda_arm(
    job: PortJob, source: SourceFile, arm: Node, known: DefaultAnswers
) -> Iterator[_Piece]:
    """Give the copy an arm on the source where the ``match`` names no other backend (PK303)."""
    answer = find_backend_answer(job, arm, known)
    if answer is None or answer.rest.mentions_rocm:  # the written vendor's arm is turned round
        return
    text = source.text(arm.start_byte, arm.end_byte)
    separator = "" if text.endswith((",", "}")) else ","
    new = f"{separator}\n{source.indent(arm.start_byte)}{answer.pattern} => "
    yield _Piece(arm.end_byte, arm.end_byte, f"{new}{job.rename(answer.rest.value)},")


class _Match(Value, frozen=True):
    """What the arms of a ``match`` say together."""

    answers: frozenset[str]  # how the or-patterns with a peer answer
    turns_vendor_away: bool  # whether one is on the written vendor alone, and stays one


_Beside = dict[int, _Match]
"""What is known of each ``match``, by where it begins."""


def _read_match(job: PortJob, arm: Node, beside: _Beside) -> _Match:
    """Return what the arms beside one say together."""
    block = arm.parent
    if block is None:
        return _Match(frozenset(), turns_vendor_away=False)
    if block.id not in beside:
        arms = [other for other in block.named_children if other.type == "match_arm"]
        answers = frozenset(
            normalize_rust(field_text(other, "value"))
            for other in arms
            if len(list_members(other)) > 1
            and any(job.mentions_peer(node_text(m)) for m in list_members(other))
        )
        known = _Match(answers, turns_vendor_away=False)
        away = any(
            job.mentions_rocm(node_text(member)) and not job.mentions_cuda(node_text(member))
            for other in arms
            if not _can_join(job, other, known)
            for member in list_members(other)
        )
        beside[block.id] = replace(known, turns_vendor_away=away)
    return beside[block.id]


def _can_join(job: PortJob, arm: Node, match: _Match) -> bool:
    """Whether an arm on the written vendor answers as an or-pattern with a peer does.

    Such an arm was written for a pattern whose members cannot stand under a feature; in a copy the
    source vendor joins the pattern.
    """
    members = list_members(arm)
    if len(members) != 1 or not job.mentions_rocm(node_text(members[0])):
        return False
    return normalize_rust(field_text(arm, "value")) in match.answers


def _swap_vendors(job: PortJob, source: SourceFile, node: Node) -> str:
    """Return text about the written vendor as the copy has it: about the source vendor.

    The condition that the variant may stand under is the written vendor's, and goes.
    """
    vendor = job.vendor
    back = {vendor.variant: vendor.source.capitalize(), vendor.title: vendor.source}
    back.setdefault(vendor.name, vendor.source)
    marks = {word: chr(0xE000 + i) for i, word in enumerate(back)}  # of the private use area
    start = next(
        (c.start_byte for c in node.children if c.type != "attribute_item"), node.start_byte
    )
    text = source.text(start, node.end_byte)
    for word, mark in marks.items():
        text = re.sub(rf"\b{word}\b", mark, text)
    text = job.rename(text)
    for word, mark in marks.items():
        text = text.replace(mark, back[word])
    return text


def substitute_peer(job: PortJob, text: str, vendor: str) -> str:
    """Return text about a peer, such as Metal, as text about ``vendor``.

    Where a message has the source's name in small letters, it has the vendor's so, too.
    """
    variant, title = {
        job.vendor.source: (job.vendor.source.capitalize(), job.vendor.source),
        job.vendor.name: (job.vendor.variant, job.vendor.title),
    }[vendor]
    if re.search(rf"(?<![:.\w]){job.vendor.source}\b(?![:.(])", text):
        title = vendor
    for peer in job.vendor.peers:
        text = re.sub(rf"(?<=::){peer.capitalize()}\b", variant, text)
        text = re.sub(rf"(?<![:\w]){peer.capitalize()}\b", title, text)
        text = re.sub(rf"\b{peer}\b", vendor, text)
    return text


def indent_lines(text: str, indent: str) -> str:
    """Return lines of which all but the first have an indent, where they have anything."""
    return text.replace("\n", "\n" + indent).replace(f"\n{indent}\n", "\n\n")
