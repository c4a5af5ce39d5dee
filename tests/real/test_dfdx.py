"""dfdx, another project's codebase, ported by the profile that portkit brings.

Its sources are fetched by commit and never kept here. ``PORTKIT_DFDX`` names a clone to take them
from instead of GitHub. Where neither is to be had, the tests are left out and say so.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from cli_support import invoke
from foreign_codebase import devices, fetched, needs, port_of, run
from verify_support import script

pytestmark = [pytest.mark.real, pytest.mark.network]

COMMIT = "4722a99d303f347d6088d95867d007c75ca6dd78"
REPOSITORY = "https://github.com/coreylowman/dfdx"
YANKED = {"wgpu": "0.18.0", "wgpu-core": "0.18.1", "wgpu-hal": "0.18.1"}
"""What dfdx asks for and the registry gives only to who has it in a lock file already. dfdx has
none of its own."""
HALF = "2.4.1"
"""From 2.5 on half implements a later rand_distr's traits than dfdx asks for in its tests."""
LOCKED = '[[package]]\nname = "{}"\nversion = "{}"\nsource = "{}"\ndependencies = [{}]\n'
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
TESTS = 368
"""With `rocm,f16`: 364 of the 367 that upstream has without a GPU, and 4 of the backend's own. The
other 3, of an index out of bounds, are the CPU's alone."""
CORE = 294
"""Those of them in dfdx-core. With `test-amp-f16` the tests of dfdx do not compile upstream: they
ask for `f64: From<AMP<f16>>`."""
ROUNDED = frozenset(
    {
        "tensor_ops::broadcast_to::tests::test_broadcast_backwards",
        "tensor_ops::conv1d::tests::test_batched_conv1d",
        "tensor_ops::conv2d::tests::test_batched_conv2d",
        "tensor_ops::matmul::tests::test_small_matmul_mm",
        # With `test-amp-f16` it passes upstream without a GPU. The kernel rounds a value times the
        # repeats to half before it adds, and the test asks for 3e-6.
        "tensor_ops::sum_to::tests::test_sum_broadcasted",
    }
)
"""Half precision is not precise enough for what they ask: they fail upstream without a GPU, too."""
HALF_FAILS = ROUNDED | {
    "nn::optim::adam::tests::test_custom_adam_one_params",
    "nn::optim::adam::tests::test_default_adam_params",
    "nn::optim::rmsprop::tests::test_rmsprop_decoupled_weight_decay",
    "nn::optim::rmsprop::tests::test_rmsprop_default",
    "nn::optim::rmsprop::tests::test_rmsprop_diff_alpha",
    "nn::optim::rmsprop::tests::test_rmsprop_diff_eps",
    "nn::optim::rmsprop::tests::test_rmsprop_l2_weight_decay",
    "nn::optim::rmsprop::tests::test_rmsprop_momentum",
    # It passes upstream without a GPU, which adds one value after the other. The kernel adds halves
    # in a tree: 301.5 then, and 33.5 where the test has 33.46875, one place above.
    "losses::tests::test_bce_wide_range",
}
"""What fails with `test-f16`: upstream without a GPU, but for the last."""
PRECISIONS = {
    "f16": ("dfdx-core,dfdx", TESTS, frozenset()),
    "f16,test-f64": ("dfdx-core,dfdx", TESTS, frozenset()),
    "test-f16": ("dfdx-core,dfdx", TESTS, HALF_FAILS),
    "test-amp-f16": ("dfdx-core", CORE, ROUNDED),
}
"""Features, the crates whose tests are run with them, how many those are, and which may fail."""
STD = Path(__file__).parent / "programs" / "static_ranges.rs"


@pytest.fixture(scope="module")
def dfdx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give dfdx as upstream has it, in a git repository of its own; not to be written to."""
    return fetched(tmp_path_factory.mktemp("foreign") / "dfdx", "dfdx", REPOSITORY, COMMIT)


@pytest.fixture(scope="module")
def ported(dfdx: Path) -> Path:
    """Give the port."""
    return port_of(dfdx)


def test_every_mention_is_accounted_for_and_nothing_is_left_to_write(dfdx: Path) -> None:
    done = invoke("scan", dfdx, "--format", "json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["unaccounted"] == []
    assert [site for site in document["sites"] if site["applicability"] == "manual"] == []
    assert [site for site in document["sites"] if site["code"] == "PK904"] == []


def test_a_second_apply_writes_nothing(ported: Path) -> None:
    done = invoke("apply", ported, "--allow-dirty", "--check")
    assert (done.code, done.err) == (0, ""), done.out


def test_every_kernel_has_a_hip_source_beside_it(ported: Path) -> None:
    kernels = {path.with_suffix(".hip") for path in ported.rglob("*.cu")}
    assert len(kernels) == 50
    assert {path for path in kernels if not path.is_file()} == set()


@pytest.mark.parametrize("features", ["f16,ci-check", "rocm,f16,ci-check"])
def test_it_type_checks_with_rocm_and_without(ported: Path, features: str) -> None:
    locked(ported)
    done = run(ported, "cargo", "check", "--workspace", "--features", features, name="dfdx")
    assert done.returncode == 0, done.stdout[-6000:]


def locked(root: Path) -> None:
    """Write the lock file without which dfdx cannot be built; without the crates it is no test."""
    entries = [LOCKED.format(name, version, REGISTRY, "") for name, version in YANKED.items()]
    entries[0] = LOCKED.format("wgpu", YANKED["wgpu"], REGISTRY, '"wgpu-core", "wgpu-hal"')
    entries.append(LOCKED.format("half", HALF, REGISTRY, ""))
    own = '[[package]]\nname = "dfdx-core"\nversion = "0.13.0"\ndependencies = ["half", "wgpu"]\n'
    (root / "Cargo.lock").write_text("\n".join(["version = 3", own, *entries]))
    needs(run(root, "cargo", "fetch", name="dfdx"), "dfdx")


@pytest.fixture(scope="module")
def nightly(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Give the variables by which a stable rustc builds dfdx's tests; nothing of the tree changes.

    The tests take the feature `nightly`, which dfdx's build script sets where rustc is one. It asks
    for `generic_const_exprs`, under which rustc 1.85 and 1.95 refuse a file of dfdx's for want of a
    bound; another std has it.
    """
    folder = tmp_path_factory.mktemp("std")
    library = folder / "libstd_static_ranges.rlib"
    words = ("--edition=2021", "--crate-type=rlib", "--crate-name=std", "-Cmetadata=static_ranges")
    subprocess.run(["rustc", *words, STD, "-o", library], check=True)
    wrapper = script(
        folder / "rustc",
        'case " $* " in *" --crate-name dfdx_hip "*) exec "$@";; esac\n'
        f"""exec "$@" --cfg 'feature="nightly"' --extern std={library}""",
    )
    crates = "dfdx_core,dfdx,issue_tests"
    return {"RUSTC_BOOTSTRAP": crates, "RUSTC_WORKSPACE_WRAPPER": str(wrapper)}


@pytest.mark.slow
@pytest.mark.parametrize("features", PRECISIONS)
def test_its_tests_pass_on_the_cpu_device(
    ported: Path, nightly: dict[str, str], features: str
) -> None:
    """Its build script compiles the kernels, and hipRTC the rest while the tests run."""
    locked(ported)
    crates, count, may_fail = PRECISIONS[features]
    words = [word for crate in crates.split(",") for word in ("--package", crate)]
    words += ["--lib", "--tests", "--no-fail-fast", f"--features=rocm,{features}"]
    for device in devices("DFDX_ROCM_ARCHS"):
        done = run(ported, "cargo", "test", *words, name="dfdx", **device, **nightly)
        found = dict(re.findall(r"^test (\S+).* \.\.\. (\w+)$", done.stdout, re.MULTILINE))
        assert len(found) == count, done.stdout[-6000:]
        assert {name for name, result in found.items() if result != "ok"} <= may_fail
        assert done.returncode == 0 or may_fail, done.stdout[-6000:]
