"""Expansions of `macro_rules!`; rustc tells the expected tokens by `stringify!`."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from portkit.syntax.macro_expansion import expand_macro, find_repeated, matches_macro
from portkit.syntax.source_file import SourceFile, find_descendants

if TYPE_CHECKING:
    from pathlib import Path

    from tree_sitter import Node

CASES = [
    ("($a:ident) => { fn $a() {} };", "m!(x);", "fn x() {}"),
    (
        "($a:ident, $t:ty) => { type $a = $t; };",
        "m!(X, Map<u8, Vec<u8>>);",
        "type X = Map<u8,Vec<u8>>;",
    ),
    ("($($a:ident),* $(,)?) => { $(mod $a {})* };", "m!(x, y,);", "mod x {} mod y {}"),
    ("($($a:ident => $b:expr);+) => { f($($b),+) };", "m!(x => 1 + 2; y => 3);", "f((1+2), 3)"),
    ("($v:vis $a:ident) => { $v fn $a() {} };", "m!(pub(crate) x);", "pub(crate) fn x() {}"),
    ("($v:vis $a:ident) => { $v fn $a() {} };", "m!(x);", "fn x() {}"),
    ("() => { a }; ($a:tt) => { $a };", "m!([1, 2]);", "[1, 2]"),
    ("($a:ident) => { a }; ($a:literal) => { $a };", 'm!("x");', '"x"'),
    ("(fn $a:ident) => { $crate::f::$a() };", "m!(fn x);", "crate::f::x()"),
    ("($l:lifetime $b:block) => { $l: loop $b };", "m!('a { b });", "'a: loop { b }"),
    (
        "($a:ident { $($r:tt)* }) => { mod $a { $($r)* } };",
        "m!(x { fn f() {} });",
        "mod x { fn f () {} }",
    ),
    ("($($a:ident),*; $n:expr) => { $(f($a, $n);)* };", "m!(x, y; 1);", "f(x, 1); f(y, 1);"),
    (
        "($v:expr; $($p:pat => $e:expr),* $(,)?) => { match $v { $($p => $e),* } };",
        "m!(d; A | B(_) => 1, _ => f(2));",
        "match d { A | B(_) => 1, _ => (f(2)) }",
    ),
    (
        "($(#[$m:meta])* $a:ident) => { $(#[$m])* fn $a() {} };",
        "m!(#[cfg(x)] y);",
        "#[cfg(x)] fn y() {}",
    ),
    (
        "(x { $($a:ident),* }) => { $(fn $a() {})* };",
        "m!(x { // one\n a, b });",
        "fn a(){} fn b(){}",
    ),
    ("($a:ident) => { a }; ($($a:literal),*) => { [$($a),*] };", "m!(-1, 2);", "[-1, 2]"),
    ("($a:ident) => { a }; (_) => { b };", "m!(_);", "b"),
    (
        "($($i:item)*) => { $(#[x] $i)* };",
        "m!(pub struct A(u8); #[y] pub(crate) const fn f() {} use a::{b, c};);",
        "#[x] pub struct A(u8); #[x] #[y] pub(crate) const fn f() {} #[x] use a::{b, c};",
    ),
    (
        "($a:ident, $i:item) => { mod $a { $i } };",
        "m!(x, impl A for B {});",
        "mod x{impl A for B{}}",
    ),
    ("($a:ident => $s:stmt) => { fn $a() { $s; } };", "m!(x => let y = 2);", "fn x(){let y = 2;}"),
    ("($($s:stmt;)*) => { fn x() { $($s;)* } };", "m!(a += 1; f(a););", "fn x(){a += 1; f(a);}"),
    ("($s:stmt) => { $s };", "m!(static A: u8 = 1;);", "static A: u8 = 1;"),
]
UNKNOWN = [
    ("($($i:item)*) => { $($i)* };", "m!(fn f() {} x);"),
    ("($s:stmt) => { $s };", "m!(a < b);"),
    ("($a:expr, $b:expr) => { $a };", "m!(a < b, c > (d));"),
    ("($a:ident) => { $a };", "m!(a, b);"),
    ("($a:ident) => { $a $b };", "m!(a);"),
    ("($($a:ident)*, $($b:ident)*) => { $($a $b)* };", "m!(a b, c);"),
]


REPEATED = [
    ("(x $($a:ident => $b:expr),* $(,)?) => {};", "m!(x a => 1, b => 2,);", "a => 1|b => 2", ","),
    ("([{$($a:ident)and*}]) => {};", "m!([{a and b}]);", "a|b", "and"),
    ("($($a:ident { $($b:tt)* })*) => {};", "m!(a {} b {1});", "a {}|1|b {1}", ""),
    ("($($a:ident)?) => {};", "m!(a);", "", ""),
    ("($($i:item)*) => {};", "m!(fn f() {} mod a {});", "fn f() {}|mod a {}", ""),
    ("($($i:ident)*) => {};", "m!(a, b);", "", ""),
]
MATCHES = [
    ("($a:ident) => {};", "m!(a);", True),
    ("($a:ident) => {}; ($a:ident, $b:ident) => {};", "m!(a, b);", True),
    ("($a:ident) => {}; ($a:ident, $b:ident) => {};", "m!(a, b, c);", False),
    ("($a:ident, $b:ident $(,)?) => {};", "m!(a, b,);", True),
    ("($i:item) => {};", "m!(fn f() {});", True),
]


def expansion(rules: str, call: str) -> str | None:
    return expand_macro(*parse(rules, call))


def parse(rules: str, call: str) -> tuple[Node, Node]:
    root = SourceFile("a.rs", f"macro_rules! m {{ {rules} }}\n{call}".encode()).tree.root_node
    assert not root.has_error
    [definition], [called] = (
        [*find_descendants(root, kind)] for kind in ("macro_definition", "macro_invocation")
    )
    return definition, called


@pytest.mark.parametrize(("rules", "call", "written"), CASES)
def test_a_call_writes_the_tokens(rules: str, call: str, written: str) -> None:
    found = expansion(rules, call)
    assert found is not None
    assert "".join(found.split()) == "".join(written.split())


@pytest.mark.parametrize(("rules", "call"), UNKNOWN)
def test_a_call_that_is_not_certain_has_no_expansion(rules: str, call: str) -> None:
    assert expansion(rules, call) is None


@pytest.mark.parametrize(("rules", "call", "texts", "separator"), REPEATED)
def test_the_tokens_of_a_repetition_are_found(
    rules: str, call: str, texts: str, separator: str
) -> None:
    definition, called = parse(rules, call)
    data = f"macro_rules! m {{ {rules} }}\n{call}".encode()
    found = find_repeated(definition, called)
    assert "|".join(data[each.start : each.end].decode() for each in found) == texts
    assert {each.separator for each in found} <= {separator}


@pytest.mark.parametrize(("rules", "call", "answer"), MATCHES)
def test_a_call_matches_a_rule(rules: str, call: str, answer: bool | None) -> None:
    assert matches_macro(*parse(rules, call)) is answer


@pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not here")
def test_rustc_writes_the_same_tokens(tmp_path: Path) -> None:
    lines = []
    for rules, call, _ in CASES:
        said = re.sub(r"=> \{ (.*?) \}(?=;|$)", r"=> { stringify!(\1) }", rules)
        lines.append(f'{{ macro_rules! m {{ {said} }} println!("|{{}}", {call.rstrip(";")}); }}')
    program = tmp_path / "main.rs"
    program.write_text("\n".join(["fn main() {", *lines, "}"]))
    compile_ = ["rustc", "--edition", "2024", "-Awarnings", str(program)]
    subprocess.run(compile_, cwd=tmp_path, check=True, timeout=300)
    done = subprocess.run(
        [tmp_path / "main"], check=True, timeout=60, capture_output=True, text=True
    )
    printed = done.stdout.strip().removeprefix("|").split("\n|")
    assert [bare(text) for text in printed] == [bare(written) for *_, written in CASES]


def bare(text: str) -> str:
    """Return tokens without space, and without the parentheses that keep an operand one."""
    return re.sub(r"[\s()]", "", text).replace("$crate", "crate")
