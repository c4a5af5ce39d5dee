"""The rule about kernels in string literals, which a program compiles while it runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.hipify.kernel_source import KernelSource
from portkit.hipify.rules.rule import Hit, KernelRule
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_KERNEL: Final = re.compile(r"\b__(?:global|device)__\b")
_PTX: Final = re.compile(r"\.version\s+\d+\.\d+\s+\.target\s+sm_\d+")
_OPTION: Final = re.compile(r"-(?:-gpu-architecture|arch)(?:=(?:compute|sm)_\w+)?")
_RAW: Final = re.compile(r'(?:u8|[uUL])?R"([^(]*)\((.*)\)\1"', re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]+)|\n|(.))", re.DOTALL)
_NAMED_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}
_PRELUDE: Final = "PH101"
_RUN_TIME: Final = (
    *("nvrtcCompileProgram", "hiprtcCompileProgram"),
    *("nvrtcCreateProgram", "hiprtcCreateProgram"),
)


def _find(rules: Iterable[KernelRule], source: KernelSource) -> Iterator[Hit]:
    compiles = any(name in source.names for name in _RUN_TIME)
    for first, last in _group_literals(source):
        texts = [_read_literal(token.text) for token in source.tokens[first : last + 1]]
        text = "".join(texts)
        if _KERNEL.search(text):
            if changes := _list_changes(rules, source, text):
                message = (
                    f"this string has CUDA code that stays as it is: {changes}. Move it to a file,"
                    " translate that, and compile the translation with its headers"
                )
                yield Hit(first, last, message)
        elif _PTX.search(text):
            yield Hit(first, last, "this string is PTX, which no GPU of AMD's runs: compile HIP")
        elif compiles and _OPTION.fullmatch(text):
            message = f"{text} names a GPU of NVIDIA's: hipRTC takes --offload-arch=gfx90a"
            yield Hit(first, last, message, applicability=Applicability.REVIEW)


def _group_literals(source: KernelSource) -> Iterator[tuple[int, int]]:
    """Yield the first and last token of each string, which may have several literals."""
    first = last = -1
    for index in (i for i, (kind, _, _, _) in enumerate(source.tokens) if kind == "string"):
        if first >= 0 and any(text != "\\" for text in source.texts[last + 1 : index]):
            yield first, last
            first = -1
        first, last = index if first < 0 else first, index
    if first >= 0:
        yield first, last


def _read_literal(literal: str) -> str:
    """Return the text of a string literal; that of any other token is empty."""
    raw = _RAW.fullmatch(literal)
    if raw is not None:
        return raw[2]
    begin = literal.find('"')
    return _ESCAPE.sub(_unescape, literal[begin + 1 : -1]) if begin >= 0 else ""


def _unescape(match: re.Match[str]) -> str:
    octal, hexadecimal, other = match.groups()
    if octal or hexadecimal:
        return chr(int(octal, 8) if octal else int(hexadecimal, 16))
    return _NAMED_ESCAPES.get(other, other) if other else ""


def _list_changes(rules: Iterable[KernelRule], source: KernelSource, text: str) -> str:
    """Return the names that the rules find in the code of a string; empty if there are none."""
    code = KernelSource(source.path, text, source.undefined, source.own, source.defined)
    found = [
        finding
        for rule in rules
        for finding in rule.apply(code)
        if rule.code != _PRELUDE and finding.applicability is not Applicability.KEEP
    ]
    found.sort(key=lambda finding: (finding.span, finding.code))
    return ", ".join(dict.fromkeys(f"{finding.symbol} ({finding.code})" for finding in found))


def build_rule(rules: tuple[KernelRule, ...]) -> KernelRule:
    """Return the rule, which applies other rules to the code in strings."""
    return KernelRule(
        "PH219", "kernel_string", "kernel in a string", lambda source: _find(rules, source)
    )
