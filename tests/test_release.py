"""What is published: the files, what they say of themselves, and when they may be."""

from __future__ import annotations

import email
import importlib.util
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apply_support import git
from cli_support import invoke
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from portkit import __version__
from portkit.cli.build_info import read_commit

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REPOSITORY = PROJECT["urls"]["Repository"]
LARGEST = 2_000_000


def tracked() -> list[str]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A wheel, an sdist, and the wheel that somebody makes of the sdist."""
    made = tmp_path_factory.mktemp("dist")
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(made), versions=["standard"])
    (sdist,) = SdistBuilder(str(ROOT)).build(directory=str(made), versions=["standard"])
    with tarfile.open(sdist) as archive:
        # Python has filters from 3.11.4 on ("tarfile", "Supporting older Python versions").
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(made)
    unpacked = made / Path(sdist).name.removesuffix(".tar.gz")
    again = WheelBuilder(str(unpacked)).build(directory=str(made / "again"), versions=["standard"])
    return {"wheel": Path(wheel), "sdist": Path(sdist), "again": Path(*again), "tree": unpacked}


def members(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_wheel_holds_the_package_and_no_more(dist: dict[str, Path]) -> None:
    held = set(members(dist["wheel"]))
    package = {path for path in tracked() if path.startswith("portkit/")}
    assert package <= held
    assert {path.split("/")[0] for path in held} == {"portkit", f"portkit-{__version__}.dist-info"}
    assert all(path.startswith("portkit/shipped/") for path in held - package if "info" not in path)
    assert not [path for path in held if re.search(r"(^|/)(tests|fixtures|__pycache__)/", path)]
    for part in (
        "portkit/py.typed",
        "portkit/config.schema.json",
        "portkit/report/scan.schema.json",
    ):
        assert part in held
    assert any(path.startswith("portkit/templates/") for path in held)
    licences = {path.rpartition("/")[2] for path in held if "/licenses/" in path}
    assert licences == {"LICENSE-APACHE", "LICENSE-MIT"}


def test_an_sdist_makes_the_same_wheel(dist: dict[str, Path]) -> None:
    assert members(dist["again"]) == members(dist["wheel"])
    assert not list(dist["tree"].glob("tests"))


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_it_is_small(dist: dict[str, Path], kind: str) -> None:
    assert 500_000 < dist[kind].stat().st_size < LARGEST


def test_what_it_says_of_itself(dist: dict[str, Path]) -> None:
    said = email.message_from_bytes(
        members(dist["wheel"])[f"portkit-{__version__}.dist-info/METADATA"]
    )
    assert said["Version"] == __version__
    assert said["License-Expression"] == "MIT OR Apache-2.0"
    urls = dict(line.split(", ") for line in said.get_all("Project-URL", []))
    assert {"Homepage", "Documentation", "Changelog", "Issues", "Repository"} == set(urls)
    for url in urls.values():
        path = url.removeprefix(REPOSITORY)
        assert path != url
        assert (ROOT / path.removeprefix("/blob/main/")).exists() or path in ("", "/issues")
    (told,) = (line for line in said.get_all("Classifier", []) if line.endswith(":: Typed"))
    assert told


def test_the_repository_has_one_name() -> None:
    """Until somebody owns it, OWNER stands for whoever will; replaced everywhere or nowhere."""
    owner = REPOSITORY.removesuffix("/portkit").rpartition("/")[2]
    for path in tracked():
        if path.endswith((".md", ".toml", ".yml", ".py")) and not path.startswith("tests/"):
            text = (ROOT / path).read_text()
            found = re.findall(r"(?:github\.com/|uses: )([\w-]+)/portkit\b", text)
            assert set(found) <= {owner}, path


def test_a_build_says_of_which_commit_it_is(dist: dict[str, Path], tmp_path: Path) -> None:
    head = git(ROOT, "rev-parse", "HEAD").strip()
    said = members(dist["wheel"])["portkit/shipped/COMMIT"].decode().strip()
    assert said.removesuffix("-dirty") == head
    assert read_commit() == said, "a clone says the same"
    assert invoke("--version").out.splitlines()[0] == f"portkit {__version__} ({said})"
    assert read_commit(dist["tree"] / "portkit") == said
    with zipfile.ZipFile(dist["wheel"]) as archive:
        archive.extractall(tmp_path)
    assert read_commit(tmp_path / "portkit") == said


@pytest.mark.parametrize("text", ["$Format:%H$\n", "", "\x1b[2J\n", None])
def test_what_nothing_is_known_of_has_no_commit(tmp_path: Path, text: str | None) -> None:
    (tmp_path / "portkit/shipped").mkdir(parents=True)
    if text is not None:
        (tmp_path / "portkit/shipped/COMMIT").write_text(text)
    assert read_commit(tmp_path / "portkit") == ""


def test_a_scan_does_not_ask_for_the_commit(tmp_path: Path) -> None:
    code = "import portkit.cli.port, sys; sys.exit('portkit.cli.build_info' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.fixture
def release() -> ModuleType:
    loader = SourceFileLoader("release", str(ROOT / "ci/release"))
    spec = importlib.util.spec_from_loader("release", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_a_release_has_its_conditions(release: ModuleType, tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    for folder in ("portkit", "dist"):
        (tmp_path / folder).mkdir()
    (tmp_path / "portkit/__init__.py").write_text('__version__ = "0.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [0.2.0] - 2027-01-02\n")
    project = (ROOT / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(project.replace("/OWNER/", "/somebody/"))

    def wheel(built: str) -> None:
        with zipfile.ZipFile(dist / "portkit-0.2.0-py3-none-any.whl", "w") as archive:
            archive.writestr("portkit/shipped/COMMIT", built)

    assert release.reasons(tmp_path, "v0.2.0", dist) == [f"{dist} has no wheel of a commit: none"]
    wheel("0" * 40 + "\n")
    assert release.reasons(tmp_path, "v0.2.0", dist) == []
    wheel("0" * 40 + "-dirty\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [0.2.0] - soon\n")
    (tmp_path / "pyproject.toml").write_text(project)
    found = " ".join(release.reasons(tmp_path, "v0.2.1", dist))
    for word in ("the tag is v0.2.1", "[0.2.0] - DATE", "replace OWNER", "-dirty"):
        assert word in found
