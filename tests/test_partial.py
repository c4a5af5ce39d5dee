"""Ports in part: arms that are left out, and what would name what is not there."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from apply_support import picture
from cli_support import LIB, add_file, commit, invoke, make_candle
from test_interactive import talk

if TYPE_CHECKING:
    from pathlib import Path

    from cli_support import Done

USER = "candle-core/src/user.rs"
MATCHES = """\
//! Every way to take a device apart.

use crate::{Device as Place, Held, Kind};

pub fn ordinal(place: &Place) -> usize {
    match place {
        Place::Cpu => 0,
        &Place::Cuda(ordinal) => ordinal + 1, // the first is the processor
    }
}

pub fn size(held: Held) -> Result<usize, String> {
    macro_rules! bail {
        ($text:literal) => {
            return Err(format!($text))
        };
    }
    match held {
        Held::Cpu { size: 0 } => bail!("empty"),
        Held::Cuda { size, kind: Kind::Big } => Ok(size * 2),
        Held::Cuda { size, kind: Kind::Small } | Held::Cpu { size } => Ok(size),
    }
}

pub const fn is_fast(place: Place) -> bool {
    match place {
        Place::Cpu => false,
        Place::Cuda(..) => true,
    }
}

pub fn is_second(place: Place) -> bool {
    match place {
        Place::Cuda(ordinal) => ordinal == 1,
        _ => false,
    }
}
"""
ENUMS = """\

#[derive(Clone, Copy)]
pub enum Kind {
    Big,
    Small,
}

pub enum Held {
    Cpu { size: usize },
    Cuda { size: usize, kind: Kind },
}
"""
ERROR = re.compile(r'\w+!\("left out: ([^"]*)"\)')


@pytest.fixture
def candle(tmp_path: Path) -> Path:
    root = make_candle(tmp_path / "candle")
    add_file(root, USER, MATCHES.encode())
    lib = (root / LIB).read_text().replace("pub mod", "pub mod user;\npub mod", 1)
    add_file(root, LIB, (lib + ENUMS).encode())
    commit(root)
    return root


def port(candle: Path, *options: str) -> Done:
    return invoke(
        "apply", candle, "--no-format", "--allow-dirty", "--skip", "PK103,PK203", *options
    )


def compile_(candle: Path, *features: str) -> str:
    """Return what rustc says about the crate, warnings as errors; nothing where it compiles."""
    options = [part for name in features for part in ("--cfg", f'feature="{name}"')]
    # Never into /dev/null: rustc puts its file in the place of the one that is there.
    made = str(candle.parent / "made.rmeta")
    command = ("rustc", "--edition", "2021", "--crate-type", "lib", "--emit", "metadata")
    done = subprocess.run(
        [*command, "-D", "warnings", "-A", "unexpected_cfgs", *options, "-o", made, LIB],
        cwd=candle,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr


def skip(candle: Path, text: str) -> None:
    add_file(
        candle, "portkit.toml", f'[[exclude]]\n{text}\nreason = "in a {{second}} step"\n'.encode()
    )


def test_a_manifest_names_nothing_that_is_left_out(candle: Path) -> None:
    """Cargo loads no manifest of a workspace of which one member is not there."""
    before = picture(candle)
    why = "the crate candle-hip would be named and not be there"
    ways: list[tuple[str, ...]] = [("--select", "PK203"), ("--select", "PK2"), ("--skip", "PK103")]
    for way in (*ways, ("--at", "Cargo.toml:2")):
        done = invoke("apply", candle, "--no-format", *way)
        assert (done.code, done.out) == (17, ""), way
        assert why in done.err
        assert "leave out Cargo.toml:2 (PK203)" in done.err
    done = invoke("apply", candle, "--diff", "--no-format", "--at", "Cargo.toml:2")
    assert (done.code, why in done.err, '"candle-hip"' in done.out) == (0, True, True)
    assert picture(candle) == before
    skip(candle, 'codes = ["PK103"]')
    # What needs it is left to the user, and the rest is written.
    done = invoke("scan", candle)
    assert "There is no crate candle-hip at that path, and this change needs it." in " ".join(
        done.out.split()
    )
    (candle / "portkit.toml").unlink()
    assert invoke("apply", candle, "--no-format", "--select", "PK103,PK203").code == 0


def test_what_the_whole_port_does_not_bring_either_is_no_concern(candle: Path) -> None:
    """A workspace below another one is found with it, and its member is named there too."""
    make_candle(candle / "build/candle", repository=False)
    commit(candle)
    assert invoke("apply", candle, "--no-format", "--check").code == 1
    done = invoke("apply", candle, "--no-format", "--check", "--skip", "PK103")
    assert "the crate candle-hip would be named" in done.err


def test_a_skip_of_a_file_leaves_arms_that_answer_with_an_error(candle: Path) -> None:
    skip(candle, 'paths = ["*/user.rs"]')
    listed = invoke("scan", candle, "--all", "--select", "PK3").out
    assert "left out by an arm that answers with an error: in a {second} step" in listed
    # The sums meet: what scan says that apply writes, and what apply says that it has written.
    said = " ".join(listed.split())
    assert ", 4 of them arms that answer with an error where it is left out" in said
    done = port(candle)
    why = "a match has no other arm there, so one answers with an error"
    assert f"4 more left out: {why}: {USER}:" in " ".join(done.out.split())
    text = (candle / USER).read_text()
    assert ERROR.findall(text) == ["in a {{second}} step"] * 4
    assert '&Place::Rocm(_) => panic!("left' in text
    assert 'Held::Rocm { kind: Kind::Big, .. } => bail!("left' in text
    again = port(candle)
    assert "Nothing to write" in again.out
    kept = invoke("scan", candle, "--all", "--select", "PK3", "--no-source").out
    assert "answers with an error" not in kept.partition("Kept:")[0]
    # What is ported later takes the error's place.
    (candle / "portkit.toml").unlink()
    assert invoke("scan", candle, "--check", "--select", "PK3").code == 1
    port(candle)
    assert "left out" not in (candle / USER).read_text()
    whole = (candle / USER).read_text()
    subprocess.run(["git", "checkout", "--quiet", "."], cwd=candle, check=True)
    port(candle)
    assert (candle / USER).read_text() == whole


@pytest.mark.parametrize("gating", ["dummy", "cfg"])
@pytest.mark.parametrize(
    "left",
    [
        'paths = ["*/user.rs"]',
        'codes = ["PK301"]',
        'codes = ["PK3"]',
        'codes = ["PK505"]\npaths = ["*/lib.rs"]',
        "--select=PK505",
        "--select=PK2,PK5",
        "--skip=PK302",
    ],
)
@pytest.mark.real
def test_what_is_left_out_breaks_no_build(candle: Path, left: str, gating: str) -> None:
    assert compile_(candle) == ""
    if left.startswith("--"):
        done = port(candle, "--gating", gating, left)
    else:
        skip(candle, left)
        done = port(candle, "--gating", gating)
    if "lib.rs" in left and gating == "dummy":
        assert done.code != 0
        assert "the variant Rocm of Device, Held is left out (PK505)" in done.err
    else:
        assert done.code == 0, done.err
    assert compile_(candle) == ""
    if "lib.rs" not in left and "rocm" in (candle / "candle-core/Cargo.toml").read_text():
        assert compile_(candle, "rocm") == ""


def test_an_answer_breaks_no_build(candle: Path) -> None:
    said = talk(candle, "y", "n", "n", "q", options=("--select", "PK505,PK301"))
    assert said.code == 0
    assert "Rocm(usize)" in (candle / LIB).read_text()
    assert len(ERROR.findall((candle / LIB).read_text())) == 1
    said = talk(candle, "y", "q", options=("--select", "PK301", "--allow-dirty"))
    assert 'Self::Rocm(_) => "rocm"' in (candle / LIB).read_text()
    assert ERROR.findall((candle / LIB).read_text()) == []


def test_what_names_a_variant_that_is_left_out_is_refused(candle: Path) -> None:
    before = (candle / LIB).read_bytes()
    done = port(candle, "--select", "PK301")
    assert done.code != 0
    assert "the variant Rocm of Device, Held is left out (PK505)" in done.err
    assert f"{LIB}:" in done.err
    assert (candle / LIB).read_bytes() == before


def test_a_crate_without_the_feature_needs_no_arm_under_it(candle: Path) -> None:
    skip(candle, 'paths = ["candle-core/Cargo.toml", "*/user.rs"]')
    assert port(candle, "--gating", "cfg").code == 0
    assert "left out" not in (candle / USER).read_text()
