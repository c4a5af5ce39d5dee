"""Regular expressions from files, as RE2 has them: linear in the text, so that none can hang."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from portkit.syntax.typed_toml import InvalidValueError

Regex = Annotated[
    str,
    Meta(
        description="A regular expression (RE2).",
        extra_json_schema={"format": "regex"},
    ),
]
"""The text of one, as a type for a file."""


def compile_regex(text: str, key: str) -> Any:
    """Return a regular expression; re2 has no types."""
    # Start-up would pay for it in every command: few look at an expression.
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error as error:
        said = error.args[0] if error.args else error
        said = said.decode() if isinstance(said, bytes) else said
        raise InvalidValueError(
            f"{text!r} is not a regular expression without look-around and back-references"
            f" ({said})",
            key,
        ) from None
