"""From a line that a compiler complains about to the rule that wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cli_support import LIB, add_file, commit, invoke, make_candle
from verify_support import install_cargo, make_ported, make_tree, script, verify

from portkit.syntax.source_file import SourceFile
from portkit.verify.blame import (
    Author,
    align_authors,
    attribute_diagnostics,
    attribute_edited_lines,
    find_authors,
    list_symbols,
)
from portkit.verify.diagnostics import Diagnostic, parse_cargo, parse_clang, render_cargo_line
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from pathlib import Path

A, B = Author("PK301", "PK301-a", "x.rs:1 a"), Author("PK401", "PK401-b", "x.rs:3 b")


def names(authors: list[Author | None]) -> list[str]:
    return [author.rule if author is not None else "" for author in authors]


# --- lines -------------------------------------------------------------------------------------

BEFORE = b"one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("edits", "text", "rules"),
    [
        ([], "one\ntwo\nthree\n", ["", "", "", ""]),
        ([(Edit(4, 4, "new\n"), A)], "one\nnew\ntwo\nthree\n", ["", "PK301", "", "", ""]),
        ([(Edit(3, 3, "\n    new"), A)], "one\n    new\ntwo\nthree\n", ["", "PK301", "", "", ""]),
        ([(Edit(4, 7, "2"), A)], "one\n2\nthree\n", ["", "PK301", "", ""]),
        (
            [(Edit(7, 7, " || b"), B), (Edit(4, 4, "a || "), A)],
            "one\na || two || b\nthree\n",
            ["", "PK301", "", ""],
        ),
        ([(Edit(4, 8, ""), A)], "one\nthree\n", ["", "", ""]),
    ],
)
def test_the_authors_of_the_lines_of_an_edited_file(
    edits: list[tuple[Edit, Author]], text: str, rules: list[str]
) -> None:
    lines = attribute_edited_lines(BEFORE, edits)
    assert "\n".join(line for line, _ in lines) == text
    assert names([author for _, author in lines]) == rules


WRITTEN = [("fn f() {", None), ("    a(b, c);", A), ("    d();", None), ("}", None)]


@pytest.mark.parametrize(
    ("now", "rules"),
    [
        ("fn f() {\n    a(b, c);\n    d();\n}", ["", "PK301", "", ""]),
        ("fn f() {\n\ta( b,c );\n    d();\n}", ["", "PK301", "", ""]),
        (
            "fn f() {\n    a(\n        b,\n        c,\n    );\n    d();\n}",
            ["", *["PK301"] * 4, "", ""],
        ),
        (
            "// mine\nfn f() {\n    a(b, c);\n    mine();\n    d();\n}",
            [*[""] * 2, "PK301", *[""] * 3],
        ),
        ("fn f() {\n    a(b, changed);\n    d();\n}", ["", "PK301", "", ""]),
        ("fn f() {\n    d();\n}", ["", "", ""]),
        ("", [""]),
    ],
)
def test_lines_keep_their_authors_when_the_file_changes(now: str, rules: list[str]) -> None:
    assert names(align_authors(WRITTEN, now.encode())) == rules


def test_the_items_of_a_file() -> None:
    text = b"""\
use a::b;

/// Documented.
#[inline]
fn alone() {
}

impl Map1 for Elu {
    fn f(&self) {}
}
mod inner {
    fn g() {}
}
"""
    assert list_symbols(SourceFile("a.rs", text)) == [
        ("alone", 3, 6),
        ("Map1 for Elu", 8, 10),
        ("inner", 11, 13),
        ("Map1 for Elu::f", 9, 9),
        ("inner::g", 12, 12),
    ]


# --- a tree ------------------------------------------------------------------------------------


@pytest.fixture
def ported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    install_cargo(tmp_path, monkeypatch)
    return make_ported(tmp_path)


def test_each_line_that_differs_from_the_tree_before_has_an_author(ported: Path) -> None:
    authors = find_authors(make_tree(ported))
    text = (ported / LIB).read_text().splitlines()
    found = {
        line.strip(): author.rule
        for number, line in enumerate(text, 1)
        if (author := authors.of(LIB, number)) is not None
    }
    assert found["Rocm(usize),"] == "PK505"
    assert found['Self::Rocm(_) => "rocm",'] == "PK301"
    assert found["pub fn is_rocm(&self) -> bool {"] == "PK503"
    assert 'Self::Cuda(_) => "cuda",' not in found
    assert set(found.values()) == {"PK301", "PK503", "PK505"}


def test_a_file_that_the_port_adds_has_one(ported: Path) -> None:
    author = find_authors(make_tree(ported)).of("candle-hip/src/lib.rs", 1)
    assert author is not None
    assert author.rule == "PK103"


@pytest.mark.parametrize(
    ("path", "line"), [(LIB, 0), (LIB, 10_000), ("no/such.rs", 1), ("candle-core/src/other.rs", 1)]
)
def test_other_lines_have_none(ported: Path, path: str, line: int) -> None:
    assert find_authors(make_tree(ported)).of(path, line) is None


def test_the_port_s_own_comes_first_and_errors_before_warnings(ported: Path) -> None:
    arm = 1 + (ported / LIB).read_text().splitlines().index('            Self::Rocm(_) => "rocm",')
    found = attribute_diagnostics(
        make_tree(ported),
        [
            Diagnostic("warning", "", "w", LIB, arm),
            Diagnostic("error", "", "own", LIB, 1),
            Diagnostic("error", "", "e", LIB, arm),
        ],
    )
    assert [(d.message, d.rule) for d in found] == [("e", "PK301"), ("own", ""), ("w", "PK301")]


def test_without_a_baseline_they_come_back_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_cargo(tmp_path, monkeypatch)
    candle = make_candle(tmp_path / "candle", repository=False)
    said: list[str] = []
    one = Diagnostic("error", "", "e", LIB, 1)
    assert attribute_diagnostics(make_tree(candle, said.append), [one]) == (one,)
    assert said[-1].startswith("the lines cannot be traced to their rules: there is no baseline")


KERNELS = {
    "candle-kernels/Cargo.toml": '[package]\nname = "candle-kernels"\nversion = "0.11.1"\n',
    "candle-kernels/src/lib.rs": "mdl!(AFFINE, Affine);\n",
    "candle-kernels/src/affine.cu": """\
#include "cuda_fp16.h"

extern "C" __global__ void affine(float *x) {
    float y = x[threadIdx.x];
    x[threadIdx.x] = __shfl_xor_sync(0xffffffff, y, 1);
}
""",
}


def make_kernels(tmp_path: Path) -> Path:
    """Make a ported tree with a kernel."""
    # Of a version whose kernels portkit has not seen, so that it expects nothing of them.
    candle = make_candle(tmp_path / "candle", version="0.11.9", repository=False)
    for path, text in KERNELS.items():
        add_file(candle, path, text.encode())
    add_file(candle, "portkit.toml", b'kernels = "translated"\n')
    commit(candle)
    assert invoke("apply", candle, "--no-format").code == 0
    return candle


HIPCC = """\
case "$*" in --version) echo "HIP version: 7"; exit 0;; *empty.hip*) exit 0;; esac
echo "affine.hip:{line}:20: error: no member named '_shfl'" >&2; exit 1"""


def test_hipcc_s_complaints_have_their_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cargo = install_cargo(tmp_path, monkeypatch)
    candle = make_kernels(tmp_path)
    text = (candle / "candle-rocm-kernels/src/affine.hip").read_text().splitlines()
    line = next(n for n, words in enumerate(text, 1) if "shfl" in words)
    hipcc = script(cargo.parent / "hipcc", HIPCC.format(line=line))
    monkeypatch.setenv("HIPCC", str(hipcc))
    found = verify(candle, "--only", "kernels", "--arch", "gfx1100")["kernels"]
    assert found["verdict"] == "failed"
    (complaint,) = found["diagnostics"]
    assert complaint["path"] == "candle-rocm-kernels/src/affine.hip"
    assert (complaint["line"], complaint["rule"][:2]) == (line, "PH")
    assert complaint["origin"].startswith("candle-kernels/src/affine.cu:5")
    assert found["evidence"][-1].endswith(
        f"written by {complaint['site']} for {complaint['origin']}"
    )


def test_a_line_of_a_kernel_leads_to_its_rule_and_to_the_cuda_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_cargo(tmp_path, monkeypatch)
    candle = make_kernels(tmp_path)
    path = "candle-rocm-kernels/src/affine.hip"
    lines = (candle / path).read_text().splitlines()
    header = lines.index("#include <hip/hip_fp16.h>") + 1
    shuffle = next(n for n, text in enumerate(lines, 1) if "shfl" in text)
    plain = next(n for n, text in enumerate(lines, 1) if "float y" in text)
    written = f"affine.hip:{shuffle}:5: error: a\naffine.hip:{plain}:5: error: b\n"
    written += f"affine.hip:{header}:5: error: c\nhipx.h:1:1: error: d\n"
    found = attribute_diagnostics(
        make_tree(candle), parse_clang(written, "candle-rocm-kernels/src")
    )
    by_message = {d.message: (d.rule[:2], d.origin.split(" ")[0]) for d in found}
    assert by_message == {
        "a": ("PH", "candle-kernels/src/affine.cu:5"),
        "b": ("", "candle-kernels/src/affine.cu:4"),
        "c": ("PH", "candle-kernels/src/affine.cu:1"),
        "d": ("PK", "candle-rocm-kernels:1"),
    }


# --- what compilers write ----------------------------------------------------------------------


def test_clang_s_complaints_are_read() -> None:
    # Written by clang 21 through hipcc, then shortened.
    written = """\
In file included from affine.hip:2:
./hip_utils.h:12:5: error: use of undeclared identifier 'x'
   12 |     x = 1;
      |     ^
affine.hip:40:13: warning: unused variable 'y' [-Wunused-variable]
/usr/include/hip/hip_fp16.h:3:1: note: here
/usr/include/hip/hip_fp16.h:9:1: error: bad
inner/b.hip:3: fatal error: too many errors
1 error generated when compiling for gfx1100.
"""
    assert parse_clang(written, "k/src") == (
        Diagnostic("error", "", "use of undeclared identifier 'x'", "k/src/hip_utils.h", 12, 5),
        Diagnostic(
            "warning", "", "unused variable 'y' [-Wunused-variable]", "k/src/affine.hip", 40, 13
        ),
        Diagnostic("error", "", "bad"),
        Diagnostic("error", "", "too many errors", "k/src/inner/b.hip", 3, 0),
    )


def test_cargo_s_other_lines_are_passed_over(tmp_path: Path) -> None:
    lines = ["", "{", "{}", '{"reason": "build-finished"}', "warning: x", '["reason"]']
    assert parse_cargo(lines, tmp_path) == {}


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("   Compiling candle", "   Compiling candle"),
        ('{"reason": "compiler-artifact"}', ""),
        ('{"reason": "compiler-message", "message": {"rendered": "error: x\\n\\n"}}', "error: x"),
        ('{"a": 1}', '{"a": 1}'),
    ],
)
def test_messages_are_shown_as_a_person_reads_them(line: str, shown: str) -> None:
    assert render_cargo_line(line) == shown
