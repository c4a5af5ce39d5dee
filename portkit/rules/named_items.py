"""Items, members and variants that are named after CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from portkit.context.device_macros import find_device_rule
from portkit.context.intent import CopySite, Intent, LeaveUnchanged, RequireManual
from portkit.context.macro_items import is_definition_needed
from portkit.context.port_job import Site
from portkit.rules import SiteRule
from portkit.syntax.items import describe_impl
from portkit.syntax.source_file import field_text, node_text, span_of
from portkit.syntax.span import Span


def check_backend_function(site: Site) -> Iterator[Intent]:
    """Find a function that is named after the source vendor, outside traits."""
    job = site.job
    if site.scope.vendor or not job.mentions_cuda(site.name):
        return
    if site.scope.container in ("trait", "trait impl") or site.conditions:
        return
    if (plain := job.codebase.find_no_feature_entry(site.source.path)) is not None:
        named = site.node.child_by_field_name("name")
        claims = (span_of(named),) if named is not None else ()
        yield LeaveUnchanged("fn", plain.reason, symbol=site.symbol(site.name), claims=claims)
        return
    if re.search(rf"(?i)(?:^|_)(?:no|non|not|without)_?{job.vendor.source}", site.name):
        ask = f"it is about the absence of CUDA: see whether it holds for {job.vendor.title}"
        yield RequireManual("fn", ask, symbol=site.symbol(site.name))
        return
    yield CopySite(
        "inherent fn" if site.scope.container else "fn",
        f"{job.rename(site.name)} is its copy",
        symbol=site.symbol(site.name),
    )


_BACKEND_FUNCTION_PAGE = """\
A function that is named after CUDA: ``new_cuda``, ``as_cuda_device``, ``cuda_if_available``.

Its ROCm counterpart is the copy under the name table, right after it. With ``--gating cfg`` the
copy stands under the feature where it names a type that exists only there. Callers that are
compiled in every build still need the name, so a function that could answer without the feature
gets a twin that does: ``false`` for a ``bool``, for a ``Result`` the error that the profile names.

One that is named after the absence of CUDA, such as ``dtypes_without_cuda``, is a person's.

Not handled: a function whose signature names such a type can exist only with the feature.
"""
BACKEND_FUNCTION = SiteRule(
    "PK503",
    frozenset({"function_item", "function_signature_item"}),
    check_backend_function,
    "backend_function",
    _BACKEND_FUNCTION_PAGE,
)


def check_backend_impl(site: Site) -> Iterator[Intent]:
    """Find an implementation whose head names the source vendor."""
    job = site.job
    head = describe_impl(site.node)
    if not site.scope.vendor and not site.conditions and job.rename_changes_code(head):
        message = f"copy the implementation for {job.vendor.title}"
        yield CopySite("impl", message, symbol=site.symbol(head))


_BACKEND_IMPL_PAGE = """\
An implementation for one of CUDA's types, or of one of its traits.

ROCm's type needs the same methods and conversions. The whole ``impl`` is copied under the name
table: its type or its trait is CUDA's alone, so the copy cannot clash with it.

Not handled: an implementation whose head says nothing of CUDA. It is shared, and what it holds is
looked at place by place.
"""
BACKEND_IMPL = SiteRule(
    "PK508", frozenset({"impl_item"}), check_backend_impl, "backend_impl", _BACKEND_IMPL_PAGE
)


def check_trait_method(site: Site) -> Iterator[Intent]:
    """Find a method named after the source vendor, in a trait or an implementation of one."""
    job = site.job
    if site.scope.container not in ("trait", "trait impl") or site.scope.vendor:
        return
    if not job.mentions_cuda(site.name) or site.unported_feature:
        return
    in_trait = site.scope.container == "trait"
    yield CopySite(
        "trait method default" if in_trait else "trait method impl",
        f"{job.rename(site.name)} is its copy",
        symbol=site.symbol(site.name),
    )


_TRAIT_METHOD_PAGE = """\
A trait's method for CUDA, and each implementation of it.

``CustomOp1::cuda_fwd`` runs an operation on CUDA's storage. ROCm needs a method of its own,
``rocm_fwd``: in the trait, with the same default, and in each type that implements CUDA's. A type
without it compiles and fails at run time with "no ROCm implementation", which is why the parity
check counts both.

Not handled: methods that a macro makes; PK510 copies the call of such a macro.
"""
TRAIT_METHOD = SiteRule(
    "PK504",
    frozenset({"function_item", "function_signature_item"}),
    check_trait_method,
    "trait_method",
    _TRAIT_METHOD_PAGE,
)


def check_enum_variant(site: Site) -> Iterator[Intent]:
    """Find an enum variant named after the source vendor."""
    job = site.job
    if not site.scope.vendor and job.mentions_cuda(site.name) and not site.conditions:
        new = job.rename(site.name)
        yield CopySite("enum variant", f"the enum gains {new}", renamed=(site.name, new))


_ENUM_VARIANT_PAGE = """\
A variant of an enum that stands for CUDA.

A device, a storage or an error of ROCm's must be a value of the same type as CUDA's. ``enum Device
{ Cpu, Cuda(CudaDevice), Metal(MetalDevice) }`` gains ``Rocm(RocmDevice)``; so do the storages, the
locations, the errors and every other enum with one variant per backend. With ``--gating cfg`` the
variant stands under the feature; an error that says that the feature is missing does not.

The copy has a number of its own where CUDA's variant has one, and it is not the default. Where the
numbers or the order of the variants count (``repr``, a cast, ``Ord``, ``Serialize``), it is the
last variant. Names in attributes that must be unique, such as ``#[serde(alias = "gpu")]``, are left
out. Each of these is for a person to review. Where portkit cannot tell which number is free, a
person adds the variant.

Not handled: a ``match`` that counts the variants in another way, such as a table of names.
"""
ENUM_VARIANT = SiteRule(
    "PK505", frozenset({"enum_variant"}), check_enum_variant, "enum_variant", _ENUM_VARIANT_PAGE
)


def check_field(site: Site) -> Iterator[Intent]:
    """Find a field, or its initializer, that is named after the source vendor."""
    job = site.job
    plain = job.codebase.find_no_feature_entry(site.source.path)
    if plain is not None and (name := _find_vendor_name(site)) is not None:
        yield LeaveUnchanged("field", plain.reason, claims=(span_of(name),))
    if plain is not None:
        return
    if site.kind == "field_expression":
        yield from _read(site)
        return
    field = field_text(site.node, "name") or field_text(site.node, "field")
    if site.scope.vendor or not job.mentions_cuda(field) or site.conditions:
        return
    if not job.mentions_unported_library(field) and _is_of_union(site):
        message = f"a value of a union sets one field. Write {job.rename(field)} by hand"
        yield RequireManual("field", message, symbol=site.symbol(field))
    elif not job.mentions_unported_library(field):
        message = f"the field gains {job.rename(field)} beside it"
        yield CopySite("field", message, symbol=site.symbol(field))


def _is_of_union(site: Site) -> bool:
    """Whether a field is declared by a union, whose values have one field each (rustc: E0784)."""
    holder = site.parent.parent if site.parent is not None else None
    return holder is not None and holder.type == "union_item"


def _find_vendor_name(site: Site) -> Node | None:
    """Return the name of a field that names the source vendor, if it does."""
    fields = (site.node.child_by_field_name(name) for name in ("name", "field"))
    found = next((field for field in fields if field is not None), None)
    # The name of a method is one that a call asks for.
    called = site.parent is not None and site.parent.type == "call_expression"
    is_own = found is not None and site.job.mentions_cuda(node_text(found)) and not called
    return found if is_own and not site.scope.vendor else None


def _read(site: Site) -> Iterator[Intent]:
    """Find where a field is read, and nothing around it is copied."""
    job, parent = site.job, site.parent
    name = field_text(site.node, "field")
    called = parent is not None and parent.type == "call_expression"
    of_name = job.mentions_cuda(name) and not job.mentions_unported_library(name)
    if site.scope.vendor or called or not of_name:
        return
    if job.rename_changes_code(field_text(site.node, "value")):
        return
    new = job.rename(name)
    message = f"what {name} decides, {new} decides for {job.vendor.title}: write that by hand"
    yield RequireManual("field that is read", message, symbol=site.symbol())


_FIELD_PAGE = """\
A field of a struct that is named after CUDA or has one of its types.

What a struct keeps for CUDA, ROCm needs to keep as well: the struct gains a field of the same shape
for ROCm. Each place that builds the struct has an initializer of the same name, which is found and
copied in the same way.

The copy leaves out names in attributes that must be unique, such as ``#[arg(short = 'c')]``, and a
person chooses others. A person also reviews a field that documents must have from then on.

Where a field is read, outside what is copied, is for a person: what follows from it is not known.

A field of a union is for a person: a value of a union sets one field.

Not handled: the short form ``Devices { cuda }``, which is listed as unaccounted. A struct that is
built so gains no field, since no build would compile.
"""
FIELD = SiteRule(
    "PK506",
    frozenset({"field_declaration", "field_expression", "field_initializer"}),
    check_field,
    "field",
    _FIELD_PAGE,
)


def check_named_item(site: Site) -> Iterator[Intent]:
    """Find an item named after the source vendor, without a condition of its own."""
    job = site.job
    if site.scope.vendor or not job.mentions_cuda(site.name) or site.conditions:
        return
    construct = site.kind.removesuffix("_item")
    if site.kind == "macro_definition":
        yield from _check_macro(site)
        return
    if (plain := job.codebase.find_no_feature_entry(site.source.path)) is not None:
        yield LeaveUnchanged(
            construct, plain.reason, symbol=site.symbol(site.name), claims=_name(site)
        )
        return
    yield CopySite(construct, f"{job.rename(site.name)} is its copy", symbol=site.symbol(site.name))


def _check_macro(site: Site) -> Iterator[Intent]:
    """Copy a macro whose copy is called after the port; the name of any other one stays."""
    job, symbol = site.job, f"{site.name}!"
    if job.rename(site.name) == site.name or find_device_rule(job, site.node) is not None:
        return
    if is_definition_needed(job, site.node):
        yield CopySite("macro", f"{job.rename(site.name)}! is its copy", symbol=symbol)
        return
    kept = "no copy of a call needs one of the macro, so its name stays"
    yield LeaveUnchanged("macro", kept, symbol=symbol, claims=_name(site))


def _name(site: Site) -> tuple[Span, ...]:
    """Return where an item has its name; what it holds is looked at."""
    named = site.node.child_by_field_name("name")
    return (span_of(named),) if named is not None else ()


_NAMED_ITEM_PAGE = """\
A type, a constant, a static, a trait, a module or a macro that is named after CUDA.

What names it for ROCm, such as a copied function, needs a counterpart: the copy under the name
table, beside it. A module's declaration is copied here; the file that it names is a matter of
PK101. A `macro_rules!` is copied if a copy of a call reaches it (PK510, or a call in an item that
is copied).

A constant whose copy repeats its number, such as ``CUDA_ID: u8 = 1``, is for a person to review: an
identifier must be unique.

Not handled: a ``union``, which is listed as unaccounted.
"""
NAMED_ITEM = SiteRule(
    "PK507",
    frozenset(
        {
            "const_item",
            "enum_item",
            "macro_definition",
            "mod_item",
            "static_item",
            "struct_item",
            "trait_item",
            "type_item",
        }
    ),
    check_named_item,
    "named_item",
    _NAMED_ITEM_PAGE,
)
