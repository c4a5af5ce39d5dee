"""The Jinja environment that templates are rendered in: they may be anybody's.

A template reaches the values that it is given, and its own macros and blocks. It has no attributes
and no methods: `a.b` is what a mapping holds under a name. All that it does is counted against a
budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

import jinja2
from jinja2.runtime import BlockReference, Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

from portkit.templates.allowed_syntax import CHARGE, HOLD, JOIN, prepare_template
from portkit.templates.budget import LARGEST, TOO_LARGE, Budget, LimitError, measure_value
from portkit.templates.filters import allowed_filters, allowed_tests

_OF_A_LOOP: Final = frozenset(
    {"first", "index", "index0", "last", "length", "revindex", "revindex0"}
)
"""What a template may read of a loop."""
_LONGEST_SOURCE: Final = 1 << 18
"""How many characters a template may have; the longest of portkit's own has 13,000."""
_CHARACTERS_A_STEP: Final = 16
_STEPS_A_PART: Final = 8  # What it costs to read a template.


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """An environment whose templates get plain values and stay below limits."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "**", "%"})

    def __init__(self, find: Callable[[str], str], budget: Budget, *, trim: bool = False) -> None:
        """Make an environment."""
        super().__init__(
            loader=jinja2.FunctionLoader(partial(_find_short, find)),
            undefined=jinja2.StrictUndefined,
            keep_trailing_newline=True,
            trim_blocks=trim,
            lstrip_blocks=trim,
            autoescape=False,
            optimized=False,  # it would reckon before anything is counted
            finalize=self._finish,
        )
        self.budget = budget
        self.globals = {"range": self._range}
        self.filters = allowed_filters(budget)
        self.tests = allowed_tests(budget)
        self._own = {CHARGE: budget.charge, JOIN: self._join_texts, HOLD: self._hold}
        self.__dict__ |= self._own

    def compile(self, source: Any, name: Any = None, *rest: Any, **named: Any) -> Any:
        """Compile a template that uses only allowed syntax."""
        self.budget.charge(len(source) // _CHARACTERS_A_STEP)
        prepared, parts = prepare_template(self.parse(source, name), name)
        self.budget.charge(parts * _STEPS_A_PART)
        return super().compile(prepared, name, *rest, **named)

    def get_template(self, *arguments: Any, **named: Any) -> jinja2.Template:
        """Return a template, counted as one that another includes or extends."""
        self.budget.include()
        return super().get_template(*arguments, **named)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return the value of a mapping under a name; nothing else has attributes."""
        if isinstance(obj, LoopContext) and attribute in _OF_A_LOOP:
            return getattr(obj, attribute)
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return an element of a mapping, a list or a text."""
        if isinstance(obj, jinja2.Undefined):
            return obj
        by_name = isinstance(obj, dict) and isinstance(argument, str)
        if by_name or (isinstance(obj, list | tuple | str) and isinstance(argument, int)):
            try:
                return obj[argument]
            except LookupError:
                pass
        return self.undefined(obj=obj, name=argument)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa:N805
        """Call a macro, a block or a function of the environment, not too deep."""
        kwargs.pop("_loop_vars", None)
        kwargs.pop("_block_vars", None)
        if any(__obj is each for each in (__self.globals["range"], *__self._own.values())):
            return __obj(*args, **kwargs)
        if not isinstance(__obj, Macro | BlockReference | jinja2.Undefined):
            raise LimitError("it calls something that is no macro of its own")
        __self.budget.enter()
        try:
            return super().call(__context, __obj, *args, **kwargs)
        finally:
            __self.budget.leave()

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Reckon with whole numbers, or join texts or lists that are not too large together."""
        numbers = isinstance(left, int) and isinstance(right, int)
        if operator == "+" and not numbers:
            self.budget.charge_size(measure_value(left) + measure_value(right))
        elif operator == "*" and not numbers:
            number = next((each for each in (left, right) if isinstance(each, int)), 0)
            self.budget.charge_size((measure_value(left) + measure_value(right)) * max(number, 1))
        elif not numbers:
            raise LimitError(f"it uses {operator!r} on something that is no whole number")
        self.budget.charge(1)
        result = super().call_binop(context, operator, left, right)
        measure_value(result)
        return result

    def concat(self, pieces: Iterable[str]) -> str:
        """Join the output of a template, a macro or a block, up to a limit."""
        size, held = 0, []
        for piece in pieces:
            size += len(piece)
            if size > LARGEST:
                raise LimitError(TOO_LARGE)
            held.append(piece)
        return "".join(held)

    def _finish(self, value: Any) -> Any:
        """Check that a template writes a text or a number."""
        if not isinstance(value, str | int | jinja2.Undefined):
            raise LimitError("it writes something that is neither a text nor a whole number")
        self.budget.charge_size(measure_value(value))
        return value

    def _join_texts(self, *values: Any) -> str:
        return self.concat([str(self._finish(each)) for each in values])

    def _hold(self, value: Any) -> Any:
        self.budget.charge_size(measure_value(value))
        return value

    def _range(self, *bounds: int) -> tuple[int, ...]:
        numbers = range(*bounds)
        if len(numbers) > 1000:
            raise LimitError("it has a range of more than 1,000 numbers")
        return tuple(numbers)


def _find_short(find: Callable[[str], str], name: str) -> str:
    """Return the text of a template that is not too long."""
    text = find(name)
    if len(text) > _LONGEST_SOURCE:
        raise LimitError(f"{name} has more than {_LONGEST_SOURCE:,} characters")
    return text
