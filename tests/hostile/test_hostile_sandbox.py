"""``portkit verify --sandbox``: what a tree brings can neither write, nor talk, nor look around.

The stand-in for cargo plays the tree's build script: it tries what it should not, and says so.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from cli_support import add_file, invoke, make_candle
from verify_support import install_cargo, make_ported, stand_in, verify

from portkit.workspace.programs import NOWHERE

_WORKS = (
    shutil.which("bwrap") is not None
    and not subprocess.run(
        ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"],
        cwd=NOWHERE,
        capture_output=True,
        check=False,
    ).returncode
)

sandboxed = pytest.mark.skipif(not _WORKS, reason="NO BUBBLEWRAP")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    (home / ".cargo").mkdir(parents=True)
    (home / ".cargo" / "credentials.toml").write_text("[registry]\ntoken = 'secret'\n")
    (home / "secret").write_text("secret\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("CARGO_HOME", raising=False)
    monkeypatch.delenv("PORTKIT_TRUST", raising=False)
    return home


@pytest.fixture
def cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> Path:
    return install_cargo(tmp_path, monkeypatch)


@pytest.fixture
def candle(tmp_path: Path, cargo: Path) -> Path:
    candle = make_ported(tmp_path)
    add_file(candle, "Cargo.lock", b"version = 4\n")
    return candle


def done_by(candle: Path, cargo: Path, tmp_path: Path, commands: str) -> str:
    """Run commands as a build script would, in the sandbox, and return what they say."""
    note = "$CARGO_TARGET_DIR/note"
    stand_in(cargo, f'{{ {commands}\n}} > "{note}" 2>&1; exit 0')
    found = verify(candle, "--only", "check", "--sandbox", "--no-cache")
    assert found["check"]["verdict"] == "passed", found
    (written,) = (tmp_path / "cache").rglob("note")
    return written.read_text()


@sandboxed
@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        ("echo x > Cargo.toml", "Read-only file system"),
        ("echo x > new.rs", "Read-only file system"),
        ("rm -f Cargo.toml", "Read-only file system"),
        ("echo x > /etc/portkit-was-here", "Read-only file system"),
        ("mount -o remount,rw /", "mount: "),
        ('cat "$HOME/secret"', "No such file or directory"),
        ('echo x > "$XDG_CACHE_HOME/portkit/verified/x"', "Read-only file system"),
    ],
)
def test_what_cannot_be_done(
    candle: Path, cargo: Path, tmp_path: Path, attempt: str, said: str
) -> None:
    before = sorted(p for p in candle.rglob("*") if ".git" not in p.parts)
    (tmp_path / "cache" / "portkit" / "verified").mkdir(parents=True)
    assert said in done_by(candle, cargo, tmp_path, attempt)
    assert sorted(p for p in candle.rglob("*") if ".git" not in p.parts) == before
    assert not Path("/etc/portkit-was-here").exists()


@sandboxed
def test_what_is_left_in_folders_for_temporary_files_is_gone(
    candle: Path, cargo: Path, tmp_path: Path
) -> None:
    """A test may write there: it is a folder of the sandbox's own."""
    with tempfile.NamedTemporaryFile(dir="/tmp") as ours:
        said = done_by(candle, cargo, tmp_path, f"ls {ours.name}; touch /tmp/left && echo written")
    assert "No such file" in said
    assert "written" in said
    assert not Path("/tmp/left").exists()


@sandboxed
def test_there_is_nobody_to_talk_to(candle: Path, cargo: Path, tmp_path: Path) -> None:
    talk = (
        "import socket, sys\n"
        "for family, address in (\n"
        "    (socket.AF_INET, ('127.0.0.1', int(sys.argv[1]))), (socket.AF_UNIX, sys.argv[2])\n"
        "):\n"
        "    try:\n"
        "        socket.socket(family).connect(address)\n"
        "        print('connected')\n"
        "    except OSError as error:\n"
        "        print(error.strerror)\n"
    )
    script = add_file(candle, "talk.py", talk.encode())
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as local,
    ):
        local.bind(f"{folder}/socket")
        local.listen()
        command = f"python3 {script} {server.getsockname()[1]} {folder}/socket"
        outside = subprocess.run(command.split(), capture_output=True, text=True, check=True)
        assert outside.stdout == "connected\nconnected\n"
        said = done_by(candle, cargo, tmp_path, f"{command}; kill -0 {os.getpid()} && echo seen")
    assert "connected" not in said
    assert "Connection refused" in said
    assert "seen" not in said


@sandboxed
def test_a_token_of_a_registry_is_not_shown(candle: Path, cargo: Path, tmp_path: Path) -> None:
    said = done_by(
        candle, cargo, tmp_path, 'ls "$HOME/.cargo"; cat "$HOME/.cargo/credentials.toml"'
    )
    assert "credentials.toml" in said
    assert "secret" not in said


@sandboxed
def test_the_lock_file_is_written_in_a_copy(candle: Path, cargo: Path, tmp_path: Path) -> None:
    commands = 'echo settled >> Cargo.lock; cat Cargo.lock; echo "$CARGO_NET_OFFLINE"'
    said = done_by(candle, cargo, tmp_path, commands)
    assert set(said.split("\n")) == {"version = 4", "settled", "true", ""}
    assert (candle / "Cargo.lock").read_text() == "version = 4\n"


@sandboxed
def test_nothing_outlives_an_end(candle: Path, cargo: Path, tmp_path: Path) -> None:
    """A process that is left in the background goes with the sandbox."""
    mark = f"sleep 30{os.getpid()}"
    done_by(candle, cargo, tmp_path, f"{mark} & echo begun")
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert mark not in listed.stdout


def test_without_bubblewrap(candle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portkit.verify.sandbox.find_program", lambda name: "")
    done = invoke("verify", candle, "--only", "check", "--sandbox")
    assert done.code == 19
    assert "bubblewrap, which makes the sandbox, is missing: install it" in done.err
    assert not (tmp_path / "cache").exists()


def test_bubblewrap_that_does_not_work(
    candle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "bin" / "bwrap"
    broken.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n"
    )
    broken.chmod(0o755)
    done = invoke("verify", candle, "--only", "check", "--sandbox")
    assert done.code == 19
    assert "makes no sandbox here (bwrap: No permissions to create new namespace)" in done.err


def test_without_a_lock_file(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    (tmp_path / "bin" / "bwrap").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "bwrap").chmod(0o755)
    done = invoke("verify", candle, "--only", "check", "--sandbox")
    assert done.code == 19
    assert "has no Cargo.lock" in done.err
    assert "run `cargo fetch` there first" in done.err


def test_what_is_asked_for_otherwise_is_not_sandboxed(tmp_path: Path, cargo: Path) -> None:
    """Steps that only look need neither a word nor a sandbox."""
    candle = make_candle(tmp_path / "candle")
    assert invoke("apply", candle, "--no-format").code == 0
    assert invoke("verify", candle, "--only", "coverage", "--sandbox").code == 0
