"""Operands of `||`: what is joined to an operand becomes no part of another one.

The expected tree is that of the same text with parentheses around each joined pair, which is right
by the reference wherever an expression stands. rustc runs a sample of both and compares the values.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portkit.syntax.precedence import is_or, join_by_or
from portkit.syntax.source_file import SourceFile, node_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tree_sitter import Node

ASKED, JOINED = "d.cuda()", "d.rocm()"

FLAT = ("{} & {}", "{} | {}", "{} ^ {}", "{} && {}", "{} || {}", "!{}", "flag != ({})")
"""Operators on truth values, whose operands need no parentheses for the types to be right."""
CLOSED = (
    "(0..{} as usize).count() == 1",
    "({}).then_some(flag).unwrap_or(false)",
    "({}, 1).0",
    "*&{}",
    "1u8 << {} as u8 > 1",
    "Some({}).unwrap_or(flag)",
    "[flag, !flag][{} as usize]",
    "core::convert::identity({})",
    "f({}) == f(flag)",
    "if {} {{ flag }} else {{ !flag }}",
    "match o {{ Some(x) if {} => x, _ => flag }}",
    "match {} {{ true => flag, false => !flag }}",
    "{{ let mut a = flag; a &= {}; a |= {}; a }}",
    "{{ let true = ({}) else {{ return flag }}; !flag }}",
    "{} as usize + 1 == 2",
    "{}.then(|| flag).is_some()",
    "if let Some(x) = o && {} {{ x }} else {{ flag }}",
    "if {} && let Some(x) = o {{ x }} else {{ flag }}",
    "if let true = {} {{ !flag }} else {{ flag }}",
    "{{ let true = {} else {{ return flag }}; !flag }}",
    "(|x: bool| x & {})(flag)",
    "(|| return {})()",
    "(|x| x)({})",
    "{{ let a = {}; a }}",
    "({}..=true).contains(&flag)",
    "{} == flag",
)
"""Contexts of any other kind; the operand of a tight operator is the question by itself."""
LEAVES = (ASKED, ASKED, ASKED, "flag", "d.metal()", "Some(flag).is_some()")


def expressions() -> st.SearchStrategy[str]:
    leaf = st.sampled_from(LEAVES)
    asked = st.just(ASKED)

    def fill(template: str, parts: list[str]) -> str:
        return template.format(*parts, ASKED, ASKED)

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        whole = inner.map(lambda text: f"({text})")
        flat = st.builds(fill, st.sampled_from(FLAT), st.lists(inner, min_size=2, max_size=2))
        closed = st.builds(fill, st.sampled_from(CLOSED), st.lists(asked | whole, max_size=2))
        return flat | closed.map(lambda text: f"({text})")

    bare = st.sampled_from(CLOSED).map(lambda template: template.format(ASKED, ASKED))
    return st.recursive(leaf | bare.map(lambda text: f"({text})"), larger, max_leaves=6) | bare


def parse(text: str) -> SourceFile:
    return SourceFile("a.rs", f"fn f() -> bool {{ {text} }}".encode())


def widened(text: str, write: Callable[[Node], str]) -> str:
    source = parse(text)
    data = source.data
    asked = [n for n in calls(source.tree.root_node) if node_text(n) == ASKED]
    for node in sorted(asked, key=lambda each: each.start_byte, reverse=True):
        data = data[: node.start_byte] + write(node).encode() + data[node.end_byte :]
    return data.decode().removeprefix("fn f() -> bool { ").removesuffix(" }")


def calls(root: Node) -> list[Node]:
    found, pending = [], [root]
    while pending:
        node = pending.pop()
        pending += node.named_children
        found += [node] if node.type == "call_expression" else []
    return found


def always(node: Node) -> str:
    return f"({node_text(node)} || {JOINED})"


def shape(node: Node) -> object:
    """Return the tree without parentheses, with a chain of `||` as one list of operands."""
    while node.type == "parenthesized_expression":
        node = node.named_children[0]
    operands = flat_or(node)
    if len(operands) > 1:
        return ("||", *map(shape, operands))
    children = [shape(child) for child in node.children]
    return (node.type, *children) if children else node_text(node)


def split_or(node: Node) -> list[Node]:
    left, right = (node.child_by_field_name(side) for side in ("left", "right"))
    if is_or(node) and left is not None and right is not None:
        return [*split_or(left), *split_or(right)]
    return [node]


def flat_or(node: Node) -> list[Node]:
    while node.type == "parenthesized_expression":
        node = node.named_children[0]
    operands = [*split_or(node)]
    return [node] if len(operands) == 1 else [each for o in operands for each in flat_or(o)]


@settings(max_examples=600, deadline=None)
@given(expressions())
def test_the_operand_stays_one_node(text: str) -> None:
    ours, sure = (
        parse(widened(text, lambda n: join_by_or(n, ASKED, JOINED))),
        parse(widened(text, always)),
    )
    assert not parse(text).tree.root_node.has_error, text
    assert not ours.tree.root_node.has_error, ours.data
    assert shape(ours.tree.root_node) == shape(sure.tree.root_node), ours.data


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("flag & d.cuda()", "flag & (d.cuda() || d.rocm())"),
        ("d.cuda() as usize", "(d.cuda() || d.rocm()) as usize"),
        ("d.cuda()?", "(d.cuda() || d.rocm())?"),
        ("d.cuda().await", "(d.cuda() || d.rocm()).await"),
        ("d.cuda()[0]", "(d.cuda() || d.rocm())[0]"),
        ("a[d.cuda()]", "a[d.cuda() || d.rocm()]"),
        ("d.cuda()(1)", "(d.cuda() || d.rocm())(1)"),
        ("g(d.cuda())", "g(d.cuda() || d.rocm())"),
        ("&mut d.cuda()", "&mut (d.cuda() || d.rocm())"),
        ("&raw const d.cuda()", "&raw const (d.cuda() || d.rocm())"),
        ("0..d.cuda()", "0..d.cuda() || d.rocm()"),
        ("d.cuda()..=b", "d.cuda() || d.rocm()..=b"),
        ("x = d.cuda()", "x = d.cuda() || d.rocm()"),
        ("x ^= d.cuda()", "x ^= d.cuda() || d.rocm()"),
        ("return d.cuda()", "return d.cuda() || d.rocm()"),
        ("break d.cuda()", "break d.cuda() || d.rocm()"),
        ("a || d.cuda()", "a || d.cuda() || d.rocm()"),
        ("d.cuda() || a", "d.cuda() || d.rocm() || a"),
        ("(d.cuda())", "(d.cuda() || d.rocm())"),
        ("#[x] d.cuda()", "#[x] (d.cuda() || d.rocm())"),
        ("if let true = d.cuda() {}", "if let true = (d.cuda() || d.rocm()) {}"),
        ("while d.cuda() {}", "while d.cuda() || d.rocm() {}"),
        (
            "let true = d.cuda() else { return };",
            "let true = (d.cuda() || d.rocm()) else { return };",
        ),
        ("let a = d.cuda();", "let a = d.cuda() || d.rocm();"),
        (
            "while let Some(x) = y && d.cuda() {}",
            "while let Some(x) = y && (d.cuda() || d.rocm()) {}",
        ),
        ("S { a: d.cuda(), ..b }", "S { a: d.cuda() || d.rocm(), ..b }"),
        ("[d.cuda(); 2]", "[d.cuda() || d.rocm(); 2]"),
    ],
)
def test_parentheses_stand_where_the_reference_needs_them(before: str, after: str) -> None:
    assert widened(before, lambda node: join_by_or(node, ASKED, JOINED)) == after


DEVICE = """#![allow(warnings)]
#[derive(Clone, Copy)]
struct D(u8);
impl D {
    fn cuda(&self) -> bool { self.0 == 1 }
    fn rocm(&self) -> bool { self.0 == 2 }
    fn metal(&self) -> bool { self.0 == 3 }
}
fn f(x: bool) -> bool { x }
"""
LOOPS = """fn main() {
for d in [0, 1, 2, 3].map(D) {
for flag in [false, true] {
for o in [None, Some(false), Some(true)] {
"""


@pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not here")
def test_rustc_gives_both_the_same_value(tmp_path: Path) -> None:
    drawn = random.Random(37)
    texts = [template.format(ASKED, ASKED) for template in (*FLAT, *CLOSED)]
    for _ in range(200):
        flat, inner = drawn.choice(FLAT), drawn.choice(FLAT)
        parts = [drawn.choice([*LEAVES, f"({drawn.choice(CLOSED).format(ASKED, ASKED)})"])]
        texts.append(flat.format(inner.format(*parts, ASKED), drawn.choice(LEAVES)))
    functions, asked = [], []
    for number, text in enumerate(texts):
        for name, write in (("a", lambda n: join_by_or(n, ASKED, JOINED)), ("b", always)):
            head = f"fn {name}{number}(d: D, flag: bool, o: Option<bool>) -> bool"
            functions.append(f"{head} {{ {widened(text, write)} }}")
        asked.append(f"assert_eq!(a{number}(d, flag, o), b{number}(d, flag, o));")
    program = tmp_path / "main.rs"
    program.write_text("\n".join([DEVICE, *functions, LOOPS, *asked, "} } } }"]))
    compile_ = ["rustc", "--edition", "2024", str(program)]
    subprocess.run(compile_, cwd=tmp_path, check=True, timeout=300)
    subprocess.run([tmp_path / "main"], check=True, timeout=60)
