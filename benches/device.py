"""How fast the CPU device is, and what its checker costs, as a ratio within one run.

Usage: python benches/device.py [--wave 32|64]. It compiles ``device.hip`` twice, with checks and
without, and runs it on one host thread and on as many as there are processors. The checker takes
one access after the other, so its ratio is to one host thread.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from portkit.device.toolkit import Toolkit, build_toolkit
from portkit.verify.device_choice import ARCH_OF_WAVE

SOURCE = Path(__file__).with_suffix(".hip")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--wave", type=int, choices=sorted(ARCH_OF_WAVE), default=32)
    arch = ARCH_OF_WAVE[parser.parse_args().wave]
    toolkit = build_toolkit()
    with tempfile.TemporaryDirectory() as folder:
        plain = compiled(toolkit, Path(folder) / "plain", arch, checked=False)
        checked = compiled(toolkit, Path(folder) / "checked", arch, checked=True)
        one = measured(toolkit, plain, arch, checked=False, threads="1")
        every = measured(toolkit, plain, arch, checked=False, threads="")
        watched = measured(toolkit, checked, arch, checked=True, threads="1")
    print(f"{'kernel':16} {'1 thread':>10} {'all':>10} {'checker':>10} {'ratio':>6}")
    for name, speed in one.items():
        numbers = " ".join(f"{each / 1e6:8.2f} M" for each in (speed, every[name], watched[name]))
        print(f"{name:16} {numbers} {speed / watched[name]:6.1f}")
    return 0


def compiled(toolkit: Toolkit, program: Path, arch: str, *, checked: bool) -> Path:
    command: list[str | Path] = [
        toolkit.hipcc(checked=checked),
        f"--offload-arch={arch}",
        SOURCE,
        "-o",
        program,
    ]
    subprocess.run(command, check=True)
    return program


def measured(
    toolkit: Toolkit, program: Path, arch: str, *, checked: bool, threads: str
) -> dict[str, float]:
    """Return the GPU threads a second of each kernel."""
    environment = toolkit.environment(arch=arch, checked=checked)
    environment["PORTKIT_DEVICE_THREADS"] = threads
    done = subprocess.run([program], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    rows = [line.rsplit(" ", 2) for line in done.stdout.splitlines()]
    return {name: float(count) / float(seconds) for name, count, seconds in rows}


if __name__ == "__main__":
    sys.exit(main())
