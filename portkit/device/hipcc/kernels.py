"""Kernels: ``__global__`` functions get a registration, and on the host another body.

For the device, a kernel stays the function that it is; a line in its body enters it into the table
of the code object, for a template each instance that the source needs. For the host, its body
becomes a call of the runtime with pointers to the arguments, as clang makes it of a kernel's stub.
``include/hipcpu/launch.h`` has what both refer to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from portkit.device.hipcc.source import (
    BOUNDS,
    KERNEL,
    SourceError,
    find_parts,
    split_tokens,
    strip_extents,
)
from portkit.syntax.cxx_tokens import join_tokens

if TYPE_CHECKING:
    from portkit.device.hipcc.source import Source

_DEFAULT_BOUNDS: Final = "1024"
"""What hipcc assumes of a kernel that says nothing (HIP, "Launch bounds")."""

_SPECIFIERS: Final = frozenset({"static", "inline", "extern", "constexpr", '"C"', "void", "const"})
_INTEGERS: Final = frozenset({"char", "short", "int", "long", "signed", "unsigned"})
_TYPE_WORDS: Final = _INTEGERS | {"void", "bool", "float", "double", "const", "volatile", "auto"}


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A parameter of a kernel."""

    text: str  # without a default
    name: str  # its own, or one that it gets
    packed: bool  # whether it stands for several


def rewrite_kernels(source: Source, *, device: bool) -> bool:
    """Rewrite every kernel of a source."""
    found = False
    index = 0
    while index < len(source.tokens):
        if source.tokens[index] == KERNEL:
            index, defined = _rewrite(source, index, device=device)
            found |= defined
        else:
            if source.tokens[index] == BOUNDS:  # before __global__: read from there
                source.replace(index, source.closing(index + 1), "")
            index += 1
    return found


def _rewrite(source: Source, keyword: int, *, device: bool) -> tuple[int, bool]:
    """Rewrite the kernel whose keyword is at an index; return where to go on."""
    source.replace(keyword, keyword, '__attribute__((visibility("default")))' if device else "")
    template, bounds = _read_prefix(source, keyword)
    opening, more_bounds = _find_parameters(source, keyword + 1)
    bounds = more_bounds or bounds
    closing = source.closing(opening)
    body = closing + 1
    while source.at(body) in ("__attribute__", BOUNDS):
        if source.tokens[body] == BOUNDS:
            bounds = _read_first_bound(source, body)
            source.replace(body, source.closing(body + 1), "")
        body = source.closing(body + 1) + 1
    if source.at(body) != "{":
        return body, False
    name, callee = _read_name(source, opening, template)
    parameters = _read_parameters(source, opening, closing)
    function = f"static_cast<void (*)({', '.join(p.text for p in parameters)})>(&{callee})"
    registration = (
        f' struct hipcpu_kernel_{name} {{ static const char *name() {{ return "{name}"; }} }};'
        f" (void)&::hipcpu::Registration<{function}, ({bounds or _DEFAULT_BOUNDS}),"
        f" hipcpu_kernel_{name}, ::hipcpu::Instance<{', '.join(_render_types(template))}>>::entry;"
    )
    end = source.closing(body)
    if device:
        source.insert(body, registration, after=True)
        return body + 1, True
    addresses = [f"(void *)&{p.name}{'...' if p.packed else ''}, " for p in parameters]
    stub = (
        f"{{{registration} void *hipcpu_arguments[] = {{{''.join(addresses)}nullptr}};"
        f" ::hipcpu::launch((const void *){function}, hipcpu_arguments); }}"
    )
    source.replace(body, end, stub)
    return end, True


def _read_prefix(source: Source, keyword: int) -> tuple[list[list[str]], str]:
    """Return the parameters of the template that a kernel is, and launch bounds before it."""
    bounds = ""
    index = keyword - 1
    while index >= 0:
        token = source.tokens[index]
        if token in _SPECIFIERS:
            index -= 1
        elif token == ")":
            opening = source.opening(index)
            if source.at(opening - 1) == BOUNDS:
                bounds = _read_first_bound(source, opening - 1)
            elif source.at(opening - 1) != "__attribute__":
                break
            index = opening - 2
        else:
            break
    if source.at(index) != ">":
        return [], bounds
    opening = source.opening_angle(index)
    if source.at(opening - 1) != "template":
        return [], bounds
    return split_tokens(source.tokens[opening + 1 : index]), bounds


def _find_parameters(source: Source, index: int) -> tuple[int, str]:
    """Return where a kernel's parameters begin, and launch bounds on the way."""
    bounds = ""
    while index < len(source.tokens):
        token = source.tokens[index]
        if token == BOUNDS:
            bounds = _read_first_bound(source, index)
            source.replace(index, source.closing(index + 1), "")
            index = source.closing(index + 1)
        elif token in ("__attribute__", "alignas"):
            index = source.closing(index + 1)
        elif token == "(":
            return index, bounds
        elif token in (";", "{", "}"):
            break
        index += 1
    raise SourceError(f"{source.place(index)}: __global__ is not followed by a function")


def _read_name(source: Source, opening: int, template: list[list[str]]) -> tuple[str, str]:
    """Return a kernel's name, and the expression for it with the arguments of its template."""
    last = opening - 1
    arguments = ""
    if source.at(last) == ">":  # an explicit specialization
        begin = source.opening_angle(last)
        arguments = join_tokens(source.tokens[begin : last + 1])
        last = begin - 1
    elif template:
        arguments = f"<{', '.join(_render_arguments(template))}>"
    first = last
    while source.at(first - 1) == "::" and source.at(first - 2).isidentifier():
        first -= 2
    if not source.at(last).isidentifier():
        raise SourceError(f"{source.place(last)}: a kernel without a name")
    return source.tokens[last], join_tokens(source.tokens[first : last + 1]) + arguments


def _read_first_bound(source: Source, bounds: int) -> str:
    parts = split_tokens(source.tokens[bounds + 2 : source.closing(bounds + 1)])
    return join_tokens(parts[0]) if parts else ""


def _read_parameters(source: Source, opening: int, closing: int) -> list[_Parameter]:
    """Return a kernel's parameters; those without a name get one."""
    parameters: list[_Parameter] = []
    for first, end in find_parts(source.tokens, opening + 1, closing):
        tokens = source.tokens[first:end]
        if tokens == ["void"]:
            continue
        if "=" in tokens:
            tokens = tokens[: tokens.index("=")]
        name = _read_declared_name(tokens)
        if not name:
            name = f"hipcpu_argument_{len(parameters)}"
            source.insert(first + len(tokens) - 1, f" {name}", after=True)
        parameters.append(_Parameter(join_tokens(tokens), name, "..." in tokens))
    return parameters


def _read_declared_name(tokens: list[str]) -> str:
    """Return the name that a declaration without initializer declares; empty for none."""
    kept = strip_extents(tokens)
    name = kept[-1] if kept else ""
    rest = [token for token in kept[:-1] if token not in ("const", "volatile")]
    return name if name.isidentifier() and name not in _TYPE_WORDS and rest else ""


def _read_template_name(parameter: list[str]) -> tuple[str, bool]:
    tokens = parameter[: parameter.index("=")] if "=" in parameter else parameter
    return tokens[-1], "..." in tokens


def _render_arguments(template: list[list[str]]) -> list[str]:
    """Return the arguments by which a template names its own instance: ``<T, Rest...>``."""
    names = [_read_template_name(parameter) for parameter in template]
    return [name + ("..." if packed else "") for name, packed in names]


def _render_types(template: list[list[str]]) -> list[str]:
    """Return the same as types: a value as a class of it."""
    result = []
    for parameter in template:
        name, packed = _read_template_name(parameter)
        value = parameter[0] not in ("typename", "class")
        text = f"::hipcpu::Value<{name}>" if value else name
        result.append(text + ("..." if packed else ""))
    return result
