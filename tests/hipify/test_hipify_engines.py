"""hipify-clang and hipify-perl behind our rules, and the table of differences."""

from __future__ import annotations

import os
import stat
import tomllib
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from portkit.hipify import external_engines
from portkit.hipify.errors import HipToolError
from portkit.hipify.external_engines import (
    Engine,
    ExternalEngine,
    find_engine,
    translate_with,
)
from portkit.hipify.kernel_source import KernelSource
from portkit.hipify.translator import Translation, translate
from portkit.workspace.finding import Applicability

TABLE = Path(__file__).parents[2] / "tools" / "pages" / "engine_differences.toml"


def compare_translations(ours: Translation, theirs: Translation) -> Counter[tuple[str, str]]:
    """Return the tokens in which two translations of one source differ, and how often.

    Includes are left out: the tools add some, in an order of their own.
    """
    mine, others = _count_tokens(ours), _count_tokens(theirs)
    found: Counter[tuple[str, str]] = Counter()
    for tag, a, b, c, d in SequenceMatcher(None, mine, others, autojunk=False).get_opcodes():
        if tag != "equal":
            found[" ".join(mine[a:b]), " ".join(others[c:d])] += 1
    return found


def _count_tokens(translation: Translation) -> list[str]:
    source = KernelSource(translation.target, translation.content.decode("latin-1"))
    return [token.text for token in source.tokens if token.kind != "include"]


def tool(folder: Path, script: str) -> ExternalEngine:
    """A stand-in for hipify-perl: called with the source and ``-o=OUTPUT``."""
    program = folder / "hipify-perl"
    program.write_text("#!/bin/sh\nout=${2#-o=}\n" + script)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return ExternalEngine(Engine.HIPIFY_PERL, program)


def test_known_faults_are_put_right(tmp_path: Path) -> None:
    script = """cat > $out <<'END'
#include <hip/hip_runtime.h>
#include <hip/hip_fp8.h>
#include "hip/hip_bfloat16.h"
__hip_fp8_e4m3_fnuz x; hip_bfloat16 y;
END
"""
    (made,) = translate_with(tool(tmp_path, script), {"a.cu": b"__nv_fp8_e4m3 x; __nv_bfloat16 y;"})
    assert made.content.decode() == (
        '#include "hipx.h"\n'
        "#include <hip/hip_runtime.h>\n"
        '#include "hipx_fp8.h"\n'
        "#include <hip/hip_bf16.h>\n"
        "hipx::fp8_e4m3 x; __hip_bfloat16 y;\n"
    )


def test_our_rules_run_after_the_tool(tmp_path: Path) -> None:
    script = 'sed s/cudaFree/hipFree/ "$1" > $out\n'
    source = b"void f(void *p) { cudaFree(p); __syncwarp(); }\n"
    (made,) = translate_with(tool(tmp_path, script), {"a.cu": source})
    assert b"hipFree(p); hipx::syncwarp();" in made.content
    assert made.target == "a.hip"


@pytest.mark.parametrize("script", ["exit 3\n", "exit 0\n", ": > $out\n"])
def test_a_tool_that_fails_is_a_finding_and_ours_does_the_file(tmp_path: Path, script: str) -> None:
    (made,) = translate_with(tool(tmp_path, script), {"a.cu": b"cudaStream_t s;\n"})
    assert made.content == b'#include "hipx.h"\nhipStream_t s;\n'
    assert made.findings[0].code == external_engines.FAILED
    assert made.findings[0].applicability is Applicability.REVIEW


def test_differences_are_runs_of_tokens_without_includes() -> None:
    ours = translate("a.cu", b"#include <cuda.h>\nf(a, b);")
    theirs = translate("a.cu", b"#include <mma.h>\nf(a, c);")
    assert compare_translations(ours, theirs) == Counter({("b", "c"): 1})


def test_a_missing_tool_says_what_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(HipToolError, match="ci/toolchain"):
        find_engine(Engine.HIPIFY_PERL)


def test_hipify_clang_needs_cuda_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "hipify-clang"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    with pytest.raises(HipToolError, match="ci/cuda-headers"):
        find_engine(Engine.HIPIFY_CLANG)


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("engine", [Engine.HIPIFY_CLANG, Engine.HIPIFY_PERL])
def test_the_table_of_differences_is_true(engine: Engine, candle_kernels: Path) -> None:
    table = tomllib.loads(TABLE.read_text())
    files = {
        path.relative_to(candle_kernels).as_posix(): path.read_bytes()
        for path in candle_kernels.rglob("*.cu*")
    }
    found: Counter[tuple[str, str]] = Counter()
    failures: dict[str, str] = {}
    for theirs in translate_with(find_engine(engine), files):
        found += compare_translations(translate(theirs.path, files[theirs.path]), theirs)
        failures |= {
            f.path: f.message for f in theirs.findings if f.code == external_engines.FAILED
        }
    expected = Counter(
        {
            (row["ours"], row["theirs"]): row["times"]
            for row in table.get("difference", [])
            if row["engine"] == engine
        }
    )
    assert found == expected
    known = {row["file"]: row["message"] for row in table["failure"] if row["engine"] == engine}
    assert failures.keys() == known.keys()
    for path, message in failures.items():
        assert known[path] in message
