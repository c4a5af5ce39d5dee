"""Pipes, devices, links and sizes under names that portkit reads or writes."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
import tarfile
from typing import TYPE_CHECKING

import pytest

from portkit.engine.session import scan_tree
from portkit.errors import FetchError, NotAWorkspaceError
from portkit.fetch.crate import read_archive
from portkit.hipify.errors import KernelInputError
from portkit.hipify.stage import hipify
from portkit.workspace.cargo_workspace import LARGEST_FILE, load_workspace
from portkit.workspace.git_repository import find_repository
from portkit.workspace.regular_files import read_regular, replace_file

if TYPE_CHECKING:
    from pathlib import Path

KERNEL = '#include "h.cuh"\n__global__ void k(float* x) { x[threadIdx.x] = 1; }\n'

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name")


def portkit(*arguments: str, folder: Path, limit: float = 60) -> subprocess.CompletedProcess[str]:
    """Run portkit, which must end: a pipe that is read never does."""
    command = [sys.executable, "-m", "portkit", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=limit, check=False
    )


def test_a_manifest_that_is_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "Cargo.toml")
    with pytest.raises(NotAWorkspaceError, match="no regular file"):
        load_workspace(tmp_path)


def test_a_manifest_that_is_a_device(tmp_path: Path) -> None:
    (tmp_path / "Cargo.toml").symlink_to("/dev/zero")
    with pytest.raises(NotAWorkspaceError, match="no regular file"):
        load_workspace(tmp_path)


def test_a_git_file_that_is_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert find_repository(tmp_path) is None


@pytest.mark.parametrize(
    "text",
    [
        "workspace = 3\n",
        "package = 3\n",
        "[workspace]\npackage = 3\n",
        "features = []\n[package]\nname = 'a'\n",
        "a = " + "[" * 100_000,
        "a." * 50_000 + "b = 1\n",
    ],
    ids=lambda text: text[:20],
)
def test_a_root_manifest_of_another_form(tmp_path: Path, text: str) -> None:
    (tmp_path / "Cargo.toml").write_text(text)
    done = portkit("scan", str(tmp_path), folder=tmp_path)
    assert done.returncode == 10, done.stderr
    assert "Traceback" not in done.stderr


def test_another_manifest_of_another_form_is_one_finding(tmp_path: Path) -> None:
    (tmp_path / "Cargo.toml").write_text("[workspace]\nmembers = ['a', 'b']\n")
    for name, text in {
        "a": "package = 3\n",
        "b": "[package]\nname = 'b'\nversion = '1.0.0'\n[features]\ncuda = []\n",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "Cargo.toml").write_text(text)
    findings = scan_tree(tmp_path).findings
    (odd,) = (f for f in findings if f.code == "PK902")
    assert (odd.path, "'package' is no table" in odd.message) == ("a/Cargo.toml", True)
    assert any(f.code == "PK201" and f.path == "b/Cargo.toml" for f in findings)


def test_a_file_larger_than_any_source(tmp_path: Path) -> None:
    (tmp_path / "Cargo.toml").write_text("[package]\nname = 'a'\n[features]\ncuda = []\n")
    (tmp_path / "big.rs").write_bytes(b"//" + b"x" * LARGEST_FILE)
    (unread,) = load_workspace(tmp_path).unread
    assert (unread.path, "larger than 16 MiB" in unread.reason) == ("big.rs", True)


def test_a_link_out_of_the_tree_or_to_nothing_is_said_and_one_within_is_not(tmp_path: Path) -> None:
    tree, elsewhere = tmp_path / "tree", tmp_path / "elsewhere"
    for folder in (tree / "own", elsewhere):
        folder.mkdir(parents=True)
        (folder / "lib.rs").write_text("// CUDA\n")
    (tree / "Cargo.toml").write_text("[workspace]\nmembers = ['own', 'member']\n")
    for name, target in {
        "again": tree / "own",
        "lib.rs": elsewhere / "lib.rs",
        "member": elsewhere,
        "notes.txt": elsewhere / "lib.rs",
        "target": elsewhere,
    }.items():
        (tree / name).symlink_to(target)
    for number in (1, 2):
        (tree / f"ring{number}.rs").symlink_to(tree / f"ring{3 - number}.rs")
    assert [
        (each.path, "out of the tree" in each.reason) for each in load_workspace(tree).unread
    ] == [
        ("lib.rs", True),
        ("member", True),
        ("ring1.rs", False),
        ("ring2.rs", False),
    ]


def test_hipify_writes_through_no_link(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL)
    (tmp_path / "h.cuh").write_text("#pragma once\n")
    victim = tmp_path / "victim"
    victim.write_text("precious\n")
    out = tmp_path / "out"
    out.mkdir()
    for name in ("k.hip", ".k.hip.part", "k.hip.part"):
        (out / name).symlink_to(victim)
    hipify([tmp_path / "k.cu"], out=out, overwrite=True)
    assert victim.read_text() == "precious\n"
    assert not (out / "k.hip").is_symlink()


def test_hipify_copies_nothing_that_a_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("#define SECRET 1\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "k.cu").write_text(KERNEL)
    (tmp_path / "src" / "h.cuh").symlink_to(tmp_path / "secret")
    with pytest.raises(KernelInputError, match=r"h\.cuh is a link that leads out"):
        hipify([tmp_path / "src"], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_part_that_somebody_made_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.urandom", bytes)
    (tmp_path / ".a.00000000.part").symlink_to(tmp_path / "victim")
    with pytest.raises(FileExistsError):
        replace_file(tmp_path / "a", b"x")
    assert not (tmp_path / "victim").exists()


def test_a_link_is_followed_only_where_it_may_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_regular(tmp_path / "link", 5) == b"12345"
    with pytest.raises(OSError, match="link"):
        read_regular(tmp_path / "link", 5, follow=False)
    with pytest.raises(OSError, match="larger than"):
        read_regular(tmp_path / "file", 4)


def test_an_archive_that_says_it_holds_more(tmp_path: Path) -> None:
    """A sparse member of two hundred bytes that stands for a gigabyte."""
    size = 1 << 30
    sparse = tarfile.TarInfo("a-1.0.0/big")
    sparse.pax_headers = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": "a-1.0.0/big",
        "GNU.sparse.realsize": str(size),
    }
    content = b"0\n".ljust(512, b"\0")
    sparse.size = len(content)
    archive = tmp_path / "a.crate"
    with tarfile.open(archive, "w:gz", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(sparse, io.BytesIO(content))
    with pytest.raises(FetchError, match="no plain file"):
        read_archive(archive, "a-1.0.0")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list any folder")
def test_a_folder_that_may_not_be_listed_is_a_finding(tmp_path: Path) -> None:
    _closed_folder(tmp_path).chmod(0)
    (unread,) = load_workspace(tmp_path).unread
    assert (unread.path, unread.reason) == ("src", "it cannot be listed (Permission denied)")


def test_a_folder_that_a_disk_does_not_list_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = _closed_folder(tmp_path)
    real = os.scandir

    def scandir(folder: Path) -> object:
        if folder.name == "src":
            raise OSError(errno.EIO, "Input/output error", str(closed))
        return real(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    found = [f for f in scan_tree(tmp_path).findings if f.code == "PK902"]
    assert [(f.path, f.message) for f in found] == [
        ("src", "it cannot be listed (Input/output error): look at it by hand")
    ]


def _closed_folder(tree: Path) -> Path:
    (tree / "Cargo.toml").write_text("[package]\nname = 'a'\n[features]\ncuda = []\n")
    (tree / "src").mkdir()
    (tree / "src" / "lib.rs").write_text('#[cfg(feature = "cuda")]\nfn f() {}\n')
    return tree / "src"
