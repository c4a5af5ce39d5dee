"""The sources of kernels in scan and apply: what is said of them, what is written, and when."""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest
from apply_support import picture
from cli_support import add_file, commit, invoke, make_candle
from jsonschema import Draft202012Validator
from kernel_support import SOURCE

from portkit.engine.plan import build_plan
from portkit.engine.session import scan_tree
from portkit.hipify.translator import translate

if TYPE_CHECKING:
    from pathlib import Path

    from portkit.hipify.translator import Translation

CUDA = "candle-kernels/src"
HIP = "candle-rocm-kernels/src"
CUSTOM = "candle-examples/examples/custom-ops/kernels"
# Inline PTX is for a person; the shuffle is rewritten.
FILL = SOURCE["src/fill.cu"] + 'void f() { asm("trap;"); }\n'
LAYERNORM = "__global__ void norm(float *x) { *x = __shfl_sync(0xffffffff, *x, 0); }\n"


@pytest.fixture
def candle(tmp_path: Path) -> Path:
    # A version of which the profile does not know how many places there must be.
    root = make_candle(tmp_path / "candle", version="0.11.9")
    manifest = '[package]\nname = "candle-kernels"\nversion = "0.11.1"\n'
    add_file(root, "candle-kernels/Cargo.toml", manifest.encode())
    for path, text in (SOURCE | {"src/fill.cu": FILL}).items():
        add_file(root, f"candle-kernels/{path}", text.encode())
    add_file(root, f"{CUSTOM}/layernorm_kernels.cu", LAYERNORM.encode())
    add_file(root, "portkit.toml", b'kernels = "translated"\n')
    commit(root)
    return root


def sites(candle: Path, *options: str) -> list[dict[str, Any]]:
    done = invoke("scan", candle, "--format", "json", *options)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    schema = resources.files("portkit") / "report" / "scan.schema.json"
    Draft202012Validator(json.loads(schema.read_text())).validate(document)
    found: list[dict[str, Any]] = document["sites"]
    return found


def kernels(candle: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """Return what is said of each place in the kernels' sources."""
    return {
        (site["code"], f"{site['path']}:{site['line']}"): (site["applicability"], site["status"])
        for site in sites(candle, "--kernels", "--select", "PH")
    }


def apply(candle: Path, *options: str) -> str:
    done = invoke("apply", candle, "--no-format", "--allow-dirty", *options)
    assert done.code == 0, done.err
    return done.out


def test_a_byte_order_mark_changes_nothing(candle: Path) -> None:
    """Every kind of file may begin with one, and cargo, rustc and hipcc pass over it."""

    def found() -> list[tuple[str, ...]]:
        keys = ("code", "path", "construct", "symbol", "status", "applicability", "message")
        return sorted(tuple(site[key] for key in keys) for site in sites(candle, "--kernels"))

    plain = found()
    for file in candle.rglob("*.*"):
        if ".git" not in file.parts and file.is_file():
            file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert found() == plain
    apply(candle)
    assert {site[4] for site in found()} == {"ported", "none"}
    assert invoke("apply", candle, "--check", "--allow-dirty").code == 0
    for file in (candle / HIP).rglob("*.*"):
        assert not file.read_bytes().startswith(b"\xef"), file


def no_translation(monkeypatch: pytest.MonkeyPatch) -> None:
    def translate(*_: object) -> None:
        raise AssertionError("a kernel is translated")

    monkeypatch.setattr("portkit.hipify.translated_sources.translate", translate)


def test_a_scan_lists_the_places_in_the_cuda_sources_when_asked(candle: Path) -> None:
    assert not [site for site in sites(candle) if site["code"].startswith("PH")]
    found = kernels(candle)
    assert found["PH102", f"{CUDA}/fill.cu:1"] == ("safe", "todo")
    assert found["PH203", f"{CUDA}/fill.cu:3"] == ("manual", "none")
    assert found["PH105", f"{CUSTOM}/layernorm_kernels.cu:1"] == ("safe", "todo")
    assert {path.partition(":")[0] for _, path in found} == {
        *(f"candle-kernels/{path}" for path in SOURCE if path.endswith((".cu", ".cuh"))),
        f"{CUSTOM}/layernorm_kernels.cu",
    }


def test_a_scan_translates_nothing_unless_asked(
    candle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        no_translation(patch)
        pristine = sites(candle)
    assert [site["path"] for site in pristine if site["code"] == "PK103"].count(
        "candle-rocm-kernels"
    ) == 1
    apply(candle)
    no_translation(monkeypatch)
    assert not [site for site in sites(candle) if site["status"] == "todo"]
    assert "a kernel is translated" in invoke("scan", candle, "--kernels").err


def test_apply_writes_the_hip_sources_and_says_what_is_left(candle: Path) -> None:
    before = picture(candle)
    said = apply(candle)
    assert f"{CUDA}/fill.cu:3  " in said
    after = picture(candle)
    for path in (f"{CUDA}/fill.cu", f"{CUSTOM}/layernorm_kernels.cu"):
        assert after[path] == before[path]
    assert (candle / HIP / "fill.hip").read_text().startswith('#include "hipx.h"\n')
    layernorm = (candle / CUSTOM / "layernorm_kernels.hip").read_text()
    assert layernorm.endswith("{ *x = hipx::shfl(*x, 0); }\n")
    # The headers that it includes are those of the crate, all of them, and none that it has not.
    assert not [*(candle / CUSTOM).glob("*.h")]
    headers = {path.name for path in (candle / HIP).glob("hipx*.h")}
    assert {"hipx.h", "hipx_warp.h"} <= headers
    assert "hipx_pipeline.h" not in headers


def test_headers_that_the_crate_of_kernels_lacks_lie_beside_the_sources(candle: Path) -> None:
    text = f"#include <cuda_pipeline.h>\n{LAYERNORM}"
    add_file(candle, f"{CUSTOM}/layernorm_kernels.cu", text.encode())
    apply(candle)
    headers = {path.name for path in (candle / CUSTOM).glob("*.h")}
    assert headers == {"hipx_pipeline.h", "hipx_ptx_memory.h", "hipx_ptx_operand.h"}


def test_a_pattern_names_sources_in_many_folders(candle: Path) -> None:
    add_file(
        candle,
        "port/codebase.toml",
        b'name = "toy"\ncrate = "candle-core"\nfirst_version = "0.9.0"\n'
        b'[[hip_sources]]\nsource = "candle-core/src/*.cu"\nreason = "beside the code"\n',
    )
    kernel = b'#include "../numbers.cuh"\n__global__ void k() {}\n'
    add_file(candle, "candle-core/src/numbers.cuh", b"__device__ int one() { return 1; }\n")
    for name in ("add/add.cu", "exp/exp.cu"):
        add_file(candle, f"candle-core/src/{name}", kernel)
    add_file(candle, "candle-core/other/other.cu", kernel)
    commit(candle)
    profile = ("--profile", candle / "port")
    assert invoke("apply", candle, *profile).code == 0
    for name in ("add/add.hip", "exp/exp.hip"):
        text = (candle / "candle-core/src" / name).read_text()
        assert text.startswith('#include "../hipx.h"\n#include "../numbers.h"\n')
    assert (candle / "candle-core/src/numbers.h").is_file()
    assert (candle / "candle-core/src/hipx.h").is_file()
    assert not (candle / "candle-core/other/other.hip").exists()
    again = invoke("apply", candle, *profile, "--allow-dirty")
    assert "Nothing to write" in again.out, again.err


HEADERS = {
    "add.cu": "".join(
        f'#include "{name}"\n' for name in ("compat.h", "deep/types.h", "two.cuh", "two.h")
    ),
    "compat.h": "#include <cuda_fp16.h>\n#define SHFL(v) __shfl_xor_sync(0xffffffff, v, 1)\n",
    "deep/types.h": '#include "plain.h"\n#include "../two.cuh"\n',
    "deep/plain.h": "// as CUDA has it\n#include <stdint.h>\n",
    "two.cuh": '__device__ void two(float &v) { asm("add.f32 %0, %1, %1;" : "=f"(v) : "f"(v)); }',
    "two.h": "#define TWO 2\n",
    "host.h": "#include <cuda_runtime.h>\n",
}
"""Of ``two.h`` the translation of ``two.cuh`` would have the name, and no CUDA source asks for the
last one."""


@pytest.fixture
def with_headers(candle: Path) -> Path:
    add_file(
        candle,
        "port/codebase.toml",
        b'name = "toy"\ncrate = "candle-core"\nfirst_version = "0.9.0"\n'
        b'[[hip_sources]]\nsource = "candle-core/cu/*.cu"\nreason = "beside the code"\n',
    )
    for path, text in HEADERS.items():
        add_file(candle, f"candle-core/cu/{path}", text.encode())
    add_file(candle, "portkit.toml", b'profile = "port"\n')
    commit(candle)
    return candle


def test_plain_headers_of_cuda_s_are_translated_under_names_of_their_own(
    with_headers: Path,
) -> None:
    before = picture(with_headers)
    assert invoke("apply", with_headers).code == 0
    after = picture(with_headers)
    start = "candle-core/cu/"
    made = {path.removeprefix(start) for path in after if path.startswith(start)}
    made -= {*HEADERS, "deep", *(path for path in made if path.startswith("hipx"))}
    assert made == {"add.hip", "hip_compat.h", "deep/hip_types.h", "hip_two.h"}
    assert all(after[f"{start}{path}"] == before[f"{start}{path}"] for path in HEADERS)
    texts = {path: (with_headers / start / path).read_text() for path in made}
    assert texts["add.hip"] == (
        '#include "hipx.h"\n#include "hip_compat.h"\n#include "deep/hip_types.h"\n'
        '#include "hip_two.h"\n#include "two.h"\n'
    )
    assert "hipx::shfl_xor(v, 1)" in texts["hip_compat.h"]
    assert texts["deep/hip_types.h"] == (
        '#include "../hipx.h"\n#include "plain.h"\n#include "../hip_two.h"\n'
    )
    commit(with_headers)
    again = invoke("apply", with_headers)
    assert "Nothing to write" in again.out, again.err


def test_what_is_said_of_a_header_holds(with_headers: Path) -> None:
    assert invoke("apply", with_headers).code == 0
    start = "candle-core/cu/"
    said = {
        site["path"].removeprefix(start): site["message"].partition(" (")[0]
        for site in sites(with_headers)
        if site["code"] == "PK102" and site["path"].startswith(start)
    }
    assert said == {
        "compat.h": "CUDA code, whose translation lies beside it",
        "deep/plain.h": "a header that the HIP sources include as it is",
        "hip_two.h": "a HIP source that is made from CUDA's beside it",
        "host.h": "CUDA code",
    }


def test_what_stands_is_ported_and_stays(candle: Path) -> None:
    todo = kernels(candle)
    apply(candle)
    ported = kernels(candle)
    assert ported == {
        place: (applicability, "none" if applicability == "manual" else "ported")
        for place, (applicability, _) in todo.items()
    }
    before = picture(candle)
    assert "Nothing to write" in apply(candle)
    assert picture(candle) == before


@pytest.mark.parametrize(
    "path", [f"{HIP}/fill.hip", f"{HIP}/hipx_warp.h", f"{CUSTOM}/layernorm_kernels.hip"]
)
def test_a_file_that_was_taken_out_comes_back_alone(candle: Path, path: str) -> None:
    apply(candle)
    before = picture(candle)
    (candle / path).unlink()
    assert [s["path"] for s in sites(candle) if s["status"] == "todo"] == [path]
    apply(candle)
    assert picture(candle) == before


@pytest.mark.parametrize("path", [f"{HIP}/fill.hip", f"{HIP}/hipx.h"])
def test_what_a_person_changed_is_kept_unless_regenerated(candle: Path, path: str) -> None:
    apply(candle)
    before = picture(candle)
    with (candle / path).open("a") as file:
        file.write("// mine\n")
    changed = picture(candle)
    found = [s for s in sites(candle, "--kernels") if s["path"] == path]
    assert [(s["code"], s["applicability"], s["status"]) for s in found] == [
        ("PK103", "review", "ported")
    ]
    apply(candle)
    assert picture(candle) == changed
    apply(candle, "--regenerate")
    assert picture(candle) == before


def test_a_cuda_source_that_changed_shows_in_its_translation(candle: Path) -> None:
    apply(candle)
    with (candle / CUDA / "fill.cu").open("a") as file:
        file.write("// upstream has changed\n")
    found = [s for s in sites(candle, "--kernels") if s["path"] == f"{HIP}/fill.hip"]
    assert [(s["applicability"], s["status"]) for s in found] == [("review", "ported")]


def test_a_link_in_place_of_a_hip_source_is_not_followed(candle: Path, tmp_path: Path) -> None:
    apply(candle)
    commit(candle)
    outside = tmp_path / "outside"
    outside.write_text("mine\n")
    (candle / HIP / "fill.hip").unlink()
    (candle / HIP / "fill.hip").symlink_to(outside)
    done = invoke("apply", candle, "--no-format", "--allow-dirty")
    assert (done.code, outside.read_text()) == (15, "mine\n")


def test_each_source_is_translated_once_whichever_process_does_it(
    candle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portkit.engine.parallel.WORTH_IT", 0)
    place = candle.parent / "translated"

    def noted(path: str, *rest: Any) -> Translation:
        with place.open("a") as file:  # the second process's memory is lost
            file.write(f"{path}\n")
        return translate(path, *rest)

    monkeypatch.setattr("portkit.hipify.translated_sources.translate", noted)
    found = scan_tree(candle, kernels=True)
    assert build_plan(found, rustfmt=False).changes
    names = place.read_text().split()
    assert sorted(names) == sorted(set(names))
    assert set(found.job.translated) == {
        path for path in found.job.workspace.sources if path.endswith((".cu", ".cuh"))
    }
    assert len(names) == len(found.job.translated)


def test_what_to_do_about_copies_of_an_older_version(candle: Path) -> None:
    """Upstream's code moved on: a part of the copies is of before, and no person's work."""
    add_file(
        candle, "candle-core/src/cuda_backend/mod.rs", b"pub fn cuda_one() -> u8 {\n    1\n}\n"
    )
    commit(candle)
    apply(candle)
    commit(candle)
    whole = invoke("scan", candle).out
    assert "--regenerate" not in whole
    add_file(
        candle, "candle-core/src/cuda_backend/mod.rs", b"pub fn cuda_one() -> u8 {\n    2\n}\n"
    )
    with (candle / CUDA / "fill.cu").open("a") as file:
        file.write("// upstream has changed\n")
    commit(candle)
    copy = "candle-core/src/rocm_backend/mod.rs"

    def unwrapped(text: str) -> str:
        return " ".join(text.split())

    one = f"{copy} is not what portkit would write now"
    both = f"{copy} and 1 other file are not what portkit would write now"
    remedy = f"`portkit apply {candle} --regenerate` writes"
    for options, said in (((), one), (("--kernels",), both)):
        out = unwrapped(invoke("scan", candle, *options).out)
        assert f"Next: {said}" in out
        assert remedy in out
    for said in (apply(candle), apply(candle, "--check")):
        assert f"Next: {both}" in unwrapped(said)
        assert remedy in unwrapped(said)
    assert "Next: `git" in unwrapped(apply(candle, "--regenerate"))
    assert "2\n" in (candle / copy).read_text()
    assert "--regenerate" not in invoke("scan", candle, "--kernels").out


def test_a_copy_that_a_person_decided_on_is_not_named(candle: Path) -> None:
    apply(candle)
    with (candle / HIP / "fill.hip").open("a") as file:
        file.write("// mine\n")
    config = (
        f'[[exclude]]\ncodes = ["PK103"]\npaths = ["{HIP}/fill.hip"]\nreason = "tuned by hand"\n'
    )
    add_file(candle, "portkit.toml", config.encode())
    before = picture(candle)
    assert "--regenerate" not in invoke("scan", candle, "--kernels").out
    apply(candle, "--regenerate")
    assert picture(candle) == before
