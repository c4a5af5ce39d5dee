"""Copies: what is evaluated away, what a peer's arm gains, what a template replaces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tree_support import crate, port_of

from portkit.port.copy_item import copy_file, substitute_peer
from portkit.syntax.source_file import SourceFile

if TYPE_CHECKING:
    from collections.abc import Mapping


CASE = Path(__file__).parent / "fixtures/rules/guard/a_function_that_can_be_reached"


def copy(text: str, profile: Mapping[str, Any] | None = None, directory: Path = Path()) -> str:
    """Return the copy of a file with this text."""
    job = port_of(crate(""), profile, root=directory)
    return copy_file(job, SourceFile("src/cuda.rs", text.encode()))


def test_a_copy_is_the_renamed_text() -> None:
    text = '//! CUDA.\nuse cudarc::driver::CudaSlice;\nfn cuda() -> &\'static str { "on CUDA" }\n'
    assert copy(text) == (
        '//! ROCm.\nuse candle_hip::driver::HipSlice;\nfn rocm() -> &\'static str { "on ROCm" }\n'
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        # An item under a feature that is off goes, with its comments and its line.
        (
            'fn a() {}\n/// One.\n#[cfg(feature = "cutile")]\nfn b() {}\nfn c() {}\n',
            "fn a() {}\nfn c() {}\n",
        ),
        # What asks for its absence stays, without the condition.
        ('#[cfg(not(feature = "cutile"))]\nfn b() {}\n', "fn b() {}\n"),
        # Other conditions decide for themselves.
        ("#[cfg(unix)]\nfn b() {}\n", "#[cfg(unix)]\nfn b() {}\n"),
        ('#[cfg(feature = "cuda")]\nfn b() {}\n', '#[cfg(feature = "rocm")]\nfn b() {}\n'),
        # Fields, variants and initializers go with their comma.
        (
            'struct S {\n    a: u8,\n    #[cfg(feature = "cutile")]\n    b: u8,\n    c: u8,\n}\n',
            "struct S {\n    a: u8,\n    c: u8,\n}\n",
        ),
        (
            'enum E {\n    A,\n    #[cfg(feature = "cutile")]\n    B,\n}\n',
            "enum E {\n    A,\n}\n",
        ),
        (
            "fn f() -> S {\n    S {\n        a: 1,\n"
            '        #[cfg(feature = "cutile")]\n        b: 2,\n    }\n}\n',
            "fn f() -> S {\n    S {\n        a: 1,\n    }\n}\n",
        ),
        (
            'fn f() {\n    match x {\n        #[cfg(feature = "cutile")]\n        1 => a(),\n'
            "        _ => b(),\n    }\n}\n",
            "fn f() {\n    match x {\n        _ => b(),\n    }\n}\n",
        ),
        # Of two blocks that answer for each other one is left, and at the end it needs no braces.
        (
            'fn f() -> u8 {\n    #[cfg(feature = "cutile")]\n    {\n        1\n    }\n'
            '    #[cfg(not(feature = "cutile"))]\n    {\n        2\n    }\n}\n',
            "fn f() -> u8 {\n        2\n    }\n",
        ),
        # In the middle the braces keep what they hold to themselves.
        (
            'fn f() {\n    #[cfg(not(feature = "cutile"))]\n'
            "    {\n        let x = 2;\n    }\n    g();\n}\n",
            "fn f() {\n    {\n        let x = 2;\n    }\n    g();\n}\n",
        ),
    ],
)
def test_unported_features_are_evaluated_away(text: str, wanted: str) -> None:
    assert "".join(copy(text).split()) == "".join(wanted.split())
    assert copy(text).count("\n\n") == wanted.count("\n\n")


MATCH = """\
fn device(d: &Device) -> Result<()> {{
    match d {{
        Device::Cuda(_) => Ok(()),
        {arm}
    }}
}}
"""


@pytest.mark.parametrize(
    ("arm", "wanted"),
    [
        (
            'Device::Metal(_) => bail!("got Metal"),',
            'Device::Metal(_) => bail!("got Metal"),\n'
            '        Device::Cuda(_) => bail!("got cuda"),',
        ),
        (
            "Device::Metal(m) => metal(m)",
            "Device::Metal(m) => metal(m),\n        Device::Cuda(m) => cuda(m)",
        ),
        (
            "Device::Metal(_) => {\n            no()\n        }",
            "Device::Metal(_) => {\n            no()\n        }\n"
            "        Device::Cuda(_) => {\n            no()\n        }",
        ),
        (
            "Device::Cpu | Device::Metal(_) => no(),",
            "Device::Cpu | Device::Metal(_) | Device::Cuda(_) => no(),",
        ),
        ("_ => no(),", "_ => no(),"),
    ],
)
def test_where_a_peer_is_turned_away_cuda_is_too(arm: str, wanted: str) -> None:
    renamed = MATCH.format(arm=wanted).replace("Device::Cuda(_) => Ok", "Device::Rocm(_) => Ok")
    assert copy(MATCH.format(arm=arm)) == renamed


def test_an_override_replaces_the_item_with_all_that_belongs_to_it() -> None:
    profile = {
        "patch": [
            {
                "code": "PK104",
                "path": "src/*",
                "symbol": "CudaDevice::name",
                "template": "guard.rs",
                "reason": "it differs",
            }
        ]
    }
    text = "impl CudaDevice {\n    /// Doc.\n    fn name() {}\n\n    fn cuda() {}\n}\n"
    assert copy(text, profile, CASE) == (
        "impl RocmDevice {\n    if device.is_rocm() {\n"
        '        gpu::bail!("cuTile has no ROCm side");\n    }\n\n    fn rocm() {}\n}\n'
    )


def test_an_override_of_another_file_does_not_count() -> None:
    profile = {
        "patch": [
            {
                "code": "PK104",
                "path": "benches/*",
                "symbol": "f",
                "template": "none.rs",
                "reason": "it differs",
            }
        ]
    }
    assert copy("fn f() {}\n", profile) == "fn f() {}\n"


@pytest.mark.parametrize(
    ("vendor", "wanted"),
    [
        ("cuda", 'Self::Cuda(_) => bail!("expected a cpu, got cuda"), // cuda, MetalDevice'),
        ("rocm", 'Self::Rocm(_) => bail!("expected a cpu, got ROCm"), // rocm, MetalDevice'),
    ],
)
def test_a_peer_is_spoken_of_as_code_and_as_prose_have_it(vendor: str, wanted: str) -> None:
    text = 'Self::Metal(_) => bail!("expected a cpu, got Metal"), // metal, MetalDevice'
    assert substitute_peer(port_of(crate("")), text, vendor) == wanted


def test_a_peer_is_spelt_as_the_source_is_beside_it() -> None:
    text = 'Self::Metal(_) => cuda::bail!("expected a cuda device, got Metal")'
    wanted = text.replace("Metal(", "Rocm(").replace("Metal", "rocm")
    assert substitute_peer(port_of(crate("")), text, "rocm") == wanted
    plain = 'Self::Metal(_) => cuda::bail!("got Metal")'
    assert substitute_peer(port_of(crate("")), plain, "rocm").endswith('bail!("got ROCm")')
