from __future__ import annotations

import gzip
import json
import tarfile
from pathlib import Path, PurePosixPath

import pytest
from fetch_stand_in import CRATES, VERSION, Registry, member, upstream_workspace, write_archive

from portkit.errors import FetchError
from portkit.fetch import crate as crate_module
from portkit.fetch import fetch_crate
from portkit.fetch.crate import read_archive, read_crate

ROOT = "demo-1.0.0"
MANIFEST = b'[package]\nname = "demo"\nversion = "1.0.0"\n'


def archive_of(tmp_path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    return write_archive(tmp_path / f"{ROOT}.crate", [member(f"{ROOT}/ok.rs", b"ok"), *members])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("/etc/passwd", "is absolute"),
        (f"{ROOT}/../../x", "'..'"),
        (f"{ROOT}/./x", "'.'"),
        (f"{ROOT}//x", "empty"),
        (f"{ROOT}/.git/config", "git directory"),
        (f"{ROOT}/src/.GIT/hooks/post-checkout", "git directory"),
        (f"{ROOT}/a\\b", "backslash"),
        (f"{ROOT}/a\nb", "control character"),
        ("other-1.0.0/x", f"no plain file in {ROOT}"),
        (ROOT, f"no plain file in {ROOT}"),
        (f"{ROOT}/ok.rs", "occurs twice"),
    ],
)
def test_a_path_outside_the_crate(tmp_path: Path, name: str, words: str) -> None:
    archive = archive_of(tmp_path, member(name, b"bad"))
    with pytest.raises(FetchError, match=words):
        read_archive(archive, ROOT)


@pytest.mark.parametrize(
    "kind",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE],
)
def test_anything_but_a_plain_file(tmp_path: Path, kind: bytes) -> None:
    archive = archive_of(tmp_path, member(f"{ROOT}/odd", kind=kind, link="ok.rs"))
    with pytest.raises(FetchError, match="no plain file"):
        read_archive(archive, ROOT)


def test_more_bytes_than_cargo_unpacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = archive_of(tmp_path)
    size = len(gzip.decompress(archive.read_bytes()))
    monkeypatch.setattr(crate_module, "_LARGEST_UNPACKED", size)
    assert len(read_archive(archive, ROOT)) == 1
    monkeypatch.setattr(crate_module, "_LARGEST_UNPACKED", size - 1)
    with pytest.raises(FetchError, match=f"more than {size - 1} bytes"):
        read_archive(archive, ROOT)


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    archive = archive_of(tmp_path, member(f"{ROOT}/a", bytes(range(256))))
    whole = archive.read_bytes()
    for length in range(0, len(whole), 7):
        archive.write_bytes(whole[:length])
        with pytest.raises(FetchError, match="delete it and fetch again"):
            read_archive(archive, ROOT)


def test_every_changed_byte_of_the_content_is_noticed(tmp_path: Path) -> None:
    archive = archive_of(tmp_path, member(f"{ROOT}/a", bytes(range(256))))
    whole = archive.read_bytes()
    for at in range(len(whole) - 8, len(whole)):  # the checksum and the length of RFC 1952, 2.3
        archive.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(FetchError, match="delete it and fetch again"):
            read_archive(archive, ROOT)


@pytest.mark.parametrize(
    "added",
    [
        {},
        {"Cargo.toml": MANIFEST},
        {"Cargo.toml.orig": MANIFEST},
        {"Cargo.toml": b"[package", "Cargo.toml.orig": MANIFEST},
        {"Cargo.toml": b"\xff", "Cargo.toml.orig": MANIFEST},
        {"Cargo.toml": b"package = 1", "Cargo.toml.orig": MANIFEST},
        {"Cargo.toml": MANIFEST.replace(b"demo", b"evil"), "Cargo.toml.orig": MANIFEST},
        {"Cargo.toml": MANIFEST.replace(b"1.0", b"1.1"), "Cargo.toml.orig": MANIFEST},
        *(
            {"Cargo.toml": MANIFEST, "Cargo.toml.orig": MANIFEST, ".cargo_vcs_info.json": info}
            for info in (b"{", b"[]", b'{"git": 1}', b'{"path_in_vcs": 1}')
        ),
    ],
)
def test_what_is_no_crate(tmp_path: Path, added: dict[str, bytes]) -> None:
    archive = archive_of(tmp_path, *(member(f"{ROOT}/{at}", data) for at, data in added.items()))
    with pytest.raises(FetchError, match="is not an archive as `cargo package` makes it"):
        read_crate(archive, "demo", "1.0.0")


@pytest.mark.parametrize("folder", ["..", "/tmp", "a/../..", ".git", "a//b", "./a"])
def test_a_folder_outside_the_repository(tmp_path: Path, folder: str) -> None:
    info = json.dumps({"path_in_vcs": folder}).encode()
    archive = archive_of(
        tmp_path,
        member(f"{ROOT}/Cargo.toml", MANIFEST),
        member(f"{ROOT}/Cargo.toml.orig", MANIFEST),
        member(f"{ROOT}/.cargo_vcs_info.json", info),
    )
    with pytest.raises(FetchError, match="its folder"):
        read_crate(archive, "demo", "1.0.0")


@pytest.mark.parametrize(
    ("info", "folder", "commit"),
    [
        ({"git": {"sha1": "abc"}, "path_in_vcs": "crates/demo"}, "crates/demo", "abc"),
        ({"git": {"sha1": "abc"}, "path_in_vcs": ""}, "demo", "abc"),  # the repository's root
        ({"git": {"sha1": "abc"}}, "demo", "abc"),  # as cargo before 1.57 wrote it
        (None, "demo", None),  # published from no repository
    ],
)
def test_a_crate_tells_where_it_stood(
    tmp_path: Path, info: object, folder: str, commit: str | None
) -> None:
    members = [
        member(f"{ROOT}/Cargo.toml", MANIFEST),
        member(f"{ROOT}/Cargo.toml.orig", b"# as written\n" + MANIFEST),
        member(f"{ROOT}/Cargo.lock", b"version = 4\n"),
        member(f"{ROOT}/run.sh", b"", 0o755),
    ]
    if info is not None:
        members.append(member(f"{ROOT}/.cargo_vcs_info.json", json.dumps(info).encode()))
    crate = read_crate(archive_of(tmp_path, *members), "demo", "1.0.0")
    assert (crate.folder, crate.commit) == (PurePosixPath(folder), commit)
    assert {
        path.as_posix(): (file.data, file.executable) for path, file in crate.files.items()
    } == {
        "Cargo.toml": (b"# as written\n" + MANIFEST, False),
        "ok.rs": (b"ok", False),
        "run.sh": (b"", True),
    }


# fetch_crate


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    registry = Registry(tmp_path, monkeypatch)
    registry.publish(upstream_workspace(tmp_path / "upstream"), CRATES[:1])
    return registry


def test_one_crate_as_published_and_read_only(registry: Registry) -> None:
    folder = fetch_crate("candle-core", VERSION)
    assert folder.is_relative_to(registry.cache)
    assert (folder / "Cargo.toml.orig").is_file()
    assert (folder / "Cargo.lock").is_file()
    assert (folder / "candle-core").exists() is False
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}
    assert modes.pop("stub.sh") == 0o555
    assert set(modes.values()) == {0o444}


def test_one_crate_twice_is_one_download(registry: Registry) -> None:
    folder = fetch_crate("candle-core", VERSION)
    assert registry.asked() == [f"info candle-core@{VERSION}"]
    assert fetch_crate("candle-core", VERSION, offline=True) == folder
    assert fetch_crate("candle-core", VERSION) == folder
    assert registry.asked() == []


def test_another_content_is_another_folder(registry: Registry) -> None:
    folder = fetch_crate("candle-core", VERSION)
    (archive,) = registry.cargo_home.glob("registry/cache/*/*.crate")
    write_archive(archive, [member(f"candle-core-{VERSION}/lib.rs", b"other")])
    other = fetch_crate("candle-core", VERSION)
    assert other != folder
    assert (other / "lib.rs").read_bytes() == b"other"


def test_one_crate_that_does_not_exist(registry: Registry) -> None:
    with pytest.raises(FetchError, match=f"has no candle-ug {VERSION}: name a published version"):
        fetch_crate("candle-ug", VERSION)
    with pytest.raises(FetchError, match=f"cache has no candle-core {VERSION}.*without --offline"):
        fetch_crate("candle-core", VERSION, offline=True)
