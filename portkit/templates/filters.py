"""The filters and tests that a template may use.

Each gets plain values and gives one. The size of each result is counted; a filter whose result can
be far larger than what it is given says beforehand how large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, Final

from jinja2 import Environment
from jinja2.filters import FILTERS
from jinja2.nodes import EvalContext
from jinja2.runtime import Context
from jinja2.tests import TESTS

from portkit.templates.budget import Budget, LimitError, measure_value

_FILTERS: Final = (
    *("capitalize", "count", "d", "default", "dictsort", "first", "indent", "int", "items", "join"),
    *("last", "length", "list", "lower", "map", "reject", "replace", "reverse", "select", "sort"),
    *("string", "trim", "unique", "upper"),
)
"""Those of Jinja's filters that a template may use."""
_TESTS: Final = (
    *("!=", "<", "<=", "==", ">", ">=", "boolean", "defined", "divisibleby", "eq", "equalto"),
    *("even", "false", "ge", "greaterthan", "gt", "in", "integer", "le", "lessthan", "lower", "lt"),
    *("mapping", "ne", "none", "number", "odd", "sequence", "string", "true", "undefined", "upper"),
)
"""Those of Jinja's tests that a template may use."""
_JINJAS_OWN: Final = (Context, EvalContext, Environment)
"""What Jinja gives some filters before the values."""
_CALL: Final = 8
"""How many steps a filter or a test takes, beside those for the size of its values."""
_WIDEST: Final = 1000  # How many characters an indentation may have.


def allowed_filters(budget: Budget) -> dict[str, Any]:
    """Return the allowed filters, each of which counts its result."""
    own = {"rust_array": _rust_array, "rust_string": '"{}"'.format}
    known: dict[str, Any] = {name: FILTERS[name] for name in _FILTERS} | own
    return {
        name: _measure_filter(each, budget, _FORETOLD.get(name)) for name, each in known.items()
    }


def allowed_tests(budget: Budget) -> dict[str, Any]:
    """Return the allowed tests, each of which counts its arguments."""
    known: dict[str, Any] = {name: TESTS[name] for name in _TESTS}
    return {name: _measure_filter(each, budget, None) for name, each in known.items()}


def _measure_filter(
    function: Callable[..., Any], budget: Budget, foretell: Callable[..., int] | None
) -> Callable[..., Any]:
    """Return a filter that counts its result, and predicts its size."""

    @wraps(function)  # which also copies the marks of those that take the context
    def made(*arguments: Any, **named: Any) -> Any:
        budget.charge(_CALL)
        given = [each for each in arguments if not isinstance(each, _JINJAS_OWN)]
        for each in (*given, *named.values()):
            budget.charge_size(measure_value(each))
        if foretell is not None:
            budget.charge_size(foretell(*given, **named))
        result = function(*arguments, **named)
        if isinstance(result, Iterator):
            result = tuple(_count_values(result, budget))
        budget.charge_size(measure_value(result))
        return result

    return made


def _count_values(values: Iterable[Any], budget: Budget) -> Iterator[Any]:
    for each in values:
        budget.charge(1)
        yield each


def _size_of_indent(
    text: object = "", width: object = 4, first: object = False, blank: object = False
) -> int:
    wide = len(width) if isinstance(width, str) else width
    if not isinstance(wide, int) or wide > _WIDEST:
        raise LimitError(f"it indents by more than {_WIDEST} characters")
    shown = str(text)
    return len(shown) + (len(shown.splitlines()) + 1) * max(wide, 0)


def _size_of_replaced(
    text: object = "", old: object = "", new: object = "", count: int = -1
) -> int:
    shown, sought = str(text), str(old)
    hits = shown.count(sought) if count < 0 else min(count, len(shown) + 1)
    return len(shown) + hits * len(str(new))


def _size_of_joined(values: object = (), d: object = "", attribute: object = None) -> int:
    number = len(values) if isinstance(values, str | tuple | list | Mapping) else 0
    return measure_value(values) + number * len(str(d))


_FORETOLD: Final[Mapping[str, Callable[..., int]]] = {
    "indent": _size_of_indent,
    "join": _size_of_joined,
    "replace": _size_of_replaced,
}
"""How large the result of a filter can be, from what it is given."""


def _rust_array(items: Iterable[str]) -> str:
    """Return a Rust array literal, as rustfmt lays it out (array_width 60)."""
    items = list(items)
    line = f"[{', '.join(items)}]"
    if len(line) <= 60:
        return line
    return "\n".join(["[", *(f"    {item}," for item in items), "]"])
