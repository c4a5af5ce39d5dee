"""A Python function or method of CUDA's: by its name, or by a decorator that asks for CUDA.

``def cuda(self)`` of a module, the stub ``def cuda_is_available() -> bool``, and a test under
``@pytest.mark.skipif(not cuda_is_available(), ..)`` each gain a copy under the name table. A test
whose name says nothing of CUDA gets ``_rocm`` behind it in the copy, since Python keeps only the
last of two functions of one name (the Python reference, "Naming and binding").

Not handled: classes, which are listed as unaccounted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.lang.python import definition, renamed
from portkit.lang.source import field_text, node_text
from portkit.lang.span import Span
from portkit.rules import Rule
from portkit.tree.finding import Edit, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site

CODE = "PK521"


def check(site: Site) -> Iterator[Finding]:
    """Find a function that is named after the source vendor or decorated for it."""
    function = definition(site.node)
    if function is None or site.scope.vendor:
        return
    name = function.child_by_field_name("name")
    job, names = site.job, site.job.vendor.names
    if name is None or not (job.names_source(node_text(name)) or _asks(site)):
        return
    copied = names.word(node_text(name))
    if copied == node_text(name):
        copied += f"_{job.vendor.name}"
    copy = renamed(names, site.node, (name, copied))
    end = site.node.end_byte
    status, claims = emit.ported(site, _sibling(site, copied))
    yield emit.finding(
        site,
        CODE,
        "Python function",
        f"{copied} is its copy",
        symbol=site.symbol(node_text(name)),
        status=status,
        edits=(Edit(end, end, f"{_gap(site)}{site.indent}{copy}"),),
        claims=claims,
    )


def _asks(site: Site) -> bool:
    """Whether a decorator asks for the source vendor."""
    return any(
        child.type == "decorator" and site.job.renames_code(node_text(child))
        for child in site.node.children
    )


def _sibling(site: Site, name: str) -> Span | None:
    for node, _ in site.siblings:
        function = definition(node)
        if function is not None and field_text(function, "name") == name:
            return Span(node.start_byte, node.end_byte)
    return None


def _gap(site: Site) -> str:
    """Return the line ends that set functions apart here: as before this one, or two lines."""
    before = site.source.data[: site.start - len(site.indent)]
    blank = re.search(rb"(?:\r?\n)+\Z", before)
    follows = site.node.prev_sibling is not None
    lines = blank.group().count(b"\n") if blank and follows else 3 if not site.indent else 2
    return "\n" * max(lines, 2)


RULE = Rule(
    CODE, "python_definition", frozenset({"function_definition", "decorated_definition"}), check
)
