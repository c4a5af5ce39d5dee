"""The lexer: what is code, what is not, and where brackets close (ISO C++17, [lex])."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portkit.hipify.kernel_source import KernelSource
from portkit.hipify.translator import translate

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from _typeshed import TraceFunction


def texts(code: str) -> list[str]:
    return [token.text for token in KernelSource("x.cu", code).tokens]


def test_comments_are_no_tokens() -> None:
    assert texts("a // b\nc /* d\n e */ f") == ["a", "c", "f"]


def test_a_line_comment_goes_on_after_a_backslash() -> None:
    assert texts("a // b \\\n c\nd") == ["a", "d"]


def test_strings_hide_what_looks_like_code() -> None:
    assert texts('f("/* \\" //", \'"\', L"x")') == [
        "f",
        "(",
        '"/* \\" //"',
        ",",
        "'\"'",
        ",",
        'L"x"',
        ")",
    ]


def test_raw_strings_end_at_their_delimiter() -> None:
    assert texts('R"x(a)" /* )x" b') == ['R"x(a)" /* )x"', "b"]


def test_digit_separators_are_no_characters() -> None:
    assert texts("1'000'000 'a'") == ["1'000'000", "'a'"]


def test_exponents_belong_to_numbers() -> None:
    assert texts("1e-5f+0x1p+3-.5") == ["1e-5f", "+", "0x1p+3", "-", ".5"]


def test_angle_brackets_that_close_stand_alone() -> None:
    # ">>" may close two templates, and ">>>" a launch or three: [temp.names], paragraph 3.
    assert texts("k<<<1, 2>>>(x)") == ["k", "<<<", "1", ",", "2", ">", ">", ">", "(", "x", ")"]
    assert texts("a<b<c>>") == ["a", "<", "b", "<", "c", ">", ">"]


OPERATORS = (
    "= == ! != < <= > >= << <<= + += ++ - -= -- -> * *= / /= % %= & &= && | |= || ^ ^= ~ :: ..."
)


@pytest.mark.parametrize("operator", OPERATORS.split())
def test_an_operator_is_one_token(operator: str) -> None:
    """ISO C++17, [lex.operators], but for those that may close templates."""
    assert texts(f"a{operator}b") == ["a", operator, "b"]


def test_directives_lose_their_blanks() -> None:
    assert texts("  #  define A 1\n#if B") == ["#define", "A", "1", "#if", "B"]


def test_a_quote_in_an_error_directive_opens_nothing() -> None:
    assert texts("#error don't\nint a;") == ["#errordon't", "int", "a", ";"]


def test_a_comment_that_never_ends_is_known() -> None:
    source = KernelSource("x.cu", "a /* b")
    assert source.unterminated == 2
    assert texts("a /* b") == ["a"]


def test_arguments_are_split_at_the_call_only() -> None:
    source = KernelSource("x.cu", "f(a, g(b, c), {d, e}, h[i, j])")
    arguments = source.arguments(1)
    assert arguments is not None
    assert ["".join(source.tokens[i].text for i in each) for each in arguments] == [
        "a",
        "g(b,c)",
        "{d,e}",
        "h[i,j]",
    ]


@pytest.mark.parametrize(("code", "expected"), [("f()", []), ("f(a", None)])
def test_calls_without_arguments_or_end(code: str, expected: list[range] | None) -> None:
    assert KernelSource("x.cu", code).arguments(1) == expected


@given(st.text(alphabet="ab01\"'/*\\\n#<>(){}., ", max_size=80))
def test_tokens_and_comments_are_disjoint_and_in_order(code: str) -> None:
    source = KernelSource("x.cu", code)
    spans = sorted([(t.start, t.end) for t in source.tokens] + source.comments)
    position = 0
    for start, end in spans:
        assert position <= start < end
        # Nothing but blanks, and lone quotes, lies between.
        assert not set(code[position:start]) & set("ab01(){}.,#")
        position = end


def test_lines_count_from_one() -> None:
    source = KernelSource("x.cu", "a\nb\n\nc")
    assert [source.line(token.start) for token in source.tokens] == [1, 2, 4]


@pytest.mark.parametrize(
    "nested",
    [
        lambda n: f"void f() {{ v = {'__shfl_sync(~0u, ' * n}x{', 1)' * n}; }}",
        lambda n: f"#define FULL 0xffffffff\n{'v = __shfl_sync(FULL, x, 1);' * n}",
        lambda n: "void f(float v) { const unsigned m = ~0u; v += __shfl_sync(m, v, 1); }" * n,
    ],
    ids=["nested", "by a macro", "by constants"],
)
def test_ten_times_the_calls_take_ten_times_the_steps(nested: Callable[[int], str]) -> None:
    def count_steps(calls: int) -> int:
        steps = 0

        def trace(frame: FrameType, event: str, arg: object) -> TraceFunction:
            nonlocal steps
            steps += 1
            return trace

        source = nested(calls).encode()
        previous = sys.gettrace()
        sys.settrace(trace)
        try:
            translate("x.cu", source)
        finally:
            sys.settrace(previous)
        return steps

    count_steps(1)  # reads the tables
    assert count_steps(500) < 12 * count_steps(50)  # 100 times where the steps are quadratic
