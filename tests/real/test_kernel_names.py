"""candle's kernels and launchers by name: the port has those that nvcc makes of the CUDA sources.

The lists are committed; `ci/nvcc-names` makes them with nvcc 13.0.88 for sm_89.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from codebase_support import candle_kernels

from portkit.hipify.kernels_crate import read_layout
from portkit.hipify.symbols import read_symbols
from portkit.shipped import shipped

if TYPE_CHECKING:
    from collections.abc import Callable

    from portkit.hipify.kernels_crate import KernelsCrate, KernelsLayout

pytestmark = pytest.mark.real

ROOT = Path(__file__).parent.parent.parent
REPORTS = ROOT / "reports" / "kernels"
VERSIONS = ("0.9.2", "0.10.2", "0.11.1")

# How many kernels there are in the modules, and how many functions in the library. The functions
# are those that candle-kernels' ffi.rs declares.
COUNTS = {"0.9.2": (735, 3), "0.10.2": (735, 3), "0.11.1": (755, 50)}


def listed(version: str, kind: str) -> set[tuple[str, str]]:
    """The pairs of a source and a name that nvcc has found."""
    rows = (REPORTS / version / f"{kind}.txt").read_text().splitlines()
    return {(source, name) for source, name in map(str.split, rows)}


def kernels_crate(folder: Path, version: str) -> tuple[KernelsCrate, KernelsLayout]:
    """The port of a CUDA kernels crate, and what that consists of."""
    source = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    return candle_kernels(source, version), read_layout(source)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_patch_finds_as_many_places_as_are_known(
    pristine: Callable[[str], Path], version: str
) -> None:
    """A count that a new patch left behind was asked about in every port."""
    crate, _ = kernels_crate(pristine(version) / "candle-kernels", version)
    assert [f.message for f in crate.findings if f.construct == "number of hits"] == []


@pytest.mark.parametrize("version", VERSIONS)
def test_the_port_has_the_names_that_nvcc_makes(
    pristine: Callable[[str], Path], version: str
) -> None:
    crate, layout = kernels_crate(pristine(version) / "candle-kernels", version)
    modules = [module.name for module in layout.modules]
    files = {
        path.removeprefix("src/"): crate.text(path)
        for path in crate.paths
        if path.endswith((".hip", ".h"))
    }
    found = read_symbols(files, [f"{name}.hip" for name in (*modules, *layout.launchers)])
    kernels = {(name, each) for name in modules for each in found[f"{name}.hip"].kernels}
    functions = {
        (name, each) for name in layout.launchers for each in found[f"{name}.hip"].functions
    }
    assert kernels == listed(version, "names")
    assert functions == listed(version, "launchers")
    assert (len(kernels), len(functions)) == COUNTS[version]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_linker_knows_no_launcher_of_the_port_by_a_name_of_cudas(
    pristine: Callable[[str], Path], version: str
) -> None:
    crate, layout = kernels_crate(pristine(version) / "candle-kernels", version)
    nvcc = {name for _, name in listed(version, "launchers")}
    cuda = set(re.findall(r"\bpub fn (\w+)\(", layout.declarations)) | nvcc
    ffi = crate.text("src/ffi.rs")
    # What the build puts before each name that the sources define.
    (variables,) = re.findall(r'variables: "(\w+)",', crate.text("build.rs"))
    assert 'format!("{}_", variables.to_lowercase())' in crate.text("kernels/mod.rs")
    prefix = f"{variables.lower()}_"
    (put,) = re.findall(r'launchers! \{\s+"(\w+)",', ffi)
    macro = (shipped("crates/hip") / "src/launchers.rs").read_text()
    assert "link_name = concat!($prefix, stringify!($name))" in macro
    declared = set(re.findall(r"\bpub fn (\w+)\(", ffi))
    own = {put + n for n in re.findall(r'link_name = concat!\(\$prefix, "(\w+)"\)', macro)}
    linked = {prefix + name for name in declared} | own
    assert put == prefix
    assert declared <= nvcc
    assert {name.removeprefix(prefix) for name in own} == {
        "launchers_failure",
        "launchers_memory",
        "launchers_present",
    }
    assert len(linked) == COUNTS[version][1] + len(own)
    assert linked.isdisjoint(cuda)
    assert not {name for name in cuda if name.startswith(prefix)}


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_the_lists_are_what_nvcc_finds(version: str, tmp_path: Path) -> None:
    home = os.environ.get("CUDA_HOME")
    if shutil.which("nvcc", path=f"{home}/bin" if home else None) is None:
        pytest.skip("nvcc is not found")
    command: list[str | Path] = [sys.executable, ROOT / "ci" / "nvcc-names", "--version", version]
    subprocess.run([*command, "--output", tmp_path], check=True)
    for name in ("names.txt", "launchers.txt"):
        assert (tmp_path / version / name).read_text() == (REPORTS / version / name).read_text()
