"""The values of integer constants in a source, as far as the source itself tells them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify.preprocessor_conditions import find_amd_excluded, is_within
from portkit.hipify.preprocessor_expressions import evaluate_expression
from portkit.hipify.scopes import resolve_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portkit.hipify.kernel_source import KernelSource

_ENDS: Final = frozenset({";", ",", ")", "}", ">"})


class Constants:
    """The values of one source; each name and each definition is read once."""

    def __init__(self, source: KernelSource) -> None:
        self._source = source
        self._excluded = find_amd_excluded(source)
        self._declared: dict[str, dict[int, list[int]]] = {}
        self._values: dict[int, int | None] = {}

    def find_largest(self, tokens: Sequence[int]) -> int | None:
        """Return the largest value that an expression may have, None if it is not known."""
        texts = self._source.texts
        places = {texts[index]: index for index in tokens}
        text = " ".join(texts[index] for index in tokens)

        def value(name: str) -> int | None:
            known = (self.find_value(index) for index in self.find_definitions(places[name]))
            return max((number for number in known if number is not None), default=None)

        return evaluate_expression(text, lambda _: None, value)

    def find_definitions(self, index: int) -> list[int]:
        """Return the declarations that a name may mean for AMD's compiler."""
        name = self._source.texts[index]
        if name not in self._declared:
            self._declared[name] = resolve_name(self._source, name)
        return [
            place
            for place in self._declared[name].get(index, ())
            if not is_within(self._excluded, self._source.tokens[place].start)
        ]

    def find_value(self, index: int) -> int | None:
        """Return the value that a macro or a variable begins with, None if it is not known."""
        if index not in self._values:
            self._values[index] = None  # what is defined by itself has no value
            tokens = self._read_value(index)
            self._values[index] = self.find_largest(tokens) if tokens else None
        return self._values[index]

    def _read_value(self, index: int) -> range:
        source = self._source
        end = index + 1
        if source.is_token(index - 1, "#define"):
            line = source.line(source.tokens[index].start)
            while end < len(source.tokens) and source.line(source.tokens[end].start) == line:
                end += 1
            return range(index + 1, end)
        if not source.is_token(end, "="):
            return range(0)
        while end < len(source.tokens) and source.texts[end] not in _ENDS:
            end = (source.closing(end) or end) + 1
        return range(index + 2, end)
