"""How the time and the memory of a scan grow with one file.

    python benches/linear.py [--counts 100,1000] [--only WORD] [--tree CANDLE] [--report FILE]

Each input is a crate with one file, in which something stands a given number of times. The scan
runs in a process of its own, as a user runs it. With --tree copies of that tree are scanned too,
which lie beside each other in one.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

COUNTS: Final = (100, 1_000, 10_000, 50_000)
COPIES: Final = (1, 5, 20)
"""How many copies of a tree lie beside each other."""
LIMIT: Final = 300
"""Seconds of processor time that one scan may take."""
_NOTHING_TO_PORT: Final = 11
_HEAD: Final = """# Files with many of a kind

Taken on {day} by `benches/linear.py`, on a machine of {cpu} cores with other work: processor
time and the most memory of `portkit scan`, of both of its processes together where there are two,
over a crate with one file. A file that is nested deeper than 1,000 levels is one finding (PK902),
and so is one with more than 200,000 mentions.
"""
_MANIFEST: Final = """[package]
name = "many"
version = "0.1.0"
edition = "2021"

[features]
cuda = []
"""


def _match(arms: str, name: str = "of") -> str:
    return f"pub fn {name}(d: &Device) -> usize {{\n    match d {{\n{arms}    }}\n}}\n"


def _arms(count: int) -> str:
    arms = "".join(f"        Device::Cuda{i}(d) => d.get({i}),\n" for i in range(count))
    return _match(f"{arms}        _ => 0,\n")


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
    return _match(f"        Device::Cuda(d) => 1,\n{arms}", "as_cuda")


def _arms_of_a_variant(count: int) -> str:
    """Arms on the source vendor's own variant, none of which takes the rest."""
    arms = "".join(f"        Device::Cuda({i}) => {i},\n" for i in range(count))
    return _match(f'        Device::Cpu => bail!("a GPU alone"),\n{arms}')


def _arms_of_a_variant_alone(count: int) -> str:
    """Arms on the source vendor's own variant, in a function that is CUDA's own."""
    arms = "".join(f"        Device::Cuda({i}) => {i},\n" for i in range(count))
    return _match(f"        Device::Cpu => 0,\n{arms}", "as_cuda")


def _patterns(count: int) -> str:
    asked = " | ".join(f"Device::Cuda({i})" for i in range(count))
    return f"pub fn of(d: &Device) -> bool {{\n    matches!(d, {asked})\n}}\n"


def _members(count: int) -> str:
    asked = " | ".join(f"Device::Cuda({i})" for i in range(count))
    return _match(f"        {asked} => 1,\n        _ => 0,\n")


def _variants(count: int) -> str:
    variants = "".join(f"    Cuda{i}(u8),\n" for i in range(count))
    return f"pub enum Device {{\n{variants}}}\n"


def _fields(count: int) -> str:
    fields = "".join(f'    #[cfg(feature = "cuda")]\n    cuda_{i}: u8,\n' for i in range(count))
    return f"pub struct Device {{\n{fields}}}\n"


def _messages(count: int) -> str:
    lines = "".join(f'    println!("runs on CUDA {i}");\n' for i in range(count))
    return f"pub fn say() {{\n{lines}}}\n"


def _keys(count: int) -> str:
    return "".join(f"cuda.k{i}.x = {i}\n" for i in range(count))


def _table(count: int) -> str:
    head = f"{_MANIFEST}[package.metadata.cuda]\n"
    return head + "".join(f"cuda{i} = {i}\n" for i in range(count))


def _decisions(count: int) -> str:
    return "".join(
        f"[[decision]]\nwhen = 'd{i}.is_cuda()'\nverdict = 'keep'\nreason = 'of the bench'\n\n"
        for i in range(count)
    )


INPUTS: Final[dict[str, tuple[str, Callable[[int], str]]]] = {
    "arms of a match": ("src/lib.rs", _arms),
    "peers' arms in a function of CUDA's": ("src/lib.rs", _arms_of_cuda),
    "arms of the vendor's variant": ("src/lib.rs", _arms_of_a_variant),
    "arms of the vendor's variant in a function of CUDA's": (
        "src/lib.rs",
        _arms_of_a_variant_alone,
    ),
    "patterns of a macro": ("src/lib.rs", _patterns),
    "members of a pattern": ("src/lib.rs", _members),
    "variants of an enum": ("src/lib.rs", _variants),
    "fields of a struct": ("src/lib.rs", _fields),
    "messages": ("src/lib.rs", _messages),
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
    "keys of a manifest's table": ("Cargo.toml", _table),
    "decisions that do nothing": ("portkit.toml", _decisions),
}


@dataclass(frozen=True)
class Scanned:
    """One scan.

    Attributes:
        seconds: of processor time, of all processes.
        memory: the most that its processes held at once, in MiB; a page that several have counts
            once (``Pss`` in proc_pid_smaps(5)).
        code: its exit code.
    """

    seconds: float
    memory: float
    code: int

    def __str__(self) -> str:
        """Return a cell of the table."""
        odd = "" if self.code in (0, _NOTHING_TO_PORT) else f", exit {self.code}"
        return f"{self.seconds:.1f} s, {self.memory:,.0f} MB{odd}"


def scanned(tree: Path, output: Path = Path(os.devnull)) -> Scanned:
    """Scan a tree, and write what is said to a file."""
    with output.open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "portkit", "scan", str(tree)],
            stdout=said,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT)),
        )
    most = 0
    while True:
        number, status, used = os.wait4(process.pid, os.WNOHANG)
        if number:
            break
        began = time.monotonic()
        most = max(most, sum(map(_pss, _family(process.pid))))
        # To count the pages of a large process takes the kernel longer the more there are.
        time.sleep(max(0.02, 10 * (time.monotonic() - began)))
    process.returncode = os.waitstatus_to_exitcode(status)
    return Scanned(used.ru_utime + used.ru_stime, most / 1024, process.returncode)


def _family(process: int) -> list[int]:
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [process, *(each for child in children for each in _family(int(child)))]


def _pss(process: int) -> int:
    """Return the memory of a process in KiB."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def copied(tree: Path, copies: int, root: Path) -> Path:
    """Make a workspace of copies of a tree, without its history."""
    for number in range(copies):
        leave = shutil.ignore_patterns(".git", "target")
        shutil.copytree(tree, root / f"copy{number}", ignore=leave, copy_function=os.link)
    (root / "Cargo.toml").write_text("[workspace]\nmembers = []\n")
    return root


def copies(tree: Path, most: Sequence[int]) -> Iterator[str]:
    """Yield the lines of the table of copies as they are measured."""
    yield f"| copies of {tree.name} | {' | '.join(f'{count:,}' for count in most)} |"
    yield f"| --- | {' | '.join('---:' for _ in most)} |"
    cells = []
    for count in most:
        with tempfile.TemporaryDirectory(dir=tree.parent) as name:
            cells.append(str(scanned(copied(tree, count, Path(name)))))
    yield f"| | {' | '.join(cells)} |"


def measure(path: str, text: str) -> Scanned:
    """Scan a crate with one file of this text."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "Cargo.toml").write_text(_MANIFEST)
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
        return scanned(root)


def table(counts: Sequence[int], only: str) -> Iterator[str]:
    """Yield the lines of the table as they are measured."""
    yield f"| a file with this many | {' | '.join(f'{count:,}' for count in counts)} |"
    yield f"| --- | {' | '.join('---:' for _ in counts)} |"
    for what, (path, make) in INPUTS.items():
        if only in what:
            cells = [str(measure(path, make(count))) for count in counts]
            yield f"| {what} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", default=",".join(map(str, COUNTS)))
    parser.add_argument("--only", default="", help="a part of the names of the inputs")
    parser.add_argument("--tree", type=Path, help="a tree to make copies of")
    parser.add_argument("--report", type=Path, help="the page to write")
    asked = parser.parse_args()
    lines: list[str] = []
    kinds = table([int(count) for count in asked.counts.split(",")], asked.only)
    trees = ("", *copies(asked.tree, COPIES)) if asked.tree else ()
    for line in chain(kinds, trees):
        print(line, flush=True)
        lines.append(line)
    if asked.report is not None:
        head = _HEAD.format(day=datetime.now(UTC).date(), cpu=os.cpu_count())
        asked.report.write_text("\n".join((head, *lines, "")))


if __name__ == "__main__":
    main()
