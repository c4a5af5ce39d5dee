"""The workflow files: they parse, and what they run exists."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from cli_support import invoke

from portkit import __version__
from portkit.verify import STEPS, parse_shard

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
OURS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
USERS = sorted((ROOT / "ci" / "workflows").glob("*.yml"))
VERIFY = ROOT / "ci" / "workflows" / "verify.yml"
_EXPRESSION = re.compile(r"\$\{\{ ([\w.-]+(?:\([^)]*\))?) \}\}")


def workflow(path: Path) -> dict[str, Any]:
    read = yaml.safe_load(path.read_text())
    assert isinstance(read, dict)
    # YAML 1.1, which the library reads, takes `on` for true; GitHub does not.
    return read | {"on": read.pop(True)}


def commands(job: dict[str, Any]) -> Iterator[str]:
    """Yield each command of portkit that a job runs, once for each cell of its matrix."""
    matrix = job.get("strategy", {}).get("matrix", {})
    cells: list[dict[str, Any]] = [{}]
    for name, values in matrix.items():
        cells = [cell | {name: value} for cell in cells for value in values]
    for step in job["steps"]:
        for line in step.get("run", "").replace("\\\n", " ").splitlines():
            if (match := re.search(r"\bportkit (?:verify|scan) [^|>;]*", line)) is not None:
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
    read = workflow(path)
    assert read["permissions"] == {"contents": "read"}
    assert {"pull_request", "workflow_dispatch"} & set(read["on"])
    for job in read["jobs"].values():
        assert job["runs-on"]
        assert 0 < job["timeout-minutes"] <= 120
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= set(read["jobs"])
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"])


@pytest.mark.parametrize("path", USERS, ids=lambda path: path.name)
def test_what_it_refers_to_is_there(path: Path) -> None:
    read = workflow(path)
    text = path.read_text()
    for job in read["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        for name in _EXPRESSION.findall(str(job)):
            assert name.split(".")[0] in ("matrix", "github", "runner", "env", "vars"), name
            assert not name.startswith("matrix.") or name.removeprefix("matrix.") in matrix
    assert f"portkit=={__version__}" in text
    assert not re.findall(r"\$\{\{(?! [\w.-]+ \}\})", text.replace("hashFiles", "")), "too clever"


@pytest.mark.parametrize("path", USERS, ids=lambda path: path.name)
def test_the_commands_and_options_exist(path: Path) -> None:
    found = [line for job in workflow(path)["jobs"].values() for line in commands(job)]
    assert found
    names = {step.name for step in STEPS}
    for line in found:
        _, command, *words = line.split()
        known = invoke(command, "--help").out
        for word, following in zip(words, [*words[1:], ""], strict=True):
            if word.startswith("-"):
                assert re.search(rf"(?<!\S){re.escape(word)}\b", known), line
            if word in ("--only", "--until"):
                assert following in names, line
            if word == "--shard":
                parse_shard(following)


def test_the_shards_are_all_there() -> None:
    for job in workflow(VERIFY)["jobs"].values():
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
    for job in workflow(VERIFY)["jobs"].values():
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


# --- the reader --------------------------------------------------------------------------------
