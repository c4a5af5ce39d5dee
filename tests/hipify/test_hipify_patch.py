"""Patches of a profile: matching over tokens, captures, and what happens when they do not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from codebase_support import CANDLE

from portkit.codebases.directory import Directory
from portkit.errors import PortkitError
from portkit.hipify.kernel_profile import NO_PROFILE, KernelProfile, load_profile
from portkit.hipify.patch import Patch
from portkit.hipify.translator import translate
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from pathlib import Path


def profile(match: str, replace: str, *hits: int, **more: object) -> KernelProfile:
    said = ("PH399", ("*.cu",), match, replace, "a reason", hits or (1,))
    patch = Patch(*said, **more)  # type: ignore[arg-type]
    return KernelProfile("test", patches=(patch,))


def translated(code: str, known: KernelProfile) -> str:
    return (
        translate("x.cu", code.encode(), known).content.decode().removeprefix('#include "hipx.h"\n')
    )


def test_blanks_and_comments_do_not_matter() -> None:
    known = profile("f(a, $b);", "g($b);")
    assert translated("x; f( a /* first */,\n  h(1, 2) ); y;", known) == "x; g(h(1, 2) ); y;"


def test_what_stays_keeps_its_lines_and_comments() -> None:
    known = profile("int f($a) { return $b; }", "int f($a) {\n  look();\n  return other($b);\n}")
    before = "int  f( // one\n    int a)\n{\n    /* two */ return a; // three\n}\n"
    assert translated(before, known) == (
        "int  f( // one\n    int a)\n{\n  look();\n  return other(a); // three\n}\n"
    )


def test_a_capture_stays_inside_its_brackets() -> None:
    known = profile("f($a) ;", "g($a);")
    assert translated("f((1), [2]);", known) == "g((1), [2]);"


def test_the_whole_place_has_a_name() -> None:
    known = profile("for ($loop) { f", "hint; $all")
    assert translated("for (a; b) {\n  f(); }", known) == "hint; for (a; b) {\n  f(); }"


def test_rules_see_the_patched_text() -> None:
    known = profile("old();", "cudaFree(p);")
    assert translated("old();", known) == "hipFree(p);"


def test_directives_are_tokens_of_a_pattern() -> None:
    known = profile("#if $c\n#define X", "#if !defined(A) && $c\n#define X")
    assert translated("#if B\n#define Y\n#endif\n#if C > 1\n#define X\n#endif", known) == (
        "#if B\n#define Y\n#endif\n#if !defined(A) && C > 1\n#define X\n#endif"
    )


def test_nothing_found_is_for_a_person() -> None:
    translation = translate("x.cu", b"int a;", profile("f();", "g();"))
    (lost,) = (f for f in translation.findings if f.applicability is Applicability.MANUAL)
    assert (lost.code, lost.path) == ("PH399", "x.cu")
    assert "finds nothing" in lost.message


def test_other_hits_are_a_finding() -> None:
    findings = translate("x.cu", b"f(); f();", profile("f();", "g();")).findings
    assert [f.message for f in findings if f.applicability is Applicability.REVIEW] == [
        "the patch applies 2 times, the profile expects 1"
    ]


def test_findings_of_rules_have_spans_of_the_original() -> None:
    code = b"f(); cudaFree(p);"
    findings = translate("x.cu", code, profile("f();", "a_longer_name();")).findings
    spans = {f.code: code[f.span.start : f.span.end] for f in findings}
    assert spans["PH107"] == b"cudaFree"
    assert spans["PH399"] == b"f();"


def test_comments_before_a_place_can_go_with_it() -> None:
    known = profile("f();", "g();", with_comments=True)
    assert translated("a;\n// one\n// two\nf();", known) == "a;\ng();"


def test_a_file_without_the_name_is_spared() -> None:
    known = profile("f();", "g();", beside="moe")
    assert translated("moe(); f();", known) == "moe(); g();"
    assert patched("h();", known) == []
    assert patched("moe();", known) == [Applicability.MANUAL]


def patched(code: str, known: KernelProfile) -> list[Applicability]:
    found = translate("x.cu", code.encode(), known).findings
    return [finding.applicability for finding in found if finding.code == "PH399"]


@pytest.mark.parametrize(("places", "said"), [(1, []), (2, ["1 or 3"]), (3, [])])
def test_a_patch_may_know_several_numbers_of_places(places: int, said: list[str]) -> None:
    found = translate("x.cu", b"f(a); " * places, profile("f(a);", "g();", 1, 3)).findings
    told = [f.message for f in found if f.construct == "number of hits"]
    assert [message.split("expects ")[1] for message in told] == said


def test_a_codebase_without_kernels_of_its_own_has_no_profile(tmp_path: Path) -> None:
    assert load_profile(Directory(tmp_path), "mine") == NO_PROFILE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[patch]]\ncode = 'PH399'\n", "malformed"),
        ("[headers]\n'a.h' = 'kernels/a.h'\n", "a.h cannot be read"),
        ("[headers]\n'a.h' = '../a.h'\n", "leads out of"),
        ("[modules]\na = 'kernels/a.hip'\n", "a.hip cannot be read"),
        ("[modules]\na = 'hiprc-build/b.hip'\n", "hiprc-build has no b.hip: name one of its"),
        ("[modules]\n'a/b' = 'kernels/a.hip'\n", "'a/b' is no name of a module"),
        ("[headers", "not valid TOML"),
        *(
            (
                "[[patch]]\ncode = 'PH399'\nfiles = ['a.cu']\nmatch = 'a'\nreplace = 'b'\n"
                f"reason = 'c'\nhits = {hits}\n",
                "hits|0 is not a number",
            )
            for hits in ("0", "[1]", "[1, 0]")
        ),
    ],
)
def test_a_malformed_profile_is_said(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "kernels.toml").write_text(text)
    with pytest.raises(PortkitError, match=said):
        load_profile(Directory(tmp_path), "mine")


def test_every_patch_of_candle_gives_a_reason_and_matches_something() -> None:
    for patch in load_profile(CANDLE, "candle").patches:
        assert patch.reason
        assert patch.pattern.tokens
        assert patch.hits
        assert min(patch.hits) > 0
