"""A port in commits: what each brings, that the end is the one-shot tree, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apply_support import git, picture
from cli_support import LIB, commit, invoke, make_candle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from series_support import IDENTITY, author, make_toy

from portkit.codebases.registry import find_codebase
from portkit.engine.plan import build_plan
from portkit.engine.session import scan_tree
from portkit.errors import DiskError
from portkit.report import series as series_module
from portkit.report.edit_dependencies import WrittenFinding, assign_phases, find_dependencies
from portkit.report.phases import Phase
from portkit.report.series import LATER, split_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.engine.scan import Scan

TARN = Path(__file__).parent / "fixtures" / "codebases" / "tarn"


@pytest.fixture(autouse=True)
def _author(monkeypatch: pytest.MonkeyPatch) -> None:
    author(monkeypatch)


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    return make_toy(tmp_path / "toy")


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory) -> list[Scan]:
    place = tmp_path_factory.mktemp("scans")
    candle = make_toy(place / "candle")
    found = [scan_tree(candle, gating=gating, kernels=True) for gating in ("dummy", "cfg")]
    own = find_codebase(str(TARN / "profile"))
    return [*found, scan_tree(TARN / "tree", gating="cfg", kernels=True, profile=own)]


def one_shot(toy: Path) -> str:
    """Return the tree that one run writes, committed as anybody would, in a clone."""
    clone = toy.with_name("one-shot")
    git(toy.parent, "clone", "--quiet", str(toy), str(clone))
    assert invoke("apply", clone).code == 0
    git(clone, "add", "--all")
    return git(clone, "write-tree").strip()


def state(root: Path) -> tuple[object, ...]:
    """Return all that must be as it was where nothing is written."""
    refs = git(root, "for-each-ref"), (root / ".git" / "HEAD").read_text()
    return picture(root), refs, git(root, "ls-files", "--stage"), git(root, "status", "--short")


def test_the_end_of_a_series_is_the_one_shot_tree(toy: Path) -> None:
    wanted = one_shot(toy)
    done = invoke("apply", toy, "--series")
    assert done.code == 0, done.err
    assert git(toy, "rev-parse", "HEAD^{tree}").strip() == wanted
    assert git(toy, "status", "--short") == ""
    assert git(toy, "symbolic-ref", "HEAD").strip() == "refs/heads/main"
    subjects = git(toy, "log", "--reverse", "--format=%s").splitlines()[1:]
    assert [line.split(None, 1)[1] for line in done.out.splitlines()[1:]] == subjects
    assert subjects[:3] == [
        "ROCm: HIP bindings",
        "ROCm: manifests and features",
        "ROCm: device and storage",
    ]
    # A tree with all of it has nothing to commit.
    again = invoke("apply", toy, "--series")
    assert again.code == 0
    assert "Nothing to write" in again.out
    assert git(toy, "rev-parse", "HEAD^{tree}").strip() == wanted


def test_a_message_says_what_why_and_how_to_check_it(toy: Path) -> None:
    invoke("apply", toy, "--series")
    bodies = git(toy, "log", "--reverse", "--format=%B%x00").split("\0")[1:-1]
    for number, body in enumerate(map(str.strip, bodies), 1):
        lines = body.splitlines()
        assert lines[1] == ""
        assert lines[-1] == f"Portkit-Series: {number}/{len(bodies)}"
        assert "How to check it: " in body
        assert max(map(len, lines)) <= 72 or "portkit" in body
    device, tensors = bodies[2], bodies[3]
    assert "- PK505, 2 places: A variant of an enum that stands for CUDA." in device
    assert "answer with an error until" in device
    assert "To be looked at:" in tensors
    assert "candle-core/src/matmul.rs in_one_piece" in tensors


def test_a_match_answers_with_an_error_until_its_arm_comes(toy: Path) -> None:
    invoke("apply", toy, "--series")
    user = "candle-core/src/user.rs"
    texts = [git(toy, "show", f"{rev}:{user}") for rev in ("HEAD~3", "HEAD~2", "HEAD")]
    assert LATER in texts[0]
    assert LATER not in texts[1]
    assert texts[1] == texts[2] == (toy / user).read_text()


def test_each_part_changes_what_the_one_before_has_left(scans: list[Scan]) -> None:
    for scan in scans:
        wanted = build_plan(scan, rustfmt=False).changes
        made = split_port(scan, rustfmt=False)
        assert made.changes == wanted
        now = {c.path: c.before for c in wanted}
        for part in made.parts:
            for change in part.changes:
                assert now[change.path] == change.before
                now[change.path] = change.after
        assert now == {c.path: c.after for c in wanted}


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_the_end_is_the_same_in_whatever_order_the_phases_are(
    scans: list[Scan], data: st.DataObject, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = data.draw(st.sampled_from(scans[::2]))
    codes = sorted({f.code[:3] for f in scan.findings} | {f.code for f in scan.findings})
    some = data.draw(st.lists(st.sampled_from(codes), unique=True, max_size=6))
    order = tuple(Phase(title=code, verify="true", codes=(code,)) for code in some)
    with monkeypatch.context() as patched:
        patched.setattr(series_module, "load_phases", lambda directory: order)
        made = split_port(scan, rustfmt=False)
    assert made.changes == build_plan(scan, rustfmt=False).changes


def test_patches_make_the_same_tree_in_a_fresh_clone(toy: Path, tmp_path: Path) -> None:
    before = state(toy)
    objects = sorted((toy / ".git" / "objects").rglob("*"))
    # What somebody has configured does not make patches that `git am` refuses.
    git(toy, "config", "diff.noprefix", "true")
    git(toy, "config", "format.attach", "true")
    git(toy, "config", "diff.renames", "copies")
    done = invoke("apply", toy, "--patches", tmp_path / "patches")
    assert done.code == 0, done.err
    assert state(toy) == before
    assert sorted((toy / ".git" / "objects").rglob("*")) == objects
    files = sorted((tmp_path / "patches").iterdir())
    assert files[0].name == "0001-ROCm-HIP-bindings.patch"
    wanted = one_shot(toy)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(toy), str(clone))
    git(clone, "am", "--quiet", *map(str, files))
    assert git(clone, "rev-parse", "HEAD^{tree}").strip() == wanted
    assert git(clone, "log", "-1", "--format=%an <%ae>").strip() == "A Person <a@example.org>"
    # A folder that holds something is somebody's.
    assert invoke("apply", toy, "--patches", tmp_path / "patches").code == DiskError.exit_code


def test_line_ends_of_the_work_tree_are_git_s_in_commits(toy: Path, tmp_path: Path) -> None:
    wanted = one_shot(toy)
    clone = tmp_path / "crlf"
    git(tmp_path, "clone", "--quiet", "-c", "core.autocrlf=true", str(toy), str(clone))
    assert b"\r\n" in (clone / LIB).read_bytes()
    done = invoke("apply", clone, "--series")
    assert done.code == 0, done.err
    assert b"\r\n" in (clone / LIB).read_bytes()
    assert git(clone, "status", "--short") == ""
    assert git(clone, "rev-parse", "HEAD^{tree}").strip() == wanted


def test_a_workspace_in_a_folder_of_a_repository(toy: Path, tmp_path: Path) -> None:
    wanted = one_shot(toy)
    outer = tmp_path / "outer"
    shutil.copytree(toy, outer / "inner", ignore=shutil.ignore_patterns(".git"))
    (outer / "run.sh").write_text("true\n")
    (outer / "run.sh").chmod(0o755)
    commit(outer)
    done = invoke("apply", outer / "inner", "--series")
    assert done.code == 0, done.err
    assert git(outer, "rev-parse", "HEAD:inner").strip() == wanted
    assert git(outer, "status", "--short") == ""
    assert git(outer, "ls-files", "--stage", "run.sh").startswith("100755")


def test_nothing_of_the_repository_is_run(toy: Path, tmp_path: Path) -> None:
    said = tmp_path / "said"
    script = f"#!/bin/sh\necho ran >> {said}\ncat\n"
    hooks = toy / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        (hooks / name).write_text(script)
        (hooks / name).chmod(0o755)
    tool = tmp_path / "tool"
    tool.write_text(script)
    tool.chmod(0o755)
    git(toy, "config", "filter.evil.clean", str(tool))
    git(toy, "config", "filter.evil.smudge", str(tool))
    git(toy, "config", "core.fsmonitor", str(tool))
    (toy / ".git" / "info").mkdir(exist_ok=True)
    (toy / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    assert invoke("apply", toy, "--series").code == 0
    assert not said.exists()


def _merge(toy: Path) -> None:
    (toy / ".git" / "MERGE_HEAD").write_text(git(toy, "rev-parse", "HEAD"))


def _rebase(toy: Path) -> None:
    (toy / ".git" / "rebase-merge").mkdir()


def _detached(toy: Path) -> None:
    git(toy, "checkout", "--quiet", "--detach")


def _dirty(toy: Path) -> None:
    (toy / "notes.txt").write_text("mine\n")


def _staged(toy: Path) -> None:
    _dirty(toy)
    git(toy, "add", "--all")


def _signing(toy: Path) -> None:
    git(toy, "config", "commit.gpgSign", "true")


def _locked(toy: Path) -> None:
    (toy / ".git" / "index.lock").write_bytes(b"")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (_merge, "in the middle of a merge"),
        (_rebase, "in the middle of a rebase"),
        (_detached, "its HEAD is detached"),
        (_dirty, "has uncommitted changes (notes.txt): commit or stash them"),
        (_staged, "has staged changes (notes.txt): commit or stash them"),
        (_signing, "asks for signed commits"),
        (_locked, "another git is at work"),
    ],
)
def test_what_takes_no_commits_is_said(toy: Path, make: object, sentence: str) -> None:
    make(toy)  # type: ignore[operator]
    before = state(toy)
    for way in (["--series"], ["--patches", toy.parent / "patches"]):
        if way[0] == "--patches" and make not in (_dirty, _staged):
            continue
        done = invoke("apply", toy, *way)
        assert done.code not in (0, 1, 70)
        assert sentence in " ".join(done.err.split())
        assert "--allow" not in done.err  # it is refused beside a series
        assert state(toy) == before


def test_who_writes_must_be_known(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in IDENTITY:
        monkeypatch.delenv(name)
    before = state(toy)
    done = invoke("apply", toy, "--series")
    assert done.code == 28
    assert "git knows no name and e-mail to commit with" in " ".join(done.err.split())
    assert state(toy) == before
    git(toy, "config", "user.name", "Own")
    git(toy, "config", "user.email", "own@example.org")
    assert invoke("apply", toy, "--series").code == 0
    assert git(toy, "log", "-1", "--format=%an").strip() == "Own"


def test_without_a_commit_or_a_repository(tmp_path: Path) -> None:
    bare = make_candle(tmp_path / "bare", repository=False)
    done = invoke("apply", bare, "--series")
    assert done.code == 28
    assert "in no git repository" in " ".join(done.err.split())
    git(bare, "init", "--quiet")
    done = invoke("apply", bare, "--series")
    assert "has no commit yet" in " ".join(done.err.split())


@pytest.mark.parametrize("error", [DiskError("full"), KeyboardInterrupt()])
def test_where_writing_fails_all_is_as_it_was(
    toy: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    from portkit.transaction import commits

    def fail(*_: object) -> None:
        raise error

    before = state(toy)
    monkeypatch.setattr(commits, "write_plan", fail)
    assert invoke("apply", toy, "--series").code != 0
    assert state(toy) == before
    assert not (toy / ".git" / "index.lock").exists()


@pytest.mark.parametrize(
    "more", [["--diff"], ["--at", f"{LIB}:5"], ["--allow-dirty"], ["--select", "PK5"]]
)
def test_a_series_is_the_whole_port(toy: Path, more: list[str]) -> None:
    done = invoke("apply", toy, "--series", *more)
    assert done.code == 2
    assert more[0] in done.err


def _written(path: str, *edits: str, code: str = "PK301", symbol: str = "", **more: object):  # type: ignore[no-untyped-def]
    values = {"files": {}, "crate": path.split("/")[0], **more}
    return WrittenFinding(code=code, path=path, symbol=symbol, edits=edits, **values)  # type: ignore[arg-type]


def _needed(*written: WrittenFinding, known: str = "") -> Iterator[tuple[int, int]]:
    found = find_dependencies(written, set(known.split()), "Rocm", {"a": "a", "b": "b"})
    return ((n, other) for n, others in enumerate(found) for other in sorted(others))


def test_what_is_needed_is_derived() -> None:
    use = _written("a/src/x.rs", "fn f() { new_rocm(); d.old() }")
    define = _written("a/src/y.rs", "pub fn new_rocm() {}\npub fn old() {}")
    assert list(_needed(use, define, known="old f")) == [(0, 1)]
    # A comment or a string asks for nothing.
    quiet = _written("a/src/x.rs", '// new_rocm\nlet x = "new_rocm";')
    assert list(_needed(quiet, define)) == []
    # A trait's word counts before its implementations.
    trait = _written("a/src/t.rs", "fn rocm_fwd(&self);", symbol="trait Op::cuda_fwd")
    implementation = _written("b/src/i.rs", "fn rocm_fwd(&self) {}", symbol="Op for X::cuda_fwd")
    call = _written("a/src/c.rs", "op.rocm_fwd()")
    assert list(_needed(trait, implementation, call)) == [(2, 0)]
    # A module is not meant by a field of its name.
    module = _written("a/src/lib.rs", "mod rocm { }")
    other = _written("a/src/c.rs", "struct E { rocm: u8 }")
    path = _written("a/src/d.rs", "rocm::f()")
    assert list(_needed(module, other, path, known="E f")) == [(2, 0)]
    renamed = _written("a/src/e.rs", "pub use rocm as gpu;")
    assert list(_needed(module, other, renamed, known="E")) == [(2, 0)]
    # A name that comes by a list of imports needs its place there, in the same file alone.
    member = _written("a/src/op.rs", "RocmStorage, ", code="PK509", symbol="use crate")
    taken = _written("a/src/op.rs", "fn rocm_fwd(_: &RocmStorage) {}")
    elsewhere = _written("a/src/z.rs", "fn g(_: &RocmStorage) {}")
    assert list(_needed(member, taken, elsewhere, known="fn")) == [(1, 0)]
    # A module needs its file.
    declared = _written("a/src/lib.rs", "mod device;")
    file = _written("a/src/cuda.rs", files={"a/src/device.rs": "", "a/src/no.rs": ""})
    assert list(_needed(declared, file, known="device")) == [(0, 1)]
    # A variant is its enum's.
    place = _written("a/src/d.rs", "Rocm(u8),", code="PK505", types=("Place",))
    held = _written("a/src/h.rs", "Rocm(u8),", code="PK505", types=("Held",))
    arm = _written("b/src/m.rs", "Place::Rocm(_) => 1,")
    assert list(_needed(place, held, arm)) == [(2, 0)]


def test_manifests_go_with_what_they_name() -> None:
    member = _written("Cargo.toml", '\n    "hip",', code="PK203", crate=".")
    shared = _written("Cargo.toml", '\nhip = { path = "hip" }', code="PK202", crate=".")
    own = _written("a/Cargo.toml", "\nhip = { workspace = true }", code="PK202")
    feature = _written("a/Cargo.toml", '\nrocm = ["dep:hip"]', code="PK201")
    above = _written("b/Cargo.toml", '\nrocm = ["a/rocm"]', code="PK201")
    crate = _written("hip", code="PK103", added_crate="hip", crate="hip")
    target = _written("a/Cargo.toml", '\n[[example]]\nname = "rocm_x"', code="PK204")
    example = _written("a/examples/cuda_x.rs", files={"a/examples/rocm_x.rs": ""})
    written = [member, shared, own, feature, above, crate, target, example]
    found = find_dependencies(written, set(), "Rocm", {"a": "a", "b": "b"})
    assert found == [{5}, {5}, {1, 5}, {1, 2, 5}, {3}, {0, 1}, {7}, {6}]
    # A feature of the same crate is one, too.
    more = _written("a/Cargo.toml", '\nmiopen = ["rocm", "std"]', code="PK109")
    assert find_dependencies([feature, more], set(), "Rocm", {"a": "a"}) == [set(), {0}]
    # The crate first, then manifests, then examples: an entry goes with what it names.
    assert assign_phases(written, found, [1, 1, 1, 1, 1, 0, 1, 2]) == [0, 0, 1, 1, 1, 0, 2, 2]
    # Manifests first: the crate comes with them.
    assert assign_phases(written, found, [0, 0, 0, 0, 0, 1, 0, 2])[5] == 0
