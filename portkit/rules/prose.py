"""Comments and strings that speak of a backend."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from tree_sitter import Node

from portkit.context.device_queries import name_feature_variable, read_callee_name
from portkit.context.intent import Intent, LeaveUnchanged, ReplaceText, RequireManual
from portkit.context.port_job import PortJob, Site
from portkit.port import cuda_tools
from portkit.rules import SiteRule
from portkit.syntax.cfg import find_conditions_around
from portkit.syntax.features import cargo_feature_variable
from portkit.syntax.items import find_items
from portkit.syntax.known_macros import MacroUse, find_use
from portkit.syntax.name_table import find_feature_conditions
from portkit.syntax.source_file import field_text, find_descendants, node_text, span_of


def check_comment(site: Site) -> Iterator[Intent]:
    """Find a comment that names a backend."""
    if site.is_python:
        return  # PK703's
    is_doc = site.code.startswith(("///", "//!", "/**", "/*!"))
    construct = "doc comment" if is_doc else "comment"
    prose = site.job.find_prose_patch(site)
    if prose is not None:
        yield ReplaceText(
            construct,
            prose.reason,
            old=prose.find,
            new=prose.write,
            entry=site.job.codebase.key(prose),
        )
    else:
        yield LeaveUnchanged(
            construct, "prose: nothing depends on it", claims=(span_of(site.node),)
        )


_COMMENT_PAGE = """\
A comment in Rust or TOML that speaks of a backend, outside any place that is ported.

Comments that belong to a copied item are copied with it. One that stands by itself is prose: it is
left as it is, unless the profile holds a change for it, and it is listed so that nobody has to
search for it.

Not handled: whether what the comment says is still true.
"""
COMMENT = SiteRule(
    "PK701",
    frozenset({"block_comment", "comment", "line_comment"}),
    check_comment,
    "comment",
    _COMMENT_PAGE,
)


_GIVEN: Final = frozenset({"arguments", "token_tree"})
_FUNCTIONS: Final = frozenset({"context", "expect", "expect_err"})
"""Methods that do the same as macros for people."""


def is_display_call(site: Site, name: str) -> bool:
    """Whether a macro or a function tells people what it is given, and does nothing else with it.

    To the standard output of a build script cargo listens (the Cargo book, "Build Scripts").
    """
    use = find_use(name)
    if use is MacroUse.PRINT:
        return not site.job.workspace.is_build_script(site.source.path)
    return name in _FUNCTIONS or use is MacroUse.REPORT


def is_argument_only_displayed(site: Site, name: str) -> bool:
    """Whether a function of this file does nothing with an argument but tell people of it."""
    holder = site.outer
    if holder is None or holder.kind != "arguments" or holder.outer is None:
        return False
    function = next((i.node for i in find_items(site.source, [name]) if i.symbol == name), None)
    if function is None or field_text(holder.outer.node, "function") != name:
        return False  # the method of a value is none of these
    body, parameter = (
        function.child_by_field_name("body"),
        _find_parameter(site, holder.node, function),
    )
    if body is None or not parameter.isidentifier():
        return False
    macros = find_descendants(body, "macro_invocation")
    told = [m for m in macros if is_display_call(site, field_text(m, "macro").rsplit("::", 1)[-1])]
    uses = re.finditer(rb"\b%s\b" % re.escape(parameter.encode()), site.source.data)
    within = [use.start() for use in uses if body.start_byte <= use.start() < body.end_byte]
    return bool(within) and all(
        any((each.start_byte <= at < each.end_byte) for each in told) for at in within
    )


def find_display_callee(site: Site) -> str:
    """Return the name of the macro or the function that a string is given to, or an empty string.

    What embeds a file is told through the macros that make the path of it.
    """
    outer = site.outer
    while outer is not None and outer.outer is not None and outer.kind in _GIVEN:
        name = _read_callee(outer.node, outer.outer.node)
        if name != "concat":
            return name
        outer = outer.outer
    return ""


def _read_callee(arguments: Node, holder: Node) -> str:
    """Return the name before arguments; the tokens of a macro's are no calls yet."""
    if holder.type == "macro_invocation":
        return field_text(holder, "macro").rsplit("::", 1)[-1]
    if holder.type == "call_expression":
        return read_callee_name(holder)
    before = arguments.prev_sibling
    if before is not None and before.type == "!":
        before = before.prev_sibling
    return node_text(before)


def _find_parameter(site: Site, given: Node, function: Node) -> str:
    """Return the name under which a function takes an argument, if it takes it by one."""
    taken = function.child_by_field_name("parameters")
    pairs = zip(given.named_children, taken.named_children if taken else (), strict=False)
    return next((field_text(p, "pattern") for each, p in pairs if each.id == site.node.id), "")


_TRIGGER = ("cargo:rerun-if-", "cargo::rerun-if-")
# A prefix, the marks of a raw string, the text.
_LITERAL = re.compile(r'[bc]?r?#*"(.*?)"#*', re.DOTALL)
# An option, a path, the name of a file, an assignment; a web address is none of them.
_OF_CODE = re.compile(r"--?\w\S*|(?!\w+://)\S*[/\\=]\S*|\S*\w\.[A-Za-z]\w*[,;]?")

_SAID = "a text for people: nothing depends on it"
_OF_A_PEER = "This string is the name of a peer, and the port leaves peers as they are"
_TAKEN_FOR_ONE = "It reads as a text for people, so it is left as it is"


def check_message(site: Site) -> Iterator[Intent]:
    """Find a string that names a backend."""
    job = site.job
    literal = _LITERAL.fullmatch(site.code)
    text = literal[1] if literal is not None else site.code
    own = _find_deciding_strings(job).get(text) or _find_deciding_strings(job).get(text.lower())
    prose = job.find_prose_patch(site)
    if prose is not None:
        yield ReplaceText(
            "message", prose.reason, old=prose.find, new=prose.write, entry=job.codebase.key(prose)
        )
    elif included := _explain_header(site):
        yield RequireManual("message", included)
    elif _is_for_people(site):
        yield LeaveUnchanged("message", _SAID)
    elif program := "".join(cuda_tools.find_cuda_programs(job, site.code)):
        yield RequireManual(
            "program",
            f"it names {program}, of CUDA's: {job.vendor.programs[program]}; see what"
            f" {job.vendor.title} takes in its place, under the feature {job.feature}",
        )
    elif own and _is_condition(site):
        yield RequireManual(
            "condition in a macro",
            f"a macro has a condition on the feature {text}, and what macros write is not looked"
            f" into: see what holds with the feature {own}, by hand",
        )
    elif own:
        yield RequireManual(
            "message", f'code may decide by the string "{text}": add "{own}" by hand'
        )
    elif text.startswith(_TRIGGER):
        yield LeaveUnchanged(
            "message", "it says when the build script runs again, and nothing else"
        )
    elif job.vendor.names.is_kernel(text):
        yield LeaveUnchanged("message", "it names a kernel, and a kernel keeps its name")
    elif text.lower() in job.vendor.peers:
        yield LeaveUnchanged("message", _OF_A_PEER)
    elif not _acts(site, text):
        yield LeaveUnchanged("message", _TAKEN_FOR_ONE)
    elif _is_of_source(site):
        yield LeaveUnchanged(
            "message", f"only code under the feature {job.source_feature} acts by it"
        )
    else:
        yield RequireManual("message", _explain_string(site))


def _explain_header(site: Site) -> str:
    """Return what a person does about a header of the source's in a kernel, if one is included."""
    if "#include" not in site.code:
        return ""
    job = site.job
    if job.rename(site.code) == site.code and not job.mentions_cuda(site.code):
        return ""
    return (
        "a kernel that is compiled as the program runs includes what is CUDA's by it: see that"
        f" {job.vendor.title}'s code has HIP's there, under the feature {job.feature}"
    )


def _acts(site: Site, text: str) -> bool:
    """Whether code may act by a string, which is no sentence.

    Source: the Cargo book, chapter "Build Scripts", section "Outputs of the Build Script".
    """
    words, job = text.split(), site.job
    if not job.workspace.is_build_script(site.source.path):
        return len(words) == 1 and job.mentions_cuda(text)
    if text.startswith("cargo:"):
        return not text.startswith(("cargo:warning=", "cargo::warning=", "cargo::error="))
    return len(words) == 1 or words[0] in job.vendor.programs or any(map(_OF_CODE.fullmatch, words))


def _explain_string(site: Site) -> str:
    """Return what a person does about a string that code acts by."""
    job, title = site.job, site.job.vendor.title
    if job.workspace.is_build_script(site.source.path):
        return (
            f"a build script acts by it: see what it is for {title}, and do that under the feature"
            f" {job.feature}"
        )
    embedded = find_display_callee(site) == "include_str"
    if embedded and job.rename(site.code).strip('"#').endswith(job.vendor.names.binary):
        return (
            f"it embeds CUDA's text, and what {title} loads is bytes: `include_bytes!`, under the"
            f" feature {job.feature}"
        )
    return (
        f"it is no sentence, so code may act by it: see what {title} takes in its place, under the"
        f" feature {job.feature}"
    )


def _is_for_people(site: Site) -> bool:
    """Whether a string is given to what only tells people about it."""
    name = find_display_callee(site)
    return (
        is_display_call(site, name)
        or find_use(name) is MacroUse.CHECK
        or is_argument_only_displayed(site, name)
    )


def _is_of_source(site: Site) -> bool:
    """Whether a string is the value of a constant that only the source vendor's code uses."""
    item = site.outer
    while item is not None and item.kind not in ("const_item", "static_item"):
        item = item.outer
    if item is None:
        return False
    own, root = item.span, site.source.tree.root_node
    found = re.finditer(rb"\b%s\b" % re.escape(item.name.encode()), site.source.data)
    uses = [m.start() for m in found if not own.start <= m.start() < own.end]
    return bool(uses) and all(
        any(map(site.job.cfg_requires_cuda, find_conditions_around(root, at))) for at in uses
    )


def _is_condition(site: Site) -> bool:
    """Whether a string is what a condition asks for in a macro, whose tokens are no attributes."""
    macro, inner = None, site.outer
    while inner is not None:
        macro = inner if inner.kind in ("macro_definition", "macro_invocation") else macro
        inner = inner.outer
    if macro is None:
        return False
    text, start = macro.code, macro.node.start_byte
    found = site.memoize(
        "conditions",
        start,
        make=lambda: {
            start + len(text[: m.start()].encode()) for m in find_feature_conditions(text)
        },
    )
    return site.node.start_byte in found


def _find_deciding_strings(job: PortJob) -> Mapping[str, str]:
    """Return the strings by which code decides about the source vendor, and those of the port."""
    return {
        name_feature_variable(job): cargo_feature_variable(job.feature),
        job.source_feature: job.feature,
        job.vendor.source: job.vendor.name,
    }


_MESSAGE_PAGE = """\
A text in a string that speaks of a backend, outside any place that is ported.

A message is read by people and left as it is, unless the profile holds a change for it: "build with
--features cuda" is true where it stands. A string that is exactly a backend's name, or asks a build
script for its feature, is no message: code may decide by it, and no rule has understood how, so it
is handed to the user. So is the name of a program of CUDA's, such as ``"nvcc"``, and each word that
is no sentence: a path, a variable of the environment, a library to load. In a build script several
words are code too, where one is an option, a path or a program, as in ``"nvcc --ptx k.cu"``.

What a condition in the body of a macro asks for, ``#[cfg(feature = "cuda")]``, is for a person too:
what a macro writes is not looked into.

A string with an ``#include`` is part of a kernel that is compiled as the program runs, and is for
nobody to read: where it names a header of CUDA's, a person gives ROCm's code another.

What ``panic!``, ``expect`` and their kin are given is read by people, whatever it is, and so is
what a function of the same file is given that only prints it.

Not handled: whether what the message says is still true.
"""
MESSAGE = SiteRule(
    "PK702",
    frozenset({"string_literal", "raw_string_literal"}),
    check_message,
    "message",
    _MESSAGE_PAGE,
)
