"""``portkit.review.toml``: the findings that you have reviewed and accepted.

``portkit review`` writes the whole file, a line for each place, sorted; so two branches that accept
different places merge, and what people write by hand, ``portkit.toml``, is never rewritten.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta, Struct

from portkit.errors import ConfigError
from portkit.profiles.entries import Text, describe
from portkit.syntax.source_file import SourceFile
from portkit.syntax.typed_toml import LARGEST, InvalidValueError, KeyLines, decode_toml
from portkit.syntax.value import Value
from portkit.workspace.regular_files import read_if_present

NAME: Final = "portkit.review.toml"
_HEAD: Final = """\
# The places of this port that a person has looked at. `portkit review` writes this file; who takes
# a line away is shown its place again.

"""

_PLACE: Final = re.compile("P[KH][0-9]{3}-[0-9a-f]{8}")
Content = Annotated[str, Meta(pattern="^[0-9a-f]{16}$", title="16 hexadecimal digits")]


class AcceptanceEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A place that was looked at."""

    at: Annotated[Text, describe("The file and the item, for readers of this file.")]
    content: Annotated[
        tuple[Content, ...],
        describe(
            "What stood and what is written there, hashed; a second one is what stands "
            "there since the port was written.",
            min_length=1,
        ),
    ]


class AcceptanceFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The places that a person has looked at and accepted as they are."""

    looked_at: Annotated[
        dict[str, AcceptanceEntry], describe("By the identity that reports show.")
    ] = {}

    def __post_init__(self) -> None:
        for place in self.looked_at:
            if not _PLACE.fullmatch(place):
                raise InvalidValueError(f"{place!r} is no place: one is written PK401-226474f1")


class Acceptance(Value, frozen=True):
    """A reviewed and accepted finding."""

    at: str
    content: tuple[str, ...]
    line: int = 0


def read_own_file(file: Path) -> bytes | None:
    """Return the content of a file of decisions, or None if it does not exist.

    What stands under its name and is no file of the tree would be passed over by a scan, and what
    it says with it.
    """
    try:
        return read_if_present(file, LARGEST)
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be read ({error.strerror}): put a file there, or take it away"
        ) from None


def parse_acceptances(source: SourceFile | None) -> Mapping[str, Acceptance]:
    """Return the acceptances in a file by identity; empty without a file."""
    if source is None:
        return {}
    said = decode_toml(source.data, NAME, AcceptanceFile, ConfigError)
    lines = KeyLines(source.data)
    return {
        place: Acceptance(entry.at, entry.content, lines.of(("looked_at", place)))
        for place, entry in said.looked_at.items()
    }


def read_acceptances(directory: Path) -> tuple[bytes | None, Mapping[str, Acceptance]]:
    """Return the file in a folder, or None, and its acceptances."""
    data = read_own_file(directory / NAME)
    return data, parse_acceptances(None if data is None else SourceFile(NAME, data))


def format_acceptances(looked: Mapping[str, Acceptance]) -> str:
    """Return the text of the file; the same acceptances make the same bytes."""
    ordered = sorted(looked.items(), key=lambda each: (each[1].at, each[0]))
    lines = [
        f"{place} = {{ at = {quote_toml(each.at)}, content = {json.dumps(list(each.content))} }}\n"
        for place, each in ordered
    ]
    return f"{_HEAD}[looked_at]\n{''.join(lines)}"


def quote_toml(word: str) -> str:
    """Return a text as a basic string of TOML 1.0, which has JSON's escapes.

    It knows no half of a surrogate pair, which stands for a byte of a name that is not Unicode, and
    wants U+007F escaped.
    """
    known = word.encode(errors="backslashreplace").decode()
    return json.dumps(known, ensure_ascii=False).replace("\x7f", "\\u007f")
