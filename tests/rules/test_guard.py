"""PK106: a guard goes by what its function takes, which differs from version to version, and brings
what it calls."""

from __future__ import annotations

import pytest
from tree_support import crate, scan_of

from portkit.codebases.registry import find_codebase
from portkit.engine.plan import build_plan

CANDLE = find_codebase("candle").root
PROFILE = {
    "patch": [
        {
            "code": "PK106",
            "path": "src/lib.rs",
            "symbol": "sdpa",
            "template": "sdpa_guard.rs",
            "lacking": {"mask": "None", "do_causal": "false"},
            "calls": "sdpa_rocm.rs",
            "reason": "only Metal has a fused kernel",
        }
    ]
}
# The parameters of candle 0.9.1 and of 0.9.2.
OLD = "q: &Tensor, k: &Tensor, v: &Tensor, scale: f32, softcapping: f32"
NEW = OLD.replace("scale", "mask: Option<&Tensor>, do_causal: bool, scale")


@pytest.mark.parametrize(
    ("parameters", "given"), [(OLD, "None, false"), (NEW, "mask, do_causal")], ids=["old", "new"]
)
def test_it_reads_what_there_is(parameters: str, given: str) -> None:
    tree = crate(f"pub fn sdpa({parameters}) -> R {{\n    fused(q, k, v)\n}}\n")
    (change,) = build_plan(scan_of(tree, PROFILE, root=CANDLE)).changes
    after = change.after.decode()
    assert "q.device().is_rocm()" in after
    assert f"RocmSdpa::new({given}, scale, softcapping).attend(q, k, v)" in after
    again = {**tree, "src/lib.rs": change.after}
    assert build_plan(scan_of(again, PROFILE, root=CANDLE)).changes == ()


def test_what_it_calls_stands_behind_the_function() -> None:
    tree = crate(f"pub fn sdpa({NEW}) -> R {{\n    fused(q, k, v)\n}}\n\nfn last() {{}}\n")
    (change,) = build_plan(scan_of(tree, PROFILE, root=CANDLE)).changes
    guard, items = change.after.decode().split("    fused(q, k, v)\n}\n")
    assert ".attend(q, k, v)" in guard
    assert items.startswith("\n/// Attention on ROCm")
    assert items.endswith("}\n\nfn last() {}\n")
    assert not any(line != line.rstrip() for line in items.splitlines())
    # Where somebody took them away, they alone are written again.
    without = {**tree, "src/lib.rs": f"{guard}    fused(q, k, v)\n}}\n\nfn last() {{}}\n".encode()}
    (change,) = build_plan(scan_of(without, PROFILE, root=CANDLE)).changes
    assert change.after.decode() == f"{guard}    fused(q, k, v)\n}}\n{items}"
