"""Files with more of something than any codebase has: time, memory, and what is said."""

from __future__ import annotations

import sys
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from linear import INPUTS
from tree_support import crate, scan_anew, scan_of

from portkit.context.device_queries import list_chain_links
from portkit.engine.walk import DEEPEST, MOST_PLACES
from portkit.rules import SiteRule

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from tree_sitter import Node

    from portkit.context.intent import Intent
    from portkit.context.port_job import Site

ARM = "fn f(d: &D) -> u8 {\n    match d {\n        D::Cuda(_) => 1,\n        _ => 0,\n    }\n}\n"


def calls(tree: dict[str, bytes]) -> int:
    """Return how many functions a scan calls: its time on any machine, but for what C does."""
    called = 0

    def count(_frame: FrameType, event: str, _what: object) -> None:
        nonlocal called
        called += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        scan_anew(tree)
    finally:
        sys.setprofile(before)
    return called


def peak(tree: dict[str, bytes]) -> int:
    """Return the most bytes that Python's objects take at one time of a scan."""
    tracemalloc.start()
    try:
        scan_anew(tree)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def peaks(what: str, count: int) -> Iterator[int]:
    """Yield the peak for this many of a kind, of two scans.

    A table of cached answers, which lives as long as the process, doubles at some scan, by
    megabytes after ten thousand tests; two scans in a row do not both pay for that.
    """
    path, make = INPUTS[what]
    tree = {**crate(""), path: make(count).encode()}
    return (peak(tree) for _ in range(2))


@pytest.mark.parametrize("what", INPUTS)
def test_memory_grows_with_the_number_of_a_kind(what: str) -> None:
    """A chain of 10,000 branches took 1.4 GB: each branch kept the text of all behind it."""
    none, few = (min(peaks(what, count)) for count in (1, 200))
    # The second scan of many is needed only if the first took more.
    assert any(many - none < 5 * (few - none) for many in peaks(what, 800))


@pytest.mark.parametrize("what", INPUTS)
def test_work_grows_with_the_number_of_a_kind(what: str) -> None:
    """Most of these took minutes, as time grew with the square or the cube of the number."""
    path, make = INPUTS[what]
    few, many = (calls({**crate(""), path: make(count).encode()}) for count in (100, 400))
    assert many < 5 * few


def test_each_link_of_a_chain_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each ``if`` asked about all that come after it."""
    seen = 0

    def links(holder: Node) -> Iterator[tuple[Node, tuple[Node, ...]]]:
        nonlocal seen
        for link in list_chain_links(holder):
            seen += 1
            yield link

    monkeypatch.setattr("portkit.port.emit.list_chain_links", links)
    found = scan_of(crate(INPUTS["branches of a chain"][1](300))).findings
    assert len(found) >= 300
    assert seen == 301


def said(text: str) -> list[tuple[str, str]]:
    """Return the code and the message of what is said of a crate with this file and a good one."""
    found = scan_of(crate(text, good=ARM)).findings
    assert [f.code for f in found if f.path == "src/good.rs"] == ["PK301"]
    return [(f.code, f.message) for f in found if f.path == "src/lib.rs"]


def test_a_file_that_is_nested_too_deep() -> None:
    text = f"pub fn f() {{\n    {'(' * DEEPEST}cuda::N{')' * DEEPEST};\n}}\n"
    ((code, message),) = (each for each in said(text) if each[0] == "PK902")
    assert code == "PK902"
    assert message == "it is nested deeper than 1,000 levels: look at it by hand"


def test_a_file_with_too_many_mentions() -> None:
    ((code, message),) = said("// cuda\n" * (MOST_PLACES + 1))
    assert code == "PK902"
    assert "it names backends 200,001 times, more than 200,000" in message


def test_a_condition_that_is_nested_too_deep_is_no_condition() -> None:
    condition = f'#[cfg({"all(" * 300}feature = "cuda"{")" * 300})]\npub fn f() {{}}\n'
    assert all(code != "PK902" for code, _ in said(condition))


def test_a_long_line_is_not_kept_for_each_mention() -> None:
    line = f"pub const NAMES: &[usize] = &[{'cuda::N, ' * 20_000}];\n"
    scan = scan_of(crate(line))
    assert len(scan.unaccounted) == 20_000
    assert max(len(each.text) for each in scan.unaccounted) < 400
    assert "cuda::N" in scan.unaccounted[10_000].text


def fails(_site: Site) -> Iterator[Intent]:
    raise IndexError("nothing here")


def test_a_file_that_portkit_fails_on_is_one_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PORTKIT_TRACEBACK", raising=False)
    rule = SiteRule("PK999", frozenset({"union_item"}), fails)
    tree = crate("pub union Cuda { a: u8 }\n", good=ARM)
    found = {(f.path, f.code): f for f in scan_of(tree, chosen=(rule,)).findings}
    assert list(found) == [("src/lib.rs", "PK902")]
    assert "IndexError: nothing here" in found["src/lib.rs", "PK902"].message
    monkeypatch.setenv("PORTKIT_TRACEBACK", "1")
    with pytest.raises(IndexError):
        scan_of(crate("pub union Cuda { b: u8 }\n"), chosen=(rule,))


def test_nothing_is_written_into_an_item_that_is_not_parsed_whole() -> None:
    broken = ARM.replace("fn f", "fn g").replace("1,", "1 1,")
    found = [f for f in scan_of(crate(ARM + broken)).findings if f.code == "PK301"]
    assert [bool(f.edits) for f in found] == [True, False]
    assert "nothing is written: do it by hand" in found[1].message
