"""Following upstream: edits by hand survive, and what is a conflict is explained."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from apply_support import git, picture
from cli_support import LIB, MATMUL, add_file, commit, invoke
from update_support import BACKEND, BRANCH, COPY, apply, edit, has_edits, make_upstream, replace

from portkit.port.new_files import PortMark
from portkit.verify.baseline import find_default_revision
from portkit.workspace.generated_ports import find_last_generated_port, read_generated_port
from portkit.workspace.trust import ConfirmedBy, find_trust_reason, save_confirmation

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A port that has a branch of pure ports, and three edits; not to be written to."""
    root = make_upstream(tmp_path_factory.mktemp("begun") / "candle")
    assert invoke("branch", root).code == 0
    edit(root)
    return root


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A port as ``apply`` writes it, and three edits; not to be written to."""
    root = make_upstream(tmp_path_factory.mktemp("older") / "candle")
    apply(root)
    edit(root)
    return root


@pytest.fixture
def fork(begun: Path, tmp_path: Path) -> Path:
    return shutil.copytree(begun, tmp_path / "candle")


def parents(root: Path, revision: str) -> list[str]:
    return git(root, "rev-parse", f"{revision}^@").split()


def hashes(root: Path, *revisions: str) -> list[str]:
    return git(root, "rev-parse", *revisions).split()


def files_of_a_port(upstream: Path, folder: Path) -> dict[str, bytes | None]:
    """Return the files that ``apply`` makes of the new version."""
    shutil.copytree(upstream, folder)
    git(folder, "switch", "--quiet", "--force", "upstream")
    apply(folder)
    return {path: data for path, (_, data) in picture(folder).items()}


def test_a_port_begins_with_its_branch(tmp_path: Path) -> None:
    root = make_upstream(tmp_path / "candle")
    done = invoke("branch", root)
    assert done.code == 0, done.err
    assert f"The pure port of candle 0.10.2 is on {BRANCH}" in done.out
    assert hashes(root, BRANCH) == hashes(root, "main")
    assert parents(root, BRANCH) == hashes(root, "upstream^")
    assert git(root, "status", "--porcelain") == ""
    assert invoke("apply", root, "--check").code == 0
    names = git(root, "log", "-1", "--format=%an %ae %cn", BRANCH)
    assert names == "portkit person@example.org a person\n"


@pytest.mark.parametrize("kind", ["begun", "older"])
def test_edits_by_hand_survive(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    root = shutil.copytree(request.getfixturevalue(kind), tmp_path / "candle")
    head = hashes(root, "main")
    if kind == "older":
        assert not git(root, "branch", "--list", BRANCH)
    done = invoke("update", root, "--to", "upstream")
    assert done.code == 0, done.out + done.err
    assert has_edits(root)
    assert "rows <= 128" in (root / MATMUL).read_text()
    assert "let one = 1;" in (root / COPY).read_text()
    assert git(root, "status", "--porcelain") == ""
    # The merge has the user's branch and the pure port; that has the port before, and upstream.
    mine, port = parents(root, "main")
    assert git(root, "merge-base", "--is-ancestor", *head, mine) == ""
    assert [port] == hashes(root, BRANCH)
    before, upstream = parents(root, BRANCH)
    assert read_generated_port(root, before) is not None
    assert [upstream] == hashes(root, "upstream")
    assert find_default_revision(root, PortMark("candle-hip/Cargo.toml")) == upstream
    # With the edits taken back it is the port of the new version, file for file.
    git(root, "switch", "--quiet", BRANCH)
    standing = {path: data for path, (_, data) in picture(root).items()}
    assert standing == files_of_a_port(root, tmp_path / "new")


@pytest.mark.parametrize("gating", ["", "dummy", "cfg"])
def test_what_comes_next_names_the_tree_and_how_it_was_ported(tmp_path: Path, gating: str) -> None:
    root = make_upstream(tmp_path / "candle")
    options = ("--gating", gating) if gating else ()
    tree = f"{root} --gating cfg" if gating == "cfg" else f"{root}"
    # What the first was made with the second is, without a word.
    for command in (("branch", root, *options), ("update", root, "--to", "upstream")):
        said = invoke(*command).out
        assert f"Next: `portkit scan {tree} --format plan` lists" in said
        proof = f"portkit verify {tree}"
        assert f"`{proof}` proves it" in said
        assert invoke(*proof.split()[1:], "--only", "coverage,parity").code == 0


def test_blame_tells_derived_lines_from_upstreams_and_ones_own(fork: Path) -> None:
    assert invoke("update", fork, "--to", "upstream").code == 0
    said = git(fork, "blame", "--line-porcelain", LIB).splitlines()
    authors = [line.removeprefix("author ") for line in said if line.startswith("author ")]
    lines = dict(zip((fork / LIB).read_text().splitlines(), authors, strict=True))
    assert lines["    Rocm(usize),"] == "portkit"
    assert lines["    Cuda(usize),"] == "a"
    assert lines['            Self::Rocm(_) => "amd",'] == "a"


def test_a_second_update_has_nothing_new(fork: Path) -> None:
    assert invoke("update", fork, "--to", "upstream").code == 0
    before = git(fork, "for-each-ref")
    done = invoke("update", fork, "--to", "upstream")
    assert done.code == 0
    assert done.out.startswith("Nothing new: main has the pure port of candle 0.11.1")
    assert invoke("update", fork, "--to", "upstream", "--check").code == 0
    git(fork, "branch", "--quiet", "--delete", "--force", BRANCH)  # as in a fresh clone
    assert invoke("update", fork, "--to", "upstream").code == 0
    assert git(fork, "for-each-ref") == before


def test_a_look_moves_nothing(fork: Path) -> None:
    before = git(fork, "for-each-ref"), picture(fork)
    done = invoke("update", fork, "--to", "upstream", "--check")
    assert done.code == 1
    assert "main would be merged with it." in done.out
    assert (git(fork, "for-each-ref"), picture(fork)) == before


@pytest.mark.parametrize("kind", ["begun", "older"])
def test_a_conflict_is_the_only_one_and_is_explained(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    root = shutil.copytree(request.getfixturevalue(kind), tmp_path / "candle")
    replace(root, COPY, "    1\n", "    11\n")
    commit(root)
    files = picture(root)
    done = invoke("update", root, "--to", "upstream")
    assert done.code == 1, done.out + done.err
    assert "main is not merged, and the work tree is as it was: 1 conflict." in done.out
    place = f"{COPY}:4\n  PK101-"
    assert place in done.out, done.out
    assert f", from {BACKEND}:" in done.out
    # Both sides, as they stand in their files.
    yours = f"  yours, {COPY}:4\n       4 |     11\n"
    ports = f"  the port's, on {BRANCH}, {COPY}:4\n       4 |     let one = 1;\n"
    assert f"{yours}{ports}       5 |     one\n" in done.out, done.out
    assert "make your change again in it, or keep yours" in " ".join(done.out.split())
    assert picture(root) == files
    assert git(root, "status", "--porcelain") == ""
    # What the user does next meets that conflict alone, and then there is nothing left to do.
    with pytest.raises(Exception, match="merge"):
        git(root, "merge", BRANCH)
    assert git(root, "diff", "--name-only", "--diff-filter=U").split() == [COPY]
    git(root, "checkout", "--theirs", COPY)
    replace(root, COPY, "    let one = 1;", "    let one = 11;")
    git(root, "commit", "--all", "--quiet", "--message", "merged")
    assert "let one = 11;" in (root / COPY).read_text()
    assert "more." in (root / MATMUL).read_text()
    done = invoke("update", root, "--to", "upstream")
    assert (done.code, done.out[:11]) == (0, "Nothing new"), done.out


def test_a_conflict_in_a_manifest_takes_the_ports_side(fork: Path) -> None:
    """The port's line in a manifest names what its code takes: without it nothing builds."""
    manifest = "candle-core/Cargo.toml"
    (line,) = [x for x in (fork / manifest).read_text().splitlines() if x.startswith("rocm = ")]
    replace(fork, manifest, f"{line}\n", f"{line}\nmine = []\n")
    commit(fork)
    git(fork, "switch", "--quiet", "upstream")
    (cuda,) = [x for x in (fork / manifest).read_text().splitlines() if x.startswith("cuda = ")]
    replace(fork, manifest, f"{cuda}\n", f'{cuda[:-1]}"more"]\nmore = []\n')
    commit(fork)
    git(fork, "switch", "--quiet", "main")
    done = invoke("update", fork, "--to", "upstream", "--check")
    assert f"{manifest}:" in done.out, done.out
    said = " ".join(done.out.split())
    assert "take the port's side, and put back in it what you added or changed" in said
    assert "or keep yours" not in said


def test_during_the_merge_the_advice_is_the_same(fork: Path) -> None:
    replace(fork, COPY, "    1\n", "    11\n")
    commit(fork)
    assert invoke("update", fork, "--to", "upstream").code == 1
    with pytest.raises(Exception, match="merge"):
        git(fork, "merge", BRANCH)
    for command in ("scan", "apply"):
        done = invoke(command, fork)
        assert done.code == 10
        assert f"{COPY}:4 holds conflicts of a merge with a pure port" in done.err
        assert "take the port's side and make your change again in it" in done.err
        assert "--regenerate" not in done.err


def test_what_the_page_on_ci_says_about_edits(fork: Path) -> None:
    """`branch --check` lists them while there is no branch of pure ports, and git afterwards."""
    row = next(x for x in (DOCS / "ci.md").read_text().splitlines() if x.startswith("| `check` "))
    assert f"`git diff {BRANCH}`" in row
    assert "`portkit branch --check`" in row
    assert invoke("branch", fork, "--check").code == 28
    assert git(fork, "diff", "--name-only", BRANCH).split() == sorted((LIB, MATMUL, COPY))


def test_what_is_said_to_portkit_is_no_change_of_the_port(older: Path, tmp_path: Path) -> None:
    root = shutil.copytree(older, tmp_path / "candle")
    add_file(root, "portkit.toml", b'gating = "dummy"\n')
    invoke("review", root, "--accept", "PK")
    commit(root)
    done = invoke("branch", root, "--check")
    assert "3 files of main that differ" in done.out
    assert "portkit." not in done.out.partition("differ")[2]


def test_conflicts_with_upstream_itself(fork: Path) -> None:
    replace(fork, LIB, "    Cpu,\n", "    /// Mine.\n    Cpu,\n")
    replace(fork, MATMUL, "rows <= 64", "rows <= 32")
    commit(fork)
    done = invoke("update", fork, "--to", "upstream", "--check")
    assert done.code == 1
    assert "2 conflicts." in done.out
    said = " ".join(done.out.split())
    assert f"{LIB}:8 Upstream changed what you changed, and no rule has a part in it" in said
    assert f"{MATMUL}:8 PK401-" in said  # upstream changed a line that the port widens
    # Before anything is moved both sides can be read.
    mine = (fork / LIB).read_text().splitlines().index("    /// Mine.") + 1
    assert f"  yours, {LIB}:{mine}\n{mine:>8} |     /// Mine.\n" in done.out
    assert f"  the port's, on {BRANCH}, {LIB}:8\n       8 |     /// The processor.\n" in done.out


def test_a_side_of_many_lines_is_cut_and_one_of_none_is_said(fork: Path) -> None:
    replace(fork, COPY, "    1\n", "".join(f"    // {number}\n" for number in range(40)))
    replace(fork, MATMUL, "rows <= 64", "rows <= 32")
    text = (fork / MATMUL).read_text().splitlines(keepends=True)
    gone = next(line for line in text if "rows <= 32" in line)
    replace(fork, MATMUL, gone, "")
    commit(fork)
    done = invoke("update", fork, "--to", "upstream", "--check")
    assert "      15 |     // 11\n           and 28 lines more\n" in done.out, done.out
    assert f"  yours, {MATMUL}:8: no line\n" in done.out, done.out


def test_a_file_that_upstream_deletes(fork: Path) -> None:
    git(fork, "switch", "--quiet", "upstream")
    (fork / MATMUL).unlink()
    replace(fork, LIB, "pub mod matmul;\n", "")
    commit(fork)
    git(fork, "switch", "--quiet", "main")
    done = invoke("update", fork, "--to", "upstream")
    assert done.code == 1
    said = " ".join(done.out.split())
    assert f"{MATMUL} You changed a file that is gone from upstream" in said
    assert "1 conflict." in said


def test_what_is_said_to_portkit_stays(tmp_path: Path) -> None:
    """Settings and comments are committed before the port; upstream's commit lies below them."""
    root = make_upstream(tmp_path / "candle")
    add_file(root, "portkit.toml", b'gating = "cfg"\n')
    kept = "    // portkit: exclude PK401 the product is CUDA's alone\n"
    replace(root, MATMUL, "    let fits", f"{kept}    let fits")
    commit(root)
    apply(root)
    done = invoke("update", root, "--to", "upstream")
    text = (root / MATMUL).read_text()
    assert kept in text, done.out
    assert (root / "portkit.toml").read_text() == 'gating = "cfg"\n'
    # The comment and upstream's change stand side by side: a person brings them together.
    assert done.code == 1
    assert f"{MATMUL}:7" in done.out or f"{MATMUL}:8" in done.out
    port = find_last_generated_port(root, BRANCH)
    assert port is not None
    assert port.gating == "cfg"
    assert "portkit.toml" not in git(root, "ls-tree", "--name-only", BRANCH).split()


def test_a_port_by_an_earlier_portkit(tmp_path: Path) -> None:
    root = make_upstream(tmp_path / "candle")
    assert invoke("apply", root).code == 0
    old = "    // As an earlier portkit wrote it.\n"
    replace(root, COPY, "    2\n", f"{old}    2\n")
    commit(root)
    pure = hashes(root, "HEAD")[0]
    edit(root)
    looked = invoke("update", root, "--to", "upstream", "--check")
    # Each is named, with the command that shows how: that is what a person wants to check.
    assert (
        f"count as changed by you (`git -C {root} diff portkit/rocm main` shows how):\n"
        in looked.out
    )
    assert f"\n  {COPY}\n" in looked.out
    assert "--pure" in looked.out
    done = invoke("update", root, "--to", "upstream", "--pure", pure)
    assert done.code == 0, done.out + done.err
    assert has_edits(root)
    assert old not in (root / COPY).read_text()


def test_a_branch_whose_merges_were_squashed(fork: Path) -> None:
    git(fork, "reset", "--quiet", "--soft", "upstream^")
    git(fork, "commit", "--quiet", "--message", "all in one")
    done = invoke("update", fork, "--to", "upstream")
    assert done.code == 28
    assert f"main has none of the commits of {BRANCH}" in done.err
    done = invoke("update", fork, "--to", "upstream", "--pure", BRANCH)
    assert done.code == 0, done.out + done.err
    assert has_edits(fork)


def test_upstream_was_rewritten(fork: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(fork, "switch", "--quiet", "--orphan", "rewritten")
    git(fork, "checkout", "upstream", "--", ".")
    commit(fork)
    git(fork, "switch", "--quiet", "main")
    before = git(fork, "for-each-ref")
    done = invoke("update", fork, "--to", "rewritten")
    assert done.code == 28
    assert "rewritten does not descend from" in done.err
    assert git(fork, "for-each-ref") == before
    monkeypatch.delenv("PORTKIT_TRUST", raising=False)
    save_confirmation(fork, ConfirmedBy.FETCHED)
    assert invoke("update", fork, "--to", "rewritten", "--allow-unrelated").code == 0
    assert has_edits(fork)
    assert find_trust_reason(fork)  # as `portkit verify` asks for next


def test_a_workspace_below_the_top(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    make_upstream(tmp_path / "candle")
    shutil.copytree(tmp_path / "candle", top / "sub", ignore=shutil.ignore_patterns(".git"))
    commit(top)
    git(top, "config", "user.name", "a person")
    git(top, "config", "user.email", "person@example.org")
    git(top, "switch", "--quiet", "--create", "upstream")
    replace(top, f"sub/{MATMUL}", "rows <= 64", "rows <= 128")
    commit(top)
    git(top, "switch", "--quiet", "main")
    assert invoke("branch", top / "sub").code == 0
    replace(top, f"sub/{COPY}", "    3\n", "    33\n")
    commit(top)
    assert invoke("update", top / "sub", "--to", "upstream").code == 0
    assert "    33\n" in (top / "sub" / COPY).read_text()
    assert "rows <= 128" in (top / "sub" / MATMUL).read_text()
