"""``portkit init``: what a tree tells about its profile, where that stands, and what is refused.

What is expected of tarn stands in its own manifests and sources (``fixtures/codebases/tarn``); of
the other trees, in the test.
"""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cli_support import commit, invoke, make_candle
from typer.testing import CliRunner

from portkit.cli import load_program

if TYPE_CHECKING:
    from collections.abc import Mapping

TARN = Path(__file__).parent / "fixtures" / "codebases" / "tarn" / "tree"

WORKSPACE = """\
[workspace]
members = ["serve", "rows"]

[workspace.package]
version = "1.4.0-dev"

[workspace.dependencies]
candle = { version = "0.9.2", package = "candle-core" }
"""
SERVE = """\
[package]
name = "serve"
version = "1.4.0"

[dependencies]
rows = { path = "../rows" }

[features]
cuda = ["rows/cuda"]
"""
ROWS = """\
[package]
name = "rows"
version = "1.4.0"

[dependencies]
candle = { workspace = true }
swift-norm = { version = "0.2", optional = true }

[features]
cuda = ["candle/cuda", "dep:swift-norm"]
"""
LOCK = """\
[[package]]
name = "swift-norm"
version = "0.2.0"
dependencies = ["cudarc"]

[[package]]
name = "cudarc"
version = "0.17.0"
"""
LIB = """\
#[cfg(feature = "cuda")]
mod fast;

pub fn device() -> candle::Result<candle::Device> {
    candle::Device::cuda_if_available(0)
}
"""
FAST = """\
pub fn is_there(device: &candle::Device) -> bool {
    matches!(device, candle::Device::Cuda(_))
}
"""
SERVED: Mapping[str, str] = {
    "Cargo.toml": WORKSPACE,
    "Cargo.lock": LOCK,
    "serve/Cargo.toml": SERVE,
    "serve/src/main.rs": "fn main() {}\n",
    "rows/Cargo.toml": ROWS,
    "rows/src/lib.rs": LIB,
    "rows/src/fast.rs": FAST,
}


def make(root: Path, files: Mapping[str, str]) -> Path:
    """Write a tree that is one commit."""
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    commit(root)
    return root


def profile_of(root: Path, folder: str = "port") -> dict[str, Any]:
    """Return what the profile of a tree says."""
    return tomllib.loads((root / folder / "codebase.toml").read_text())


def settings_of(root: Path) -> dict[str, Any]:
    """Return what the ``portkit.toml`` of a tree says."""
    return tomllib.loads((root / "portkit.toml").read_text())


@pytest.fixture
def tarn(tmp_path: Path) -> Path:
    root = tmp_path / "tarn"
    shutil.copytree(TARN, root)
    commit(root)
    return root


@pytest.fixture
def served(tmp_path: Path) -> Path:
    return make(tmp_path / "served", SERVED)


def test_of_tarn_it_derives_what_a_person_wrote(tarn: Path) -> None:
    done = invoke("init", tarn, "--yes")
    assert done.code == 0, done.err
    assert profile_of(tarn) == {
        "name": "tarn",
        "crate": "tarn-lake",
        "first_version": "0.3.0",
        "names": {"words": {}},
        "hip_sources": [
            {
                "source": "gauge/launchers/*.cu",
                "reason": "1 kernel source; gauge/build.rs has cc run nvcc",
            },
            {
                "source": "lake/kernels/*.cu",
                "reason": "2 kernel sources; lake/build.rs runs nvcc",
            },
        ],
    }
    text = (tarn / "port/codebase.toml").read_text()
    assert "lake/Cargo.toml: it has the feature cuda, and 2 of the 4 crates depend on it" in text
    assert '# nvidia = "nvidia_rocm"' in text
    assert (tarn / "portkit.toml").read_text() == 'profile = "port"\n'
    assert "nvidia: lake/src/lib.rs declares it under the feature" in done.out


def test_who_compiles_the_kernels_is_told_where_a_crate_does(served: Path) -> None:
    (served / "rows/kernels").mkdir()
    (served / "rows/kernels/twice.cu").write_text("// a kernel\n")
    build = "fn main() {\n    bindgen_cuda::Builder::default().build_ptx().unwrap();\n}\n"
    (served / "rows/build.rs").write_text(build)
    done = invoke("init", served, "--yes")
    (folder,) = profile_of(served)["hip_sources"]
    assert folder["reason"] == "1 kernel source; rows/build.rs calls bindgen_cuda"
    assert "rows/build.rs calls bindgen_cuda: what it compiles for ROCm" in " ".join(
        (done.out + done.err).split()
    )


def test_apply_works_then(tarn: Path) -> None:
    assert invoke("apply", tarn, "--check").code == 16
    assert invoke("init", tarn, "--yes").code == 0
    commit(tarn)
    done = invoke("apply", tarn)
    assert done.code == 0, done.err
    assert (tarn / "lake/kernels/stencil.hip").is_file()
    assert invoke("apply", tarn, "--check").code == 0


def test_a_tree_on_candle_is_told_what_it_is_built_on(served: Path) -> None:
    done = invoke("init", served, "--yes")
    assert done.code == 0, done.err
    said = profile_of(served)
    assert (said["name"], said["crate"], said["first_version"]) == ("rows", "rows", "1.4.0")
    assert said["uses"] == ["candle"]
    assert "Cargo.toml:8: a crate of candle's" in done.out
    assert "rows: swift-norm and what needs it is not ported" in done.out
    assert "The tree needs the port of candle" in done.out
    lines = done.out.splitlines()
    assert (
        "  `portkit fetch candle@VERSION ../candle`, `portkit apply ../candle`, and in" in done.out
    )
    assert '    candle-core = { path = "../candle/candle-core" }' in lines
    assert not any("candle-nn" in line for line in lines)


@pytest.mark.parametrize("shared", [True, False])
def test_what_tests_alone_take_is_nothing_that_a_tree_is_built_on(
    served: Path, shared: bool
) -> None:
    if not shared:
        (served / "Cargo.toml").write_text(WORKSPACE.partition("[workspace.dependencies]")[0])
    taken = "candle = { workspace = true }" if shared else 'candle-core = "0.9"'
    rows = ROWS.replace("candle = { workspace = true }\n", "").replace('"candle/cuda", ', "")
    (served / "rows/Cargo.toml").write_text(f"{rows}\n[dev-dependencies]\n{taken}\n")
    done = invoke("init", served, "--yes")
    assert done.code == 0, done.err
    assert "uses" not in profile_of(served)


def test_the_version_of_what_is_below_is_that_of_the_lock_file(served: Path) -> None:
    lock = served / "Cargo.lock"
    lock.write_text(f'{lock.read_text()}\n[[package]]\nname = "candle-core"\nversion = "0.9.2"\n')
    commit(served)
    assert "portkit fetch candle@0.9.2 ../candle" in invoke("init", served, "--yes").out


def test_the_feature_of_a_port_below_is_asked_for(served: Path) -> None:
    invoke("init", served, "--yes")
    commit(served)
    done = invoke("apply", served)
    assert done.code == 0, done.err
    features = tomllib.loads((served / "rows/Cargo.toml").read_text())["features"]
    assert features["rocm"] == ["candle/rocm"]


def test_a_port_beside_it_is_seen(served: Path) -> None:
    place = served / "Cargo.toml"
    beside = 'candle = { path = "../candle/candle-core", package = "candle-core" }'
    place.write_text(re.sub("candle = .*", beside, place.read_text()))
    crate = served.parent / "candle/candle-core/Cargo.toml"
    crate.parent.mkdir(parents=True)
    text = '[package]\nname = "candle-core"\nversion = "0.9.2"\n\n[features]\n{} = []\n'
    for feature, said in (
        ("cuda", "The tree needs the port of candle"),
        ("rocm", "The tree takes candle from its port: ../candle/candle-core has the feature."),
    ):
        crate.write_text(text.format(feature))
        done = invoke("init", served, "--yes", "--profile", feature)
        assert said in done.out, done.err
        (served / "portkit.toml").unlink()
        shutil.rmtree(served / feature)


def test_the_bindings_of_a_port_beside_it_are_taken(served: Path) -> None:
    """With bindings of its own, a stream of the tree's would be none of candle's."""
    place = served / "Cargo.toml"
    beside = 'candle = { path = "../candle/candle-core", package = "candle-core" }'
    place.write_text(re.sub("candle = .*", beside, place.read_text()))
    manifest = served / "rows/Cargo.toml"
    wanted = '[dependencies]\ncudarc = { version = "0.19", optional = true }\n'
    manifest.write_text(manifest.read_text().replace("[dependencies]\n", wanted))
    manifest.write_text(manifest.read_text().replace('"dep:swift', '"dep:cudarc", "dep:swift'))
    commit(served)
    done = invoke("init", served, "--yes", "--profile", "first")
    assert "name in portkit.toml where the port of candle has its bindings" in done.out
    assert "bindings" not in (served / "portkit.toml").read_text()
    (served / "portkit.toml").unlink()
    shutil.rmtree(served / "first")
    bindings = served.parent / "candle/candle-hip/Cargo.toml"
    bindings.parent.mkdir(parents=True)
    bindings.write_text('[package]\nname = "candle-hip"\nversion = "0.11.1"\n')
    done = invoke("init", served, "--yes")
    assert "bindings = ../candle/candle-hip: those of the port of candle" in done.out
    assert settings_of(served)["bindings"] == {"path": "../candle/candle-hip"}
    commit(served)
    assert invoke("apply", served).code == 0
    taken = [d for d in tomllib.loads(manifest.read_text())["dependencies"].values() if "path" in d]
    assert [(manifest.parent / d["path"]).resolve() for d in taken] == [bindings.parent.resolve()]
    assert not (served / "rows-hip").exists()


def test_without_a_word_about_it_no_feature_is_invented(served: Path) -> None:
    invoke("init", served, "--yes")
    place = served / "port/codebase.toml"
    place.write_text(place.read_text().replace('uses = ["candle"]\n', ""))
    commit(served)
    assert invoke("apply", served).code == 0
    features = tomllib.loads((served / "rows/Cargo.toml").read_text())["features"]
    assert features["rocm"] == []


def test_a_person_is_asked_for_names(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portkit.cli.init.can_ask", lambda: True)
    words = ["init", str(served)]
    done = CliRunner().invoke(load_program("init"), words, input="not a name\nfast_amd\n")
    assert done.exit_code == 0, done.stderr
    assert profile_of(served)["names"]["words"] == {"fast": "fast_amd"}
    assert "'not a name' is no name that Rust takes" in done.stderr
    commit(served)
    assert invoke("apply", served).code == 0
    assert (served / "rows/src/fast_amd.rs").is_file()


def test_another_feature_is_found_where_it_asks_for_cudarc(tmp_path: Path) -> None:
    manifest = (
        '[package]\nname = "tern"\nversion = "2.0.0"\n[dependencies]\n'
        'cudarc = { version = "0.17", optional = true }\n[features]\ngpu = ["dep:cudarc"]\n'
    )
    root = make(
        tmp_path / "tern",
        {
            "Cargo.toml": manifest,
            "src/lib.rs": '#[cfg(feature = "gpu")]\npub use cudarc::driver;\n',
        },
    )
    done = invoke("init", root, "--yes")
    assert done.code == 0, done.err
    assert profile_of(root)["source_feature"] == "gpu"


def test_what_portkit_toml_says_stays(served: Path) -> None:
    (served / "portkit.toml").write_text(
        'gating = "cfg"\n\n[[exclude]]\ncodes = ["PK6"]\nreason = "x"\n'
    )
    assert invoke("init", served, "--yes", "--profile", "rocm/port").code == 0
    said = tomllib.loads((served / "portkit.toml").read_text())
    assert (said["profile"], said["gating"]) == ("rocm/port", "cfg")
    assert profile_of(served, "rocm/port")["name"] == "rows"


@pytest.mark.parametrize("folder", ["../port", "/port", ".", "rows"])
def test_the_folder_is_a_new_one_in_the_tree(served: Path, folder: str) -> None:
    done = invoke("init", served, "--yes", "--profile", folder)
    assert (done.code, done.out) == (16, "")
    assert not (served / "portkit.toml").exists()


def test_a_second_time_it_is_refused(served: Path) -> None:
    assert invoke("init", served, "--yes").code == 0
    before = (served / "port/codebase.toml").read_text()
    done = invoke("init", served, "--yes")
    assert done.code == 16
    assert "portkit.toml:1 names the profile 'port' already" in done.err
    assert (served / "port/codebase.toml").read_text() == before


def test_a_codebase_with_a_profile_needs_none(tmp_path: Path) -> None:
    done = invoke("init", make_candle(tmp_path / "candle"), "--yes")
    assert done.code == 16
    assert "is candle, which there is a profile for: `portkit apply` ports it" in done.err


def test_a_tree_without_cuda_has_nothing_to_say(tmp_path: Path) -> None:
    root = make(
        tmp_path / "dry",
        {"Cargo.toml": '[package]\nname = "dry"\nversion = "1.0.0"\n', "src/lib.rs": "// dry\n"},
    )
    assert invoke("init", root, "--yes").code == 11
    assert not (root / "port").exists()


@pytest.mark.parametrize(
    ("uses", "said"),
    [
        ('["cnadle"]', "uses: there is no codebase 'cnadle'"),
        ('["rows"]', "uses: there is no codebase 'rows'"),
    ],
)
def test_a_codebase_below_is_one_that_is_known(served: Path, uses: str, said: str) -> None:
    invoke("init", served, "--yes")
    place = served / "port/codebase.toml"
    place.write_text(place.read_text().replace('["candle"]', uses))
    done = invoke("scan", served)
    assert done.code == 16
    assert said in done.err
    assert "port/codebase.toml:" in done.err


def test_a_codebase_below_that_is_not_there_is_reported(served: Path) -> None:
    invoke("init", served, "--yes")
    place = served / "port/codebase.toml"
    place.write_text(place.read_text().replace('["candle"]', '["candle", "dfdx"]'))
    done = invoke("scan", served)
    assert done.code == 0, done.err
    assert "PK904" in done.out
    assert "uses 'dfdx'" in done.out


def test_a_file_may_be_called_anything(served: Path) -> None:
    (served / "rows/ker\nnels").mkdir()
    (served / "rows/ker\nnels/ré.cu").write_text("// a kernel\n")
    done = invoke("init", served, "--yes")
    assert done.code == 0, done.err
    assert profile_of(served)["hip_sources"][0]["source"] == "rows/ker\nnels/*.cu"


def test_what_a_port_below_calls_otherwise_is_called_so(served: Path) -> None:
    """`builder_arg` is a macro that candle exports: its port has it under a name of its own."""
    launch = """
#[cfg(feature = "cuda")]
pub fn launch(n: u32) {
    candle::builder_arg!(builder, n);
}
"""
    place = served / "rows/src/lib.rs"
    place.write_text(place.read_text() + launch)
    invoke("init", served, "--yes")
    commit(served)
    assert invoke("apply", served).code == 0
    assert "    candle::rocm_builder_arg!(builder, n);\n" in place.read_text()
    # Nothing of the codebase's own is idle for it.
    assert "PK904" not in invoke("scan", served).out


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ("bindgen_cuda::Builder::default();", "calls bindgen_cuda"),
        ("cudaforge::KernelBuilder::new();", "calls cudaforge"),
        ("cc::Build::new().cuda(true);", "has cc run nvcc"),
        ('std::process::Command::new("nvcc");', "runs nvcc"),
    ],
)
def test_what_a_build_script_compiles_kernels_with_is_left(
    served: Path, calls: str, said: str
) -> None:
    (served / "rows/build.rs").write_text(f"fn main() {{\n    {calls}\n}}\n")
    done = invoke("init", served, "--yes")
    assert f"rows/build.rs {said}: what it compiles for ROCm is a template" in done.out, done.err


VIDEO: Mapping[str, str] = {
    "Cargo.toml": """\
[package]
name = "video"
version = "0.2.0"
edition = "2021"
exclude = ["notes"]

[dependencies]
candle-core = { version = "0.9", features = ["cuda", "cudnn", "mkl"] }
candle-nn = { version = "0.9", features = ["mkl"] }

[features]
default = ["cuda", "text"]
cuda = ["candle-core/cuda", "candle-nn/cuda"]
text = []
""",
    "src/lib.rs": "pub fn f(device: &candle_core::Device) -> bool {\n    device.is_cuda()\n}\n",
}
"""It turns CUDA on in every build, and once more by default."""


def test_what_turns_cuda_on_in_every_build_is_a_person_s(tmp_path: Path) -> None:
    root = make(tmp_path / "video", VIDEO)
    assert invoke("init", root, "--yes").code == 0
    done = invoke("scan", root, "--format", "json")
    document = json.loads(done.out)
    assert document["unaccounted"] == []
    asked = {s["symbol"]: s["message"] for s in document["sites"] if s["applicability"] == "manual"}
    assert asked == {
        "candle-core": "it turns cuda and cudnn of candle-core on in every build, those for ROCm"
        " too: ask for that in the feature cuda, by hand",
        "default": "it turns CUDA on unless --no-default-features turns it off, which a build for"
        " ROCm needs: see whether it is to stay, by hand",
    }


def test_a_mention_that_no_rule_explains_is_explained(tmp_path: Path) -> None:
    text = 'pub const fn f() -> &\'static str {\n    concat!("a", stringify!(cuda))\n}\n'
    root = make(tmp_path / "video", {**VIDEO, "src/lib.rs": text})
    assert invoke("init", root, "--yes").code == 0
    (mention,) = json.loads(invoke("scan", root, "--format", "json").out)["unaccounted"]
    done = invoke("explain", f"src/lib.rs:{mention['line']}", "--tree", root)
    assert done.code == 2
    assert "names a backend, and no rule explains it" in " ".join(done.err.replace("│", "").split())
