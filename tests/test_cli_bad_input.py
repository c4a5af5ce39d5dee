"""Each kind of bad input: one sentence, its own exit code, an untouched tree."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from apply_support import picture
from cli_support import LIB, MATMUL, Done, add_file, commit, invoke, make_candle

if TYPE_CHECKING:
    from collections.abc import Callable

    from apply_support import Picture

    Prepare = Callable[[Path], object]


@pytest.fixture
def candle(tmp_path: Path) -> Path:
    return make_candle(tmp_path / "candle")


def apply(candle: Path, *options: str) -> Done:
    """Apply without what takes long: rustfmt and the crates that the port adds."""
    return invoke("apply", candle, "--no-format", "--skip", "PK103,PK203", *options)


def sites(candle: Path) -> list[dict[str, Any]]:
    done = invoke("scan", candle, "--format", "json", "--skip", "PK103")
    assert done.code == 0, done.err
    found: list[dict[str, Any]] = json.loads(done.out)["sites"]
    return found


def check_refused(done: Done, code: int, *parts: str) -> None:
    """Check that a run ended with one sentence on standard error and nothing else."""
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("error: ")
    assert done.err.endswith("\n")
    assert done.err.count("\n") == 1
    for part in parts:
        assert part in done.err


def without(found: Picture, *paths: str) -> Picture:
    return {path: what for path, what in found.items() if path not in paths}


# --- trees that are refused as a whole ---------------------------------------------------------


def make_folder(place: Path) -> None:
    place.unlink()
    place.mkdir()


NOT_WORKSPACES: dict[str, tuple[Prepare, str]] = {
    "no manifest": (Path.unlink, "it has no Cargo.toml"),
    "broken TOML": (lambda place: place.write_text("[workspace"), "mend it first"),
    "a merge's conflict": (
        lambda place: place.write_text("<<<<<<< ours\n[workspace]\n=======\n>>>>>>> theirs\n"),
        "end the merge",
    ),
    "not UTF-8": (lambda place: place.write_bytes(b"# \xe9\n"), "mend it first"),
    "a folder": (make_folder, "mend it first"),
    "another manifest": (
        lambda place: place.write_text("[profile.release]\n"),
        "neither [workspace] nor [package]",
    ),
}


@pytest.mark.parametrize("command", ["scan", "apply"])
@pytest.mark.parametrize("kind", NOT_WORKSPACES)
def test_not_a_cargo_workspace(candle: Path, command: str, kind: str) -> None:
    prepare, sentence = NOT_WORKSPACES[kind]
    prepare(candle / "Cargo.toml")
    before = picture(candle)
    check_refused(invoke(command, candle), 10, str(candle), sentence)
    assert picture(candle) == before


@pytest.mark.parametrize(
    "command",
    [("scan",), ("apply",), ("branch",), ("update", "--to", "main"), ("review", "--list")],
)
def test_no_folder(candle: Path, command: tuple[str, ...]) -> None:
    """A file was taken for a git that is not installed."""
    for name, said in (("gone", "does not exist"), ("Cargo.toml", "is no folder")):
        done = invoke(command[0], candle / name, *command[1:])
        check_refused(done, 10, f"{candle / name} {said}: name the directory of the workspace's")


CONFLICT = b"<<<<<<< HEAD\nuse a;\n=======\nuse b;\n>>>>>>> upstream\n"


@pytest.mark.parametrize("command", ["scan", "apply"])
def test_a_tree_in_the_middle_of_a_merge(candle: Path, command: str) -> None:
    lib = candle / LIB
    manifest = candle / "candle-core/Cargo.toml"
    whole = manifest.read_bytes()
    lib.write_bytes(b"//! Mine.\n" + CONFLICT + lib.read_bytes())
    manifest.write_bytes(CONFLICT)
    before = picture(candle)
    check_refused(invoke(command, candle), 10, f"{manifest}:1 holds", "(1 more file does)")
    assert picture(candle) == before
    manifest.write_bytes(whole)
    said = (f"{lib}:2 holds conflicts of a merge: end the merge", "`portkit apply --regenerate`")
    check_refused(invoke(command, candle), 10, *said)


def test_a_text_about_conflicts_is_none(candle: Path) -> None:
    add_file(candle, "candle-core/src/diff.rs", b'const D: &str = "\n' + CONFLICT + b'";\n')
    add_file(candle, "NOTES.md", CONFLICT)
    assert invoke("scan", candle).code == 0


@pytest.mark.parametrize("command", ["scan", "apply"])
def test_a_crate_of_a_workspace_is_not_the_workspace(candle: Path, command: str) -> None:
    check_refused(invoke(command, candle / "candle-core"), 10, "name that directory", str(candle))
    root = candle / "Cargo.toml"
    root.write_text(root.read_text().replace("members", "exclude"))
    assert invoke("scan", candle / "candle-core").code == 0


@pytest.mark.parametrize("command", ["scan", "apply"])
def test_a_folder_that_is_not_there(tmp_path: Path, command: str) -> None:
    check_refused(invoke(command, tmp_path / "none"), 10, str(tmp_path / "none"))


@pytest.mark.parametrize("command", ["scan", "apply"])
def test_a_file_in_place_of_a_folder(candle: Path, command: str) -> None:
    check_refused(invoke(command, candle / "Cargo.toml"), 10, str(candle / "Cargo.toml"))


@pytest.mark.parametrize("command", ["scan", "apply"])
@pytest.mark.parametrize(
    "source",
    [
        b"pub fn add(a: f32, b: f32) -> f32 {\n    a + b\n}\n",
        b"// Unlike cuda, this needs no device.\npub fn add() {}\n",
        b'pub const HELP: &str = "there is no cuda here";\n',
    ],
    ids=["no mention", "a comment", "a message"],
)
def test_no_backend(tmp_path: Path, command: str, source: bytes) -> None:
    root = tmp_path / "plain"
    add_file(root, "Cargo.toml", b'[package]\nname = "plain"\nversion = "1.0.0"\n')
    add_file(root, "src/lib.rs", source)
    add_file(root, "README.md", b"Runs where CUDA does not.\n")
    commit(root)
    before = picture(root)
    check_refused(invoke(command, root), 11, str(root))
    assert picture(root) == before


@pytest.mark.parametrize("version", ["0.6.0", "0.3.0-alpha.2"])
def test_a_version_before_the_first(tmp_path: Path, version: str) -> None:
    candle = make_candle(tmp_path / "candle", version=version)
    before = picture(candle)
    for options in ([], ["--check"], ["--diff"]):
        check_refused(apply(candle, *options), 12, f"candle {version}", "0.7.0")
    assert picture(candle) == before
    assert f"candle {version}: " in invoke("scan", candle).out


def test_a_generator_s_source_before_its_first(tmp_path: Path) -> None:
    candle = make_candle(tmp_path / "candle", version="0.8.1")
    manifest = candle / "candle-core" / "Cargo.toml"
    manifest.write_text(manifest.read_text() + '\n[dependencies.ug-cuda]\nversion = "0.0.2"\n')
    commit(candle)
    before = picture(candle)
    check_refused(apply(candle), 12, str(candle), "ug-cuda 0.0.2", "begins at 0.1")
    assert picture(candle) == before


@pytest.mark.parametrize("version", ["0.7.0", "0.9.0-alpha.1", "0.9.0", "0.10.2", "1.0.0"])
def test_a_version_from_the_first_on(tmp_path: Path, version: str) -> None:
    assert apply(make_candle(tmp_path / "candle", version=version), "--check").code == 1


def test_a_codebase_without_a_profile_can_be_scanned(candle: Path) -> None:
    manifest = candle / "candle-core" / "Cargo.toml"
    manifest.write_text(manifest.read_text().replace("candle-core", "another"))
    commit(candle)
    before = picture(candle)
    check_refused(apply(candle), 16, str(candle), "candle")
    assert picture(candle) == before
    assert {"PK301", "PK503", "PK505"} <= {site["code"] for site in sites(candle)}


def test_a_read_only_file(candle: Path) -> None:
    (candle / LIB).chmod(0o444)
    before = picture(candle)
    check_refused(apply(candle), 14, LIB, "read-only")
    assert picture(candle) == before


def test_a_read_only_folder(candle: Path) -> None:
    folder = (candle / LIB).parent
    folder.chmod(0o555)
    before = picture(candle)
    done = apply(candle)
    folder.chmod(0o755)
    check_refused(done, 14, str(folder), "read-only")
    assert without(picture(candle), "candle-core/src") == without(before, "candle-core/src")


def test_a_file_that_vanishes(candle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from portkit.workspace.git import check_clean as real

    checks = 0

    def check_clean(*arguments: Any, **options: Any) -> None:
        nonlocal checks
        checks += 1
        real(*arguments, **options)
        if checks == 2:  # the first is before the plan, the second before it is written
            (candle / LIB).unlink()

    before = picture(candle)
    monkeypatch.setattr("portkit.workspace.git.check_clean", check_clean)
    check_refused(apply(candle), 14, LIB, "vanished")
    assert picture(candle) == without(before, LIB)


def test_a_name_that_the_port_needs_leads_out(candle: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (candle / "ROCM.md").symlink_to(outside)
    commit(candle)
    before = picture(candle)
    check_refused(invoke("apply", candle, "--no-format"), 15, "ROCM.md")
    assert (picture(candle), outside.exists()) == (before, False)


# --- files that are reported, while the others are done ----------------------------------------


def check_others_are_done(candle: Path, path: str, code: str, message: str) -> None:
    found = [site for site in sites(candle) if site["path"] == path]
    assert [(site["code"], site["applicability"]) for site in found] == [(code, "manual")]
    assert message in found[0]["message"]
    before = (candle / path).read_bytes()
    done = apply(candle)
    assert (done.code, (candle / path).read_bytes()) == (0, before)
    assert f"{path}:{found[0]['line']}  " in done.out
    assert "Rocm(usize)" in (candle / LIB).read_text()


def test_a_file_that_is_not_utf_8(candle: Path) -> None:
    add_file(candle, "candle-core/src/latin.rs", b"// caf\xe9: cuda\n")
    commit(candle)
    check_others_are_done(candle, "candle-core/src/latin.rs", "PK902", "not UTF-8 (byte 6)")


def test_a_file_that_cannot_be_read(candle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "candle-core/src/locked.rs"
    add_file(candle, path, b"// cuda\n")
    commit(candle)
    really_open = os.open

    def open_(place: Any, *arguments: Any, **options: Any) -> Any:
        if str(place) == str(candle / path):
            # As it fails for anybody but root, who may read everything.
            raise PermissionError(13, "Permission denied", str(place))
        return really_open(place, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", open_)
        found = [site for site in sites(candle) if site["path"] == path]
        done = apply(candle)
    assert [(site["code"], site["applicability"]) for site in found] == [("PK902", "manual")]
    assert "Permission denied" in found[0]["message"]
    assert done.code == 0
    assert "Rocm(usize)" in (candle / LIB).read_text()


def test_a_file_with_a_syntax_error(candle: Path) -> None:
    broken = b"pub fn one() {}\n\npub fn cuda( {\n"
    add_file(candle, "candle-core/src/broken.rs", broken)
    commit(candle)
    found = [s for s in sites(candle) if s["path"].endswith("broken.rs") and s["code"] == "PK901"]
    assert [(site["applicability"], site["status"]) for site in found] == [("manual", "none")]
    done = apply(candle)
    assert done.code == 0
    assert "candle-core/src/broken.rs:" in done.out
    assert "Rocm(usize)" in (candle / LIB).read_text()


def test_a_broken_file_gets_what_can_be_done(candle: Path) -> None:
    text = (candle / LIB).read_text()
    (candle / LIB).write_text(text + "\npub fn broken( {\n")
    commit(candle)
    assert apply(candle).code == 0
    after = (candle / LIB).read_text()
    assert "    Cuda(usize),\n    Rocm(usize),\n" in after
    assert after.endswith("\npub fn broken( {\n")


# --- what leads out of the workspace -----------------------------------------------------------


def test_symbolic_links_are_not_followed(candle: Path, tmp_path: Path) -> None:
    file = add_file(tmp_path / "outside", "device.rs", (candle / LIB).read_bytes())
    (candle / "candle-core/src/linked.rs").symlink_to(file)
    (candle / "candle-core/linked").symlink_to(file.parent)
    (candle / "candle-core/loop").symlink_to(candle)
    commit(candle)
    before = picture(tmp_path / "outside")
    found = sites(candle)
    links = {site["path"] for site in found if site["code"] == "PK902"}
    assert links == {"candle-core/linked", "candle-core/src/linked.rs"}
    assert {site["path"] for site in found} - links == {
        "Cargo.toml",
        "candle-core/Cargo.toml",
        LIB,
        MATMUL,
    }
    assert apply(candle).code == 0
    assert picture(tmp_path / "outside") == before
    assert (candle / "candle-core/src/linked.rs").is_symlink()


RINGS = {
    "a name": {"loop": "loop"},
    "two names": {"l1": "l2", "l2": "l1"},
    "in a crate": {"candle-core/self": "self"},
    "through a folder": {"candle-core/self": "self/self"},
    "a lock file": {"Cargo.lock": "Cargo.lock"},
    "below a file": {"candle-core/below": "Cargo.toml/below"},
    "too long a name": {"long": "a" * 300},
    "nothing": {"gone": "nowhere"},
    "code": {"candle-core/src/ring.rs": "ring.rs"},
    "a manifest": {"other/Cargo.toml": "Cargo.toml"},
    "code that is gone": {"candle-core/src/gone.rs": "nowhere.rs"},
    "a lock of Emacs": {"candle-core/src/.#lib.rs": "me@here.42:1"},
}
"""Links that lead nowhere."""


@pytest.mark.parametrize("kind", RINGS)
def test_links_that_lead_nowhere(candle: Path, kind: str) -> None:
    """Those whose names are of files that are looked at are listed; the others hide nothing."""
    before = [site for site in sites(candle) if site["code"] != "PK902"]
    for name, target in RINGS[kind].items():
        (candle / name).parent.mkdir(exist_ok=True)
        (candle / name).symlink_to(target)
    commit(candle)
    found = sites(candle)
    assert [site for site in found if site["code"] != "PK902"] == before
    listed = {site["path"]: site["message"] for site in found if site["code"] == "PK902"}
    code = {name for name in RINGS[kind] if name.endswith((".rs", ".toml")) and "/." not in name}
    assert set(listed) == code
    assert all("a link that leads nowhere" in message for message in listed.values())
    assert apply(candle).code == 0


@pytest.mark.parametrize("member", ["../outside", "{outside}", "candle-core/../../outside"])
def test_members_outside_the_workspace_are_not_looked_at(
    candle: Path, tmp_path: Path, member: str
) -> None:
    outside = tmp_path / "outside"
    add_file(
        outside, "Cargo.toml", b'[package]\nname = "o"\nversion = "1.0.0"\n[features]\ncuda=[]'
    )
    add_file(outside, "src/lib.rs", (candle / LIB).read_bytes())
    manifest = candle / "Cargo.toml"
    listed = member.format(outside=outside.as_posix())
    manifest.write_text(manifest.read_text().replace('"candle-core"', f'"candle-core", "{listed}"'))
    commit(candle)
    before = picture(outside)
    assert all(not site["path"].startswith(("/", "..")) for site in sites(candle))
    assert apply(candle).code == 0
    assert picture(outside) == before


# --- bytes that are kept -----------------------------------------------------------------------


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [True, False], ids=["final newline", "no final newline"])
@pytest.mark.parametrize("options", [[], ["--no-format"]], ids=["rustfmt", "as written"])
def test_line_ends_are_kept(candle: Path, newline: bytes, last: bool, options: list[str]) -> None:
    cuda, rocm = (f"candle-core/src/{vendor}_backend/mod.rs" for vendor in ("cuda", "rocm"))
    add_file(candle, cuda, b"//! One.\n\npub fn cuda_one( ) -> u8 {\n    1\n}\n")
    for path in (LIB, MATMUL, cuda, "Cargo.toml", "candle-core/Cargo.toml"):
        place = candle / path
        text = place.read_bytes().replace(b"\n", newline)
        place.write_bytes(text if last else text.removesuffix(newline))
    commit(candle)
    done = invoke("apply", candle, *options)
    assert done.code == 0
    assert ("Not formatted" in done.out) is not (last or bool(options))
    for path in (LIB, MATMUL, rocm, "Cargo.toml", "candle-core/Cargo.toml"):
        after = (candle / path).read_bytes()
        assert b"rocm" in after or b"candle-hip" in after
        assert after.count(b"\n") == after.count(newline), path
        # Of a new file rustfmt ends the last line.
        assert after.endswith(newline) is (last or (path == rocm and not options)), path
    assert sites(candle)
    assert apply(candle, "--check").code == 0


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_a_name_that_is_not_utf_8(candle: Path) -> None:
    name = os.fsdecode(b"candle-core/src/caf\xe9.rs")
    add_file(candle, name, b"pub fn is_cuda() -> bool {\n    true\n}\n")
    commit(candle)
    done = invoke("scan", candle, "--format", "json")
    assert done.code == 0
    assert name in {site["path"] for site in json.loads(done.out)["sites"]}
    assert invoke("scan", candle, "--all").code == 0
    before = picture(candle)
    # Such a name cannot stand in the journal, so the tree is refused as a whole.
    check_refused(apply(candle), 15, "caf")
    assert picture(candle) == before
