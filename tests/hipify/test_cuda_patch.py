"""The patch of a crate that has CUDA's sources compiled as they stand."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portkit.hipify.cuda_patch import apply_changes, parse_patch, render_patch
from portkit.hipify.errors import KernelPatchError

if TYPE_CHECKING:
    from pathlib import Path

PATH = "moe/a.cu"
OLD = "".join(f"line {number}\n" for number in range(12))
NEW = OLD.replace("line 5\n", "line five\nand more\n").replace("line 9\n", "")
lines = st.lists(st.sampled_from(["", "a", "b", "-- a", "++ b", "@@ c", "\\ d"]), max_size=8)


def applied(old: str, patch: str) -> str:
    return apply_changes(PATH, old, parse_patch(patch).get(PATH, ()))


def repeats(error: KernelPatchError) -> bool:
    return "stand elsewhere too" in str(error)


@settings(deadline=None)
@given(old=lines, new=lines, ends=st.tuples(st.booleans(), st.booleans()))
def test_what_is_patched_is_what_was_meant(
    old: list[str], new: list[str], ends: tuple[bool, bool]
) -> None:
    # Lines that no other file has, so that every part finds its place.
    before = "\n".join(f"{number} {line}" for number, line in enumerate(old)) + "\n" * ends[0]
    after = "\n".join(f"{number} {line}" for number, line in enumerate(new)) + "\n" * ends[1]
    assert applied(before, render_patch({PATH: (before, after)})) == after


@settings(deadline=None)
@given(old=lines, new=lines)
def test_where_a_file_repeats_itself_it_is_that_text_or_refused(
    old: list[str], new: list[str]
) -> None:
    before, after = "".join(f"{x}\n" for x in old), "".join(f"{x}\n" for x in new)
    try:
        patch = render_patch({PATH: (before, after)})
    except KernelPatchError as error:
        assert repeats(error)
        return
    assert applied(before, patch) == after


@settings(deadline=None)
@given(order=st.permutations(range(8)))
def test_lines_that_have_moved_are_found_where_they_are_now(order: list[int]) -> None:
    before = "".join(f"line {number}\n" for number in range(8))
    after = "".join(f"line {number}\n" for number in order)
    assert applied(before, render_patch({PATH: (before, after)})) == after


def test_git_reads_it_too(tmp_path: Path) -> None:
    for old, new in ((OLD, NEW), (NEW, OLD), (OLD.rstrip("\n"), NEW.rstrip("\n"))):
        (tmp_path / "src/moe").mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / PATH).write_text(old)
        (tmp_path / "cuda.patch").write_text(render_patch({PATH: (old, new)}))
        subprocess.run(["git", "apply", "--unidiff-zero", "cuda.patch"], cwd=tmp_path, check=True)
        assert (tmp_path / "src" / PATH).read_text() == new


def test_a_part_goes_with_its_lines_wherever_they_move() -> None:
    patch = render_patch({PATH: (OLD, NEW)})
    moved = "// a comment\n" * 3 + OLD.replace("line 1\n", "line 1\nbetween\n")
    assert applied(moved, patch) == moved.replace("line 5\n", "line five\nand more\n").replace(
        "line 9\n", ""
    )


@pytest.mark.parametrize(
    ("now", "found"), [(OLD.replace("line 5\n", "line V\n"), 0), (OLD + OLD, 2)]
)
def test_an_edit_of_its_lines_is_a_sentence_with_its_line(now: str, found: int) -> None:
    with pytest.raises(KernelPatchError) as error:
        applied(now, render_patch({PATH: (OLD, NEW)}))
    assert str(error.value) == (
        f"cuda.patch, line 3: {PATH} has {found} places like this instead of one, so it was edited"
        " since: write the patch again (portkit apply --regenerate), or edit it"
    )


def test_a_place_like_others_is_told_by_the_lines_around_it() -> None:
    loop = "for (;;) {\n  f();\n}\n"
    old = f"void a() {{\n{loop}}}\nvoid b() {{\n{loop}}}\n"
    new = old[:20] + old[20:].replace("  f();", "  g();", 1)
    assert old.count("  f();\n}\n") == 2
    for text in (new, old.replace(loop, loop.replace("f", "g"), 1)):
        assert applied(f"// more\n{old}", render_patch({PATH: (old, text)})) == f"// more\n{text}"
    same = loop * 100
    with pytest.raises(KernelPatchError, match="stand elsewhere too"):
        render_patch({PATH: (same, same[:900] + same[900:].replace("f", "g", 1))})


def test_a_file_without_a_change_is_not_named() -> None:
    assert render_patch({PATH: (OLD, OLD)}) == ""


def test_files_that_are_changed_alike_share_their_parts() -> None:
    def instance(name: str) -> tuple[str, str]:
        old = f"\nint rows;\nuse<{name}>();\nint rows;\nint more;\nuse<{name}>();\n"
        return old, old.replace("int rows;", "int rows(cc);")

    files = {f"q{name}.cu": instance(name) for name in "345"}
    alike = render_patch(files)
    other = files["q4.cu"][0], files["q4.cu"][1].replace("more", "less")
    assert alike.count("--- a/src/") == 1
    assert alike.count("\n@@ ") == 2
    apart = render_patch({**files, "q4.cu": other})
    assert apart.count("--- a/src/") == 2
    for patch, wanted in ((alike, files), (apart, {**files, "q4.cu": other})):
        parts = parse_patch(patch)
        assert {*parts} == {*wanted}
        for path, (old, new) in wanted.items():
            assert apply_changes(path, old, parts[path]) == new


def test_files_that_need_other_lines_around_a_change_do_not_share_it() -> None:
    # The first line of the second file is the first's change once more.
    files = {"a.cu": ("a\nx\nb\n", "a\ny\nb\n"), "b.cu": ("x\nx\nb\n", "x\ny\nb\n")}
    patch = render_patch(files)
    parts = parse_patch(patch)
    assert all(apply_changes(path, old, parts[path]) == new for path, (old, new) in files.items())


def test_the_lines_around_a_change_are_as_few_as_can_be() -> None:
    body = "  a\n  b\n  c\n"
    old = "".join(f"void f() {{\n{body}  g{n}();\n}}\n" for n in range(3))
    new = old.replace(f"{body}  g1", f"  new\n{body}  g1")
    # Those above reach a line that no other place has, after fewer of them than those below.
    assert render_patch({PATH: (old, new)}).splitlines()[3:] == [
        "   g0();",
        " }",
        " void f() {",
        "+  new",
        "   a",
    ]
