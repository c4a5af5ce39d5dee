"""Code under a condition on the CUDA feature."""

from __future__ import annotations

import re
from collections.abc import Iterator

from portkit.context.intent import (
    AlreadyPorted,
    CopySite,
    CopyUnderName,
    Intent,
    LeaveUnchanged,
    RequireManual,
    WidenCondition,
)
from portkit.context.port_job import Site
from portkit.port import counterparts, cuda_tools, feature_conflicts
from portkit.port.copy_item import find_override
from portkit.port.cuda_only_deps import explain_cuda_only_module, find_cuda_file, is_lone_twin
from portkit.port.dispatch_shim import is_import_for_functions, list_copy_imports, list_parameters
from portkit.port.feature_conflicts import STEPS, has_own_step, is_paired
from portkit.port.item_patches import hash_item
from portkit.port.template_values import render_template
from portkit.port.whole_files import find_declared_file, find_module_file
from portkit.profiles.entries import ItemOverride
from portkit.rules import SiteRule, match_arms, statement
from portkit.syntax import imports
from portkit.syntax.cfg import find_attributes, parse_cfg_attr
from portkit.syntax.module_files import read_path
from portkit.syntax.name_table import normalize_rust
from portkit.syntax.source_file import node_text, span_of

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


def check_cfg_item(site: Site) -> Iterator[Intent]:
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
        if not job.is_cuda_specific(_read_code(site)):
            yield from _check_widening(site, construct, symbol)
        return
    if site.scope.container in ("trait", "trait impl") and job.mentions_cuda(site.name):
        return
    override = find_override(job, site.source, site.symbol(f"{{{job.vendor.source}}}"))
    if override is not None and site.code.startswith("{"):
        yield _copy_from_template(site, override)
    elif site.kind == "use_declaration" and is_import_for_functions(site):
        message = (
            "a copy would clash with it when both features are on: the functions that need it "
            "bring in their own"
        )
        yield LeaveUnchanged(construct, message, symbol=symbol)
    elif kept := _explain_kept_file(site):
        yield LeaveUnchanged(construct, kept, symbol=symbol)
    elif reason := explain_cuda_only_module(job, site.source.path, site.node):
        yield LeaveUnchanged(construct, f"{reason}: it is not ported", symbol=symbol)
    elif own := find_cuda_file(job, site.source.path, site.node):
        name = f"{site.name}_{job.vendor.name}"
        message = (
            f"{own} names CUDA, its name does not: give the copy one in [names.words] of the"
            f' profile, such as {site.name} = "{name}", or write it by hand'
        )
        yield RequireManual(construct, message, symbol=symbol, renamed=(site.name, name))
    elif not (job.is_cuda_specific(_read_code(site)) or _copies_to_other_file(site)):
        if site.kind == "use_declaration" and _imports_bindings(site):
            message = (
                f"It imports {job.vendor.title}'s bindings in builds with CUDA alone. Write its"
                " condition by hand"
            )
            yield RequireManual(construct, message, symbol=symbol)
        elif site.kind in STEPS and has_own_step(site):
            message = f"the next step is {job.vendor.title}'s own"
            yield AlreadyPorted(construct, message, symbol=symbol)
        else:
            yield from _check_widening(site, construct, symbol)
    elif site.kind != "function_item" or job.rename(site.name) != site.name:
        message = f"copy it for {job.vendor.title}, under the feature {job.feature}"
        loop = any(child.type == "while_expression" for child in site.node.named_children)
        if loop:
            message += "; see that it ends, and what is left for it where both features are on"
        yield CopySite(construct, message, symbol=symbol, review=loop)


def _imports_bindings(site: Site) -> bool:
    """Whether an import names the crate of HIP bindings."""
    paths = imports.find_import_paths(site.node)
    return any(path.split("::")[0] == site.job.vendor.facade.module for path in paths)


def _read_code(site: Site) -> str:
    """Return the text of an item without the conditions on it, which may stand inside it."""
    text = site.code
    for attribute, _ in site.conditions:
        if attribute.type == "inner_attribute_item":
            text = text.replace(node_text(attribute), "", 1)
    return text


def _explain_kept_file(site: Site) -> str:
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


def _copies_to_other_file(site: Site) -> bool:
    """Whether the copy of a module keeps its name, and only its ``#[path]`` differs."""
    if site.kind != "mod_item" or not read_path(site.node):
        return False
    return (
        find_declared_file(site.job, site.source.path, site.node)
        in site.job.tree_facts.copied_files
    )


def _copy_from_template(site: Site, override: ItemOverride) -> Intent:
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


def _check_widening(site: Site, construct: str, symbol: str) -> Iterator[Intent]:
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


_CFG_ITEM_PAGE = """\
An item, a statement or a field under ``#[cfg(feature = "cuda")]``.

What stands under the feature alone exists only for CUDA. Its ROCm counterpart is the copy under the
name table, beside it, under ``#[cfg(feature = "rocm")]``.

Where renaming changes nothing, the item is not about CUDA but about a GPU being there, and its
condition is widened to ``any(feature = "cuda", feature = "rocm")``, unless it names what an import
brings in for CUDA alone, which leaves it to a person. A step whose next one is ROCm's own, under
``all(not(feature = "cuda"), feature = "rocm")``, is ported. What the profile calls
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
CFG_ITEM = SiteRule("PK501", frozenset({"*"}), check_cfg_item, "cfg_item", _CFG_ITEM_PAGE)


def check_cfg_condition(site: Site) -> Iterator[Intent]:
    """Find a condition that names the source vendor's feature without requiring it alone."""
    job = site.job
    if site.kind == "match_arm" or site.scope.vendor or site.unported_feature:
        return
    for attribute, cfg in site.conditions:
        if not job.cfg_mentions_cuda(cfg) or job.cfg_requires_cuda(cfg):
            continue
        if job.cfg_requires_either(cfg) and not job.is_cuda_specific(site.code):
            continue  # PK501's, written or not
        symbol = site.symbol(site.name)
        if (plain := job.codebase.find_no_feature_entry(site.source.path)) is not None:
            is_there = (
                cfg.without(job.list_disabled_features(site.source.path) | {*job.vendor.peers})
                is True
            )
            claims = (span_of(attribute),) if is_there or job.cfg_excludes_cuda(cfg) else None
            yield LeaveUnchanged("cfg condition", plain.reason, symbol=symbol, claims=claims)
            if claims is None:
                return
            continue
        if site.name and job.find_vendor(site.name) == job.vendor.name:
            kept = f"what is {job.vendor.title}'s own keeps its condition"
            claims = (span_of(attribute),)
            yield LeaveUnchanged("cfg condition", kept, symbol=symbol, review=True, claims=claims)
            continue
        if site.kind == "macro_definition" and site.name in job.tree_facts.macros:
            kept = "the macro takes an argument for each backend (PK601): see where it is to stand"
            claims = (span_of(attribute),)
            yield LeaveUnchanged("cfg condition", kept, symbol=symbol, review=True, claims=claims)
            continue
        if job.cfg_excludes_cuda(cfg) and is_lone_twin(site):
            kept = (
                f"`{site.name}` has no counterpart for {job.vendor.title} yet, so a build for"
                f" {job.vendor.title} has this module. Widen its condition when you write one"
            )
            claims = (span_of(attribute),)
            yield LeaveUnchanged("cfg condition", kept, symbol=symbol, review=True, claims=claims)
            continue
        written = job.cfg_requires_rocm(cfg)
        stands_in = (
            job.cfg_excludes_cuda(cfg) and not written and job.rename_changes_code(site.code)
        )
        paired = stands_in and is_paired(site)
        if (
            stands_in
            and not paired
            and site.kind != "match_pattern"
            and not job.mentions_peer(node_text(attribute))
        ):
            is_use = site.kind == "use_declaration"
            construct = "import/re-export" if is_use else "cfg item: not(cuda)"
            message = f"copy what stands in for CUDA, for {job.vendor.title}"
            yield CopySite(construct, message, symbol=symbol, name=_write_own_name(site))
            return
        yield WidenCondition(
            "cfg condition",
            "the condition names the GPU backends: ROCm is one of them",
            symbol=symbol,
            condition=attribute,
            within=attribute,
            claims=(site.span,) if written or (paired and site.kind not in STEPS) else None,
        )


def _write_own_name(site: Site) -> str:
    """Return the name of a test's copy, which would bear its name; empty for anything else."""
    is_test = any(
        normalize_rust(node_text(attribute)) == "#[test]" for attribute in site.attributes
    )
    if not is_test or site.job.rename(site.name) != site.name:
        return ""
    return f"{site.job.vendor.name}_{site.name}"


_CFG_CONDITION_PAGE = """\
A condition that names CUDA's feature among others, or asks for its absence.

``#[cfg(any(feature = "cuda", feature = "metal"))]`` gains ``feature = "rocm"``. What stands under
``#[cfg(not(feature = "cuda"))]`` is one of two things. If it stands in for CUDA, as ``pub use
dummy_cuda_backend as cuda`` does, it is copied under ``not(feature = "rocm")``; a test gets a name
of its own then, since both conditions may hold. If it is what remains when no GPU is there, or one
of a pair whose other is CUDA's under the same name, its condition is widened to ``not(any(feature =
"cuda", feature = "rocm"))``. A module whose twin for CUDA gets no copy keeps its condition: it is
what a build for ROCm has until a person writes a counterpart.

Not handled: the conditions of ``cfg_attr`` and of a whole file, ``#![cfg(..)]``, which are listed
as unaccounted or left to a person. Source: the Rust reference, chapter "Conditional compilation".
"""
CFG_CONDITION = SiteRule(
    "PK502", frozenset({"*"}), check_cfg_condition, "cfg_condition", _CFG_CONDITION_PAGE
)


def check_cfg_function(site: Site) -> Iterator[Intent]:
    """Find a function that exists only with the source vendor's feature, under a shared name."""
    job = site.job
    if site.scope.vendor or not site.is_cuda_only:
        return
    if job.rename(site.name) != site.name or site.unported_feature:
        return
    if not job.rename_changes_code(site.code):
        return
    if site.name == "main" and not site.scope.symbol:
        ask = f"a program has one main: write {job.vendor.title}'s by hand"
        yield RequireManual("cfg fn", ask, symbol=site.name)
        return
    name = f"{job.vendor.name}_{site.name}"
    message = f"copy it as {name}: under its own name it would stand twice with both features on"
    named = counterparts.list_siblings_named(site, site.name)
    called = any(n.type == site.kind and n.id != site.node.id for n, _ in named)
    device = _find_device_parameter(site)
    if paired := called and not device and feature_conflicts.is_paired(site):
        name, message = site.name, feature_conflicts.PAIRED
    elif called and not device:
        message += "; callers use the plain name: hand ROCm tensors over to the copy"
    yield CopyUnderName(
        "cfg fn",
        message,
        symbol=site.symbol(site.name),
        review=called and not device,
        name=name,
        imports=list_copy_imports(site),
        device=device,
        called=called and not paired,
    )


def _find_device_parameter(site: Site) -> str:
    """Return what the function asks for its device, if a parameter says it."""
    asks = re.search(rf"\b((\w+)(?:\.\w+\(\))*)\.as_{site.job.vendor.source}_device\(\)", site.code)
    return asks[1] if asks is not None and asks[2] in list_parameters(site) else ""


_CFG_FUNCTION_PAGE = """\
A function under ``#[cfg(feature = "cuda")]`` whose name says nothing of CUDA.

A copy of it would carry the same name, and with both features on it would stand twice. So the copy
gets a name of its own: ``rocm_moe_gemm`` for ``moe_gemm``. If a twin under ``not(feature =
"cuda")`` shows that callers use the plain name, the CUDA function hands the tensors of a ROCm
device over to the copy, and without CUDA the plain name belongs to ROCm. The device is taken from
the parameter on which the CUDA function calls ``as_cuda_device()``. Where none says it, the copy
keeps the name and gives way to CUDA's where both features are on, and a person looks at it.

What such functions import from CUDA's modules under an unchanged name, as in ``use
cuda_backend::kernels::ffi``, cannot be imported twice either: each copy imports it itself.

A ``main`` is a person's, since a program has one.

Not handled: handing over to a copy whose twin stands under another vendor's feature alone, where no
parameter says the device.
"""
CFG_FUNCTION = SiteRule(
    "PK511", frozenset({"function_item"}), check_cfg_function, "cfg_function", _CFG_FUNCTION_PAGE
)


# The Rust reference, chapter "Diagnostic attributes", section "Lint check attributes".
_LINT = re.compile(r"(?:allow|expect|warn|deny|forbid)\s*\(")
_PATH = re.compile(r"path\s*=")


def check_cfg_attribute(site: Site) -> Iterator[Intent]:
    """Find an attribute under a condition that names the source vendor's feature."""
    job = site.job
    # Most nodes have no attribute, and what is asked below takes longer to tell.
    attributes = tuple(find_attributes(site.node, site.attributes))
    if not attributes:
        return
    # The attributes of an arm are those of its pattern too.
    if site.kind == "match_pattern" or site.scope.vendor or site.unported_feature:
        return
    if site.is_cuda_only and not _is_shared(site):
        return
    if site.kind in statement.RULE.nodes and any(statement.check(site)):
        return
    if job.find_vendor(site.name) == job.vendor.source:
        return
    for attribute in attributes:
        text = node_text(attribute)
        cfg, rest = parse_cfg_attr(text)
        if cfg is None:
            continue
        construct, symbol = "conditional attribute", site.symbol(site.name)
        unported = sorted(cfg.features() & job.vendor.unported.keys())
        path = site.source.path
        if (
            job.cfg_mentions_cuda(cfg)
            and (plain := job.codebase.find_no_feature_entry(path)) is not None
        ):
            yield LeaveUnchanged(
                construct, plain.reason, symbol=symbol, claims=(span_of(attribute),)
            )
        elif job.cfg_mentions_cuda(cfg) and _PATH.match(rest):
            message = (
                "This attribute chooses the file of a module by CUDA's feature. A build for"
                f" {job.vendor.title} must choose its own file. Write the attribute by hand"
            )
            yield RequireManual(construct, message, symbol=symbol, claims=(span_of(attribute),))
        elif job.cfg_mentions_cuda(cfg) and not job.find_unported_feature(cfg):
            yield WidenCondition(
                construct,
                f"what is said of it holds for {job.vendor.title} too",
                symbol=symbol,
                review=_LINT.match(rest) is None,
                condition=attribute,
                within=attribute,
            )
        elif unported:
            reason = job.vendor.unported[unported[0]]
            yield LeaveUnchanged(construct, reason, symbol=symbol, claims=(span_of(attribute),))


def _is_shared(site: Site) -> bool:
    """Whether the condition that a site stands under is widened."""
    check = match_arms.check_match_arm if site.kind == "match_arm" else check_cfg_item
    return any(isinstance(each, WidenCondition) for each in check(site))


_CFG_ATTRIBUTE_PAGE = """\
An attribute that stands under a condition about CUDA: ``#[cfg_attr(..)]``.

``#[cfg_attr(not(feature = "cuda"), allow(dead_code))]`` says what the compiler is told where there
is no CUDA. What the item is then follows ROCm as well, so the condition is widened. A lint changes
no code; any other attribute, such as a ``derive``, is for a person to look at.

If the attribute is ``path = ".."``, a person chooses the module's file.

What is copied as a whole has its attributes with it; what exists for CUDA alone and is shared, its
own condition widened (PK501), is told the same for both.

Not handled: the attributes of a file, ``#![cfg_attr(..)]``, and what such an attribute says of CUDA
behind its condition.
"""
CFG_ATTRIBUTE = SiteRule(
    "PK512", frozenset({"*"}), check_cfg_attribute, "cfg_attribute", _CFG_ATTRIBUTE_PAGE
)
