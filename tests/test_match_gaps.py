"""The arm that a ``match`` among the tokens of a macro gains names what its rule binds.

At the first commit of this file's tests the arm named `_body` and `_rocm` (E0425 in every build).
"""

from __future__ import annotations

import pytest
from tree_support import crate, port_of, scan_of

from portkit.checks.ported_tree import PortedTree

DEVICE = """\
pub enum Device {
    Cpu,
    Cuda(usize),
}
"""
MACRO = """
macro_rules! by_device {
    (RULE) => {
        match $device {
            $crate::Device::Cpu => 0,
            $crate::Device::Cuda($bound) => $VALUE,
        }
    };
}
"""


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        ("$device:expr, $bound:pat => $body:expr", "body", ["$body"]),
        # The old rule binds no `$rocm`; the new one does.
        ("$device:expr; $bound:pat, $cuda:expr", "cuda", ["$rocm", "$cuda"]),
    ],
)
def test_an_arm_among_tokens_names_what_the_rule_binds(
    rule: str, value: str, expected: list[str]
) -> None:
    text = MACRO.replace("RULE", rule).replace("VALUE", value)
    tree = crate(DEVICE + text)
    written = PortedTree(port_of(tree), scan_of(tree).findings).written("src/lib.rs")
    assert written is not None
    after = written.source.data.decode()
    arm = "$crate::Device::Rocm($bound) => "
    assert [part.partition(",")[0] for part in after.split(arm)[1:]] == expected
