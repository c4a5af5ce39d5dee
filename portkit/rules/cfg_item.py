"""An item, a statement or a field under ``#[cfg(feature = "cuda")]``.

What stands under the feature alone exists only for CUDA. Its ROCm counterpart is the copy under the
name table, beside it, under ``#[cfg(feature = "rocm")]``.

Where renaming changes nothing, the item is not about CUDA but about a GPU being there, and its
condition is widened to ``any(feature = "cuda", feature = "rocm")``, unless it names what an import
brings in for CUDA alone, which leaves it to a person. What the profile calls
exclusive, such as a field whose name is no vendor's, gives way to its copy where both features are
on. Of a pair, CUDA's under the feature and another of the same name where that is off, the copy
gives way, and a person looks at it; so it is of steps of a block that follow each other, and of an
implementation that would stand twice. One with functions that are named after CUDA is there for
both, each function under its feature. An import in a block that brings in a name which no code
there says is for a trait's methods: its copy ends in ``as _``. What else would stand twice then is
left to a person. The copy of a ``while`` is for a person to review, since the first loop may leave
nothing for it. A function whose name would be is another rule's (PK511), and so is an import that
only such functions need. A module whose file the profile keeps is not exported again: what takes
its place is not public by that. If a module's file names CUDA and the module itself does not, a
person names the copy. It is copied all the same if `#[path]` names the file and both files define
the same names. A module that needs a crate for CUDA alone is left alone. A program of CUDA's that
runs, or a crate that compiles CUDA alone, is left to a person or comes from a template (PK104).

If a block declares functions of CUDA's API, its copy has their HIP names, from the table that
`portkit hipify` uses. A person checks the arguments. If a function or a CUDA library has no HIP
name, a person writes the block.

Not handled: ``#[cfg_attr(feature = "cuda", ..)]``, which another rule finds (PK512).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.intent import CopySite, Intent, LeaveUnchanged, RequireManual, WidenCondition
from portkit.port import cuda_tools
from portkit.port.copy_item import find_override
from portkit.port.cuda_only_deps import explain_cuda_only_module, find_cuda_file
from portkit.port.dispatch_shim import is_import_for_functions
from portkit.port.item_patches import hash_item
from portkit.port.template_values import render_template
from portkit.port.whole_files import find_declared_file, find_module_file
from portkit.rules import SiteRule
from portkit.syntax import imports
from portkit.syntax.module_files import read_path
from portkit.syntax.source_file import node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site
    from portkit.profiles.entries import ItemOverride


_WORDS = {
    "block": "cfg block",
    "enum_variant": "enum variant",
    "expression_statement": "cfg statement",
    "field_declaration": "cfg field",
    "field_initializer": "cfg field",
    "function_item": "cfg fn",
    "impl_item": "cfg impl",
    "let_declaration": "cfg statement",
    "mod_item": "cfg item: mod",
    "use_declaration": "import/re-export",
}


def check(site: Site) -> Iterator[Intent]:
    """Find what exists only with the source vendor's feature on."""
    job = site.job
    if site.kind == "match_arm" or site.scope.vendor:
        return
    is_written = any(job.cfg_requires_either(cfg) for _, cfg in site.conditions)
    if not (site.is_cuda_only or is_written) or site.unported_feature:
        return
    construct = _WORDS.get(site.kind, "cfg item")
    symbol = site.symbol(site.name)
    if not site.is_cuda_only:
        if not job.is_cuda_specific(_code(site)):
            yield from _widened(site, construct, symbol)
        return
    if site.scope.container in ("trait", "trait impl") and job.mentions_cuda(site.name):
        return
    override = find_override(job, site.source, site.symbol(f"{{{job.vendor.source}}}"))
    if override is not None and site.code.startswith("{"):
        yield _overridden(site, override)
    elif site.kind == "use_declaration" and is_import_for_functions(site):
        message = (
            "a copy would clash with it when both features are on: the functions that need it "
            "bring in their own"
        )
        yield LeaveUnchanged(construct, message, symbol=symbol)
    elif kept := _kept(site):
        yield LeaveUnchanged(construct, kept, symbol=symbol)
    elif reason := explain_cuda_only_module(job, site.source.path, site.node):
        yield LeaveUnchanged(construct, f"{reason}: it is not ported", symbol=symbol)
    elif own := find_cuda_file(job, site.source.path, site.node):
        name = f"{site.name}_{job.vendor.name}"
        message = (
            f"{own} names CUDA, its name does not: give the copy one in [names.words] of the"
            f' profile, such as {site.name} = "{name}", or write it by hand'
        )
        yield RequireManual(construct, message, symbol=symbol)
    elif not (job.is_cuda_specific(_code(site)) or _is_other_file(site)):
        yield from _widened(site, construct, symbol)
    elif site.kind != "function_item" or job.rename(site.name) != site.name:
        message = f"copy it for {job.vendor.title}, under the feature {job.feature}"
        loop = any(child.type == "while_expression" for child in site.node.named_children)
        if loop:
            message += "; see that it ends, and what is left for it where both features are on"
        yield CopySite(construct, message, symbol=symbol, review=loop)


def _code(site: Site) -> str:
    """Return the text of an item without the conditions on it, which may stand inside it."""
    text = site.code
    for attribute, _ in site.conditions:
        if attribute.type == "inner_attribute_item":
            text = text.replace(node_text(attribute), "", 1)
    return text


def _kept(site: Site) -> str:
    """Return why the profile keeps the file of a module that is exported again, or nothing."""
    exported = any(child.type == "visibility_modifier" for child in site.node.children)
    paths = (
        [*imports.find_import_paths(site.node)]
        if site.kind == "use_declaration" and exported
        else []
    )
    if len(paths) != 1:
        return ""
    at = site.source.path
    for module in paths[0].split("::"):
        file = find_module_file(site.job, at, module)
        if file is None:
            return ""
        at = file
    kept = site.job.codebase.kept(at)
    return kept.reason if kept is not None else ""


def _is_other_file(site: Site) -> bool:
    """Whether the copy of a module has the same name, and its `path` names another file."""
    if site.kind != "mod_item" or not read_path(site.node):
        return False
    return (
        find_declared_file(site.job, site.source.path, site.node)
        in site.job.tree_facts.copied_files
    )


def _overridden(site: Site, override: ItemOverride) -> Intent:
    current = hash_item(site.code)
    known = current in override.fingerprints.values()
    return CopySite(
        "cfg block",
        override.reason
        if known
        else f"{override.reason}; the CUDA block is not one that the template was written against "
        f"(now {current}): see whether the template must follow",
        symbol=site.symbol(f"{{{site.job.vendor.source}}}"),
        review=not known,
        entry=site.job.codebase.key(override),
        text=render_template(site.job, override.template).strip().replace("\n", f"\n{site.indent}"),
    )


def _widened(site: Site, construct: str, symbol: str) -> Iterator[Intent]:
    if reason := cuda_tools.explain_manual_widening(site, site.code):
        yield RequireManual(construct, reason, symbol=symbol)
        return
    for attribute, cfg in site.conditions:
        if site.job.cfg_requires_cuda(cfg) or site.job.cfg_requires_either(cfg):
            yield WidenCondition(
                construct,
                cuda_tools.explain_widening(site, site.code),
                symbol=symbol,
                review=True,
                condition=attribute,
                within=attribute,
            )


RULE = SiteRule("PK501", frozenset({"*"}), check)
