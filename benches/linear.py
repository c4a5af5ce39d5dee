"""How the time and the memory of a scan grow with one file.

    python -m benches.linear [--counts 100,1000] [--markdown FILE]

Each input is a crate with one file, in which something stands a given number of times. The scan
runs in a process of its own, as a user runs it.
"""

from __future__ import annotations

import argparse
import platform
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTS: Final = (100, 1_000, 10_000, 50_000)
LIMIT: Final = 15
"""Seconds that one scan may take."""
_MANIFEST: Final = """[package]
name = "many"
version = "0.1.0"
edition = "2021"

[features]
cuda = []
"""


def _arms(count: int) -> str:
    arms = "".join(f"        Device::Cuda{i}(d) => d.get({i}),\n" for i in range(count))
    return f"pub fn of(d: &Device) -> usize {{\n    match d {{\n{arms}        _ => 0,\n    }}\n}}\n"


def _conditions(count: int) -> str:
    asked = " || ".join(f"d{i}.is_cuda()" for i in range(count))
    return f"pub fn any() -> bool {{\n    {asked}\n}}\n"


def _branches(count: int) -> str:
    chain = " else ".join(
        f"if x == {i} && d.is_cuda() {{\n        {i}\n    }}" for i in range(count)
    )
    return f"pub fn of(d: &Device) -> usize {{\n    {chain} else {{\n        0\n    }}\n}}\n"


def _line(count: int) -> str:
    return f"pub const NAMES: &[usize] = &[{', '.join('cuda::N' for _ in range(count))}];\n"


def _items(count: int) -> str:
    return "".join(f'#[cfg(feature = "cuda")]\npub use gpu::cuda::name{i};\n' for i in range(count))


def _functions(count: int) -> str:
    return "".join(
        f'#[cfg(feature = "cuda")]\npub fn f{i}(d: &D) -> bool {{\n    gpu::cuda::ask(d)\n}}\n\n'
        for i in range(count)
    )


def _statements(count: int) -> str:
    lines = "".join(f"    gpu::cuda::set({i});\n" for i in range(count))
    return f"pub fn set() {{\n{lines}}}\n"


def _steps(count: int) -> str:
    steps = "".join(
        f"    if let Device::Cuda(d) = d{i} {{\n        d.run({i});\n    }}\n" for i in range(count)
    )
    return f"pub fn run() {{\n{steps}}}\n"


def _methods(count: int) -> str:
    body = "".join(
        f"    fn cuda_{i}(&self) -> usize {{\n        {i}\n    }}\n\n" for i in range(count)
    )
    return f"impl Device {{\n{body}}}\n"


def _comments(count: int) -> str:
    return "".join(f"/// Runs on CUDA: {i}.\npub fn f{i}() {{}}\n" for i in range(count))


def _nested(count: int) -> str:
    inner = 'feature = "cuda"'
    return f"#[cfg({'all(' * count}{inner}{')' * count})]\npub fn f() {{}}\n"


def _brackets(count: int) -> str:
    return f"pub const CUDA: usize = {'(' * count}1{')' * count};\n"


def _arms_of_cuda(count: int) -> str:
    """Arms that turn a peer away, in a function that is CUDA's own."""
    arms = "".join(f'        Device::Metal{i}(_) => bail!("no Metal"),\n' for i in range(count))
    arms = f"        Device::Cuda(d) => 1,\n{arms}"
    return f"pub fn as_cuda(d: &Device) -> usize {{\n    match d {{\n{arms}    }}\n}}\n"


def _keys(count: int) -> str:
    return "".join(f"cuda.k{i}.x = {i}\n" for i in range(count))


INPUTS: Final[dict[str, tuple[str, Callable[[int], str]]]] = {
    "arms of a match": ("src/lib.rs", _arms),
    "peers' arms in a function of CUDA's": ("src/lib.rs", _arms_of_cuda),
    "conditions in one expression": ("src/lib.rs", _conditions),
    "branches of a chain": ("src/lib.rs", _branches),
    "mentions in one line": ("src/lib.rs", _line),
    "imports under a feature": ("src/lib.rs", _items),
    "functions under a feature": ("src/lib.rs", _functions),
    "statements": ("src/lib.rs", _statements),
    "steps of a block": ("src/lib.rs", _steps),
    "methods of an implementation": ("src/lib.rs", _methods),
    "documented items": ("src/lib.rs", _comments),
    "levels of a condition": ("src/lib.rs", _nested),
    "levels of brackets": ("src/lib.rs", _brackets),
    "dotted keys": ("keys.toml", _keys),
}


@dataclass(frozen=True)
class Measured:
    """One scan: seconds of processor time, and the largest size of the process in MB."""

    seconds: float
    megabytes: float
    code: int


def measure(path: str, text: str) -> Measured:
    """Scan a crate with one file of this text."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "Cargo.toml").write_text(_MANIFEST)
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
        command = [sys.executable, "-m", "portkit", "scan", str(root)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            done = subprocess.run(command, capture_output=True, timeout=LIMIT, check=False)
            code = done.returncode
        except subprocess.TimeoutExpired:
            code = -1
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Measured(seconds, after.ru_maxrss / 1024, code)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", default=",".join(map(str, COUNTS)))
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    counts = [int(count) for count in options.counts.split(",")]
    print(f"| what | {' | '.join(f'{c:,}' for c in counts)} |")
    print(f"| --- | {' | '.join('---:' for _ in counts)} |")
    for what, (path, make) in INPUTS.items():
        if options.only not in what:
            continue
        print(f"| {what} |", end="", flush=True)
        for count in counts:
            found = measure(path, make(count))
            print(
                f" {found.seconds:.1f} s{'' if found.code in (0, 11) else f' exit {found.code}'} |",
                end="",
                flush=True,
            )
        print()
    print(time.strftime("%Y-%m-%d"), platform.machine(), datetime.now(UTC).date())


if __name__ == "__main__":
    main()
