"""A tree of some of a file's items says the same of them as the tree of the whole file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from portkit.syntax.partial_parse import find_needed_parts
from portkit.syntax.source_file import SourceFile, field_text

if TYPE_CHECKING:
    from tree_sitter import Tree

FILE = b"""//! A file.

use crate::Device;

/// Runs on a GPU.
#[cfg(feature = "cuda")]
pub fn on_gpu() {}

fn first() -> u32 {
    let a = 1;

    a
}

// About the next one.

#[inline]

fn second() {}

mod inner {
    pub fn third() {}
}
"""


def kept(data: bytes, *places: bytes, words: tuple[bytes, ...] = ()) -> str | None:
    """Return what is kept of a file for the places of some texts."""
    found = find_needed_parts(data, [data.index(text) for text in places], words)
    return None if found is None else b"".join(data[p.start : p.end] for p in found).decode()


def test_an_item_is_kept_with_what_belongs_to_it() -> None:
    text = kept(FILE, b"on_gpu")
    assert text is not None
    assert "/// Runs on a GPU.\n#[cfg(feature" in text
    assert "first" not in text
    assert "fn second" not in text


def test_blank_lines_do_not_part_an_attribute_from_its_item() -> None:
    text = kept(FILE, b"second")
    assert text is not None
    assert "// About the next one.\n\n#[inline]\n\nfn second() {}" in text


def test_imports_and_modules_are_kept() -> None:
    text = kept(FILE, b"first")
    assert text is not None
    assert "use crate::Device;" in text
    assert "mod inner" in text
    assert "on_gpu" not in text


def test_words_are_places_in_any_case() -> None:
    text = kept(FILE + b"\nfn to_ROCM() {}\n", b"first", words=(b"rocm",))
    assert text is not None
    assert "to_ROCM" in text


@pytest.mark.parametrize(
    "between",
    [
        b'const S: &str = "\n\nfn no_function() {}\n\n";\n',
        b'const S: &str = r#"\n\nfn no_function() { "cuda" }\n\n"#;\n',
        b'const C: &str = "*/";\n/*\n\nfn no_function() {}\n\n*/\n',
        b"/*\n\nfn no_function() {}\n",
        b"mod a {\n\nfn inside() {}\n\n}\n",
        b"make! {\n\nfn inside() {}\n\n}\n",
    ],
    ids=[
        "string",
        "raw string",
        "end of a comment",
        "open comment",
        "module",
        "macro",
    ],
)
def test_what_does_not_show_where_its_items_begin_is_parsed_whole(between: bytes) -> None:
    assert kept(FILE + b"\n" + between + b"\nfn last() {}\n", b"first") is None


@pytest.mark.parametrize(
    "between",
    [
        b"const Q: char = '\"';\n",
        b"const B: char = '{';\n",
        b"/// From the interval [0, 1).\nfn third() {}\n",
        b'const S: &str = "a ratio in [0, 1) (see there";\n',
    ],
    ids=["quote", "brace", "comment", "string"],
)
def test_what_literals_and_comments_hold_opens_nothing(between: bytes) -> None:
    text = kept(FILE + b"\n" + between + b"\nfn last() {}\n", b"first")
    assert text is not None
    assert "on_gpu" not in text
    assert "last" not in text


IMPL = b"""/// A device.
impl<D: Driver> Device<D> {
    const ORDINAL: usize = 0;

    /// In [0, 1).
    #[inline]
    pub fn on_gpu(&self) -> bool {
        let found = self.find("in [0, 1)");

        found
    }

    fn first(&self) {}

    fn second(&self) {}
}
"""


def test_of_an_implementation_only_members_with_a_place_are_kept() -> None:
    text = kept(b"use a::B;\n\n" + IMPL + b"\nfn last() {}\n", b"first")
    assert text is not None
    assert "impl<D: Driver> Device<D> {\n    fn first(&self) {}\n\n    fn second" in text
    assert "on_gpu" not in text
    assert "ORDINAL" not in text


def test_a_member_is_kept_with_its_attributes() -> None:
    text = kept(b"use a::B;\n\n" + IMPL, b"found")
    assert text is not None
    assert "    /// In [0, 1).\n    #[inline]\n    pub fn on_gpu" in text
    assert "        found\n    }" in text
    assert "fn first" not in text


@pytest.mark.parametrize("place", [b"A device", b"Driver", b"Device<D>"])
def test_an_implementation_with_a_place_in_its_head_is_whole(place: bytes) -> None:
    assert kept(b"use a::B;\n\n" + IMPL, place) == "use a::B;\n\n" + IMPL.decode()


STATEMENTS = b"    first();\n\n    second();\n\n    third();\n\n    fourth();\n}\n"


@pytest.mark.parametrize(
    "other",
    [
        b"fn long() {\n" + STATEMENTS,
        b"impl A {}\nfn long() {\n" + STATEMENTS,
        b"impl A {\n    fn a() {}\n}\nfn long() {\n" + STATEMENTS,
        b"make! {\n" + STATEMENTS,
    ],
    ids=["function", "beside an implementation", "behind an implementation", "macro"],
)
def test_statements_are_no_members(other: bytes) -> None:
    assert kept(b"use a::B;\n\n" + other, b"third") == "use a::B;\n\n" + other.decode()


def test_a_comment_with_blank_lines_is_whole() -> None:
    comment = b"/* Written {\n\nfn no_function() {}\n\n} from this. */\nfn tested() {}\n"
    text = kept(FILE + b"\n" + comment + b"\nfn last() {}\n", b"no_function")
    assert text is not None
    assert text.endswith(comment.decode() + "\n")
    assert "fn second" not in text


def test_positions_and_texts_are_those_of_the_whole_file() -> None:
    source = SourceFile("a.rs", FILE)
    at = FILE.index(b"second")
    some = source.tree_around([at], ()).root_node
    whole = source.tree.root_node
    (function,) = (n for n in some.children if n.type == "function_item")
    (same,) = (
        n for n in whole.children if n.type == "function_item" and b"second" in (n.text or b"")
    )
    assert function.byte_range == same.byte_range
    assert function.start_point == same.start_point
    assert function.end_point == same.end_point
    assert function.text == same.text


def test_a_file_that_a_carriage_return_ends_lines_of_is_parsed_whole() -> None:
    source = SourceFile("a.rs", FILE.replace(b"\n", b"\r\n"))
    functions = [n.type for n in source.tree_around([5], ()).root_node.children]
    assert functions.count("function_item") == 3


def test_the_items_that_were_parsed_last_are_not_parsed_again() -> None:
    text = "use a::b;\n\nfn one() {}\n\nfn two() {}\n\nfn three() {}\n"
    source = SourceFile("a.rs", text.encode())
    one, two, three = (text.index(name) for name in ("one", "two", "three"))
    tree = source.tree_around([one, two])
    assert source.tree_around([two]) is tree
    assert names(tree) == ["one", "two"]
    other = source.tree_around([two, three])
    assert names(other) == ["two", "three"]
    source.forget()
    assert source.tree_around([two, three]) is not other


def names(tree: Tree) -> list[str]:
    return [field_text(node, "name") for node in tree.root_node.children[1:]]
