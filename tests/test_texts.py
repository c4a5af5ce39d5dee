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


def test_a_text_within_that_of_another_is_the_other_s() -> None:
    blanket = InPlace(path="*", find='"flash"', write='any("flash", "rocm-flash")', reason="both")
    own = InPlace(path="*", find='// own: "flash"', write="$all", reason="one of them alone")
    source = Source("lib.rs", b'a("flash"); // own: "flash"\n')
    found = placed(source, (blanket, own))
    assert [(t.patch, t.standing) for t in found] == [(blanket, False), (own, True)]
    ported = Source("lib.rs", b'a(any("flash", "rocm-flash")); // own: "flash"\n')
    assert all(t.standing for t in placed(ported, (blanket, own)))
    assert [t.patch for t in placed(ported, (blanket, own))] == [blanket, own]


def test_what_both_write_stands_once() -> None:
    assert standing('const A: &str = "middle";\n') == [("middle", True)]
