"""A Python function or method of CUDA's: by its name, or by a decorator that asks for CUDA.

``def cuda(self)`` of a module, the stub ``def cuda_is_available() -> bool``, and a test under
``@pytest.mark.skipif(not cuda_is_available(), ..)`` each gain a copy under the name table. A test
whose name says nothing of CUDA gets ``_rocm`` behind it in the copy, since Python keeps only the
last of two functions of one name (the Python reference, "Naming and binding"). Where the functions
around one are sorted by name, the copy has its sorted place.

It is so of Python beside a crate that makes a module of it (pyo3): in what other Python calls CUDA,
Rust has no part.

Not handled: classes, which are listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.intent import CopySite, Intent
from portkit.context.python_files import belongs_to_rust_module
from portkit.rules import SiteRule
from portkit.syntax.python_nodes import find_definition
from portkit.syntax.source_file import field_text, node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a function that is named after the source vendor or decorated for it."""
    function = find_definition(site.node)
    if function is None or site.scope.vendor or not belongs_to_rust_module(site):
        return
    name = field_text(function, "name")
    if not (site.job.mentions_cuda(name) or _asks(site)):
        return
    copied = site.job.vendor.names.word(name)
    if copied == name:
        copied += f"_{site.job.vendor.name}"
    message = f"{copied} is its copy"
    yield CopySite("Python function", message, symbol=site.symbol(name), name=copied)


def _asks(site: Site) -> bool:
    """Whether a decorator asks for the source vendor."""
    return any(
        child.type == "decorator" and site.job.rename_changes_code(node_text(child))
        for child in site.node.children
    )


RULE = SiteRule("PK521", frozenset({"function_definition", "decorated_definition"}), check)
