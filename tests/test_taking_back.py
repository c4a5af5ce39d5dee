"""`portkit apply --verify`: the tree type-checks, or is as it was."""

from __future__ import annotations

import json
import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from apply_support import git, picture
from cli_support import LIB, MATMUL, Done, add_file, commit, invoke, make_candle
from msgspec.structs import replace
from verify_support import install_cargo, make_tree, stand_in

from portkit.engine.plan import build_plan
from portkit.engine.session import select_codes
from portkit.transaction.change import Change
from portkit.verify import revert_failures
from portkit.verify.scratch_tree import ScratchTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portkit.engine.scan import Scan
    from portkit.verify import VerifiedTree
    from portkit.verify.revert_failures import TypeCheckedPort

USER = "candle-core/src/user.rs"
COUNTS = """\
//! Code of a user.

use crate::Device;

pub fn is_any(device: &Device) -> usize {
    match device {
        Device::Cpu => 0,
        Device::Cuda(_) => 1,
    }
}

pub fn ordinal(device: &Device) -> usize {
    match device {
        Device::Cpu => 0,
        Device::Cuda(ordinal) => ordinal + 1,
    }
}
"""
ORDINAL = "Rocm(ordinal) =>"
BINDINGS = ("PK103", "PK203")
"""The crates that a port adds, which take a registry to compile."""
REASON = "with it the tree does not type-check: error[E0599]: no such thing"


@pytest.fixture
def candle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_candle(tmp_path / "candle")
    add_file(root, USER, COUNTS.encode())
    lib = (root / LIB).read_text().replace("pub mod", "pub mod user;\npub mod", 1)
    add_file(root, LIB, lib.encode())
    commit(root)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CARGO_NET_OFFLINE", "true")
    monkeypatch.delenv("CARGO_TARGET_DIR", raising=False)
    return root


@pytest.fixture
def cargo(candle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return install_cargo(tmp_path, monkeypatch)


def complaint(wanted: str, path: str = USER, *, about: tuple[str, int] | None = None) -> str:
    """Return what a stand-in for cargo does: complain about the line that has a text.

    Args:
        wanted: the text.
        path: the file.
        about: another place that the complaint is about; the line is then said beside it.
    """
    span = {"file_name": path, "column_start": 1, "is_primary": about is None}
    spans: list[dict[str, Any]] = [{**span, "line_start": "LINE", "line_end": "LINE"}]
    if about is not None:
        spans.append(
            {
                "file_name": about[0],
                "line_start": about[1],
                "line_end": about[1],
                "column_start": 1,
                "is_primary": True,
            }
        )
    said = {"level": "error", "message": "no such thing", "code": {"code": "E0599"}, "spans": spans}
    text = json.dumps({"reason": "compiler-message", "message": said}).replace('"LINE"', "LINE")
    return (
        f"for line in $(grep -n '{wanted}' {path} | cut -d: -f1); do\n"
        f"  echo '{text}' | sed \"s/LINE/$line/g\"; broken=1\n"
        "done\n"
        'test -z "$broken" || exit 101'
    )


def port(candle: Path, *options: str) -> Done:
    return invoke("apply", candle, "--no-format", "--verify", "--trust", *options)


def test_what_breaks_is_taken_back_and_the_rest_is_written(candle: Path, cargo: Path) -> None:
    # Never is the tree itself compiled, so that a run that is killed has not touched it.
    untouched = f'test -z "$(git -C {candle} status --porcelain)" || exit 1\n'
    stand_in(cargo, untouched + complaint(ORDINAL))
    done = port(candle)
    assert done.code == 1, done.err
    said = " ".join(done.out.split())
    assert "Taken back: with it the tree does not type-check (1 place)" in said
    assert REASON in said
    # Another place of the file is written, so that an entry would be about too much.
    assert f"{USER}:" in said
    assert f"// portkit: exclude PK301 {REASON}" in said
    assert "[[exclude]]" not in said
    text = (candle / USER).read_text()
    assert f'Device::Rocm(_) => panic!("left out: {REASON}"),' in text
    assert "Device::Rocm(_) => 1" in text
    assert "Rocm(usize)" in (candle / LIB).read_text()


def test_the_entry_that_is_printed_leaves_the_same_out(candle: Path, cargo: Path) -> None:
    stand_in(cargo, complaint("is_cuda() || .*is_rocm()", MATMUL))
    done = port(candle)
    assert done.code == 1, done.err
    after = {path: (candle / path).read_bytes() for path in (MATMUL, USER, LIB)}
    entry = done.out[done.out.index("[[exclude]]") :].partition("\n\n")[0]
    git(candle, "stash", "--quiet", "--include-untracked")
    add_file(candle, "portkit.toml", f"{entry}\n".encode())
    again = port(candle)
    assert again.code == 0, again.err
    assert {path: (candle / path).read_bytes() for path in after} == after


def test_one_word_takes_everything_back(candle: Path, cargo: Path) -> None:
    stand_in(cargo, complaint(ORDINAL))
    before = picture(candle)
    done = port(candle, "--all-or-nothing")
    assert done.code == 27
    assert "E0599" in done.err
    assert "nothing was written" in done.err
    assert picture(candle) == before


def test_what_no_place_explains_takes_everything_back(candle: Path, cargo: Path) -> None:
    # With the feature alone: without it the tree is well before and after.
    failing = 'echo "error: no room for rustc" >&2; exit 101'
    stand_in(cargo, f'case "$*" in *features=rocm*) {failing};; esac')
    before = picture(candle)
    done = port(candle)
    assert done.code == 27
    assert "no place explains it (rocm: error: no room for rustc)" in done.err
    assert picture(candle) == before


def test_without_the_feature_there_is_nothing_to_check_with_it(candle: Path, cargo: Path) -> None:
    # As cargo has it: "none of the selected packages contains this feature: rocm".
    stand_in(cargo, 'case "$*" in *features=rocm*) exit 101;; esac')
    done = port(candle, "--select", "PK301,PK505")
    assert done.code == 0, done.err
    assert ORDINAL in (candle / USER).read_text()


def test_a_tree_that_was_broken_is_not_blamed_on_the_port(candle: Path, cargo: Path) -> None:
    stand_in(cargo, complaint("pub fn is_any"))
    before = picture(candle)
    done = port(candle)
    assert done.code == 20
    assert "does not type-check before the port either" in done.err
    assert picture(candle) == before


def test_an_error_beside_is_led_back_by_what_rustc_says_more(candle: Path, cargo: Path) -> None:
    stand_in(cargo, complaint(ORDINAL, about=(MATMUL, 1)))
    done = port(candle)
    assert done.code == 1, done.err
    assert "left out: " in (candle / USER).read_text()


def test_what_never_settles_takes_everything_back(
    candle: Path, cargo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(cargo, complaint(ORDINAL))
    monkeypatch.setattr(revert_failures, "LIMIT", 1)
    before = picture(candle)
    done = port(candle)
    assert done.code == 27
    assert "1 times something was taken back" in done.err
    assert picture(candle) == before


def test_a_preview_is_of_what_type_checks(candle: Path, cargo: Path) -> None:
    stand_in(cargo, complaint(ORDINAL))
    before = picture(candle)
    done = port(candle, "--diff")
    assert done.code == 1
    assert f"left out: {REASON}" in done.out
    assert picture(candle) == before


def test_a_tree_is_not_compiled_unasked(
    candle: Path, cargo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(cargo, "exit 0")
    monkeypatch.delenv("PORTKIT_TRUST", raising=False)
    before = picture(candle)
    assert invoke("apply", candle, "--verify").code == 26
    assert invoke("apply", candle, "--no-verify", "--trust").code == 2
    assert invoke("apply", candle, "--no-verify", "--all-or-nothing").code == 2
    assert picture(candle) == before
    done = invoke("apply", candle)
    assert done.code == 0
    assert "Not type-checked: that would run the tree's build scripts" in done.out
    assert "cargo check" not in done.err


def test_a_trusted_tree_is_type_checked_by_default(
    candle: Path, cargo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portkit.cli.type_check.is_checked_by_default", lambda root: True)
    stand_in(cargo, complaint(ORDINAL))
    done = invoke("apply", candle)
    assert done.code == 1
    assert re.search(r"Type-checked in \d+ s, without the feature and with rocm\.", done.out)
    assert REASON in done.out


def test_a_trusted_tree_that_never_compiled_is_ported_unchecked(
    candle: Path, cargo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portkit.cli.type_check.is_checked_by_default", lambda root: True)
    stand_in(cargo, "echo 'error: no' >&2; exit 101")
    done = invoke("apply", candle)
    assert done.code == 0
    assert "Not type-checked: " in done.out
    assert "does not type-check before the port either" in " ".join(done.out.split())


def test_a_scratch_tree_is_written_where_it_differs(candle: Path) -> None:
    add_file(candle, "data/weights.bin", b"1")
    add_file(candle, "Cargo.lock", b"# settled\n")
    scratch = ScratchTree(make_tree(candle).scan.job.workspace, "apply")
    scratch.write_tree([Change(USER, None, b"// other\n"), Change("new/src/lib.rs", None, b"")])
    user, lib = scratch.folder / USER, scratch.folder / LIB
    os.utime(lib, (1, 1))
    assert user.read_bytes() == b"// other\n"
    assert (scratch.folder / "new/src/lib.rs").read_bytes() == b""
    assert (scratch.folder / "data").readlink() == candle / "data"
    assert not (scratch.folder / ".git").exists()
    assert not (scratch.folder / "Cargo.lock").is_symlink()  # cargo writes it
    scratch.write_tree()
    assert user.read_text() == COUNTS
    assert lib.stat().st_mtime == 1
    assert not (scratch.folder / "new").exists()
    assert (candle / USER).read_text() == COUNTS


@pytest.mark.parametrize("way", ["../../gpu", "../../../{above}/gpu", "../../candle/../gpu/deep"])
def test_what_lies_beside_a_tree_lies_beside_its_scratch(
    candle: Path, tmp_path: Path, way: str
) -> None:
    """Cargo looks for a dependency by its way from the manifest, which led nowhere."""
    way = way.format(above=tmp_path.name)
    add_file(tmp_path, "gpu/deep/Cargo.toml", b"")
    manifest = candle / "candle-core/Cargo.toml"
    manifest.write_text(f'{manifest.read_text()}\n[dependencies]\ngpu = {{ path = "{way}" }}\n')
    before = picture(candle)
    scratch = ScratchTree(make_tree(candle).scan.job.workspace, "apply")
    for _ in range(2):
        scratch.write_tree()
        found = Path(os.path.normpath(scratch.folder / "candle-core" / way))
        assert found.samefile(candle / "candle-core" / way)
        assert scratch.folder.resolve().is_relative_to(tmp_path / "cache")
    baseline = make_tree(candle).baseline
    assert Path(os.path.normpath(baseline / "candle-core" / way)).is_dir()
    assert (baseline / "candle-core/Cargo.toml").is_file()
    assert picture(candle) == before


def checking(tree: VerifiedTree, broken: Scan) -> TypeCheckedPort:
    planned = partial(build_plan, rustfmt=False)
    return revert_failures.check_port(tree, broken, planned, consent=lambda root: None)


def break_(found: Scan, code: str, path: str, change: tuple[str, str]) -> Scan:
    """Return a scan of which a place writes another text, as a person's edit of it might."""
    findings = [
        replace(f, edits=tuple(e._replace(text=e.text.replace(*change)) for e in f.edits))
        if (f.code, f.path) == (code, path)
        else f
        for f in found.findings
    ]
    assert findings != list(found.findings)
    return replace(found, findings=tuple(findings))


def taken(found: TypeCheckedPort) -> Sequence[tuple[str, str]]:
    return sorted((code, path) for path, code, _ in found.taken)


@pytest.mark.real
def test_rustc_names_the_places_that_are_taken_back(candle: Path) -> None:
    tree = make_tree(candle)
    ported = select_codes(tree.scan, (), BINDINGS)
    assert taken(checking(tree, ported)) == []
    found = checking(tree, break_(ported, "PK301", USER, ("ordinal + 1", "ordinal.nothing()")))
    assert taken(found) == [("PK301", USER)]
    (reason,) = found.taken.values()
    assert "E0599" in reason
    text = next(c.after for c in found.plan.changes if c.path == USER).decode()
    assert "panic!" in text
    assert "Rocm(_) => 1" in text


@pytest.mark.real
def test_what_needs_a_variant_goes_with_it(candle: Path) -> None:
    tree = make_tree(candle)
    ported = select_codes(tree.scan, (), BINDINGS)
    found = checking(tree, break_(ported, "PK505", LIB, ("Rocm(usize)", "Rocm(Nothing)")))
    gone = taken(found)
    assert ("PK505", LIB) in gone
    assert ("PK301", USER) in gone
    # The feature asks for no variant.
    assert any(c.path == "candle-core/Cargo.toml" for c in found.plan.changes)
    assert all(b"Rocm(" not in c.after for c in found.plan.changes)
