"""What `portkit init` takes for the crate, the feature and the names of trees of other shapes."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from cli_support import add_file, commit, invoke

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = '[package]\nname = "{}"\nversion = "1.2.0"\nedition = "2021"\n\n'
USES = '#[cfg(feature = "{}")]\npub use cudarc::driver::CudaContext;\n'


def init(root: Path, tree: dict[str, str]) -> tuple[dict[str, Any], str]:
    """Return what the first profile of a tree says, and its text."""
    for path, text in tree.items():
        add_file(root, path, text.encode())
    commit(root)
    done = invoke("init", root, "--yes")
    assert done.code == 0, done.err
    text = (root / "port/codebase.toml").read_text()
    return tomllib.loads(text), text


def test_an_example_and_a_benchmark_are_not_the_crate(tmp_path: Path) -> None:
    taken = '[features]\ncuda = ["dep:river-cuda"]\n\n[dependencies]\n'
    dependency = 'river-cuda = { path = "../../crates/river-cuda", optional = true }\n'
    profile, _ = init(
        tmp_path,
        {
            "Cargo.toml": '[workspace]\nmembers = ["crates/*", "examples/boat", "benchmarks/a"]\n',
            "crates/river-cuda/Cargo.toml": PACKAGE.format("river-cuda")
            + '[dependencies]\ncudarc = "0.19"\n',
            "crates/river-cuda/src/lib.rs": "pub use cudarc::driver::CudaContext;\n",
            "examples/boat/Cargo.toml": PACKAGE.format("boat") + taken + dependency,
            "examples/boat/src/main.rs": "fn main() {}\n",
            "benchmarks/a/Cargo.toml": PACKAGE.format("a") + taken + dependency,
            "benchmarks/a/src/main.rs": "fn main() {}\n",
        },
    )
    assert (profile["crate"], profile["name"]) == ("river-cuda", "river")


def test_a_crate_that_only_forwards_the_feature_is_not_the_crate(tmp_path: Path) -> None:
    profile, _ = init(
        tmp_path,
        {
            "Cargo.toml": '[workspace]\nmembers = ["app", "engine"]\n',
            "app/Cargo.toml": PACKAGE.format("mill-app")
            + '[features]\ncuda = ["mill-engine/cuda"]\n\n[dependencies]\n'
            'mill-engine = { path = "../engine" }\n',
            "app/src/main.rs": "fn main() {}\n",
            "engine/Cargo.toml": PACKAGE.format("mill-engine")
            + '[features]\ncuda = ["dep:cudarc"]\n\n[dependencies]\n'
            'cudarc = { version = "0.19", optional = true }\n',
            "engine/src/lib.rs": USES.format("cuda"),
        },
    )
    assert profile["crate"] == "mill-engine"


def test_a_version_of_cuda_is_not_the_feature(tmp_path: Path) -> None:
    profile, _ = init(
        tmp_path,
        {
            "Cargo.toml": PACKAGE.format("tern")
            + '[dependencies]\ncudarc = { version = "0.19", optional = true }\n\n[features]\n'
            'default = ["gpu"]\ngpu = ["dep:cudarc"]\nfast = ["gpu", "cudarc/f16"]\n'
            'cuda-13000 = ["cudarc/cuda-13000"]\n',
            "src/lib.rs": USES.format("gpu"),
        },
    )
    assert profile["source_feature"] == "gpu"


def test_two_features_that_lead_to_cuda_are_a_question(tmp_path: Path) -> None:
    profile, text = init(
        tmp_path,
        {
            "Cargo.toml": PACKAGE.format("tern")
            + '[dependencies]\ncudarc = { version = "0.19", optional = true }\n\n[features]\n'
            'left = ["dep:cudarc"]\nright = ["dep:cudarc"]\n',
            "src/lib.rs": USES.format("left") + USES.format("right"),
        },
    )
    assert "source_feature" not in profile
    assert "The features left and right lead to CUDA: name one as source_feature" in text


def test_all_names_are_asked_for_at_once(tmp_path: Path) -> None:
    """`ring` needs a name only if `wheel`, which it uses, has one."""
    _, text = init(
        tmp_path,
        {
            "Cargo.toml": PACKAGE.format("clock")
            + '[dependencies]\ncudarc = { version = "0.19", optional = true }\n\n[features]\n'
            'cuda = ["dep:cudarc"]\n',
            "src/lib.rs": '#[cfg(feature = "cuda")]\npub mod wheel;\n'
            '#[cfg(feature = "cuda")]\npub mod ring;\n',
            "src/wheel.rs": "use cudarc::driver::CudaContext;\n\npub fn turn(_: &CudaContext) {}\n",
            "src/ring.rs": "pub fn round() {\n    let _ = crate::wheel::turn;\n}\n",
        },
    )
    assert '# wheel = "wheel_rocm"' in text
    assert '# ring = "ring_rocm"' in text


def test_a_missing_lock_file_is_said(tmp_path: Path) -> None:
    _, text = init(
        tmp_path,
        {
            "Cargo.toml": PACKAGE.format("tern")
            + '[dependencies]\ncudarc = { version = "0.19", optional = true }\n\n[features]\n'
            'cuda = ["dep:cudarc"]\n',
            "src/lib.rs": USES.format("cuda"),
        },
    )
    assert "The tree has no Cargo.lock" in text
    assert "`cargo generate-lockfile`" in text


def test_build_files_that_name_cuda_are_listed(tmp_path: Path) -> None:
    _, text = init(
        tmp_path,
        {
            "Cargo.toml": PACKAGE.format("tern")
            + '[dependencies]\ncudarc = { version = "0.19", optional = true }\n\n[features]\n'
            'cuda = ["dep:cudarc"]\n',
            "src/lib.rs": USES.format("cuda"),
            "Dockerfile": "FROM nvidia/cuda:12.4\nRUN cargo build --features cuda\n",
            ".github/workflows/gpu.yml": "run: cargo test --features cuda\n",
            ".cargo/config.toml": '[env]\nCUDA_COMPUTE_CAP = "80"\n',
            "scripts/run.sh": "cargo run\n",
            "target/Makefile": "nvcc:\n",
        },
    )
    assert "# - Dockerfile: 2 lines name CUDA, and portkit does not read it." in text
    assert "# - .github/workflows/gpu.yml: one line names CUDA" in text
    assert "# - .cargo/config.toml: one line names CUDA" in text
    assert "run.sh" not in text
    assert "Makefile" not in text


def test_a_script_that_cargo_does_not_read_is_kept_with_a_reason(tmp_path: Path) -> None:
    profile, _ = init(
        tmp_path,
        {
            "Cargo.toml": PACKAGE.format("tern")
            + '[dependencies]\ncudarc = { version = "0.19", optional = true }\n\n[features]\n'
            'cuda = ["dep:cudarc"]\n',
            "src/lib.rs": USES.format("cuda"),
            "ci/tidy.py": 'ARGUMENTS = ["-x", "cuda", "--cuda-path=/opt"]\nCUDA = 1\n',
            ".typos.toml": 'words = ["cudaFree"]\n',
            "kit/__init__.py": "",
            "kit/paths.py": 'CUDA = "/usr/local/cuda"\n',
        },
    )
    assert [each["path"] for each in profile["keep"]] == [".typos.toml", "ci/tidy.py"]
    assert profile["keep"][1]["reason"].startswith("cargo does not read it; 2 lines name a backend")
