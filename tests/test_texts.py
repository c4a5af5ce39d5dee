"""Texts in place of which two are written alike (PK109)."""

from __future__ import annotations

from portkit.copying.texts import placed
from portkit.lang.source import Source
from portkit.profile.entries import InPlace

PATCHES = tuple(
    InPlace(path="*", find=f"{side}, middle", write="middle", reason="either is in the middle")
    for side in ("left", "right")
)


def standing(text: str) -> list[tuple[str, bool]]:
    found = placed(Source("lib.rs", text.encode()), PATCHES)
    return [(text[t.span.start : t.span.end], t.standing) for t in found]


def test_what_another_has_yet_to_write_is_not_taken_for_written() -> None:
    before = 'const A: &str = "left, middle";\nconst B: &str = "right, middle";\n'
    assert standing(before) == [("left, middle", False), ("right, middle", False)]
    assert standing('const A: &str = "left, middle";\n') == [("left, middle", False)]


def test_what_both_write_stands_once() -> None:
    assert standing('const A: &str = "middle";\n') == [("middle", True)]
