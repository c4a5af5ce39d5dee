"""Functions of a file that no copy is made of, and what calls them.

A function that runs a program of the source vendor's is left to a person. A copy of what calls it
would name a function that is not there, and a build script is compiled in every build.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.port import cuda_tools
from portkit.port.copy_item import copy_range, find_override
from portkit.syntax.items import find_items
from portkit.syntax.name_table import strip_comments_and_strings

if TYPE_CHECKING:
    from portkit.context.port_job import Site


def explain_uncopied_call(site: Site, copy: str) -> str:
    """Return why a person must write what a copy calls, or an empty string."""
    left = site.memoize("uncopied", make=lambda: _uncopied(site))
    if tool := _tool(site, copy):
        return (
            f"it calls {tool}, which compiles CUDA alone; write {site.job.vendor.title}'s by hand"
        )
    if not left:  # as in nearly every file
        return ""
    called = sorted(_called(copy) & left.keys())
    if not called:
        return ""
    vendor, own = site.job.vendor.title, left[called[0]]
    return (
        f"it calls {own}, which builds for CUDA alone: write {vendor}'s and this by hand, under the"
        f" feature {site.job.feature}"
    )


def _uncopied(site: Site) -> dict[str, str]:
    """Return the functions left to a person: the name that a copy calls, and their own."""
    job, source = site.job, site.source
    if not cuda_tools.may_run_cuda_tools(job, source):
        return {}
    copies: dict[str, tuple[str, str]] = {}
    names = set()
    for item in find_items(source):
        if item.node.type == "function_item":
            outer, _, own = item.symbol.rpartition("::")
            if _is_overridden(site, item.symbol):
                continue  # a template of the profile has it
            copy = copy_range(job, source, item.span.start, item.span.end, item.node, outer)
            copies[job.rename(own)] = own, copy
            names.add(own)
    # What a person wrote already is there to be called.
    wanted = {name: said for name, said in copies.items() if name == said[0] or name not in names}
    left = {
        name: own
        for name, (own, copy) in wanted.items()
        if cuda_tools.explain_cuda_tool(job, copy) or _tool(site, copy)
    }
    while more := {
        name: own
        for name, (own, copy) in wanted.items()
        if name not in left and _called(copy) & left.keys()
    }:
        left |= more
    return left


def _tool(site: Site, copy: str) -> str:
    """Return the crate that compiles kernels from which a file imports what a copy names."""
    job = site.job
    tools = site.memoize(
        "compilers", make=lambda: cuda_tools.find_compiler_imports(job, site.source)
    )
    words = set(re.findall(r"\w+", strip_comments_and_strings(copy))) if tools else set()
    return next((crate for name, crate in tools.items() if job.rename(name) in words), "")


def _is_overridden(site: Site, symbol: str) -> bool:
    parts = symbol.split("::")
    outer = ("::".join(parts[:length]) for length in range(1, len(parts) + 1))
    return any(find_override(site.job, site.source, each) is not None for each in outer)


def _called(text: str) -> set[str]:
    return set(re.findall(r"(?<!\bfn )\b(\w+)\s*\(", strip_comments_and_strings(text)))
