"""The two gatings: attributes on copies, functions without the feature, and their errors.

With ``--gating dummy`` every name exists in every build, and nothing is gated. With ``--gating
cfg`` what names something of the written vendor's stands under its feature; there is no dummy.
"""

from __future__ import annotations

import re
from typing import Final

from portkit.context.macro_fragments import find_macro_name
from portkit.context.macro_items import find_definitions
from portkit.context.port_job import Gating, PortJob, Site
from portkit.syntax.features import cargo_feature_variable
from portkit.syntax.name_table import strip_comments, strip_comments_and_strings
from portkit.syntax.source_file import SourceFile, field_text, find_descendants, node_text
from portkit.syntax.value import Value
from portkit.syntax.word_search import find_occurrences
from portkit.workspace.cargo_workspace import Crate

_ROOTS: Final = ("src/lib.rs", "src/main.rs")
_FILE: Final = re.compile(r"src/(\w+)(?:/mod)?\.rs")


class _DeclaredEnum(Value, frozen=True):
    """An enum with the variant."""

    name: str  # its name
    path: str  # the path from the crate's root; empty if it is not certain


def find_error_path(site: Site) -> str:
    """Return the path of the error's enum at a function; empty if it is not certain."""
    crate, result = site.crate, site.node.child_by_field_name("return_type")
    if crate is None or result is None:
        return ""
    job = site.job
    declared = job.memoize("error", crate.directory, make=lambda: _find_enum(job, crate))
    if declared is None:
        return "crate::Error" if _names_at_root(job, crate, "Error") else ""
    arguments = result.child_by_field_name("type_arguments")
    given = arguments.named_children if arguments is not None else []
    if len(given) > 1:
        text = node_text(given[1])
        return text if text.rpartition("::")[2] == declared.name else ""
    return declared.path


def _find_enum(job: PortJob, crate: Crate) -> _DeclaredEnum | None:
    """Return the enum of a crate that has the source vendor's variant."""
    always = job.codebase.error_without_feature
    for path, source in job.workspace.sources.items():
        if not path.endswith(".rs") or b"enum " not in source.data:
            continue
        if job.workspace.crate_of(path) != crate:
            continue
        for name in _enums_with(job, source, always):
            return _DeclaredEnum(name, _path_of(job, crate, path, name))
    return None


def _enums_with(job: PortJob, source: SourceFile, variant: str) -> list[str]:
    at = [*find_occurrences(source.data, b"enum ")]
    found = []
    for node in find_descendants(source.tree_around(at).root_node, "enum_item"):
        body = node.child_by_field_name("body")
        names = [field_text(c, "name") for c in body.named_children] if body is not None else []
        if any(job.rename(name) == variant for name in names if name):
            found.append(field_text(node, "name"))
    return found


def _path_of(job: PortJob, crate: Crate, path: str, name: str) -> str:
    """Return the path of an enum from the root of its crate; empty if it is not certain."""
    inside = path.removeprefix(f"{crate.directory}/")
    if inside in _ROOTS or _names_at_root(job, crate, name):
        return f"crate::{name}"
    module = _FILE.fullmatch(inside)
    return f"crate::{module[1]}::{name}" if module is not None else ""


def _names_at_root(job: PortJob, crate: Crate, name: str) -> bool:
    """Whether the root of a crate imports or declares a name."""
    folder = "" if crate.directory == "." else f"{crate.directory}/"
    roots = (job.workspace.sources.get(folder + root) for root in _ROOTS)
    source = next((each for each in roots if each is not None), None)
    if source is None:
        return False
    named = rb"\b(?:use\s[^;]*|enum\s+|struct\s+|type\s+)\b%s\b" % re.escape(name).encode()
    return re.search(named, source.data) is not None


ALWAYS: Final = frozenset(
    {
        "enum_variant",
        "field_declaration",
        "field_initializer",
        "if_expression",
        "impl_item",
        "match_arm",
        "static_item",
    }
)
"""Kinds whose copy stands under the feature whatever it names: it has no use without."""
_NO_DUMMY: Final = "there is no dummy backend with --gating cfg"
_NO_VARIANT: Final = "the variant does not exist without the feature, so no arm answers for it"


def requires_cfg(site: Site) -> bool:
    """Whether what names the written vendor must stand under its feature, and does not yet."""
    return site.job.gating is Gating.CFG and not site.scope.gated


def write_feature_attribute(job: PortJob) -> str:
    """Return the attribute that stands over code that exists only with the feature on."""
    return f"#[cfg({write_feature_condition(job.feature)})]"


def write_feature_condition(feature: str) -> str:
    """Return the condition that asks for a feature."""
    return f'feature = "{feature}"'


def write_feature_without(feature: str, other: str) -> str:
    """Return the condition that asks for a feature where another one is off."""
    return f"all({write_feature_condition(feature)}, not({write_feature_condition(other)}))"


def gate_copy(site: Site, text: str) -> str:
    """Set the feature's attribute over a copy, where the gating asks for it.

    A copy that already carries the feature, or stands in something that does, needs no second one.
    """
    if (
        not requires_cfg(site)
        or site.is_cuda_only
        or (site.kind == "match_arm" and mentions_only_error(site.job, text))
    ):
        return text
    return add_attribute(site, write_feature_attribute(site.job), text)


def mentions_only_error(job: PortJob, text: str) -> bool:
    """Whether the one thing of the vendor's that an arm names is the error without the feature."""
    error = job.codebase.error_without_feature
    in_pattern = error != "" and re.search(rf"\b{error}\b", text.partition("=>")[0]) is not None
    return in_pattern and not job.mentions_gated(text)


def requires_feature(site: Site, copy: str) -> bool:
    """Whether the copy of a site exists only with the feature on, if the gating asks for that.

    `gate_copy` then decides whether the copy gets an attribute.
    """
    if f'"{cargo_feature_variable(site.job.feature)}"' in copy:
        return False  # a build script asks for the feature when it runs
    job = site.job
    if site.kind == "enum_variant":
        return job.rename(site.name) != job.codebase.error_without_feature
    if site.kind == "use_declaration":
        return is_gated_path(job, job.rename(field_text(site.node, "argument")))
    gated = site.kind in ALWAYS or job.mentions_gated(_without_gated_blocks(job, copy))
    return gated or _is_call_of_gated(site)


def _is_call_of_gated(site: Site) -> bool:
    """Tell whether a macro call reaches a copied macro that exists only with the feature on."""
    job, call = site.job, site.node
    if call.type == "expression_statement":
        call = call.named_children[0]
    if call.type != "macro_invocation" or job.rename(name := find_macro_name(call)) == name:
        return False
    definitions = find_definitions(job, name)
    return any(job.mentions_gated(job.rename(node_text(each))) for each in definitions)


def _without_gated_blocks(job: PortJob, text: str) -> str:
    """Leave out the blocks of code that stand under the feature by themselves."""
    attribute = re.escape(write_feature_attribute(job))
    block = rf"^( *){attribute}\n\1\S[^\n]*[{{(]\n(?:\1[ )][^\n]*\n|\n)*?\1\}}$"
    return re.sub(block, "", text, flags=re.MULTILINE)


def is_gated_path(job: PortJob, path: str) -> bool:
    """Whether an imported path exists only with the feature on; its last name may be a module."""
    return job.mentions_gated(f"{path}::")


def add_attribute(site: Site, attribute: str, text: str) -> str:
    """Set an attribute over an item, below its doc comment as people write it."""
    lines = text.split("\n")
    first = next((i for i, line in enumerate(lines) if not line.lstrip().startswith("///")), 0)
    prefix = site.indent if first else ""
    following = lines[first:] if first else [site.indent + lines[0], *lines[1:]]
    return "\n".join([*lines[:first], prefix + attribute, *following])


def gate_arms(job: PortJob, text: str) -> str:
    """Return arms, each under the feature where the gating asks for it."""
    arms = text.rstrip()
    if job.gating is Gating.CFG:
        attribute = f"{write_feature_attribute(job)}\n"
        arms = re.sub(r"^(?=[^\s/})])", lambda _: attribute, arms, flags=re.MULTILINE)
    return arms


def explain_no_copy(site: Site) -> str:
    """Return why a site has no counterpart under this gating, or an empty string."""
    job = site.job
    if job.gating is not Gating.CFG:
        return ""
    if job.codebase.find_no_feature_entry(site.source.path) is not None:
        return ""  # what stands where the source's feature is off holds with the vendor's on
    if any(job.cfg_excludes_cuda(cfg) for _, cfg in site.conditions):
        return _NO_VARIANT if site.kind == "match_arm" else _NO_DUMMY
    named = site.kind.endswith("_item") and site.kind not in ("function_item", "impl_item")
    dummy = named and re.search(
        rf"\bdummy_{job.vendor.source}", strip_comments_and_strings(site.code)
    )
    return _NO_DUMMY if dummy else ""


def write_disabled_twin(site: Site) -> str:
    """Return the function that answers without the feature, or an empty string.

    Callers that are compiled in every build still need the name. A function that could answer gets
    a twin that does: ``false`` for a ``bool``, for a ``Result`` the error that the profile names.
    """
    job = site.job
    body = site.node.child_by_field_name("body")
    result = field_text(site.node, "return_type")
    if body is None or site.conditions or site.scope.container in ("trait", "trait impl"):
        return ""
    head = strip_comments(site.source.text(site.node.start_byte, body.start_byte))
    signature = job.rename(head.strip())
    if job.mentions_gated(signature):
        return ""
    if result == "bool":
        answer = "false"
    elif result.startswith("Result<") and job.codebase.error_without_feature:
        path = find_error_path(site)
        if not path:
            return ""
        answer = f"Err({path}::{job.codebase.error_without_feature})"
    else:
        return ""
    signature = re.sub(r"(?<=[(,])(\s*)(\w+)(?=\s*:)", r"\1_\2", signature)
    indent = site.indent
    return (
        f'\n\n{indent}#[cfg(not(feature = "{job.feature}"))]\n'
        f"{indent}{signature} {{\n{indent}    {answer}\n{indent}}}"
    )
