"""Arms in place of a copy: one that answers with an error, or one that devices share.

An enum that gains a variant breaks each ``match`` without a wildcard that gets no arm for it, in
every build (rustc: E0004). So an arm that is left out is written all the same there, and answers
with an error: ``Device::Rocm(_) => panic!("left out: the bindings follow later")``. The variant is
named, and no ``_`` is written, so that rustc goes on to find what the next variant lacks. Once the
place is ported, the arm of the port stands in its stead.

A ``match`` whose other arms turn values away by ``bail!`` does so here too. Else it is ``panic!``,
which fits any type (the Rust reference, "Never type") and may stand in a ``const fn``, where
``unimplemented!`` with a text may not (rustc: E0015).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace
from tree_sitter import Node

from portkit.context.port_job import Gating, PortJob, Site
from portkit.port import gating
from portkit.port.insert_position import insert_after_site
from portkit.port.match_facts import LEFT_OUT, is_guarded, read_match
from portkit.syntax import patterns
from portkit.syntax.source_file import field_text, node_text
from portkit.workspace.finding import Edit, Finding, Status

_REASON: Final = "\0"
"""Stands for the reason, which is known when it is known what is left out."""


def find_error_arm(site: Site, pattern: str) -> Node | None:
    """Return the arm beside a site that stands for one on what a pattern asks for."""
    return read_match(site).error_arms.get(patterns.pattern_key(pattern))


def remove_error_arm(site: Site, arm: Node) -> Edit:
    """Return the edit that takes such an arm away, with the line that it is on."""
    start = len(site.source.data[: arm.start_byte].rstrip())
    return Edit(start, arm.end_byte, "")


def add_error_arm(site: Site, pattern: str) -> tuple[Edit, ...]:
    """Return the edit that writes such an arm, with a mark for the reason; none if not needed."""
    match = read_match(site)
    if " if " in pattern or match.takes_all:
        return ()
    first = site.node.child_by_field_name("pattern")
    assert first is not None  # an arm has one
    head = site.job.rename(site.source.text(site.node.start_byte, first.start_byte))
    names = strip_bindings(patterns.parse_pattern(pattern))
    text = f"{head}{names} => {write_error_value(match.macro)},"
    return (insert_after_site(site, gating.gate_copy(site, text)),)


def write_error_value(macro: str) -> str:
    """Return the value of an arm that answers with an error, with a mark for the reason."""
    return f'{macro}!("{LEFT_OUT}{_REASON}")'


def write_error_arm(finding: Finding, reason: str) -> Finding:
    """Return the finding of an arm that is left out; it writes one that answers with an error."""
    said = re.sub(r'["\\]', r"\\\g<0>", " ".join(reason.split()))
    said = said.replace("{", "{{").replace("}", "}}")
    return replace(
        finding,
        status=Status.TODO,
        edits=tuple(e._replace(text=e.text.replace(_REASON, said)) for e in finding.error_edits),
        writes_error_arm=True,
        reason=reason,
    )


def strip_bindings(pattern: Node) -> str:
    """Return a pattern that asks for the same and binds nothing."""
    inner = patterns.list_parts(pattern)
    match pattern.type:
        case "tuple_struct_pattern":
            return f"{node_text(inner[0])}({', '.join(map(strip_bindings, inner[1:]))})"
        case "struct_pattern":
            fields = ", ".join([*_strip_field_bindings(inner[1:]), ".."])
            return f"{node_text(inner[0])} {{ {fields} }}"
        case "tuple_pattern":
            last = "," if len(inner) == 1 and node_text(pattern)[:-1].rstrip().endswith(",") else ""
            return f"({', '.join(map(strip_bindings, inner))}{last})"
        case "or_pattern":
            return " | ".join(map(strip_bindings, inner))
        case "reference_pattern":
            return f"&{strip_bindings(inner[-1])}"
        case "captured_pattern" | "match_pattern":
            return strip_bindings(inner[-1])
    return "_" if any(True for _ in patterns.find_bindings(pattern)) else node_text(pattern)


def _strip_field_bindings(members: list[Node]) -> Iterator[str]:
    """Yield the fields of a pattern that ask for something."""
    for field in members:
        pattern = field.child_by_field_name("pattern")
        if pattern is not None and (asked := strip_bindings(pattern)) != "_":
            yield f"{field_text(field, 'name')}: {asked}"


def join_shared_arm(site: Site) -> Edit | None:
    """Return the edit by which the written vendor takes the arm that others share, if there is one.

    It joins the arm's pattern. Where the site stands under a condition, or the vendor's variant
    does, it gets an arm of its own that does the same: a value that an arm before has taken would
    be one that cannot be reached.
    """
    job = site.job
    wanted = patterns.pattern_key(node_text(site.node.child_by_field_name("pattern")))
    for arm, _ in site.siblings:
        for listed, peer in _find_shared_members(job, arm):
            own = _rename_peer(job, node_text(peer))
            if patterns.pattern_key(_replace_members(arm, listed, own)) != wanted:
                continue
            written = job.rename(own)
            if site.conditions or job.gating is Gating.CFG:
                pattern = _replace_members(arm, listed, written)
                first, value = (
                    site.node.child_by_field_name("pattern"),
                    arm.child_by_field_name("value"),
                )
                assert first is not None  # an arm has both
                assert value is not None
                head = site.job.rename(site.source.text(site.node.start_byte, first.start_byte))
                does = site.source.text(value.start_byte, arm.end_byte)
                return insert_after_site(site, gating.gate_copy(site, f"{head}{pattern} => {does}"))
            return Edit(peer.end_byte, peer.end_byte, f" | {written}")
    return None


def _find_shared_members(job: PortJob, arm: Node) -> Iterator[tuple[Sequence[Node], Node]]:
    """Yield the or-patterns of an arm in which a peer's value stands beside those of no backend."""
    pattern = arm.child_by_field_name("pattern") if arm.type == "match_arm" else None
    if pattern is None or is_guarded(arm):
        return
    if any(child.type == "attribute_item" for child in arm.children):
        return
    for listed in patterns.find_mixed_or_patterns(pattern, job.mentions_peer):
        plain = [m for m in listed if not job.mentions_peer(node_text(m))]
        if any(job.renames_or_says_cuda(node_text(member)) for member in plain):
            continue
        if not any(True for member in listed for _ in patterns.find_bindings(member)):
            yield from ((listed, m) for m in listed if m not in plain)


def _rename_peer(job: PortJob, member: str) -> str:
    """Return a peer's value as the source vendor's."""
    peers = "|".join(map(re.escape, job.vendor.peers))
    as_written = {True: job.vendor.source.capitalize(), False: job.vendor.source}
    return re.sub(f"(?i:{peers})", lambda found: as_written[found[0][:1].isupper()], member)


def _replace_members(arm: Node, listed: Sequence[Node], member: str) -> str:
    """Return the pattern of an arm with one member in place of a list."""
    pattern = arm.child_by_field_name("pattern")
    assert pattern is not None  # it was looked into
    data, start = node_text(pattern).encode(), pattern.start_byte
    first, last = listed[0].start_byte - start, listed[-1].end_byte - start
    return (data[:first] + member.encode() + data[last:]).decode()
