"""What a step of a model costs a GPU, as the CPU device counts it, and whether its paths agree.

Usage: python benches/step.py PORTED [--wave 32|64]... [--report FILE] [--calls] [--no-bytes]

PORTED is a ported candle. A program (``benches/step``) runs a few steps of small models with random
weights; one step more, and one layer more, differ by what they cost. Launches and calls are exact,
and those of any GPU with that size of wavefront: they depend on no time. Bytes are those that are
asked for, each time that they are, as if there were no cache, and those that a cache fetches.

A model that has fused paths on ROCm, for attention or for its experts, is run without them as
well, and its logits are compared. A copy of the tree is made for that, in which a variable turns
them off.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from portkit.cache import cache_folder
from portkit.codebases.registry import find_codebase
from portkit.device.toolkit import build_toolkit
from portkit.errors import PortkitError
from portkit.numerics.program_crate import place_program
from portkit.profiles.profile import load_codebase
from portkit.verify.device_choice import ARCH_OF_WAVE, list_build_variables
from portkit.verify.settings import load_settings
from tools.proof.mutation import SWITCH, Mutant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HERE = Path(__file__).resolve().parent
MODELS = HERE / "step"
BASE = HERE.parent / "build/step"
LAYERS = 2
STEPS = 3

WITHOUT = "without fused paths"
"""What the switch is set to."""


def condition(file: str, find: str, after: str = "") -> Mutant:
    """Return the edit that lets a condition be turned off."""
    defect = "a fused path is not taken"
    place = f"candle-transformers/src/models/{file}.rs"
    return Mutant(name=WITHOUT, defect=defect, file=place, find=find, replace="false", after=after)


PATHS = (
    condition("quantized_llama", r"q\.device\(\)\.is_rocm\(\)"),
    condition("qwen3", "!on_cpu", after=r'feature = "rocm-flash-attn"\)\)\]\s*if '),
    condition("qwen3_moe", r"candle_nn::moe::fused_on_rocm\(&vb\)\.unwrap_or\([^)]*\)\)"),
)
"""The conditions for fused paths on ROCm; Llama has a setting, which the program sets."""


@dataclass(frozen=True)
class Model:
    """A workload, and what it is compared with.

    Attributes:
        name: what the program calls it.
        bound: how far the logits may be from those without fused paths, in parts of the largest
            one: what the cross-check allows a model of that type (``docs/proof.md``).
        prompt: how many tokens there are before the first step: as many as the CPU device does in
            some seconds.
        beside: another workload, which computes the same; by default itself without fused paths.
    """

    name: str
    bound: float
    prompt: int
    beside: str = ""


MODELS_COMPARED = (
    Model("Llama, f32", 2e-5, 240),
    Model("Llama, f16", 2e-2, 240),
    Model("Llama, quantized", 6e-2, 48),
    Model("Qwen3-MoE, f16", 2e-2, 12),
    # Without fused experts candle has no such model: the same values in f32 stand beside it.
    Model("Qwen3-MoE, quantized", 6e-2, 12, "Qwen3-MoE, dequantized"),
)
ALONE = ("Llama, quantized, the prompt", "training, f32", "image, f16")
"""Workloads that have one way only."""
OF_ALONE = 12
"""Tokens of their prompts."""

KINDS = {
    "launches": r"kernel |rocblas_.*gem|hiprandGenerate",
    "allocations": "hipMalloc",
    "uploads": "hipMemcpyHtoD",
    "copies on the device": "hipMemcpyDtoD|hipMemset",
    # The bindings give the host what they have copied.
    "host waits": "hipMemcpyDtoH|hip(Stream|Device|Event)Synchronize",
    "KiB read": "traffic read",
    "KiB fetched": "traffic fetched",
    "KiB written": "traffic written",
}
"""What is counted, and how the names of such calls begin."""
KIB = 1024

KNOWN = re.compile("uninitialised-read: .* kernel (?:mul_mat_q|moe_gemm_gguf_prefill)")
"""What the checker says of a program that is right: upstream's products of quantized matrices read
whole tiles, of rows and of an expert's weights, and keep nothing of those that are not there."""


@dataclass(frozen=True)
class Cost:
    """What a step calls, and how often; bytes that it reads and writes.

    Attributes:
        step: in a model of `LAYERS` layers.
        layer: the part of each layer.
    """

    step: Counter[str]
    layer: Counter[str]


@dataclass(frozen=True)
class Program:
    """The workloads, built for the CPU device.

    Attributes:
        path: of the program.
        checked: whether accesses of memory are counted.
    """

    path: Path
    checked: bool

    def run(
        self,
        workload: str,
        wave: int,
        size: tuple[int, int, int],
        *,
        fused: bool,
        logits: bool = False,
        report: Path | None = None,
    ) -> str:
        """Run a workload and return what it prints.

        Args:
            workload: by its name.
            wave: lanes of a wavefront.
            size: layers, tokens of the prompt, steps.
            fused: whether fused paths are taken.
            logits: whether they are printed.
            report: a folder for what the device has seen.
        """
        environment = build_toolkit().environment(arch=ARCH_OF_WAVE[wave], checked=self.checked)
        environment |= {} if fused else {SWITCH: WITHOUT}
        environment |= {"PORTKIT_DEVICE_REPORT": str(report)} if report else {}
        words = [str(number) for number in size] + ["logits"] * logits
        command = [str(self.path), workload, *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        told = [line for line in done.stderr.splitlines() if "HIP device: " in line]
        if done.returncode != 0 or any(not KNOWN.search(line) for line in told):
            raise PortkitError(f"{workload} on wavefronts of {wave}: {done.stderr[-2000:]}")
        return done.stdout

    def calls(
        self, workload: str, wave: int, size: tuple[int, int, int], *, fused: bool
    ) -> Counter[str]:
        """Return how often a run calls each function of HIP and launches each kernel; its bytes."""
        with tempfile.TemporaryDirectory() as folder:
            self.run(workload, wave, size, fused=fused, report=Path(folder))
            (report,) = Path(folder).glob("*.json")
            seen = json.loads(report.read_text())
        kernels = {f"kernel {name}": times for name, times in seen["kernels"].items()}
        bytes_of = {f"traffic {what}": count for what, count in seen.get("traffic", {}).items()}
        return Counter(seen["calls"]) + Counter(kernels) + Counter(bytes_of)

    def cost(self, workload: str, wave: int, prompt: int, *, fused: bool) -> Cost:
        """Return what a step more costs, and what it costs for each layer more."""

        def step(layers: int) -> Counter[str]:
            more, less = (
                self.calls(workload, wave, (layers, prompt, steps), fused=fused)
                for steps in (STEPS + 1, STEPS)
            )
            return more - less

        small = step(LAYERS)
        return Cost(small, step(LAYERS + 1) - small)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("tree", type=Path, metavar="PORTED")
    options.add_argument("--wave", type=int, choices=sorted(ARCH_OF_WAVE), action="append")
    options.add_argument("--report", type=Path, metavar="FILE")
    options.add_argument("--no-bytes", action="store_true", help="without the checker: sooner")
    options.add_argument("--calls", action="store_true", help="print each call by its name")
    asked = options.parse_args()
    waves = asked.wave or sorted(ARCH_OF_WAVE)
    program = built(asked.tree, BASE, checked=not asked.no_bytes)
    manifest = (asked.tree / "Cargo.toml").read_text(encoding="utf-8")
    text = HEAD.format(
        day=datetime.now(UTC).date(),
        version=manifest.split('version = "', 1)[1].split('"', 1)[0],
        layers=LAYERS,
        steps=STEPS,
    )
    for wave in waves:
        title = f"## Wavefronts of {wave}"
        text += "\n".join([title, "", *section(program, wave, asked), ""])
    print(text)
    if asked.report:
        asked.report.write_text(text, encoding="utf-8")
    return 0


def section(program: Program, wave: int, asked: argparse.Namespace) -> Iterator[str]:
    """Yield what there is to say of one size of wavefronts, as lines of Markdown."""
    yield "| model | the logits are off by | allowed |"
    yield "| --- | ---: | ---: |"
    for model in MODELS_COMPARED:
        off = difference(program, model, wave, (LAYERS, model.prompt, STEPS))
        yield f"| {model.name} | {off:.1e} | {model.bound:.0e} |"
    yield ""
    kinds = [kind for kind in KINDS if program.checked or not kind.startswith("KiB")]
    yield f"| a step of | tokens before | {' | '.join(kinds)} |"
    yield f"| --- | ---: |{' ---: |' * len(kinds)}"
    calls = []
    for name, prompt, fused in ways():
        each = program.cost(name, wave, prompt, fused=fused)
        cells = (f"{amount(each.step, kind)}, {amount(each.layer, kind)}" for kind in kinds)
        title = name if fused else f"{name}, {WITHOUT}"
        yield f"| {title} | {prompt} | {' | '.join(cells)} |"
        calls += [f"\n{title}"]
        calls += [f"  {n:8} {each.layer[call]:8} {call}" for call, n in sorted(each.step.items())]
    yield ""
    if asked.calls:
        print("\n".join(calls))


def ways() -> Iterator[tuple[str, int, bool]]:
    """Yield the workloads whose cost is counted, with their prompts and whether paths are fused."""
    for model in MODELS_COMPARED:
        yield model.name, model.prompt, True
        yield (model.beside or model.name), model.prompt, False
    yield from ((name, OF_ALONE, True) for name in ALONE)


HEAD = """# Models: what a step costs, and what it gives

Taken on {day} by `benches/step.py` with candle {version} on the CPU device. Small models with
random weights, of {layers} layers.

The largest difference to the logits without fused paths, in the prompt and {steps} steps, is told
in parts of the largest logit of that step. *Qwen3-MoE, dequantized* is what stands beside the
quantized one, which has no other path: the values of its weights, in f32, expert by expert.

A step is a token, or a prompt, an image, or forward, backward and the optimizer. The second number
is of each layer in it: what one more adds. The host waits for what it downloads, too. Bytes, where
they are counted, are those that are asked for, each time, with no cache between; *fetched* are
those that leave the GPU's memory if each launch finds an empty cache, and keeps all that it reads.

"""


def built(tree: Path, base: Path, *, checked: bool = False) -> Program:
    """Return the program, built beside a copy of a ported tree in which paths can be turned off."""
    copy = base / "tree"
    shutil.copytree(tree, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("target", ".git"))
    for path in PATHS:
        place = copy / path.file
        text = path.seeded(place.read_text(encoding="utf-8"), switched=True)
        place.write_text(text, encoding="utf-8")
    crate = place_program(copy, "candle", base, MODELS)
    settings = load_settings(load_codebase(find_codebase("candle")))
    archs = ARCH_OF_WAVE.values()
    environment = build_toolkit().environment(arch="", checked=checked)
    environment |= list_build_variables(settings, archs)
    target = cache_folder() / "target" / ("step-checked" if checked else "step")
    command = ["cargo", "build", "--quiet", "--target-dir", str(target)]
    subprocess.run(command, cwd=crate, env=environment, check=True)
    return Program(target / "debug/step", checked)


def difference(program: Program, model: Model, wave: int, size: tuple[int, int, int]) -> float:
    """Return how far logits are off from those without fused paths, in parts of the largest."""
    found = program.run(model.name, wave, size, fused=True, logits=True)
    without = program.run(model.beside or model.name, wave, size, fused=False, logits=True)
    return max(off(*pair) for pair in zip(logits(found), logits(without), strict=True))


def logits(printed: str) -> list[list[float]]:
    """Return the logits of each forward pass."""
    return [[float(word) for word in line.split()] for line in printed.splitlines()]


def off(found: list[float], expected: list[float]) -> float:
    """Return the largest difference, in parts of the largest number that is expected."""
    differences = [abs(a - b) for a, b in zip(found, expected, strict=True)]
    # What is no number is off by more than anything allows.
    worst = max(differences) if all(x == x for x in differences) else float("inf")
    return worst / max(map(abs, expected))


def amount(counted: Mapping[str, int], kind: str) -> int:
    """Return how often functions of a kind were called, or how many KiB were read or written."""
    total = sum(times for call, times in counted.items() if re.match(KINDS[kind], call))
    return round(total / KIB) if kind.startswith("KiB") else total


if __name__ == "__main__":
    raise SystemExit(main())
