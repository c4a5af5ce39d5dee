"""Vetoes: reasons why a person must write a copy.

Each veto is one function from a site to a reason, or an empty string. One list has them, each with
the kinds of site that it is about.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection
from typing import Final

from portkit.context.port_job import Site
from portkit.port import (
    c_declarations,
    counterparts,
    cuda_tools,
    enum_variants,
    feature_conflicts,
    unique_names,
)
from portkit.syntax.cfg import FIELD_VALUES
from portkit.syntax.imports import find_imported_names
from portkit.syntax.name_table import strip_comments_and_strings
from portkit.syntax.source_file import node_text

_NO_SIBLING = "a value has nothing beside it: set it in braces, or choose by `if cfg!`, by hand"
_ONE_MORE = "with both features on there would be one more of them: choose by hand"
_COUNTED = frozenset(
    {
        "arguments",
        "closure_parameters",
        "ordered_field_declaration_list",
        "parameters",
        "tuple_expression",
        "tuple_pattern",
        "tuple_struct_pattern",
        "tuple_type",
        "type_parameters",
    }
)
"""Lists whose members count: one more makes another call, type or function."""
_STATEMENTS = frozenset(
    {
        "async_block",
        "block",
        "const_block",
        "empty_statement",
        "expression_statement",
        "extern_crate_declaration",
        "for_expression",
        "if_expression",
        "let_declaration",
        "loop_expression",
        "macro_definition",
        "match_expression",
        "unsafe_block",
        "use_declaration",
        "while_expression",
    }
)
"""What stands in a block beside others (the Rust reference, chapter "Statements")."""


def find_veto(site: Site, copy: str, *, gives_way: bool) -> str:
    """Return why a person must write the copy of a site, or an empty string.

    Args:
        site: the site.
        copy: the text of the copy.
        gives_way: whether either side is absent if both features are on.
    """
    is_rust = site.source.path.endswith(".rs")
    if is_rust and (reason := cuda_tools.explain_cuda_run(site, copy)):
        return reason
    reasons = (veto(site) for kinds, veto in _VETOES if not kinds or site.kind in kinds)
    return next(filter(None, reasons), "") or ("" if gives_way else _find_name_clash(site))


def _find_missing_c_function(site: Site) -> str:
    linked = c_declarations.has_linked_functions(site.code)
    return c_declarations.explain_missing_c_function(site.job, site.code) if linked else ""


def _find_missing_place(site: Site) -> str:
    """Return why nothing can stand beside a place, or an empty string."""
    parent = site.parent
    if parent is None or site.is_python:
        return ""
    if parent.type == "block" and not (site.kind.endswith("_item") or site.kind in _STATEMENTS):
        return _NO_SIBLING
    return _ONE_MORE if parent.type in _COUNTED else ""


def _find_name_clash(site: Site) -> str:
    """Return why a person must find a name for the counterpart, or an empty string.

    A copy would have the name of its site where both exist with both features on. rustc: E0252 for
    imports, E0428 for items and variants, E0124 for fields, E0062 for their values, E0119 and E0592
    for implementations. Macros and ``_`` may stand twice.
    """
    job, imported = site.job, site.kind == "use_declaration"
    own = site.kind != "macro_definition" and site.is_cuda_only
    is_value = site.kind in FIELD_VALUES
    name_of_site = counterparts.read_item_name(site.node) if is_value else site.name
    names = find_imported_names(site.node) if imported else [name_of_site] if own else []
    alone = find_method_imports(site)
    name = next((n for n in names if n not in ("", "_", *alone) and job.rename(n) == n), "")
    title = job.vendor.title
    if clash := feature_conflicts.explain_clash(site):
        return (
            f"with both features on {clash} would be implemented twice: set what is {title}'s"
            " beside what is CUDA's in it, each under its feature, by hand"
        )
    if not name:
        return ""
    if imported:
        return (
            f"a copy would bring in {name} a second time: import {title}'s under a name of its own"
        )
    if is_value:
        return f"with both features on {name} would have two values: choose by hand"
    return f"with both features on {name} would stand twice: give {title}'s a name of its own"


def find_method_imports(site: Site) -> frozenset[str]:
    """Return the names that an import in a block brings in for the methods of a trait alone.

    No code of the block says them, and no other code could; the copy needs no name either.
    """
    block = site.parent
    if site.kind != "use_declaration" or block is None or block.type != "block":
        return frozenset()
    names = [name for name in find_imported_names(site.node) if site.job.rename(name) == name]
    said = (
        Counter(re.findall(r"\w+", strip_comments_and_strings(node_text(block)))) if names else {}
    )
    return frozenset(name for name in names if said[name] == 1)


_VETOES: Final[tuple[tuple[Collection[str], Callable[[Site], str]], ...]] = (
    ((), _find_missing_c_function),
    (("function_signature_item",), c_declarations.explain_no_counterpart),
    (("enum_variant",), enum_variants.explain_uncopied_variant),
    (("enum_variant", "field_declaration"), unique_names.explain_name_clash),
    ((), _find_missing_place),
)
"""The vetoes in their order, each with the kinds of site that it is about; all kinds if none."""
