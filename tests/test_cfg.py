"""Conditional compilation, as the Rust reference's chapter of that name has it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portkit.syntax.cfg import Cfg, drop_features, parse_cfg, widen_condition

CUDA, METAL = Cfg("", (), "cuda"), Cfg("", (), "metal")
UNIX = Cfg("")


def cfg(condition: str) -> Cfg:
    parsed = parse_cfg(f"#[cfg({condition})]")
    assert parsed is not None
    return parsed


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        ('feature = "cuda"', CUDA),
        ('feature="cuda"', CUDA),
        ("unix", UNIX),
        ('target_os = "linux"', UNIX),
        ('all(unix, feature = "cuda")', Cfg("all", (UNIX, CUDA))),
        ('any(feature = "cuda", feature = "metal",)', Cfg("any", (CUDA, METAL))),
        ('not(feature = "cuda")', Cfg("not", (CUDA,))),
        (
            'all(not(any(feature = "cuda")), unix)',
            Cfg("all", (Cfg("not", (Cfg("any", (CUDA,)),)), UNIX)),
        ),
        ('\n    all(\n        unix,\n        feature = "cuda",\n    )\n', Cfg("all", (UNIX, CUDA))),
        ("all()", Cfg("all")),
        ("any()", Cfg("any")),
        ("true", Cfg("all")),
        ("false", Cfg("any")),
    ],
)
def test_grammar(condition: str, wanted: Cfg) -> None:
    assert cfg(condition) == wanted


def test_inner_attributes_have_conditions_too() -> None:
    assert parse_cfg('#![cfg(feature = "cuda")]') == CUDA


@pytest.mark.parametrize("condition", ["all(unix, windows,)", "unix,", "all()", "not(unix,)"])
def test_what_is_a_condition_to_rustc(condition: str) -> None:
    assert parse_cfg(f"#[cfg({condition})]") is not None


@pytest.mark.parametrize(
    "attribute",
    [
        "#[test]",
        '#[cfg_attr(feature = "cuda", ignore)]',
        "#[cfg()]",
        "#[cfg(not())]",
        "#[cfg(not(unix, windows))]",
        '#[cfg(all(feature = "cuda")]',
        '#[cfg(feature = "cuda"))]',
        "#[cfg(unix, windows)]",
        "#[cfg(+)]",
        "#[cfg(all(unix windows))]",
        "#[cfg(all(, unix))]",
        "#[cfg(unix,, windows)]",
        "#[cfg(not not(unix))]",
        "#[cfg(any(unix all(windows)))]",
    ],
)
def test_what_is_no_condition(attribute: str) -> None:
    """What rustc refuses, but for the first two, which are other attributes."""
    assert parse_cfg(attribute) is None


@pytest.mark.parametrize(
    ("condition", "requires", "forbids"),
    [
        ('feature = "cuda"', True, False),
        ('feature = "metal"', False, False),
        ('all(unix, feature = "cuda")', True, False),
        ('any(feature = "cuda", feature = "metal")', False, False),
        ('any(feature = "cuda", all(unix, feature = "cuda"))', True, False),
        ("any()", False, False),
        ("all()", False, False),
        ('not(feature = "cuda")', False, True),
        ('all(unix, not(feature = "cuda"))', False, True),
        ('not(any(feature = "cuda", feature = "metal"))', False, True),
        ('not(all(feature = "cuda", unix))', False, False),
        ('not(not(feature = "cuda"))', False, False),
        ('any(unix, not(feature = "cuda"))', False, False),
    ],
)
def test_what_a_condition_asks_of_a_feature(condition: str, requires: bool, forbids: bool) -> None:
    assert cfg(condition).requires("cuda") is requires
    assert cfg(condition).forbids("cuda") is forbids


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ('feature = "cudnn"', False),
        ('feature = "cuda"', None),
        ("unix", None),
        ('not(feature = "cudnn")', True),
        ('not(feature = "cuda")', None),
        ('all(feature = "cuda", feature = "cudnn")', False),
        ('all(feature = "cuda", not(feature = "cudnn"))', None),
        ('all(not(feature = "cudnn"), not(feature = "nccl"))', True),
        ('any(feature = "cudnn", feature = "nccl")', False),
        ('any(feature = "cudnn", feature = "cuda")', None),
        ('any(feature = "cuda", not(feature = "cudnn"))', True),
        ('not(any(feature = "cudnn", feature = "nccl"))', True),
        ("all()", True),
        ("any()", False),
        ("not(true)", False),
    ],
)
def test_value_without_some_features(condition: str, value: bool | None) -> None:
    assert cfg(condition).without(frozenset({"cudnn", "nccl"})) is value


def test_features_are_all_that_are_named() -> None:
    condition = 'all(unix, any(feature = "cuda", not(feature = "metal")))'
    assert cfg(condition).features() == {"cuda", "metal"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('#[cfg(feature = "cuda")]', '#[cfg(any(feature = "cuda", feature = "rocm"))]'),
        (
            '#[cfg(any(feature = "cuda", feature = "metal"))]',
            '#[cfg(any(feature = "cuda", feature = "rocm", feature = "metal"))]',
        ),
        (
            '#[cfg(not(feature = "cuda"))]',
            '#[cfg(not(any(feature = "cuda", feature = "rocm")))]',
        ),
        (
            '#[cfg(any(all(unix, feature = "cuda"), windows))]',
            '#[cfg(any(all(unix, any(feature = "cuda", feature = "rocm")), windows))]',
        ),
        ('cfg!(feature = "cuda")', 'cfg!(any(feature = "cuda", feature = "rocm"))'),
        ('#[cfg(feature = "cudnn")]', '#[cfg(feature = "cudnn")]'),
    ],
)
def test_widening(before: str, after: str) -> None:
    assert widen_condition(before, "cuda", "rocm") == after


_OPTIONS = st.sampled_from(['feature = "cuda"', 'feature = "metal"', "unix"])
_CONDITIONS = st.recursive(
    _OPTIONS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda c: f"all({', '.join(c)})"),
        st.lists(inner, min_size=1, max_size=3).map(lambda c: f"any({', '.join(c)})"),
        inner.map(lambda c: f"not({c})"),
    ),
    max_leaves=6,
)


def holds(condition: Cfg, on: frozenset[str], unix: bool) -> bool:
    """Evaluate a condition as the reference says."""
    values = [holds(o, on, unix) for o in condition.operands]
    if condition.operator == "not":
        return not values[0]
    if condition.operator:
        return all(values) if condition.operator == "all" else any(values)
    return condition.feature in on if condition.feature else unix


@given(_CONDITIONS, st.booleans(), st.booleans())
def test_answers_agree_with_the_reference(condition: str, metal: bool, unix: bool) -> None:
    parsed = cfg(condition)
    more = frozenset({"metal"} if metal else ())
    without, with_ = holds(parsed, more, unix), holds(parsed, more | {"cuda"}, unix)
    if parsed.requires("cuda"):
        assert not without
    if parsed.forbids("cuda"):
        assert not with_
    value = parsed.without(frozenset({"cuda"}))
    assert value is None or value is without


@given(_CONDITIONS, st.booleans(), st.booleans(), st.booleans())
def test_a_widened_condition_holds_where_either_feature_is_on(
    condition: str, metal: bool, unix: bool, rocm: bool
) -> None:
    parsed = cfg(widen_condition(condition, "cuda", "rocm"))
    more = frozenset({"metal"} if metal else ())
    on = more | {"rocm"} if rocm else more
    old = more | {"cuda"} if rocm else more
    assert holds(parsed, on, unix) is holds(cfg(condition), old, unix)
    assert holds(parsed, on | {"cuda"}, unix) is holds(cfg(condition), more | {"cuda"}, unix)


@given(st.text(alphabet='alnyot()," =cudf#[]!\n', max_size=40))
def test_any_text_can_be_asked(text: str) -> None:
    parse_cfg(f"#[cfg({text})]")
    parse_cfg(text)


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        ('all(not(feature = "cudnn"), feature = "cuda")', 'feature = "cuda"'),
        (
            'all(feature = "cuda", not(any(feature = "cudnn", unix)))',
            'all(feature = "cuda", not(unix))',
        ),
        ('any(feature = "cudnn", feature = "cuda")', 'feature = "cuda"'),
        ('all(unix, feature = "cuda")', 'all(unix, feature = "cuda")'),
        ('feature = "cudnn"', 'feature = "cudnn"'),
    ],
)
def test_drop_features(condition: str, left: str) -> None:
    assert drop_features(f"#[cfg({condition})]", {"cudnn"}) == f"#[cfg({left})]"
