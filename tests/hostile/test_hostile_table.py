"""Hostile trees, as a table: what each tries, what is run on it, and what is said.

No case may end in a traceback, hang, run a program of the tree, or touch `victim` beside it. A
sparse archive, which no tree holds, is in test_hostile_files.py.
Other tests here look closer at the single points.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apply_support import git
from cli_support import WORKSPACE, add_file, commit, invoke
from hostile_support import trap, with_traps

import portkit
from portkit.transaction.disk import Disk
from portkit.transaction.journal import find_journals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIB = "candle-core/src/lib.rs"
MANIFEST = "candle-core/Cargo.toml"
KERNEL = b'#include "h.cuh"\n__global__ void k(float* x) { x[0] = 1; }\n'
CODEBASE = Path(portkit.__file__).parent / "codebases" / "candle"

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name")


@dataclass(frozen=True)
class Case:
    """A tree that means harm.

    Attributes:
        tries: what it tries, as a name.
        make: puts the harm into a small candle.
        command: what is run in it.
        code: the exit code.
        said: what the output must hold, as a regular expression.
    """

    tries: str
    make: Callable[[Path], object]
    command: str
    code: int
    said: str


def text(path: str, content: str | bytes) -> Callable[[Path], object]:
    data = content.encode() if isinstance(content, str) else content
    return lambda tree: add_file(tree, path, data)


def marked(path: str) -> Callable[[Path], object]:
    """Begin a file with a byte order mark, as some editors do; cargo passes over it."""
    return lambda tree: add_file(tree, path, b"\xef\xbb\xbf" + (tree / path).read_bytes())


def pipe(path: str) -> Callable[[Path], None]:
    def make(tree: Path) -> None:
        (tree / path).unlink(missing_ok=True)
        os.mkfifo(tree / path)

    return make


def link(path: str, target: str) -> Callable[[Path], None]:
    def make(tree: Path) -> None:
        (tree / path).unlink(missing_ok=True)
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).symlink_to(target)

    return make


def every(*steps: Callable[[Path], object]) -> Callable[[Path], None]:
    def make(tree: Path) -> None:
        for step in steps:
            step(tree)

    return make


def toolchain(tree: Path) -> None:
    for name in ("rustfmt", "cargo", "rustc"):
        trap(tree / "toolchain" / "bin" / name, tree.parent / "sprung")
    add_file(tree, "rust-toolchain.toml", f'[toolchain]\npath = "{tree}/toolchain"\n'.encode())
    commit(tree)


def configuration(tree: Path) -> None:
    add_file(tree, "a.rs", b"fn main() {}\n")
    with_traps(tree, tree.parent / "sprung")


def profile(change: tuple[str, str]) -> Callable[[Path], None]:
    """Give the tree a copy of candle's profile with a change."""

    def make(tree: Path) -> None:
        shutil.copytree(CODEBASE, tree / "own")
        file = tree / "own" / "codebase.toml"
        assert change[0] in file.read_text()
        file.write_text(file.read_text().replace(*change, 1))
        add_file(tree, "portkit.toml", b'profile = "own"\n')

    return make


def ported(tree: Path) -> None:
    assert invoke("apply", tree, "--no-format").code == 0


def record(tree: Path) -> None:
    """Put a pipe where the journal of a run lies."""
    folder = find_journals(tree.resolve(), Disk())[0].folder
    folder.mkdir(parents=True)
    os.mkfifo(folder / "committed.json")


def code(body: str) -> Callable[[Path], object]:
    return text("candle-core/src/more.rs", body)


NAME = "a\x1b[2J\u202eb\nc.rs"
BRANCH = "fn f(d: &Device) { if d.is_cuda() {} }\n"
CASES = (
    # Code and data of the tree.
    Case("a toolchain of its own", toolchain, "apply --diff .", 0, r"Rocm"),
    Case("filters and a monitor in git", configuration, "apply .", 0, r"Ported candle"),
    Case(
        "a profile elsewhere",
        text("portkit.toml", 'profile = "/etc/passwd"\n'),
        "scan .",
        16,
        r"portkit.toml:1: the profile '/etc/passwd' lies outside",
    ),
    Case(
        "a profile above",
        text("portkit.toml", 'profile = "../own"\n'),
        "scan .",
        16,
        r"the profile '../own' lies outside",
    ),
    Case(
        "a template that is a secret",
        profile(('"ROCM.md.j2"', '"/proc/self/environ"')),
        "apply --diff .",
        16,
        r"/proc/self/environ",
    ),
    Case(
        "a template above its directory",
        profile(('"ROCM.md.j2"', '"../../victim"')),
        "apply --diff .",
        16,
        r"victim",
    ),
    Case(
        "a template that is a link",
        every(
            profile(('"ROCM.md.j2"', '"secret.md"')),
            link("own/templates/secret.md", "/proc/self/environ"),
        ),
        "apply --diff .",
        16,
        r"secret\.md",
    ),
    Case(
        "hipify through a link",
        every(text("k.cu", KERNEL), text("h.cuh", ""), link("out/k.hip", "../../victim")),
        "hipify k.cu --output out",
        34,
        r"out",
    ),
    Case(
        "hipify into a folder that is a link",
        every(text("k.cu", KERNEL), text("h.cuh", ""), link("out", "..")),
        "hipify k.cu --output out",
        34,
        r"out is a link to \.\., and nothing is written through a link of a tree",
    ),
    Case(
        "hipify below a folder that is a link",
        every(text("k.cu", KERNEL), text("h.cuh", ""), link("a", "..")),
        "hipify k.cu --output a/out",
        34,
        r"a is a link to \.\., and nothing is written through a link of a tree",
    ),
    Case(
        "a report through a link",
        link("report.html", "../victim"),
        "scan . --format html --output report.html",
        21,
        r"report\.html is a link to \.\./victim",
    ),
    Case(
        "a profile with NUL",
        text("portkit.toml", 'profile = "a\\u0000b"\n'),
        "scan .",
        23,
        r"portkit\.toml:1: a text holds \\u0000: take it out",
    ),
    Case(
        "a profile of 5,000 characters",
        text("portkit.toml", f'profile = "{"a" * 5000}"\n'),
        "scan .",
        16,
        r"cannot be looked for \(File name too long\)",
    ),
    Case(
        "a profile of 5,000 folders",
        text("portkit.toml", f'profile = "{"a/" * 5000}"\n'),
        "scan .",
        16,
        r"cannot be looked for \(File name too long\)",
    ),
    Case(
        "a template of 5,000 characters",
        profile(('"ROCM.md.j2"', f'"{"a" * 5000}.j2"')),
        "scan .",
        16,
        r"codebase\.toml:\d+: 'templates/a+' cannot be looked for",
    ),
    Case(
        "a file of 5,000 characters that a profile adds",
        profile(('"ROCM.md" =', f'"{"a" * 5000}" =')),
        "scan .",
        16,
        r"codebase\.toml:\d+: the path 'a+' is too long for a file",
    ),
    Case(
        "a file that a profile adds above the tree",
        profile(('"ROCM.md" =', '"../victim" =')),
        "apply .",
        0,
        r".",
    ),
    Case(
        "a regular expression as a type of the host",
        profile(('storage = "CpuStorage"', 'storage = "((a+)+)+$"')),
        "scan .",
        16,
        r"codebase\.toml:\d+: '\(\(a\+\)\+\)\+\$' is not an identifier",
    ),
    Case(
        "a regular expression that takes long",
        text("portkit.toml", '[[decision]]\nwhen = "(a+)+$"\nverdict = "keep"\nreason = "x"\n'),
        "scan .",
        0,
        r".",
    ),
    Case(
        "a pattern that takes long",
        text("portkit.toml", f'[[exclude]]\npaths = ["{"*a" * 5000}"]\nreason = "x"\n'),
        "scan .",
        0,
        r".",
    ),
    Case(
        "a header that leads out",
        every(text("src/k.cu", KERNEL), link("src/h.cuh", "../../victim")),
        "hipify src --output out",
        33,
        r"h\.cuh is a link that leads out",
    ),
    Case(
        "code that verify would run",
        ported,
        "verify . --only check",
        26,
        r"pass --trust where you would",
    ),
    Case(
        "escapes in a name and in code",
        every(
            text(f"candle-core/src/{NAME}", BRANCH),
            code('fn f() { if d.is_cuda() { x("\x1b[2J\u202e") } }\n'),
        ),
        "scan . --all",
        0,
        r"a\\x1b\[2J\\u202eb\\nc\.rs",
    ),
    # Wrong results.
    Case(
        "two spaces after fn",
        code('#[cfg(feature = "cuda")]\npub fn  moe_gemm() {}\n'),
        "scan .",
        0,
        r"findings? needs? ROCm",
    ),
    Case(
        "a field in short under the feature",
        code('fn f(a: u8, b: u8) -> S {\n    S { #[cfg(feature = "cuda")] a, b }\n}\n'),
        "apply --diff .",
        0,
        r'any\(feature = "cuda", feature = "rocm"\)\)\] a, b \}',
    ),
    Case("a byte order mark in the root manifest", marked("Cargo.toml"), "apply .", 0, r"Ported"),
    Case("a byte order mark in a member's", marked(MANIFEST), "apply .", 0, r"Ported candle"),
    Case("workspace = 3", text("Cargo.toml", "workspace = 3\n"), "scan .", 10, r"Cargo\.toml"),
    Case("package = 3", text("Cargo.toml", "package = 3\n"), "scan .", 10, r"Cargo\.toml"),
    Case(
        "package = 3 in a member",
        text("other/Cargo.toml", "package = 3\n"),
        "scan .",
        0,
        r"other/Cargo\.toml",
    ),
    Case(
        "100,000 brackets",
        code(f"fn f() {{ let cuda = {'[' * 100_000}; }}\n"),
        "scan .",
        0,
        r"findings? needs? ROCm",
    ),
    Case(
        "300 nested cfgs",
        code("#[cfg(" + "all(" * 300 + 'feature = "cuda"' + ")" * 300 + ")]\nfn f() {}\n"),
        "scan .",
        0,
        r"findings? needs? ROCm",
    ),
    # Time and memory.
    Case("a manifest that is a pipe", pipe("Cargo.toml"), "scan .", 10, r"no regular file"),
    Case(
        "a manifest that never ends",
        link("Cargo.toml", "/dev/zero"),
        "scan .",
        10,
        r"no regular file",
    ),
    Case("a source that is a pipe", pipe("candle-core/src/more.rs"), "scan .", 0, r"places"),
    Case(
        "a source that never ends",
        link("candle-core/src/more.rs", "/dev/zero"),
        "scan .",
        0,
        r"places",
    ),
    Case("settings that are a pipe", pipe("portkit.toml"), "scan .", 23, r"it is no regular file"),
    Case(
        "a record that is a pipe", record, "apply .", 21, r"cannot be read \(it is no regular file"
    ),
    Case(
        "a file of 17 MiB", code("// cuda\n" + " " * (17 << 20)), "scan .", 0, r"larger than 16 MiB"
    ),
    Case(
        "a line with 60,000 mentions",
        code(f'fn f() {{ g("{"cuda " * 60_000}") }}\n'),
        "scan .",
        0,
        r"findings? needs? ROCm",
    ),
    Case(
        "bytes that are no text",
        text("candle-core/src/more.rs", b"// cuda \xff\n"),
        "scan .",
        0,
        r"not UTF-8",
    ),
)


@contextmanager
def ended_in(seconds: int) -> Iterator[None]:
    """End what hangs with an error."""

    def hangs(*_: object) -> None:
        raise TimeoutError(f"no end after {seconds} s")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.tries)
def test_what_is_said(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree, victim = tmp_path / "tree", tmp_path / "victim"
    shutil.copytree(WORKSPACE, tree)
    commit(tree)
    victim.write_text("precious\n")
    case.make(tree)
    if (
        case.command.startswith("apply") and case.make is not configuration
    ):  # what the case has put there is no uncommitted change
        git(tree, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "add", "--all")
        git(tree, "commit", "--quiet", "--allow-empty", "--no-verify", "--message", "all")
        (tmp_path / "sprung").unlink(missing_ok=True)
    monkeypatch.delenv("PORTKIT_TRUST", raising=False)
    monkeypatch.chdir(tree)
    with ended_in(60):
        done = invoke(*case.command.split())
    printed = done.out + done.err
    assert done.code == case.code, printed[-2000:]
    assert re.search(case.said, printed), printed[-2000:]
    assert "Traceback" not in printed
    assert "precious" not in printed
    assert victim.read_text() == "precious\n"
    assert not (tmp_path / "sprung").exists()
    if done.code >= 10:
        assert done.err.splitlines()[-1].startswith("error: ")
