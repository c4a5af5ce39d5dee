"""Time the kernels of attention on an NVIDIA GPU, and compare them with double precision there.

Usage: ``ci/nvidia/attention.py [--cases N] [--seed S] [--json FILE]``, on a machine that has the
GPU, nvcc and PyTorch; candle, Rust and ROCm are not needed.

The kernels are compiled as the stand-in's hipcc compiles those of a port, and launched by the
driver as ``candle_nn::ops::sdpa`` launches them, also those in whose place it asks rocBLAS. Beside
each stand the same sums in single operations, one kernel of PyTorch for each that candle launches,
and PyTorch's own fused attention, which has matrix cores.

nvcc has to take a row for as little aligned as its elements are and reads it in parts, where an AMD
GPU reads 16 bytes from any address. So each is timed twice: as it is, and with rows declared to
begin at multiples of 16 bytes, which these do.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import random
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
sys.path[:0] = [str(ROOT), str(HERE)]

import torch  # type: ignore[import-not-found]  # noqa: E402

from hipcc import capability, compiled  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

PRELUDE: Final = ROOT / "crates" / "build" / "src" / "device"
KERNELS: Final = PRELUDE / "attention.hip"
DTYPES: Final = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
THREADS: Final = 256
TILE: Final = 64
FEW: Final = 8
ALL: Final = 1 << 30
"""So many keys before or behind a query's own are all."""
ROUNDS: Final = 7
CALLS: Final = 8
"""In a graph, so that what starts a kernel is not in its time."""


class Launch(ctypes.Structure):
    """What ``Launch`` of the kernels is."""

    _fields_ = (
        *((f"{name}_stride", ctypes.c_int64 * 3) for name in "qkv"),
        ("mask_stride", ctypes.c_int64 * 4),
        ("out_stride", ctypes.c_int32 * 3),
        *(
            (name, ctypes.c_int32)
            for name in (
                *("rows", "batches", "heads", "shared_by", "queries", "keys", "width", "v_width"),
                *("keys_each", "parts", "before", "behind", "page", "pages", "ranges"),
                "unseeing",
            )
        ),
        ("scale", ctypes.c_float),
        ("cap", ctypes.c_float),
    )


@dataclass(frozen=True)
class Case:
    """One call of attention.

    Attributes:
        dtype: a key of ``DTYPES``.
        batch: how many at once.
        heads: of the queries.
        kv_heads: of the keys and values.
        queries: in each head.
        keys: in each head.
        width: of a head, in elements.
        causal: whether later keys are hidden from earlier queries.
    """

    dtype: str
    batch: int
    heads: int
    kv_heads: int
    queries: int
    keys: int
    width: int
    causal: bool

    def tensors(self) -> tuple[Any, Any, Any]:
        """Return queries, keys and values of random numbers: (batch, heads, rows, width)."""
        shapes = (
            (self.heads, self.queries),
            (self.kv_heads, self.keys),
            (self.kv_heads, self.keys),
        )
        made = [
            torch.randn(self.batch, *shape, self.width, device="cuda", dtype=DTYPES[self.dtype])
            for shape in shapes
        ]
        return made[0], made[1], made[2]

    @property
    def scale(self) -> float:
        """The factor of the scores."""
        return 1 / math.sqrt(self.width)

    def hidden(self) -> Any:
        """Return which keys each query does not see: (queries, keys)."""
        seen = torch.ones(self.queries, self.keys, device="cuda", dtype=torch.bool)
        return ~seen.tril(self.keys - self.queries) if self.causal else ~seen


class Kernels:
    """The compiled module, and its kernels by name."""

    def __init__(self, *, aligned: bool) -> None:
        torch.cuda.init()
        torch.zeros(1, device="cuda")
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._module = ctypes.c_void_p()
        with tempfile.TemporaryDirectory() as folder:
            source, cubin = Path(folder) / "attention.hip", Path(folder) / "attention.cubin"
            text = KERNELS.read_text(encoding="utf-8")
            if aligned:
                declared = text.replace(
                    ", from, sizeof(", ", __builtin_assume_aligned(from, 16), sizeof("
                )
                assert declared.count("assume_aligned") == 2
                text = declared
            source.write_text(text, encoding="utf-8")
            options = ("-O3", f"-arch=sm_{capability()}", "-cubin", f"-I{PRELUDE}")
            compiled(source, options, cubin)
            self._call("cuModuleLoad", ctypes.byref(self._module), str(cubin).encode())
        self._found: dict[str, ctypes.c_void_p] = {}
        self._units = torch.cuda.get_device_properties(0).multi_processor_count

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status:
            raise RuntimeError(f"{name} gives {status}")

    def _launch(self, name: str, grid: tuple[int, int], *arguments: Any) -> None:
        if name not in self._found:
            function = ctypes.c_void_p()
            self._call("cuModuleGetFunction", ctypes.byref(function), self._module, name.encode())
            self._found[name] = function
        pointers = [ctypes.cast(ctypes.pointer(each), ctypes.c_void_p) for each in arguments]
        listed = (ctypes.c_void_p * len(pointers))(*pointers)
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        sizes = (*grid, 1, THREADS, 1, 1, 0)
        self._call("cuLaunchKernel", self._found[name], *sizes, stream, listed, None)

    def attend(self, case: Case, q: Any, k: Any, v: Any) -> Any:
        """Launch what ``Attention::launch`` (templates/attention.rs) launches."""
        shared_by = case.heads // case.kv_heads
        rows = case.queries * shared_by
        rows_each = min(1 << (rows - 1).bit_length(), 8)
        blocks = case.batch * case.kv_heads * -(-rows // rows_each)
        tiles = -(-case.keys // TILE)
        parts = max(min(-(-4 * self._units // blocks), tiles // 2), 1)
        keys_each = -(-tiles // parts) * TILE
        parts = -(-case.keys // keys_each)
        held = case.batch * case.heads * case.queries
        about = Launch(
            *((ctypes.c_int64 * 3)(*each.stride()[:3]) for each in (q, k, v)),
            (ctypes.c_int64 * 4)(),
            (ctypes.c_int32 * 3)(case.heads * case.queries, case.queries, 1),
            *(held, case.batch, case.heads, shared_by),
            *(case.queries, case.keys, case.width, case.width, keys_each, parts),
            *(ALL, 0 if case.causal else ALL, 0, 0, 0, 0, case.scale, 0.0),
        )
        out = torch.empty_like(q)
        pointers = [ctypes.c_void_p(each.data_ptr()) for each in (q, k, v)]
        pointers += [ctypes.c_void_p(0), ctypes.c_void_p(out.data_ptr())]
        if case.queries > FEW:
            grid = (case.batch * case.kv_heads * -(-rows // TILE), 1)
            wide = 128 if case.width <= 128 else 256
            self._launch(f"sdpa_prefill{wide}_{case.dtype}", grid, *pointers, about)
            return out
        through = torch.empty(held * parts * (case.width + 2), device="cuda")
        unfinished = ctypes.c_void_p(through.data_ptr())
        grid = (case.batch * case.kv_heads * parts, -(-rows // rows_each))
        self._launch(f"sdpa_decode{rows_each}_{case.dtype}", grid, *pointers, unfinished, about)
        if parts > 1:
            self._launch(f"sdpa_combine_{case.dtype}", (held, 1), unfinished, pointers[-1], about)
        return out


def in_single_operations(case: Case, q: Any, k: Any, v: Any, hidden: Any) -> Any:
    """Do what ``RocmSdpa::in_single_operations`` does; what is hidden is known already."""
    groups = case.heads // case.kv_heads
    if groups > 1:
        k, v = (each.repeat_interleave(groups, dim=1) for each in (k, v))
    scores = torch.matmul(q, k.transpose(-1, -2)) * case.scale
    if case.causal:
        scores = torch.where(hidden, -math.inf, scores)
    return torch.matmul(torch.softmax(scores, dim=-1), v)


def fused(case: Case, q: Any, k: Any, v: Any) -> Any:
    """Return PyTorch's own; of a causal one with as many queries as keys."""
    return torch.nn.functional.scaled_dot_product_attention(
        *(q, k, v), is_causal=case.causal, scale=case.scale, enable_gqa=case.heads != case.kv_heads
    )


def microseconds(work: Callable[[], object]) -> float:
    """Return what a call takes on the GPU: the median of rounds of 20 ms of a graph."""
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            work()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def measured(count: int) -> float:
        torch.cuda.synchronize()
        begin.record()
        for _ in range(count):
            graph.replay()
        end.record()
        torch.cuda.synchronize()
        return float(begin.elapsed_time(end)) * 1000 / count / CALLS

    count = max(1, int(20_000 / measured(2) / CALLS))
    return statistics.median(measured(count) for _ in range(ROUNDS))


def worst(kernels: Kernels, case: Case) -> float:
    """Return how far a result is off, by what it may be: 1 is the bound of ``sdpa.hip``."""
    q, k, v = case.tensors()
    groups = case.heads // case.kv_heads
    wide = [each.double() for each in (q, *(e.repeat_interleave(groups, dim=1) for e in (k, v)))]
    products = torch.matmul(wide[0], wide[1].transpose(-1, -2)) * case.scale
    sizes = torch.matmul(wide[0].abs(), wide[1].abs().transpose(-1, -2)) * case.scale
    weights = torch.softmax(products.masked_fill(case.hidden(), -math.inf), dim=-1)
    wanted, magnitude = torch.matmul(weights, wide[2]), torch.matmul(weights, wide[2].abs())
    size = sizes.amax(dim=-1, keepdim=True).clamp(min=1)
    own, single = torch.finfo(DTYPES[case.dtype]).eps, torch.finfo(torch.float32).eps
    allowed = own * 0.5001 * wanted.abs() + single * magnitude * (4 * size + 16) + 1e-7
    off = (kernels.attend(case, q, k, v).double() - wanted).abs() / allowed
    return float(off.nan_to_num(nan=math.inf).max())


def any_case(source: random.Random) -> Case:
    """Return a case of any shape that the kernels take."""
    kv_heads = source.randint(1, 4)
    queries = source.choice((source.randint(1, FEW), source.randint(FEW + 1, 300)))
    return Case(
        dtype=source.choice(sorted(DTYPES)),
        batch=source.randint(1, 3),
        heads=kv_heads * source.choice((1, 2, 3, 4, 8)),
        kv_heads=kv_heads,
        queries=queries,
        keys=queries + source.randint(0, 3000),
        width=8 * source.randint(1, 32),
        causal=source.random() < 0.5,
    )


TIMED: Final = (
    *(
        Case(dtype, batch, 32, 8, 1, keys, 128, causal=False)
        for dtype in DTYPES
        for batch, keys in ((1, 512), (1, 4096), (1, 32768), (16, 2048))
    ),
    *(
        Case(dtype, 1, 32, 8, rows, rows, 128, causal=causal)
        for dtype in DTYPES
        for rows, causal in ((512, True), (2048, True), (4096, False))
    ),
    *(Case(dtype, 2, 16, 16, 1024, 1024, 64, causal=False) for dtype in DTYPES),
)


def main() -> int:
    """Compare, time, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=600, help="how many are compared (600)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="where the numbers go as well")
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    as_is, aligned = Kernels(aligned=False), Kernels(aligned=True)
    source = random.Random(arguments.seed)
    compared = [
        (worst(as_is, case), case) for case in (any_case(source) for _ in range(arguments.cases))
    ]
    compared += [(worst(each, case), case) for case in TIMED[-3:] for each in (as_is, aligned)]
    wrong = [(off, case) for off, case in compared if off > 1]
    most = max(off for off, _ in compared)
    print(f"{len(compared)} cases, {len(wrong)} off; the worst is at {most:.2f} of what it may be")
    for off, case in wrong[:10]:
        print(off, case)
    rows = []
    for case in TIMED:
        q, k, v = case.tensors()
        hidden = case.hidden()
        row = {
            "as it is": microseconds(lambda: as_is.attend(case, q, k, v)),  # noqa: B023
            "aligned": microseconds(lambda: aligned.attend(case, q, k, v)),  # noqa: B023
            "single": microseconds(lambda: in_single_operations(case, q, k, v, hidden)),  # noqa: B023
            "fused": microseconds(lambda: fused(case, q, k, v)),  # noqa: B023
        }
        rows.append(asdict(case) | row)
        print(case.dtype, case.batch, case.heads, case.kv_heads, case.queries, case.keys, end=" ")
        print(
            case.width,
            case.causal,
            *(f"{name} {value:.1f}" for name, value in row.items()),
            flush=True,
        )
    if arguments.json:
        found = {
            "gpu": torch.cuda.get_device_name(0),
            "cases": len(compared),
            "off": len(wrong),
            "rows": rows,
        }
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
