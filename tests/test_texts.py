"""Texts in place of which two are written alike (PK109)."""

from __future__ import annotations

from portkit.port.item_patches import locate_text_patches
from portkit.profiles.entries import TextPatch
from portkit.syntax.source_file import SourceFile

PATCHES = tuple(
    TextPatch(path="*", find=f"{side}, middle", write="middle", reason="either is in the middle")
    for side in ("left", "right")
)


def standing(text: str) -> list[tuple[str, bool]]:
    found = locate_text_patches(SourceFile("lib.rs", text.encode()), PATCHES)
    return [(text[t.span.start : t.span.end], t.standing) for t in found]


def test_what_another_has_yet_to_write_is_not_taken_for_written() -> None:
    before = 'const A: &str = "left, middle";\nconst B: &str = "right, middle";\n'
    assert standing(before) == [("left, middle", False), ("right, middle", False)]
    assert standing('const A: &str = "left, middle";\n') == [("left, middle", False)]


def test_a_text_within_that_of_another_is_the_other_s() -> None:
    blanket = TextPatch(path="*", find='"flash"', write='any("flash", "rocm-flash")', reason="both")
    own = TextPatch(path="*", find='// own: "flash"', write="$all", reason="one of them alone")
    source = SourceFile("lib.rs", b'a("flash"); // own: "flash"\n')
    found = locate_text_patches(source, (blanket, own))
    assert [(t.patch, t.standing) for t in found] == [(blanket, False), (own, True)]
    ported = SourceFile("lib.rs", b'a(any("flash", "rocm-flash")); // own: "flash"\n')
    assert all(t.standing for t in locate_text_patches(ported, (blanket, own)))
    assert [t.patch for t in locate_text_patches(ported, (blanket, own))] == [blanket, own]


def test_what_both_write_stands_once() -> None:
    assert standing('const A: &str = "middle";\n') == [("middle", True)]
