"""``portkit hipify``, ``portkit map`` and the codes of kernels in ``portkit explain``."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest
from apply_support import picture
from cli_support import PROGRAM, Done, environment, invoke
from jsonschema import Draft202012Validator

from portkit.engine.rule_pages import list_all_pages, list_pages

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = "cudaStream_t stream;\n"
ASSEMBLY = 'void f() {\n    asm("trap;");\n}\n'


@pytest.fixture
def cuda(tmp_path: Path) -> Path:
    """Two sources: nothing is left to do in one, and inline PTX in the other."""
    folder = tmp_path / "cuda"
    folder.mkdir()
    (folder / "a.cu").write_text(PLAIN)
    (folder / "b.cu").write_text(ASSEMBLY)
    return folder


def document(file: Path) -> dict[str, Any]:
    text = (resources.files("portkit") / "report" / "hipify.schema.json").read_text()
    schema = json.loads(text)
    Draft202012Validator.check_schema(schema)
    found: dict[str, Any] = json.loads(file.read_text())
    Draft202012Validator(schema).validate(found)
    return found


def check_refused(done: Done, code: int, *parts: str) -> None:
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    for part in parts:
        assert part in done.err


# --- hipify ------------------------------------------------------------------------------------


def test_one_file_goes_to_standard_output(cuda: Path) -> None:
    done = invoke("hipify", cuda / "a.cu")
    assert done.code == 0
    assert re.fullmatch(
        r"a\.hip needs hipx\.h, by which it includes \d headers more:"
        r" -o FOLDER writes all of them\.\n",
        done.err,
    )
    assert done.out == '#include "hipx.h"\nhipStream_t stream;\n'


def test_what_a_person_must_do_does_not_mix_with_the_translation(cuda: Path) -> None:
    done = invoke("hipify", cuda / "b.cu")
    assert done.code == 1
    assert done.out == f'#include "hipx.h"\n{ASSEMBLY}'
    assert "PH203 inline assembly" in done.err
    assert "b.cu:2" in done.err


def test_bytes_go_through_a_pipe_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_bytes(b"// \xe9\r\ncudaStream_t s;\r\n")
    done = subprocess.run(
        [*PROGRAM, "hipify", "a.cu"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        check=True,
    )
    assert done.stdout.endswith(b"// \xe9\r\nhipStream_t s;\r\n")


def test_a_folder_is_only_reported_on(cuda: Path) -> None:
    before = picture(cuda)
    done = invoke("hipify", cuda)
    assert (done.code, picture(cuda)) == (1, before)
    assert "2 files by portkit" in done.out
    assert "      b.cu:2  asm\n" in done.out
    assert "Nothing is written; `-o FOLDER`" in done.out


def test_a_folder_is_written(cuda: Path, tmp_path: Path) -> None:
    out = tmp_path / "hip"
    done = invoke("hipify", cuda, "-o", out)
    assert done.code == 1  # the assembly
    assert (out / "a.hip").read_text() == '#include "hipx.h"\nhipStream_t stream;\n'
    assert (out / "b.hip").exists()
    assert (out / "hipx.h").exists()
    said = " ".join(done.out.split())
    headers = ", ".join(sorted(path.name for path in out.glob("hipx*.h")))
    count = len(headers.split(", "))
    assert said.endswith(f" a.hip, b.hip and {count} headers ({headers}) written to {out}.")
    again = invoke("hipify", cuda, "-o", out)
    assert f"0 files written to {out}, " in again.out.replace("\n", " ")


def test_an_output_that_holds_the_sources_is_refused(cuda: Path) -> None:
    before = sorted(path.name for path in cuda.iterdir())
    done = invoke("hipify", cuda, "-o", cuda)
    assert (done.code, done.out) == (33, "")
    assert "every source lies in the output folder" in done.err
    assert "name another folder by -o" in done.err
    assert sorted(path.name for path in cuda.iterdir()) == before


def test_an_output_below_the_input_is_not_read(cuda: Path) -> None:
    out = cuda / "hip"
    invoke("hipify", cuda, "-o", out)
    before = picture(out)
    done = invoke("hipify", cuda, "-o", out)
    assert "2 files by portkit" in done.out
    assert picture(out) == before


def test_unfinished_files_can_be_left_out(cuda: Path, tmp_path: Path) -> None:
    out = tmp_path / "hip"
    done = invoke("hipify", cuda, "-o", out, "--skip-unfinished")
    assert done.code == 1
    assert not (out / "b.hip").exists()
    assert "a person must finish them: b.cu." in done.out.replace("\n", " ")


def test_what_the_build_for_amd_defines_hides_what_it_hides(cuda: Path) -> None:
    (cuda / "b.cu").write_text(f"#ifndef USE_ROCM\n{ASSEMBLY}#endif\n")
    (cuda / "c.cu").write_text(f"#ifdef TENSOR_CORES\n{ASSEMBLY}#endif\n")
    assert invoke("hipify", cuda).code == 1
    assert invoke("hipify", cuda, "-D", "USE_ROCM").code == 1
    done = invoke("hipify", cuda, "-D", "OTHER,USE_ROCM", "-U", "TENSOR_CORES")
    assert (done.code, "PH203" in done.out) == (0, False)


def test_the_report_names_each_place(cuda: Path, tmp_path: Path) -> None:
    (cuda / "c.cu").write_bytes(b"\x7fELF\0")
    file = tmp_path / "report.json"
    done = invoke("hipify", cuda, "-o", tmp_path / "hip", "--report", file)
    # As with every code from 10 on, the last line says what is wrong and what to do.
    assert done.code == 33
    assert done.err.endswith(f"\nerror: {cuda / 'c.cu'} is a binary file: give CUDA sources\n")
    found = document(file)
    assert found["files"] == [
        {"path": "a.cu", "target": "a.hip"},
        {"path": "b.cu", "target": "b.hip"},
    ]
    assert [refused["path"] for refused in found["refused"]] == ["c.cu"]
    by_code = {site["code"]: site for site in found["sites"]}
    assert {"PH101", "PH107", "PH203"} == set(by_code)
    api, assembly = by_code["PH107"], by_code["PH203"]
    assert [api[key] for key in ("path", "line", "column", "end_column")] == ["a.cu", 1, 1, 13]
    assert [assembly[key] for key in ("line", "column", "applicability")] == [2, 5, "manual"]
    assert found["summary"]["applicability"] == {"manual": 1, "safe": 3}
    assert "a.hip" in found["written"]
    (cuda / "d.cu").write_bytes(b"\x7fELF\0")
    done = invoke("hipify", cuda, "-o", tmp_path / "hip", "--report", file)
    assert done.err.endswith(": give CUDA sources; 1 more file of which the report speaks\n")


def test_the_report_of_a_run_without_output_follows_the_schema(cuda: Path, tmp_path: Path) -> None:
    invoke("hipify", cuda, "--report", tmp_path / "report.json")
    assert document(tmp_path / "report.json")["out"] is None


def test_what_portkit_did_not_write_is_kept_unless_allowed(cuda: Path, tmp_path: Path) -> None:
    out = tmp_path / "hip"
    out.mkdir()
    (out / "a.hip").write_text("mine\n")
    before = picture(out)
    check_refused(invoke("hipify", cuda, "-o", out), 34, str(out / "a.hip"))
    assert picture(out) == before
    assert invoke("hipify", cuda, "-o", out, "--overwrite").code == 1
    assert "hipStream_t" in (out / "a.hip").read_text()


def test_links_are_replaced_and_not_followed(cuda: Path, tmp_path: Path) -> None:
    outside, out = tmp_path / "outside.txt", tmp_path / "hip"
    outside.write_text("mine\n")
    out.mkdir()
    (out / "a.hip").symlink_to(outside)
    check_refused(invoke("hipify", cuda / "a.cu", "-o", out), 34, "a.hip")
    assert invoke("hipify", cuda / "a.cu", "-o", out, "--overwrite").code == 0
    assert outside.read_text() == "mine\n"
    assert not (out / "a.hip").is_symlink()


def test_a_folder_that_leads_out_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cuda" / "inner").mkdir(parents=True)
    (tmp_path / "cuda" / "inner" / "a.cu").write_text(PLAIN)
    (tmp_path / "outside").mkdir()
    (tmp_path / "hip").mkdir()
    (tmp_path / "hip" / "inner").symlink_to(tmp_path / "outside")
    done = invoke("hipify", tmp_path / "cuda", "-o", tmp_path / "hip", "--overwrite")
    check_refused(done, 34, "leads out of")
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.cu", b"\x7fELF\0\0", "a.cu is a binary file"),
        ("a.txt", None, "does not exist"),
        ("empty", None, "does not exist"),
        ("lib.rs", b"pub fn cuda() {}\n", "lib.rs is no CUDA source: `portkit apply` ports Rust"),
        ("Cargo.toml", b"[features]\n", "is no CUDA source: `portkit apply` ports manifests"),
    ],
)
def test_bad_input_is_one_sentence(
    tmp_path: Path, name: str, content: bytes | None, sentence: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
        done = invoke("hipify", tmp_path / name)
        assert (done.code, done.out) == (33, "")
        assert sentence in " ".join(done.err.split())
    else:
        check_refused(invoke("hipify", tmp_path / name), 33, sentence)


def test_two_files_of_one_name_are_refused(cuda: Path, tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(ASSEMBLY)
    check_refused(invoke("hipify", cuda, tmp_path / "a.cu"), 33, "would have one name, a.cu")


def test_an_output_that_is_a_file_is_refused(cuda: Path, tmp_path: Path) -> None:
    (tmp_path / "hip").write_text("mine\n")
    check_refused(invoke("hipify", cuda, "-o", tmp_path / "hip"), 34, str(tmp_path / "hip"))
    assert (tmp_path / "hip").read_text() == "mine\n"


def test_a_profile_that_knows_none_of_the_files_is_refused(cuda: Path) -> None:
    check_refused(invoke("hipify", cuda, "--profile", "candle"), 33, "candle patches none of these")
    check_refused(invoke("hipify", cuda, "--profile", "none"), 16, "or a directory that holds")


def test_an_engine_that_is_missing_is_one_sentence(
    cuda: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.defpath)
    check_refused(invoke("hipify", cuda, "--engine", "hipify-perl"), 35, "ci/toolchain")


def test_the_other_engine_finds_the_headers_beside_a_file(
    cuda: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "bin" / "hipify-clang"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\ncat "$1" > "${{2#-o=}}"\n')
    tool.chmod(0o755)
    home = tmp_path / "home" / "include"
    home.mkdir(parents=True)
    (home / "cuda_runtime.h").touch()
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("CUDA_HOME", str(home.parent))
    done = invoke("hipify", cuda / "a.cu", "--engine", "hipify-clang")
    assert (done.code, done.out) == (0, '#include "hipx.h"\nhipStream_t stream;\n')
    assert f"-I{cuda}" in (tmp_path / "asked").read_text().split()


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(PLAIN * 100_000)
    process = subprocess.Popen(
        [*PROGRAM, "hipify", "a.cu"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 141)
    process.stderr.close()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_other_engines_too(
    cuda: Path, tmp_path: Path, sent: signal.Signals
) -> None:
    tool = tmp_path / "bin" / "hipify-perl"
    tool.parent.mkdir()
    started = tmp_path / "started"
    tool.write_text(f"#!/bin/sh\necho x >> {started}\nexec sleep 60\n")
    tool.chmod(0o755)
    for number in range(20):
        (cuda / f"more{number}.cu").write_text(PLAIN)
    process = subprocess.Popen(
        [*PROGRAM, "hipify", cuda, "--engine", "hipify-perl"],
        env=environment() | {"PATH": f"{tool.parent}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    patience = time.monotonic() + 30
    while not started.exists() and time.monotonic() < patience:
        time.sleep(0.05)
    # Python loses an interruption that comes while it calls back from a weak reference.
    for _ in range(3):
        process.send_signal(sent)
        with contextlib.suppress(subprocess.TimeoutExpired):
            out, err = process.communicate(timeout=10)
            break
    said = "error: interrupted\n" if sent is signal.SIGINT else ""
    assert (process.returncode, out, err) == (128 + sent, "", said)
    assert len(started.read_text().split()) < 20


# --- map ---------------------------------------------------------------------------------------


def test_map_says_what_a_name_becomes() -> None:
    # The row of HIPIFY's CUDA_Runtime_API_functions_supported_by_HIP.md.
    done = invoke("map", "cudaMallocAsync")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "cudaMallocAsync -> hipMallocAsync",
        "    function, since ROCm 5.2.0",
        "    source: HIPIFY documentation, CUDA_Runtime_API_functions_supported_by_HIP.md",
    ]


def test_map_does_not_promise_overloads() -> None:
    """HIP has ``__hmax2`` for bfloat16 alone (HIP 6.4, amd_hip_bf16.h)."""
    assert "by its name: hipcc says" in invoke("map", "__hmax2").out
    assert "by its name" not in invoke("map", "cudaMallocAsync").out


@pytest.mark.parametrize("name", ["cuda_fp16.h", "<cuda_fp16.h>", '"cuda_fp16.h"'])
def test_map_takes_headers_as_they_stand_in_a_source(name: str) -> None:
    done = invoke("map", name)
    assert (done.code, done.out.splitlines()[0]) == (0, "cuda_fp16.h -> hip/hip_fp16.h")


def test_map_says_where_hip_has_nothing() -> None:
    # HIPIFY lists cudaGraphDebugDotFlagsConditionalNodeParams without a counterpart.
    done = invoke("map", "cudaGraphDebugDotFlagsConditionalNodeParams")
    assert done.code == 0
    assert "-> no counterpart in HIP\n" in done.out


@pytest.mark.parametrize("name", ["__match_any_sync", "__match_all_sync"])
def test_map_knows_the_match_functions_of_a_warp(name: str) -> None:
    """CUDA C++ Programming Guide, "Warp Match Functions"."""
    done = invoke("map", name)
    assert done.code == 0
    assert "no counterpart in HIP" in done.out
    assert "all lanes of a wavefront and returns 64 bits" in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("name", "around"),
    [
        ("nvcuda::wmma::fragment", "mma.h, which becomes hipx_wmma.h (a subset of nvcuda::wmma: "),
        ("mma_sync", "mma.h, which becomes hipx_wmma.h (a subset of "),
        ("cub::BlockReduce", "cub, which becomes hipcub\n"),
        ("cuda::std::numeric_limits", "cuda::std, which becomes std\n"),
    ],
)
def test_map_says_what_an_unknown_name_belongs_to(name: str, around: str) -> None:
    done = invoke("map", name)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"{name} has no entry of its own; it belongs to {around}")


def test_map_suggests_names_like_an_unknown_one() -> None:
    done = invoke("map", "cudaMalocAsync", "cudaFree")
    assert done.code == 1
    assert done.out.startswith("cudaFree -> hipFree\n")
    assert "cudaMalocAsync is no name of CUDA's" in done.err
    assert "cudaMallocAsync" in done.err


def test_map_suggests_nothing_for_nonsense() -> None:
    done = invoke("map", "qqqqqqqq")
    assert (done.code, done.out) == (1, "")
    assert "like it" not in done.err


# --- explain, rules ----------------------------------------------------------------------------


def test_explain_prints_a_kernel_rule_s_docstring() -> None:
    from portkit.hipify.rules import find_rule

    rule = find_rule("PH203")

    done = invoke("explain", "ph203")
    first, *rest = done.out.splitlines()
    assert (done.code, first) == (0, "PH203 inline_ptx")
    assert rule is not None
    assert "\n".join(rest).strip() == rule.doc.strip().replace("``", "`")


def test_explain_says_what_a_profile_changes_and_why() -> None:
    done = invoke("explain", "PH304")
    assert done.code == 0
    assert "- quantized.cu: with an odd number of rows" in done.out


def test_every_code_of_the_kernels_stage_has_a_page(tmp_path: Path) -> None:
    from portkit.codebases.registry import find_shipped
    from portkit.hipify.external_engines import FAILED
    from portkit.hipify.kernel_profile import load_profile
    from portkit.hipify.rules import RULES

    profiles = [load_profile(directory, name) for name, directory in find_shipped().items()]
    patches = {patch.code for profile in profiles for patch in profile.patches}
    codes = {rule.code for rule in RULES} | patches | {FAILED}
    found = {page.code: page for page in list_all_pages()}
    assert found.keys() == codes | {page.code for page in list_pages()}
    for code in codes:
        assert found[code].title.endswith("."), code
        assert found[code].text, code
