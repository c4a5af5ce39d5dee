"""One file: lines, ends of lines, and what belongs to an item."""

from __future__ import annotations

import pytest

from portkit.syntax.source_file import SourceFile, group_attributes, node_text
from portkit.syntax.word_search import build_word_finder


def source(text: str, path: str = "src/lib.rs") -> SourceFile:
    return SourceFile(path, text.encode())


@pytest.mark.parametrize(
    ("offset", "position"),
    [(0, (1, 1)), (2, (1, 3)), (3, (2, 1)), (4, (3, 1)), (6, (3, 3)), (7, (3, 4))],
)
def test_lines_and_columns_count_from_one_and_in_bytes(
    offset: int, position: tuple[int, int]
) -> None:
    assert source("ab\n\né!").position(offset) == position


def test_a_position_in_a_long_file() -> None:
    """A file is looked at in blocks of 16 KiB; lines of 7 bytes end anywhere in them."""
    long = source("123456\n" * 6000)
    for offset in (0, 6, 7, 16383, 16384, 16385, 32767, 32768, 32769, 41999):
        assert long.position(offset) == (offset // 7 + 1, offset % 7 + 1)


@pytest.mark.parametrize(
    ("text", "newline"),
    [("", "\n"), ("a", "\n"), ("a\nb\r\n", "\n"), ("a\r\nb\n", "\r\n"), ("\n", "\n")],
)
def test_the_first_line_says_how_lines_end(text: str, newline: str) -> None:
    assert source(text).newline == newline


def test_texts_are_read_with_one_kind_of_line_end() -> None:
    assert source("a\r\nb\n").text(0, 5) == "a\nb\n"


@pytest.mark.parametrize(
    ("text", "offset", "indent"),
    [("a\n    b", 6, "    "), ("a\n\tb", 3, "\t"), ("  a b", 4, "  "), ("a", 0, "")],
)
def test_indent_is_that_of_the_line(text: str, offset: int, indent: str) -> None:
    assert source(text).indent(offset) == indent


@pytest.mark.parametrize(
    ("text", "tail"),
    [
        ("a, // b\nc", " // b"),
        ("a, // b\r\nc", " // b"),
        ("a,\n// b", ""),
        ("a, c", ""),
        ("a,// b", "// b"),
    ],
)
def test_a_comment_on_the_same_line_is_its_tail(text: str, tail: str) -> None:
    assert text[2 : source(text).line_tail(2)] == tail


def test_words_are_found_in_any_case() -> None:
    assert source("Cuda CUDA barracuda metal").offsets(["cuda"]) == [0, 5, 15]
    assert source("cublas cuda").offsets(["cuda", "cublas"]) == [0, 7]
    assert source("is_gptx a.ptx GPTX loadPtx PTX").offsets(["ptx"]) == [10, 23, 27]


def attached(text: str) -> dict[str, list[str]]:
    """Return what belongs to each item of a file, by the first line of the item."""
    found = {}
    for node, attributes in group_attributes(source(text).tree.root_node):
        found[node_text(node).split("\n")[0]] = [node_text(a).strip() for a in attributes]
    return found


def test_attributes_and_doc_comments_belong_to_the_item_below() -> None:
    text = "/// Doc.\n#[cfg(unix)]\n// Why.\nfn f() {}\nfn g() {}\n"
    assert attached(text) == {
        "fn f() {}": ["/// Doc.", "#[cfg(unix)]", "// Why."],
        "fn g() {}": [],
    }


@pytest.mark.parametrize(
    "comment", ["// plain", "//// four slashes", "/* plain */", "/*** three stars */", "/**/"]
)
def test_other_comments_belong_to_nothing(comment: str) -> None:
    # The Rust reference, chapter "Comments": what is and what is not a doc comment.
    assert attached(f"{comment}\nfn f() {{}}\n") == {comment: [], "fn f() {}": []}


def test_an_attribute_at_the_end_belongs_to_nothing() -> None:
    assert attached("fn f() {}\n#[cfg(unix)]\n") == {"fn f() {}": [], "#[cfg(unix)]": []}


def test_manifests_are_parsed_as_toml() -> None:
    assert source("[a]\nb = 1\n", "Cargo.toml").tree.root_node.type == "document"
    assert source("fn f() {}\n").tree.root_node.type == "source_file"


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("CuBLAS and metal", ["cublas", "metal"]),
        ("nvrtcuda", ["nvrtc", "cuda"]),
        ("CUBLA\u017f", []),
        ("", []),
    ],
    ids=["any case", "one within another", "a long s", "empty"],
)
def test_the_words_of_a_text(text: str, held: list[str]) -> None:
    found = build_word_finder(("cuda", "nvrtc", "cublas", "metal"))(text.encode())
    assert sorted(found) == sorted(held)
