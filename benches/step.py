"""What a step of a model costs a GPU, as the CPU device counts it: launches and calls of HIP.

Usage: python benches/step.py PORTED [--wave 32|64] [--report FILE]

PORTED is a ported candle. A program (``benches/step``) runs a few steps of small models with random
weights; one step more, and one layer more, differ by what they cost. The numbers are exact, and
those of any GPU with that size of wavefront: they depend on no time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from portkit.crosscheck.place import placed
from portkit.device.toolkit import build_toolkit
from portkit.verify.device_choice import ARCH_OF_WAVE

HERE = Path(__file__).resolve().parent
WORKLOADS = (
    "decode, quantized",
    "decode, f16",
    "prefill, quantized",
    "training, f32",
    "image, f16",
)
LAYERS = 2
STEPS = 3
KINDS = {
    "launches": ("kernel", "rocblas", "hiprand"),
    "allocations": ("hipMalloc", "hipMallocAsync", "hipMallocFromPoolAsync"),
    "uploads": ("hipMemcpyHtoD", "hipMemcpyHtoDAsync"),
    "copies on the device": ("hipMemcpyDtoDAsync", "hipMemcpyDtoD", "hipMemsetAsync"),
    "downloads": ("hipMemcpyDtoH", "hipMemcpyDtoHAsync"),
    "waits": ("hipStreamSynchronize", "hipDeviceSynchronize", "hipEventSynchronize"),
}
"""What is counted, and of which calls; a kernel counts as one of ``kernel``."""
HEAD = """# What a step costs

Taken on {day} by `benches/step.py` with candle {version} on the CPU device, wavefronts of {wave}.
A step is a token where a model decodes, a prompt, an image, or forward, backward and the optimizer.
The second number is of each layer in it: what one layer more adds.

"""


@dataclass(frozen=True)
class Cost:
    """What a step calls, and how often.

    Attributes:
        step: in a model of `LAYERS` layers.
        layer: the part of each layer.
    """

    step: Counter[str]
    layer: Counter[str]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("tree", type=Path, metavar="PORTED")
    options.add_argument("--wave", type=int, choices=sorted(ARCH_OF_WAVE), default=32)
    options.add_argument("--report", type=Path, metavar="FILE")
    options.add_argument("--calls", action="store_true", help="print each call by its name")
    asked = options.parse_args()
    environment = build_toolkit().environment(arch=ARCH_OF_WAVE[asked.wave])
    program = built(asked.tree, environment)
    costs = {name: cost(program, name, environment) for name in WORKLOADS}
    text = table(costs)
    print(text)
    if asked.calls:
        for name, each in costs.items():
            print(f"\n{name}")
            for call, times in sorted(each.step.items()):
                print(f"  {times:5} {each.layer[call]:4} {call}")
    if asked.report:
        manifest = (asked.tree / "Cargo.toml").read_text()
        version = manifest.split('version = "', 1)[1].split('"', 1)[0]
        head = HEAD.format(day=datetime.now(UTC).date(), version=version, wave=asked.wave)
        asked.report.write_text(head + text + "\n")
    return 0


def built(tree: Path, environment: dict[str, str]) -> Path:
    """Return the program, built beside a link to the ported tree."""
    base = HERE.parent / "build/step"
    crate = placed(tree, "candle", base, HERE / "step")
    command = ["cargo", "build", "--quiet", "--target-dir", str(base / "target")]
    subprocess.run(command, cwd=crate, env=environment, check=True)
    return base / "target/debug/step"


def cost(program: Path, workload: str, environment: dict[str, str]) -> Cost:
    """Return what a step more costs, and what it costs for each layer more."""
    small, large = (
        calls(program, workload, layers, STEPS + 1, environment)
        - calls(program, workload, layers, STEPS, environment)
        for layers in (LAYERS, LAYERS + 1)
    )
    return Cost(small, large - small)


def calls(
    program: Path, workload: str, layers: int, steps: int, environment: dict[str, str]
) -> Counter[str]:
    """Return how often a run calls each function of HIP, and launches each kernel."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [program, workload, str(layers), str(steps)],
            env={**environment, "PORTKIT_DEVICE_REPORT": folder},
            check=True,
        )
        (report,) = Path(folder).glob("*.json")
        seen = json.loads(report.read_text())
    kernels = {f"kernel {name}": times for name, times in seen["kernels"].items()}
    return Counter(seen["calls"]) + Counter(kernels)


def table(costs: dict[str, Cost]) -> str:
    """Return the counts as a table of Markdown."""
    rows = [f"| step | {' | '.join(KINDS)} |", f"| --- |{' ---: |' * len(KINDS)}"]
    for name, each in costs.items():
        cells = (
            f"{of_kind(each.step, names)}, {of_kind(each.layer, names)}" for names in KINDS.values()
        )
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def of_kind(counted: Counter[str], names: tuple[str, ...]) -> int:
    """Return how often functions were called that have a name, or begin with it."""
    return sum(
        times
        for call, times in counted.items()
        if call in names or call.split(" ")[0] in names or call.startswith(names[1:] or names)
    )


if __name__ == "__main__":
    raise SystemExit(main())
