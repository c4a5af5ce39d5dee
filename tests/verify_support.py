"""What the tests of the ladder share: a ported tree, and stand-ins for cargo and test binaries."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from cli_support import invoke, make_candle
from jsonschema import Draft202012Validator

from portkit.engine.session import scan_tree
from portkit.verify import Options, VerifiedTree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pytest

# Every stand-in for cargo says a version, and has the components that come with it.
_VERSION = """\
case "$*" in
--version*|"fmt --version"|"clippy --version") echo "cargo 1.95.0"; exit 0;;
esac
"""


def script(place: Path, body: str) -> Path:
    """Write a program for sh."""
    place.write_text(f"#!/bin/sh\n{body}\n")
    place.chmod(0o755)
    return place


def stand_in(cargo: Path, body: str) -> Path:
    """Write a stand-in for cargo."""
    return script(cargo, _VERSION + body)


def install_cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a stand-in for cargo on PATH, and the cache beside the trees."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # Building the CPU device takes a minute, which only its own tests take.
    monkeypatch.setenv("PORTKIT_DEVICE_CXX", "no-compiler")
    for variable in ("CARGO_TARGET_DIR", "CUDA_HOME", "CUDA_PATH", "NVCC"):
        monkeypatch.delenv(variable, raising=False)
    return stand_in(folder / "cargo", "exit 0")


def make_ported(tmp_path: Path) -> Path:
    """Make a ported copy of the small candle; the port is not committed."""
    candle = make_candle(tmp_path / "candle")
    done = invoke("apply", candle, "--no-format")
    assert done.code == 0, done.err
    return candle


def make_tree(
    root: Path, say: Callable[[str], None] = lambda line: None, **options: Any
) -> VerifiedTree:
    """Return what the steps look at."""
    return VerifiedTree(scan_tree(root, gating="dummy"), Options(**options), say)


def valid(text: str) -> dict[str, Any]:
    """Return the document in a text, after a look at its schema."""
    document = json.loads(text)
    schema = (resources.files("portkit") / "report" / "verify.schema.json").read_text()
    Draft202012Validator(json.loads(schema)).validate(document)
    assert isinstance(document, dict)
    return document


def verify(candle: Path, *options: object) -> dict[str, dict[str, Any]]:
    """Run `portkit verify` and return its steps by name."""
    done = invoke("verify", candle, "--json", "-", *options)
    assert done.out, done.err
    document = valid(done.out)
    assert done.code == document["exit_code"]
    assert (done.code == 0) == (document["verdict"] in ("passed", "skipped"))
    return {step["step"]: step for step in document["steps"]}


def step(candle: Path, name: str, *options: object) -> tuple[str, list[str]]:
    """Run one step and return its verdict and evidence."""
    found = verify(candle, "--only", name, *options)[name]
    return found["verdict"], found["evidence"]


def only(*names: str) -> list[str]:
    """Return the options for these steps alone."""
    return [word for name in names for word in ("--only", name)]


def binary(place: Path, behaviour: Mapping[str, str]) -> Path:
    """Write a stand-in for a test binary that knows `--list` and `--exact`, as libtest has them.

    Args:
        place: the program.
        behaviour: test to its result, or to a command of sh.
    """
    listed = "\n".join(f'echo "{name}: test"' for name in behaviour)
    results = {"ok": "ok", "ignored": "ignored, it is slow", "FAILED": "FAILED"}
    cases = "\n".join(
        f'"{name}") '
        + (f'echo "test {name} ... {results[what]}"' if what in results else what)
        + ("; status=101;;" if what == "FAILED" else ";;")
        for name, what in behaviour.items()
    )
    return script(
        place,
        f'if test "$1" = --list; then\n{listed}\necho\necho "{len(behaviour)} tests"; exit 0\nfi\n'
        f'status=0; shift\nfor test; do case "$test" in\n{cases}\nesac; done\nexit $status',
    )


def artifact(root: Path, program: Path, source: str = "src/lib.rs", kind: str = "lib") -> str:
    """Return cargo's message about a test binary of candle-core."""
    crate = root / "candle-core"
    name = "candle_core" if kind == "lib" else source.rpartition("/")[2].removesuffix(".rs")
    return json.dumps(
        {
            "reason": "compiler-artifact",
            "package_id": f"path+file://{crate}#0.11.1",
            "manifest_path": str(crate / "Cargo.toml"),
            "target": {"kind": [kind], "name": name, "src_path": str(crate / source)},
            "profile": {"test": True},
            "executable": str(program),
        }
    )


@dataclass(frozen=True)
class Process:
    """A process that is known to have run: its number alone may be given to another."""

    number: int
    born: str

    @property
    def alive(self) -> bool:
        """Whether it runs; one that has ended but was not waited for does not."""
        state, born = _status(self.number)
        return born == self.born and state != "Z"


def process(number: int | str) -> Process:
    """Return the process that has this number now."""
    return Process(int(number), _status(int(number))[1])


def _status(number: int) -> tuple[str, str]:
    """Return the state of a process and when it began (proc_pid_stat(5), fields 3 and 22)."""
    try:
        with open(f"/proc/{number}/stat") as file:  # noqa: PTH123
            fields = file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return "", ""
    return fields[0], fields[19]


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait for a condition that must come true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)
