"""A call of a function that looks for CUDA's device: ``cuda_device().expect("..")``.

The function, ``fn cuda_device() -> Option<Device>``, is copied under ROCm's name (PK503), and
nothing calls the copy yet. What it answers with where there is no such device, ``None`` or an
error, is the question to ROCm's: ``cuda_device().or_else(rocm_device)``.

Not handled: a function of another file, and one with arguments, or that answers otherwise, whose
calls are a person's.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from portkit.context.intent import Intent, ReplaceText, RequireManual
from portkit.context.port_job import Site
from portkit.port import cuda_only_deps
from portkit.rules import SiteRule
from portkit.syntax.cfg import find_attributes, parse_conditions
from portkit.syntax.items import find_items
from portkit.syntax.source_file import field_text, find_statement, node_text


def check(site: Site) -> Iterator[Intent]:
    """Find a call of a function of this file that is named after the source vendor."""
    job, name = site.job, field_text(site.node, "function")
    if site.scope.vendor or not job.mentions_cuda(name) or not name.isidentifier():
        return
    function = _functions(site).get(name)
    if function is None:
        return
    construct, copy = "search for a device", job.rename(name)
    answer = field_text(function, "return_type")
    kind = answer.partition("<")[0].rpartition("::")[2]
    wrap = {"Option": copy, "Result": f"|_| {copy}()"}.get(kind, "")
    if (
        job.rename(answer) != answer
        or cuda_only_deps.explain_cuda_only(site, node_text(function)) is not None
    ):
        wrap = ""
    if not wrap or site.code != f"{name}()":
        yield RequireManual(
            construct, f"it calls {name}, whose copy is {copy}: see which is meant, by hand"
        )
        return
    yield ReplaceText(
        construct,
        f"ask for {job.vendor.title} where there is none of CUDA's",
        old=site.code,
        new=f"{site.code}.or_else({wrap})",
        sign=copy,
        within=find_statement(site.node),
    )


def _functions(site: Site) -> dict[str, Node]:
    """Return the functions of the file, outside modules and conditions, by name."""

    def find() -> dict[str, Node]:
        return {
            item.symbol: item.node
            for item in find_items(site.source)
            if item.node.type == "function_item"
            and not parse_conditions(find_attributes(item.node, item.attributes))
        }

    return site.memoize("functions outside conditions", make=find)


RULE = SiteRule("PK409", frozenset({"call_expression"}), check)
