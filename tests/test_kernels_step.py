"""The step of the ladder that compiles kernels: what it says, and when it has no say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_support import add_file, invoke, make_candle

from portkit.engine.session import scan_tree
from portkit.errors import VerificationError
from portkit.hipify.archs import ARCHS, GENERIC_ARCHS
from portkit.hipify.code_object import KernelUse
from portkit.hipify.errors import HipToolError
from portkit.hipify.hipcc import CompileResult
from portkit.verify import kernels_step
from portkit.verify.kernel_matrix import BudgetExcess, Cell, KernelsVerification
from portkit.verify.kernels_step import EVERY, KERNELS, ONE_OF_EACH
from portkit.verify.options import Options, Shard
from portkit.verify.step_runner import Verdict
from portkit.verify.verified_tree import VerifiedTree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from portkit.verify.step_runner import Outcome

CRATE = "candle-rocm-kernels"
SOURCES = ("affine.hip", "moe/gemm.hip", "sort.hip")
FILL = 'extern "C" __global__ void %s_f32(float *x) { x[threadIdx.x] = 1; }\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    # A version of which there are no budgets.
    root = make_candle(tmp_path / "candle", version="0.11.9")
    add_file(root, "candle-hip/Cargo.toml", b'[package]\nname = "y"\nversion = "0.1.0"\n')
    add_file(root, f"{CRATE}/Cargo.toml", b'[package]\nname = "x"\nversion = "0.1.0"\n')
    for source in SOURCES:
        text = "#include <hip/hip_runtime.h>\n" + FILL % Path(source).stem
        add_file(root, f"{CRATE}/src/{source}", text.encode())
    return root


class Compiler:
    """Stands in for hipcc: every source has one kernel, which spills where it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, known: Sequence[str] = EVERY) -> None:
        self.asked: list[tuple[str, str]] = []
        self.broken: tuple[str, ...] = ()
        self.spilling: tuple[str, ...] = ()
        self.worse: tuple[BudgetExcess, ...] = ()
        self.budgets: dict[str, object] = {}
        monkeypatch.setattr(kernels_step, "find_hipcc", lambda: Path("hipcc"))
        monkeypatch.setattr(
            kernels_step, "read_compiler_version", lambda _: "HIP 7\nclang 21\nmore"
        )
        monkeypatch.setattr(kernels_step, "_has_budget", lambda _, arch: arch in known)
        monkeypatch.setattr(kernels_step, "verify_kernels", self.verify)
        monkeypatch.setattr(kernels_step, "load_budgets", lambda *_: self.budgets)

    def verify(
        self,
        crate: Path,
        archs: Sequence[str],
        *,
        budgets: Mapping[str, object],
        only: Sequence[str] = SOURCES,
        cuda: Path,
    ) -> KernelsVerification:
        assert cuda.name == "candle-kernels"
        assert budgets is self.budgets
        self.asked += [(source, arch) for source in only for arch in archs]
        cells = tuple(self.cell(source, arch) for source in only for arch in archs)
        return KernelsVerification(cells, self.worse)

    def cell(self, source: str, arch: str) -> Cell:
        if source in self.broken:
            return Cell(CompileResult(source, arch, None, "error: no such thing", 1.0), ())
        spills = 7 if source in self.spilling else 0
        use = KernelUse(f"{Path(source).stem}_f32", 10, 0, 9, spills, 0, 0, 0)
        return Cell(CompileResult(source, arch, Path("x.o"), "", 1.0), (use,))


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Compiler:
    return Compiler(monkeypatch)


def take(root: Path, options: Options | None = None) -> Outcome:
    scan = scan_tree(root, gating="dummy")
    return KERNELS.take(VerifiedTree(scan, options or Options(), lambda line: None))


def test_the_ladder_takes_one_architecture_of_each_kind(tree: Path, compiler: Compiler) -> None:
    compiler.budgets = {"gfx90a": {}}
    outcome = take(tree)
    assert outcome.verdict is Verdict.PASSED
    assert compiler.asked == [(source, arch) for source in SOURCES for arch in ONE_OF_EACH]
    assert outcome.evidence == (
        "6 sources compile with HIP 7, clang 21",
        "gfx90a: 3 kernels, none of which spill; all within their budgets",
        "gfx1100: 3 kernels, none of which spill; there is no budget",
    )
    assert outcome.figures["kernels"] == 6


def test_the_table_of_spills_is_shown(tree: Path, compiler: Compiler) -> None:
    compiler.spilling = ("sort.hip",)
    outcome = take(tree, Options(archs=("gfx1030", "gfx1100")))
    assert outcome.evidence[1:] == (
        "gfx1030: 3 kernels, 1 of which spill; there is no budget",
        "gfx1100: 3 kernels, 1 of which spill; there is no budget",
        "spilled registers, v for vector and s for scalar ones:",
        "sort.hip sort_f32: gfx1030 7v 0s, gfx1100 7v 0s; the reason is not known",
    )
    assert outcome.figures["spilling"] == 2
    assert outcome.figures["sort.hip for gfx1030, kernels"] == 1
    assert outcome.figures["sort.hip for gfx1030, spilling"] == 1


def test_what_does_not_compile_fails(tree: Path, compiler: Compiler) -> None:
    compiler.broken = ("moe/gemm.hip",)
    outcome = take(tree, Options(archs=("gfx1100",)))
    assert outcome.verdict is Verdict.FAILED
    assert outcome.evidence == ("moe/gemm.hip for gfx1100: error: no such thing",)
    assert (outcome.figures["compiled"], outcome.figures["not compiled"]) == (2, 1)
    assert outcome.figures["moe/gemm.hip for gfx1100, failed"] == 1


def test_a_kernel_that_got_worse_fails(tree: Path, compiler: Compiler) -> None:
    compiler.worse = (BudgetExcess("gfx1100", "sort.hip", "sort_f32", "scratch 0 to 64"),)
    outcome = take(tree)
    assert outcome.verdict is Verdict.FAILED
    assert outcome.evidence == ("sort.hip for gfx1100: sort_f32 uses more: scratch 0 to 64",)


def test_a_family_that_hipcc_does_not_know_is_left_out(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = Compiler(monkeypatch, known=(*ARCHS, "gfx11-generic"))
    outcome = take(tree, Options(archs=EVERY))
    assert outcome.verdict is Verdict.PASSED
    assert {arch for _, arch in compiler.asked} == {*ARCHS, "gfx11-generic"}
    assert [text.split(",")[0] for text in outcome.left_out] == [
        arch for arch in GENERIC_ARCHS if arch != "gfx11-generic"
    ]


def test_an_architecture_that_hipcc_does_not_know_fails(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Compiler(monkeypatch, known=("gfx90a",))
    with pytest.raises(VerificationError, match="does not know gfx1100: name other"):
        take(tree)


def test_shards_share_the_matrix(tree: Path, compiler: Compiler) -> None:
    for index in (1, 2):
        outcome = take(tree, Options(shard=Shard(index, 2)))
        assert outcome.figures["compiled"] == 3
    assert sorted(compiler.asked) == sorted((s, a) for s in SOURCES for a in ONE_OF_EACH)


def test_without_hipcc_the_step_is_skipped(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def find() -> Path:
        raise HipToolError("hipcc is not found: run ci/toolchain")

    monkeypatch.setattr(kernels_step, "find_hipcc", find)
    outcome = take(tree)
    assert outcome.verdict is Verdict.SKIPPED
    assert outcome.evidence == ("hipcc is not found: run ci/toolchain",)


def test_a_tree_without_hip_kernels_is_skipped(tmp_path: Path, compiler: Compiler) -> None:
    outcome = take(make_candle(tmp_path / "candle"))
    assert outcome.verdict is Verdict.SKIPPED
    assert "run portkit apply first" in outcome.evidence[0]


def test_the_command_takes_every_architecture_or_those_it_is_given(
    tree: Path, compiler: Compiler
) -> None:
    assert invoke("verify", tree, "--kernels", "--no-cache").code == 0
    assert {arch for _, arch in compiler.asked} == set(EVERY)
    compiler.asked.clear()
    archs = ("--arch", "gfx1100,gfx90a", "--arch", "gfx942")
    done = invoke("verify", tree, "--kernels", "--no-cache", *archs)
    assert done.code == 0
    assert [arch for source, arch in compiler.asked if source == "sort.hip"] == [
        "gfx1100",
        "gfx90a",
        "gfx942",
    ]
    assert "gfx942: 3 kernels" in done.out
    compiler.broken = ("sort.hip",)
    done = invoke("verify", tree, "--kernels", "--no-cache")
    assert (done.code, "sort.hip for gfx90a" in done.out) == (46, True)


@pytest.mark.real
@pytest.mark.hipcc
def test_hipcc_compiles_the_crate(tree: Path) -> None:
    archs = ("gfx1100", "gfx90a")
    outcome = take(tree, Options(archs=archs))
    assert outcome.verdict is Verdict.PASSED, outcome.evidence
    assert outcome.evidence[1:] == tuple(
        f"{arch}: 3 kernels, none of which spill; there is no budget" for arch in archs
    )
    (tree / CRATE / "src" / "sort.hip").write_text("no C++\n")
    outcome = take(tree, Options(archs=archs))
    assert outcome.verdict is Verdict.FAILED
    assert [text.partition(":")[0] for text in outcome.evidence] == [
        "sort.hip for gfx1100",
        "sort.hip for gfx90a",
    ]
    with pytest.raises(VerificationError, match="does not know gfx9999"):
        take(tree, Options(archs=("gfx9999",)))
