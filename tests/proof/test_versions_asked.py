"""What tells an error of upstream's from one of the port."""

from __future__ import annotations

import pytest

from tools.proof.versions.asked import Typed, fails_as_before

OWN = "error[E0308]: mismatched types (core/src/cuda.rs:404:13)"


def renamed(text: str) -> str:
    return text.replace("cuda", "rocm")


@pytest.mark.parametrize(
    ("ported", "whether"),
    [
        ("error[E0308]: mismatched types (core/src/rocm.rs:410:9)", True),
        ("error[E0308]: mismatched types (core/src/cuda.rs:404:13)", True),
        ("error[E0433]: mismatched types (core/src/rocm.rs:404:13)", False),
        ("error[E0308]: mismatched types (core/src/device.rs:404:13)", False),
        ("cargo failed", False),
    ],
)
def test_an_error_is_upstream_s_where_its_counterpart_has_it(ported: str, whether: bool) -> None:
    assert fails_as_before(Typed((ported,)), Typed((OWN,)), renamed) is whether


def test_one_error_of_its_own_is_enough() -> None:
    ported = Typed((OWN, "error: could not compile (core/src/rocm.rs:1:1)"))
    assert not fails_as_before(ported, Typed((OWN,)), renamed)
    assert not fails_as_before(ported, Typed(()), renamed)
