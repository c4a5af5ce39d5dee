"""Where what is written stands: behind its site, or behind a member of a list."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from portkit.lang import python, toml
from portkit.lang.cfg import FIELD_VALUES
from portkit.tree.finding import Edit

if TYPE_CHECKING:
    from portkit.lang.source import Source
    from portkit.lang.span import Span
    from portkit.site.context import Site

_SPACED = frozenset(
    {
        "enum_item",
        "function_item",
        "impl_item",
        "macro_definition",
        "struct_item",
        "trait_item",
        "union_item",
    }
)
"""Items that a blank line sets off from their neighbours."""
_COMMA_AFTER = FIELD_VALUES | {"enum_variant", "field_declaration"}
"""Members of lists whose comma is a sibling of theirs."""


def insertion(site: Site, text: str) -> Edit:
    """Return the edit that sets ``text`` after a place, as its next sibling."""
    end = site.node.end_byte
    if site.is_python:
        return _after_python(site, text)
    if site.kind == "table_array_element":
        end = toml.end_of_table(site.node)
        return Edit(end, end, f"\n\n{text}")
    parent = site.parent
    if site.kind in _COMMA_AFTER or (parent is not None and parent.type == "array_expression"):
        comma = site.source.comma(end)
        if comma is None:
            return Edit(end, end, f",\n{site.indent}{text}")
        end = site.source.line_tail(comma)
        return Edit(end, end, f"\n{site.indent}{text},")
    if site.kind == "match_arm":
        # A comma that is lacking stands before a comment on the same line, not in it.
        if not site.code.rstrip().endswith((",", "}")):
            return Edit(end, end, f",\n{site.indent}{text}")
        end = site.source.line_tail(end)
        return Edit(end, end, f"\n{site.indent}{text}")
    if site.kind == "macro_invocation" or _is_like_block(site):
        semicolon = re.compile(rb"\s*;").match(site.source.data, end)
        end = semicolon.end() if semicolon else end
        text += ";" if semicolon else ""
    end = site.source.line_tail(end)
    multiline = site.kind in _SPACED or (site.kind == "mod_item" and "{" in site.code)
    plain = site.code.endswith(";") and not site.attributes
    gap = "\n\n" if multiline and not plain else "\n"
    return Edit(end, end, f"{gap}{site.indent}{text}")


def _is_like_block(site: Site) -> bool:
    """Whether a place is a statement whose semicolon the parser takes for one of its own.

    For rustc it belongs to the block, the value of which is thrown away by it (the Rust reference,
    chapter "Statements", section "Expression statements").
    """
    return site.kind == "expression_statement" and not site.code.endswith(";")


def _after_python(site: Site, text: str) -> Edit:
    end = site.node.end_byte
    if python.definition(site.node) is None:
        end = python.line_tail(site.source, end)
        return Edit(end, end, f"\n{site.indent}{text}")
    # The line ends that set functions apart here: as before this one, or two lines.
    before = site.source.data[: site.start - len(site.indent)]
    blank = re.search(rb"(?:\r?\n)+\Z", before)
    follows = site.node.prev_sibling is not None
    lines = blank.group().count(b"\n") if blank and follows else 3 if not site.indent else 2
    return Edit(end, end, "\n" * max(lines, 2) + site.indent + text)


def behind(source: Source, after: Span, text: str) -> Edit:
    """Return the edit that sets a member behind another one, on its own line where that has one."""
    end = after.end
    if not source.data[: after.start].rstrip(b" \t").endswith(b"\n"):
        return Edit(end, end, f", {text}")
    indent = source.indent(after.start)
    comma = source.comma(end)
    if comma is None:
        return Edit(end, end, f",\n{indent}{text}")
    tail = source.line_tail if source.path.endswith(".rs") else partial(python.line_tail, source)
    end = tail(comma)
    return Edit(end, end, f"\n{indent}{text},")
