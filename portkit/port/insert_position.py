"""Where what is written stands: behind its site, or behind a member of a list."""

from __future__ import annotations

import re
from functools import partial

from portkit.context.port_job import Site
from portkit.port.python_position import find_place_by_name
from portkit.syntax import python_nodes, toml_nodes
from portkit.syntax.cfg import FIELD_VALUES
from portkit.syntax.source_file import SourceFile
from portkit.syntax.span import Span
from portkit.workspace.finding import Edit

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


def insert_after_site(site: Site, text: str, name: str = "") -> Edit:
    """Return the edit that sets ``text`` after a place, as its next sibling."""
    end = site.node.end_byte
    if site.is_python:
        after = find_place_by_name(site, name) if name else site.node
        end = after.end_byte
        if python_nodes.find_definition(site.node) is None:
            end = python_nodes.find_comment_end(site.source, end)
            return Edit(end, end, f"\n{site.indent}{text}")
        # The line ends that set functions apart here: as before this one, or two lines.
        before = site.source.data[: site.start - len(site.indent)]
        blank = re.search(rb"(?:\r?\n)+\Z", before)
        follows = site.node.prev_sibling is not None
        lines = blank.group().count(b"\n") if blank and follows else 3 if not site.indent else 2
        return Edit(end, end, "\n" * max(lines, 2) + site.indent + text)
    if site.kind == "table_array_element":
        end = toml_nodes.find_table_end(site.node)
        return Edit(end, end, f"\n\n{text}")
    parent = site.parent
    if site.kind in _COMMA_AFTER or (parent is not None and parent.type == "array_expression"):
        comma = site.source.find_comma_end(end)
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
    if site.kind == "macro_invocation" or (
        site.kind == "expression_statement" and not site.code.endswith(";")
    ):
        semicolon = re.compile(rb"\s*;").match(site.source.data, end)
        end = semicolon.end() if semicolon else end
        text += ";" if semicolon else ""
    end = site.source.line_tail(end)
    multiline = site.kind in _SPACED or (site.kind == "mod_item" and "{" in site.code)
    plain = site.code.endswith(";") and not site.attributes
    gap = "\n\n" if multiline and not plain else "\n"
    return Edit(end, end, f"{gap}{site.indent}{text}")


def insert_after_member(source: SourceFile, after: Span, text: str, separator: str = ",") -> Edit:
    """Return the edit that sets a member behind another one, on its own line where that has one."""
    end = after.end
    if not source.data[: after.start].rstrip(b" \t").endswith(b"\n"):
        space = " " * separator.isidentifier()
        return Edit(end, end, f"{space}{separator} {text}")
    indent = source.indent(after.start)
    if not separator:
        end = source.line_tail(end)
    comma = source.find_comma_end(end) if separator == "," else None
    if separator not in ("", ",") and source.data.startswith(separator.encode(), end):
        comma = end + len(separator)
    if comma is None:
        return Edit(end, end, f"{separator}\n{indent}{text}")
    tail = (
        source.line_tail
        if source.path.endswith(".rs")
        else partial(python_nodes.find_comment_end, source)
    )
    end = tail(comma)
    return Edit(end, end, f"\n{indent}{text}{separator}")
