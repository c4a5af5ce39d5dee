"""Time kernels of views, rows and few columns on an NVIDIA GPU: CUDA's own, and the port's.

Usage: ``ci/nvidia/views.py CUDA PORT [--json FILE]``, where there are the GPU, nvcc and PyTorch.
CUDA is the folder ``candle-kernels/src`` of a pristine tree, PORT what
``portkit hipify CUDA -o PORT --profile candle`` made of it, before.

Each is compiled by nvcc and launched with the blocks that the host's code takes. What comes out is
compared with PyTorch's result, and both are timed in turns.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from subprocess import run
from typing import TYPE_CHECKING, Any, Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
sys.path[:0] = [str(ROOT), str(HERE)]

import torch  # type: ignore[import-not-found]  # noqa: E402

from hipcc import capability, compiled, cuda  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DTYPES: Final = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
SOURCES: Final = ("affine", "binary", "conv", "mmvq_gguf", "reduce", "ternary", "unary")
OWN: Final = ("views",)
"""Kernels of the port's own, which stand before CUDA's of the same name."""
ROUNDS: Final = 9
THREADS: Final = 1024
"""Of ``LaunchConfig::for_num_elems``."""


class Side:
    """The kernels of one side, compiled."""

    def __init__(self, folder: Path, *, port: bool) -> None:
        self.port = port
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._modules = []
        with tempfile.TemporaryDirectory() as scratch:
            for name in (*(OWN if port else ()), *SOURCES):
                cubin = Path(scratch) / f"{name}.cubin"
                options = ("-O3", f"-arch=sm_{capability()}", "-cubin", f"-I{folder}")
                if port:
                    own = name in OWN
                    source = ROOT / "crates/build/src/device" if own else folder
                    compiled(source / f"{name}.hip", options, cubin)
                else:
                    command = (
                        cuda() / "bin" / "nvcc",
                        "-std=c++17",
                        "-w",
                        *options,
                        folder / f"{name}.cu",
                    )
                    run([*command, "-o", cubin], check=True)
                module = ctypes.c_void_p()
                self._call("cuModuleLoad", ctypes.byref(module), str(cubin).encode())
                self._modules.append(module)

    def _call(self, name: str, *arguments: Any) -> int:
        status = int(getattr(self._cuda, name)(*arguments))
        if status and name != "cuModuleGetFunction":
            raise RuntimeError(f"{name} gives {status}")
        return status

    def kernel(self, name: str) -> ctypes.c_void_p:
        """Return a kernel by its name."""
        function = ctypes.c_void_p()
        for module in self._modules:
            if not self._call("cuModuleGetFunction", ctypes.byref(function), module, name.encode()):
                return function
        raise KeyError(name)

    def launch(
        self, function: ctypes.c_void_p, grid: int, block: tuple[int, int], *given: Any
    ) -> Callable[[], None]:
        """Return what launches a kernel with tensors and numbers, of 64 bits unless said otherwise.

        Arguments are made ready once: it takes longer than a small kernel.
        """
        made = [
            each
            if isinstance(each, ctypes._SimpleCData)
            else ctypes.c_void_p(each.data_ptr())
            if isinstance(each, torch.Tensor)
            else ctypes.c_size_t(each)
            for each in given
        ]
        pointers = [ctypes.cast(ctypes.pointer(each), ctypes.c_void_p) for each in made]
        listed = (ctypes.c_void_p * len(pointers))(*pointers)
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        call, shape = self._cuda.cuLaunchKernel, (grid, 1, 1, *block, 1, 0)

        # The default keeps the memory as long as it may be launched.
        def launched(_given: Any = (given, made)) -> None:
            if status := call(function, *shape, stream, listed, None):
                raise RuntimeError(f"cuLaunchKernel gives {status}")

        return launched


@dataclass(frozen=True)
class Sides:
    """A number that the two sides are given, each its own."""

    cuda: int
    port: int


@dataclass(frozen=True)
class Work:
    """One call of a kernel.

    Attributes:
        name: what the table says.
        kernel: by its name.
        wanted: PyTorch's result.
        close: how far a result may be from it, relative to the largest.
        grid: how many blocks, of CUDA's own and of the port's.
        block: how many threads of one, likewise.
        given: its arguments; none stands for the result.
    """

    name: str
    kernel: str
    wanted: Any
    close: float
    grid: tuple[int, int]
    block: tuple[tuple[int, int], tuple[int, int]]
    given: tuple[Any, ...]

    def call(self, side: Side) -> tuple[Any, Callable[[], None]]:
        """Return where the result is written, and what launches the kernel."""
        out = torch.zeros_like(self.wanted, memory_format=torch.contiguous_format)
        given = [out if each is None else each for each in self.given]
        given = [
            (each.port if side.port else each.cuda) if isinstance(each, Sides) else each
            for each in given
        ]
        function = side.kernel(self.kernel)
        grid, block = self.grid[side.port], self.block[side.port]
        return out, side.launch(function, grid, block, *given)


def info(*views: Any) -> Any:
    """Return the sizes of the views, and the strides of each."""
    numbers = [*views[0].shape, *(step for view in views for step in view.stride())]
    return torch.tensor(numbers, device="cuda", dtype=torch.int64)


def elements(
    count: int, each: int = 1
) -> tuple[tuple[int, int], tuple[tuple[int, int], tuple[int, int]]]:
    """Return the blocks of a kernel of so many elements; in the port's a thread has ``each``."""
    blocks = tuple(-(-count // threads) for threads in (THREADS, THREADS * each))
    return (blocks[0], blocks[1]), ((THREADS, 1), (THREADS, 1))


def copied(name: str, dtype: str, view: Any) -> Work:
    """Return the copy of a view, as ``copy_strided_src`` launches it."""
    given = (view.numel(), view.dim(), info(view), view, None)
    return Work(
        f"copy, {name}, {dtype}",
        f"ucopy_{dtype}",
        view.clone(),
        0,
        *elements(view.numel(), 1 << min(view.numel() >> 18, 2)),
        given,
    )


def added(name: str, dtype: str, one: Any, other: Any) -> Work:
    """Return the sum of two views of one shape."""
    given = (one.numel(), one.dim(), info(one, other), one, other, None)
    wanted = (one.float() + other.float()).to(one.dtype)
    return Work(f"sum, {name}, {dtype}", f"badd_{dtype}", wanted, 0, *elements(one.numel()), given)


def softmaxed(dtype: str, rows: Any) -> Work:
    """Return the softmax of each row."""
    count, columns = rows.shape
    warps = min(-(-columns // 256), 32)
    given = (rows, None, ctypes.c_int(columns))
    close = 4 * torch.finfo(rows.dtype).eps
    wanted = torch.softmax(rows.double(), dim=-1).to(rows.dtype)
    name = f"softmax, {count} x {columns}, {dtype}"
    return Work(
        name, f"softmax_{dtype}", wanted, close, (count, count), ((1, 32), (32, warps)), given
    )


def reduced(dtype: str, view: Any) -> Work:
    """Return the largest value of each row of a view of two dimensions."""
    count, columns = view.shape
    threads = min(1 << (columns - 1).bit_length(), 1024)
    given = (view.numel(), columns, 2, info(view), view, None)
    name = f"largest, {count} x {columns}{'' if view.is_contiguous() else ' transposed'}, {dtype}"
    block = ((threads, 1), (threads, 1))
    return Work(name, f"fast_max_{dtype}", view.amax(dim=-1), 0, (count, count), block, given)


def unfolded(dtype: str, image: Any) -> Work:
    """Return what a convolution by a window of 3 x 3 multiplies."""
    batch, channels, high, wide = image.shape
    wanted = torch.nn.functional.unfold(image, 3, padding=1).transpose(1, 2).contiguous()
    sizes = (high, wide, 3, 3, 1, 1, 1)
    given = (wanted.numel(), *sizes, info(image), image, None)
    name = f"im2col, {batch} x {channels} x {high} x {wide}, {dtype}"
    return Work(name, f"im2col_{dtype}", wanted, 0, *elements(wanted.numel()), given)


def chosen(name: str, dtype: str, condition: Any, one: Any, other: Any) -> Work:
    """Return where_cond, which tells the port's kernel no dimensions of what is contiguous."""
    views = (condition, one, other)
    told = Sides(one.dim(), 0 if all(view.is_contiguous() for view in views) else one.dim())
    given = (one.numel(), told, info(*views), *views, None)
    wanted = torch.where(condition.bool(), one, other)
    name = f"where_cond, {name}, {dtype}"
    return Work(name, f"where_u8_{dtype}", wanted, 0, *elements(one.numel()), given)


def multiplied(bits: int, columns: int, rows: int = 4096, width: int = 4096) -> Work:
    """Return the product of a matrix in blocks of 32 numbers of so many bits with a few columns.

    The blocks are ggml's q4_0 and q8_0: a scale in f16 and 32 numbers, of 4 bits from -8 on, two in
    a byte of which the lower is one of the first 16. A column has blocks of q8_1: a scale and the
    sum of what the block stands for, in f16, and 32 bytes.
    """

    def packed(*parts: Any) -> Any:
        return torch.cat([part.contiguous().view(torch.uint8) for part in parts], dim=-1)

    def integers(count: int, bits: int) -> Any:
        most = 1 << (bits - 1)
        return torch.randint(-most, most, (count, width // 32, 32), device="cuda").to(torch.int8)

    def scales(count: int) -> Any:
        return torch.rand(count, width // 32, 1, device="cuda", dtype=torch.float16) / 64

    numbers, scale = integers(rows, bits), scales(rows)
    halves = (numbers + 8).view(torch.uint8)
    stored = numbers if bits == 8 else halves[..., :16] | halves[..., 16:] << 4
    column, of = integers(columns, 8), scales(columns)
    values = column * of.double()
    wanted = torch.einsum("cbk,rbk->cr", values, numbers * scale.double()).float()
    sums = values.sum(dim=-1, keepdim=True).half()
    sizes = (ctypes.c_int(each) for each in (width, rows, width // 32, rows))
    given = (packed(scale, stored), packed(of, sums, column), None, *sizes)
    threads = (32, 4 if columns <= 4 else 2)
    blocks = rows if columns == 1 else rows // 2
    kernel = f"mmvq_gguf_q{bits}_0_f32_plain_cuda{columns}"
    name = f"product, q{bits}_0, {rows} x {width} with {columns}"
    return Work(name, kernel, wanted, 1e-3, (blocks, blocks), (threads, threads), given)


def works() -> Iterator[Work]:
    """Yield what is timed."""
    for dtype, kind in DTYPES.items():

        def numbers(*shape: int, kind: Any = kind) -> Any:
            return torch.randn(*shape, device="cuda", dtype=kind)

        matrix = numbers(4096, 4096)
        yield copied("8192 x 2048 transposed", dtype, numbers(8192, 2048).t())
        yield copied("keys of heads transposed", dtype, numbers(4, 32, 1024, 128).transpose(2, 3))
        yield copied("time and heads exchanged", dtype, numbers(4, 1024, 32, 128).transpose(1, 2))
        yield copied("channels that were last", dtype, numbers(16, 28, 28, 256).permute(0, 3, 1, 2))
        yield added("in order", dtype, matrix, numbers(4096, 4096))
        yield added("a row for all", dtype, matrix, numbers(1, 4096).expand(4096, 4096))
        yield added("a column for all", dtype, matrix, numbers(4096, 1).expand(4096, 4096))
        yield added(
            "two parts of a batch",
            dtype,
            numbers(8, 1024, 2048)[:, :1023],
            numbers(8, 1024, 2048)[:, 1:],
        )
        for shape in ((1, 151936), (32 * 512, 512), (4096, 4096), (65536, 64)):
            yield softmaxed(dtype, numbers(*shape))
        yield reduced(dtype, matrix)
        yield reduced(dtype, matrix.t())
        yield unfolded(dtype, numbers(8, 64, 56, 56))
        condition = (matrix > 0).to(torch.uint8)
        yield chosen("in order", dtype, condition, matrix, numbers(4096, 4096))
        row = condition[:1].expand(4096, 4096)
        yield chosen("a row for all", dtype, row, matrix, numbers(4096, 4096))
    for bits in (4, 8):
        for columns in (1, 2, 4, 8):
            yield multiplied(bits, columns)


def milliseconds(work: Callable[[], None]) -> float:
    """Return what a call takes on the GPU, of as many as take some 5 ms."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def measured(count: int) -> float:
        begin.record()
        for _ in range(count):
            work()
        end.record()
        torch.cuda.synchronize()
        return float(begin.elapsed_time(end)) / count

    return measured(max(1, math.ceil(5 / measured(2))))


def main() -> int:
    """Compare, time, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("cuda", type=Path)
    parser.add_argument("port", type=Path)
    parser.add_argument("--json", type=Path, help="where the numbers go as well")
    arguments = parser.parse_args()
    torch.zeros(1, device="cuda")
    sides = (Side(arguments.cuda.resolve(), port=False), Side(arguments.port.resolve(), port=True))
    rows, wrong = [], 0
    print(
        "| kernel | CUDA's own, us | the port's, us | times as fast |\n| --- | ---: | ---: | ---: |"
    )
    for work in works():
        calls = [work.call(side) for side in sides]
        size = work.wanted.double().abs().max()
        off = []
        for out, call in calls:
            call()
            torch.cuda.synchronize()
            off.append(float((out.double() - work.wanted.double()).abs().max() / size))
        wrong += off[1] > work.close
        taken: tuple[list[float], list[float]] = ([], [])
        for _ in range(ROUNDS):
            for (_, call), times in zip(calls, taken, strict=True):
                times.append(1000 * milliseconds(call))
        own, ports = (statistics.median(times) for times in taken)
        rows.append({"kernel": work.name, "cuda": own, "port": ports, "off": off})
        mark = f" off by {off}" if max(off) > work.close else ""
        print(f"| {work.name} | {own:.1f} | {ports:.1f} | {own / ports:.2f} |{mark}", flush=True)
    if arguments.json:
        found = {"gpu": torch.cuda.get_device_name(0), "rows": rows}
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
