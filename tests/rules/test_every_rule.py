"""What holds for the rules together."""

from __future__ import annotations

import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from harness import FIXTURES, Case, Run, every_case, runs

from portkit.engine.parity import find_missing_counterparts
from portkit.rules import SiteRule, list_rules
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portkit.engine.scan import Scan

EVERY = [rule.name for rule in list_rules()]
AT_SITES = [rule for rule in list_rules() if isinstance(rule, SiteRule)]
# Rules that only say what is left alone, or what a template says instead.
WRITES_NOTHING = {
    "assertion",
    "kept_file",
    "local_name",
    "peer",
    "peer_check",
    "peer_operation",
    "python_framework",
    "python_prose",
    "unported",
}
# What these say takes a tree that is no fixture: see the tests of the scan and of `portkit.toml`.
ELSEWHERE = {"added_file", "idle_entry", "syntax_error", "unread_file", "unused_exception"}
FOLDERS = sorted(path.name for path in FIXTURES.iterdir() if path.is_dir())


@pytest.mark.parametrize("rule", sorted({*EVERY} - ELSEWHERE))
def test_it_has_a_case_that_changes_and_one_that_must_not(rule: str) -> None:
    changing = [run for run in runs(rule) if run.changes]
    assert changing or rule in WRITES_NOTHING
    assert len(changing) < len(runs(rule))


def test_no_folder_of_fixtures_is_forgotten() -> None:
    assert set(FOLDERS) == {*EVERY} - ELSEWHERE


@pytest.mark.parametrize("rule", FOLDERS)
def test_names_of_cases_say_whether_they_change(rule: str) -> None:
    for run in runs(rule):
        if run.case.name.startswith("unchanged_"):
            assert not run.changes, run.case.name
        elif rule not in WRITES_NOTHING:
            assert run.case.has("after"), run.case.name


@pytest.mark.parametrize("left_out", AT_SITES, ids=lambda rule: rule.name)
def test_leaving_it_out_is_reported(left_out: SiteRule) -> None:
    """Without a rule, coverage, parity or a finding for a person shows what it would have done."""
    rest = [rule for rule in list_rules() if rule is not left_out]
    lost = []
    for run in runs(left_out.name):
        ported = run.job(run.before, rest)
        if ported != run.after:
            lost.append(run)
            assert _losses(run.scan(ported, rest)) > _losses(run.scan(run.after)), str(run)
    assert lost or left_out.name in WRITES_NOTHING


def _losses(scan: Scan) -> int:
    manual = [f for f in scan.findings if f.applicability is Applicability.MANUAL]
    return len(scan.unaccounted) + len(find_missing_counterparts(scan)) + len(manual)


def test_rustfmt_leaves_every_tree_alone() -> None:
    trees = ("before", "after", "after_cfg", "by_hand", "by_hand_dummy")
    files: dict[str, list[str]] = {}
    for case in every_case():
        found = (path for tree in trees for path in (case.folder / tree).rglob("*.rs"))
        files.setdefault(_edition(case), []).extend(map(str, found))
    for edition, paths in files.items():
        command = ["rustfmt", "--edition", edition, "--check", *paths]
        done = subprocess.run(command, capture_output=True, check=False)
        assert (done.returncode, done.stdout.decode()) == (0, "")


def _edition(case: Case) -> str:
    """Return the edition of a case's crate."""
    package = tomllib.loads(case.tree("before")["Cargo.toml"].decode()).get("package", {})
    edition = package.get("edition", "2021")
    return edition if isinstance(edition, str) else "2021"


@pytest.mark.real
@pytest.mark.parametrize("case", every_case(), ids=lambda case: f"{case.rule}-{case.name}")
def test_rustc_accepts_the_trees(case: Case, tmp_path: Path) -> None:
    if "rustc" in case.settings or not (case.folder / "before/src/lib.rs").exists():
        pytest.skip(case.settings.get("rustc", "there is no Rust in it"))
    trees: list[tuple[str, list[str], list[str], dict[str, bytes]]] = [
        ("before", ["cuda"], [], Run(case, "dummy").before)
    ]
    for gating in ("dummy", "cfg"):
        trees.append((gating, ["cuda", "rocm"], ["ported"], Run(case, gating).after))
    compiled: list[tuple[dict[str, bytes], list[str]]] = []
    for name, features, cfgs, files in trees:
        root = tmp_path / name
        for path, data in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
        for on in [[], *([f] for f in features), features]:
            types = cfgs and ["rocm_types"] if name == "dummy" or "rocm" in on else []
            flags = [*cfgs, *types, *(f'feature="{f}"' for f in on)]
            if (files, flags) in compiled:
                continue
            compiled.append((files, flags))
            assert _errors(root / "src/lib.rs", tuple(flags), _edition(case)) == "", (name, on)


def _errors(source: Path, cfgs: Sequence[str], edition: str) -> str:
    """Return what rustc has to say against a crate."""
    more = ["--extern", f"gpu={_gpu(tuple(cfgs))}", "--edition", edition]
    return _rustc(source, source.with_suffix(".rmeta"), cfgs, more)


@cache
def _gpu(cfgs: tuple[str, ...]) -> Path:
    """Compile the crate that the fixtures import."""
    import tempfile

    out = Path(tempfile.mkdtemp()) / "libgpu.rmeta"
    assert _rustc(FIXTURES / "gpu.rs", out, cfgs, ["--edition", "2021"]) == ""
    return out


@cache
def _compiler() -> str:
    """Return the compiler itself: rustup's proxy takes half as long again."""
    command = ["rustc", "--print", "sysroot"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return str(Path(done.stdout.strip()) / "bin" / "rustc")


def _rustc(source: Path, out: Path, cfgs: Sequence[str], more: Sequence[str]) -> str:
    flags = [flag for cfg in cfgs for flag in ("--cfg", cfg)]
    command = [_compiler(), "--crate-type", "lib", "--emit", "metadata"]
    done = subprocess.run(
        [*command, "--cap-lints", "allow", *flags, *more, "-o", str(out), str(source)],
        capture_output=True,
        check=False,
    )
    return "" if done.returncode == 0 else done.stderr.decode()
