"""PK106: a guard goes by what its function takes, which differs from version to version."""

from __future__ import annotations

import pytest
from tree_support import crate, scan_of

from portkit.codebases.known import named
from portkit.scan.plan import plan

CANDLE = named("candle").root
PROFILE = {
    "patch": [
        {
            "code": "PK106",
            "path": "src/lib.rs",
            "symbol": "sdpa",
            "template": "sdpa_guard.rs.j2",
            "reason": "only Metal has a fused kernel",
        }
    ]
}
# The parameters of candle 0.9.1 and of 0.9.2.
OLD = "q: &Tensor, k: &Tensor, v: &Tensor, scale: f32, softcapping: f32"
NEW = OLD.replace("scale", "mask: Option<&Tensor>, do_causal: bool, scale")


@pytest.mark.parametrize(
    ("parameters", "read"), [(OLD, set[str]()), (NEW, {"mask", "do_causal"})], ids=["old", "new"]
)
def test_it_reads_what_there_is(parameters: str, read: set[str]) -> None:
    tree = crate(f"pub fn sdpa({parameters}) -> R {{\n    fused(q, k, v)\n}}\n")
    (change,) = plan(scan_of(tree, PROFILE, root=CANDLE)).changes
    after = change.after.decode()
    assert "q.device().is_rocm()" in after
    assert {word for word in ("mask", "do_causal") if f"{word} {{" in after} == read
    again = {**tree, "src/lib.rs": change.after}
    assert plan(scan_of(again, PROFILE, root=CANDLE)).changes == ()
