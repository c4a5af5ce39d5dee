"""Sources of CUDA C++, and their tokens.

Text is decoded as Latin-1, so that offsets into it are byte offsets of the file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from portkit.hipify.preprocessor_conditions import find_branches
from portkit.syntax.cxx_tokens import CLOSING, OPENING, Token, match_brackets, tokenize_cxx
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from portkit.hipify.preprocessor_conditions import Branch

NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})
_COMMENTS: Final = ("comment", "unterminated")


class KernelSource(Value, frozen=True, dict=True):
    """One file of CUDA C++, with its tokens."""

    path: str  # relative to the folder that is translated, with ``/``
    text: str  # the whole text, one character a byte
    # macros that are known to be undefined on AMD, though other files define them
    undefined: frozenset[str] = frozenset()
    # names that look like CUDA's and that files of the same tree define, and the names of its files
    own: frozenset[str] = frozenset()
    defined: frozenset[str] = frozenset()  # macros that the build for AMD defines
    # includes in quotes whose header has another name than its suffix says
    renamed: Mapping[str, str] = NO_NAMES

    @cached_property
    def _everything(self) -> list[Token]:
        return tokenize_cxx(self.text)

    @property
    def to_root(self) -> str:
        """The way from the file's folder to the root, such as ``../``; empty in the root."""
        return "../" * self.path.count("/")

    @cached_property
    def tokens(self) -> list[Token]:
        """All tokens outside comments, in order."""
        return [token for token in self._everything if token[0] not in _COMMENTS]

    @cached_property
    def comments(self) -> list[tuple[int, int]]:
        """The spans of the comments, in order."""
        return [(token.start, token.end) for token in self._everything if token[0] == "comment"]

    @property
    def unterminated(self) -> int | None:
        """Where a block comment starts that never ends; nothing after it is read."""
        last = self._everything[-1] if self._everything else None
        return last.start if last is not None and last.kind == "unterminated" else None

    @cached_property
    def texts(self) -> list[str]:
        """The text of each token."""
        return [text for _, text, _, _ in self.tokens]

    @cached_property
    def names(self) -> dict[str, list[int]]:
        """Each identifier and the indices of its tokens."""
        index: defaultdict[str, list[int]] = defaultdict(list)
        for position, (kind, text, _, _) in enumerate(self.tokens):
            if kind == "name":
                index[text].append(position)
        return dict(index)

    def uses(self, name: str) -> list[int]:
        """Return the indices of the tokens with a name, in order."""
        return self.names.get(name, [])

    @cached_property
    def branches(self) -> list[Branch]:
        """The branches of the preprocessor's conditions, inner ones first."""
        return list(find_branches(self))

    @cached_property
    def includes(self) -> list[int]:
        """The indices of the tokens that include a file."""
        return [i for i, (kind, _, _, _) in enumerate(self.tokens) if kind == "include"]

    @cached_property
    def _partners(self) -> dict[int, int]:
        return match_brackets(self.texts)

    @cached_property
    def enclosing(self) -> list[int]:
        """The index of the innermost bracket that is open at each token; -1 for none."""
        found: list[int] = []
        open_brackets = [-1]
        for index, text in enumerate(self.texts):
            if text in CLOSING and len(open_brackets) > 1:
                open_brackets.pop()
            found.append(open_brackets[-1])
            if text in OPENING:
                open_brackets.append(index)
        return found

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def line(self, offset: int) -> int:
        """Return the line, from 1, of a byte offset."""
        return bisect_right(self._line_starts, offset)

    def is_token(self, index: int, text: str) -> bool:
        """Whether the token at ``index`` exists and reads ``text``."""
        return 0 <= index < len(self.tokens) and self.tokens[index].text == text

    def reads(self, first: int, *texts: str) -> bool:
        """Whether the tokens from ``first`` on read ``texts``."""
        return all(self.is_token(index, text) for index, text in enumerate(texts, first))

    def closing(self, index: int) -> int | None:
        """Return the index of the bracket that closes the one at ``index``, None without one."""
        return self._partners.get(index)

    def call(self, index: int) -> list[range] | None:
        """Return the arguments of the function that is called at ``index``; None without a call."""
        return self.arguments(index + 1) if self.is_token(index + 1, "(") else None

    def arguments(self, index: int) -> list[range] | None:
        """Return the token ranges of a call's arguments; ``index`` is its opening bracket.

        None when the bracket never closes. A call without arguments has none. Commas inside
        angle brackets separate, as they do for the preprocessor.
        """
        close = self.closing(index)
        if close is None:
            return None
        arguments = []
        first = position = index + 1
        while position <= close:
            text = self.texts[position]
            if text in OPENING:
                position = self.closing(position) or close
            elif text == "," or position == close:
                arguments.append(range(first, position))
                first = position + 1
            position += 1
        return [] if len(arguments) == 1 and not arguments[0] else arguments
