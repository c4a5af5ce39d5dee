"""Layout makes no difference between a file that was written and what would be written now."""

from __future__ import annotations

import pytest

from portkit.port.drift import compare_items, count_words
from portkit.syntax.source_file import SourceFile


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        (
            'fn f() {\n    g(\n        r#"one " here"#,\n        "x",\n    )\n}\n',
            'fn f() {\n    g(r#"one " here"#, "x")\n}\n',
        ),
        (
            'fn f() {\n    g(\n        b\'"\',\n        "a // b", // c\n    )\n}\n',
            'fn f() {\n    g(b\'"\', "a // b") // c\n}\n',
        ),
    ],
    ids=["raw string", "quote"],
)
def test_rustfmt_settings_make_no_difference(narrow: str, wide: str) -> None:
    """Both are what rustfmt writes, with ``use_small_heuristics`` Off and Max."""
    assert count_words(narrow) == count_words(wide)


def test_a_text_makes_a_difference() -> None:
    assert count_words('const A: &str = "a b";') != count_words('const A: &str = "a  b";')
    assert count_words("let a = 'b';") != count_words("let a = 'c';")


def test_an_import_that_serves_another_wording_is_not_added() -> None:
    """The file would get an import of what it need not have (rustc: unresolved, or unused)."""
    wanted = "use hip::Stream;\n\nfn run(stream: Stream) {}\n"
    standing = SourceFile("rocm.rs", b"use crate::queue;\n\nfn run() {\n    queue::push()\n}\n")
    missing, differing = compare_items(wanted, standing)
    assert (missing, [each.symbol for each in differing]) == ((), ["run"])
    more = f"{wanted}\nfn stop(stream: Stream) {{}}\n"
    assert [each.symbol for each in compare_items(more, standing)[0]] == ["hip::Stream", "stop"]
