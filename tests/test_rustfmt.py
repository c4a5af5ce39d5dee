"""Which program lays out what is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from portkit.engine.rustfmt import Rustfmt

if TYPE_CHECKING:
    from pathlib import Path

SAYS = """#!/bin/sh
cat > /dev/null
echo {word}
"""
PROXY = """#!/bin/sh
case "${{0##*/}} $*" in
"rustup which rustfmt") echo began >> {folder}/asked; {answer};;
rustfmt*) cat > /dev/null; echo proxy;;
esac
"""


def program(place: Path, text: str) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(0o755)
    return place


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    program(tmp_path / "toolchain" / "rustfmt", SAYS.format(word="toolchain"))
    return tmp_path


@pytest.mark.parametrize("linked", ["symlink_to", "hardlink_to"])
def test_what_rustup_s_proxy_starts_is_started_without_it(folder: Path, linked: str) -> None:
    answer = f"echo {folder}/toolchain/rustfmt"
    rustup = program(folder / "bin" / "rustup", PROXY.format(folder=folder, answer=answer))
    getattr(folder / "bin" / "rustfmt", linked)(rustup)
    rustfmt = Rustfmt(folder)
    assert [rustfmt.formatted(b"", "2021") for _ in range(3)] == [b"toolchain\n"] * 3
    assert (folder / "asked").read_text() == "began\n"


@pytest.mark.parametrize("answer", ["exit 1", "echo", "echo toolchain/rustfmt"])
def test_a_proxy_that_names_nothing_is_started_itself(folder: Path, answer: str) -> None:
    rustup = program(folder / "bin" / "rustup", PROXY.format(folder=folder, answer=answer))
    (folder / "bin" / "rustfmt").symlink_to(rustup)
    assert Rustfmt(folder).formatted(b"", "2021") == b"proxy\n"


def test_a_rustfmt_beside_a_rustup_that_is_another_program(folder: Path) -> None:
    program(folder / "bin" / "rustup", PROXY.format(folder=folder, answer="echo /nowhere"))
    program(folder / "bin" / "rustfmt", SAYS.format(word="distribution"))
    assert Rustfmt(folder).formatted(b"", "2021") == b"distribution\n"
    assert not (folder / "asked").exists()


@pytest.mark.parametrize(
    ("style", "ends"),
    [("", b"\r\n"), ("Auto", b"\r\n"), ("Windows", b"\r\n"), ("Unix", b"\n")],
)
def test_line_ends_are_those_that_cargo_fmt_would_leave(
    tmp_path: Path, style: str, ends: bytes
) -> None:
    if style:
        (tmp_path / "rustfmt.toml").write_text(f'newline_style = "{style}"\n')
    laid = b"fn a() {}\n\nfn b() {}\n"
    rustfmt = Rustfmt(tmp_path)
    assert rustfmt.formatted(b"fn a( ) {}\r\n\r\nfn b() {}\r\n", "2021") == laid.replace(
        b"\n", ends
    )
    plain = b"\r\n" if style == "Windows" else b"\n"
    assert rustfmt.formatted(b"fn a( ) {}\n\nfn b() {}\n", "2021") == laid.replace(b"\n", plain)
