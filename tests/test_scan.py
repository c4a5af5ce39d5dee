"""The walk: whatever the file holds, each mention is accounted for or listed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_support import Tree, crate, scan_of

from portkit.port.whole_files import may_declare
from portkit.workspace.finding import Status

ARM = "fn f(d: &D) -> u8 {\n    match d {\n        D::Cuda(_) => 1,\n        _ => 2,\n    }\n}\n"


def accounts_for_everything(tree: Tree) -> None:
    """Check that no mention is lost: it lies in a claim, or is listed."""
    found = scan_of(tree)
    listed = {(u.path, u.offset) for u in found.unaccounted}
    for path, offsets in found.job.tree_facts.mentions.items():
        claims = [c for f in found.findings if f.path == path for c in f.claims]
        for offset in offsets:
            assert (path, offset) in listed or any(c.start <= offset < c.end for c in claims)
    for finding in found.findings:
        ranges = [(s.start, s.end) for s in (finding.span, *finding.claims)]
        for start, end in (*ranges, *((e.start, e.end) for e in finding.edits)):
            assert 0 <= start <= end <= max(1, len(tree[finding.path]))


def test_a_syntax_error_is_reported_and_the_rest_is_done() -> None:
    found = scan_of(crate(f"fn broken( {{\n\n{ARM}")).findings
    assert [(f.code, f.status) for f in found if f.code == "PK901"] == [("PK901", Status.NONE)]
    found = scan_of(crate(f"{ARM.rstrip()}\nfn broken() {{ let x = ; }}\n")).findings
    assert {"PK901", "PK301"} == {f.code for f in found}


def test_an_item_without_a_place_may_have_any_syntax() -> None:
    found = scan_of(crate(f"{ARM.rstrip()}\n\nfn broken() {{ let x = ; }}\n")).findings
    assert {f.code for f in found} == {"PK301"}


@pytest.mark.parametrize("text", ["", "\n", "\ufeff// cuda\n", "cuda", "\0cuda\0", "{{{{ cuda"])
def test_odd_files(text: str) -> None:
    accounts_for_everything(crate(text))


@pytest.mark.parametrize(
    "manifest", ["", "cuda", "[features]\ncuda\n", "[features\ncuda = []", "cuda = ["]
)
def test_odd_manifests(manifest: str) -> None:
    tree = {**crate(""), "below/Cargo.toml": manifest.encode()}
    accounts_for_everything(tree)


@pytest.mark.parametrize("at", range(0, len(ARM) + 1, 3))
def test_a_file_that_ends_anywhere(at: int) -> None:
    accounts_for_everything(crate(ARM[:at]))


def test_deep_nesting_is_no_deep_recursion() -> None:
    deep = "(" * 3000 + "Device::new_cuda(0)" + ")" * 3000
    accounts_for_everything(crate(f"fn f() {{ {deep}; }}\n"))
    accounts_for_everything(crate("mod a {" * 1500 + "fn cuda() {}" + "}" * 1500))


# Tokens that the rules look for, in orders that no person would write.
_TOKENS = st.sampled_from(
    [
        *(
            "match d",
            "if",
            "let",
            "else",
            "matches!",
            "cfg!",
            "fn",
            "enum",
            "struct",
            "impl",
            "for",
        ),
        *(
            "trait",
            "mod",
            "use",
            "pub",
            "const",
            "static",
            "type",
            "where",
            "macro_rules!",
            "$cuda",
        ),
        *("Device::Cuda(_)", "Cuda", "cuda", "new_cuda", "is_cuda()", "Metal", "is_metal()", "d."),
        *("cuda_if_available(0)?", "cudnn", '"cuda"', "// cuda\n", "/* metal */", "/// cuda\n"),
        *('#[cfg(feature = "cuda")]', '#[cfg(not(feature = "cuda"))]', '#[cfg(feature = "cudnn")]'),
        *(
            '#![cfg(feature = "cuda")]',
            "=>",
            "=",
            "|",
            "&&",
            "!",
            ",",
            ";",
            ":",
            "::",
            "x",
            "1",
            "\n",
        ),
        *("(", ")", "{", "}", "[", "]", "<", ">", "'a", "r#", '"', "\\", "\r\n", "é"),
    ]
)


@given(st.lists(_TOKENS, max_size=40).map(" ".join))
def test_any_tokens(text: str) -> None:
    accounts_for_everything(crate(text))


@given(st.lists(_TOKENS, max_size=12).map(" ".join), st.integers(0, len(ARM)))
def test_any_tokens_inside_real_code(text: str, at: int) -> None:
    accounts_for_everything(crate(f"{ARM[:at]} {text} {ARM[at:]}"))


@given(st.text(max_size=80))
def test_any_text(text: str) -> None:
    accounts_for_everything(crate(f"{text} cuda {text}"))


_LINES = st.sampled_from(
    [
        *(
            "[features]",
            "[dependencies]",
            "[workspace]",
            "[[example]]",
            "[dependencies.cudarc]",
            "[x",
        ),
        *(
            'cuda = ["cudarc"]',
            "cuda",
            'members = ["cuda"]',
            "members = []",
            'exclude = ["cuda"',
            "=",
        ),
        *(
            'cudarc = "1"',
            "cudarc.workspace = true",
            'name = "cuda"',
            'required-features = ["cuda"]',
        ),
        *(
            "# cuda",
            "cuda = { }",
            "members = [",
            "]",
            '"',
            "metal = []",
            "cudarc = { optional = true }",
        ),
    ]
)


@given(st.lists(_LINES, max_size=12).map("\n".join))
def test_any_manifest(text: str) -> None:
    accounts_for_everything({**crate(""), "below/Cargo.toml": text.encode()})


def test_long_comments_behind_an_attribute_are_read_once() -> None:
    # A pattern that backtracks would try each way to part the lines: 2 to the power of 200.
    comment = b"#[allow(unused)]\n" + b"// one line of many\n" * 200
    assert not may_declare(comment + b"fn f() {}\nmod g;\n")
    assert may_declare(comment + b"pub(crate) mod g;\n")
