"""Workflows of GitHub Actions, run here step by step, without GitHub.

What a step runs is run as the runner would ("Workflow syntax", "Metadata syntax" in GitHub's
documentation): the shell with its flags, the variables, the files that a step writes to. An action
of somebody else's is passed over; ours is run from the folder that is given for it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import yaml
from container_support import Container, path_inside

ROOT = Path(__file__).parents[1]
OURS = re.compile(r"OWNER/portkit@0{40}")
"""How a workflow names the action of this repository."""
SHELLS = {
    "bash": ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"),
    "sh": ("sh", "-e", "-c"),
    None: ("bash", "-e", "-c"),
}
_EXPRESSION = re.compile(r"\$\{\{ (.+?) \}\}")


def read_workflow(path: Path) -> dict[str, Any]:
    """Return a workflow, with the key `on`, which YAML 1.1 takes for true."""
    read = yaml.safe_load(path.read_text())
    assert isinstance(read, dict)
    return read | {"on": read.pop(True)} if True in read else read


def unpack_action(folder: Path) -> tuple[Path, str]:
    """Return what GitHub unpacks our action to, an archive of its commit, and that commit."""
    what = _git("stash", "create") or _git("rev-parse", "HEAD")
    packed_file, made = folder / "it.tar", folder / "it"
    _git("archive", "--output", str(packed_file), what)
    with tarfile.open(packed_file) as packed:
        # Python has filters from 3.11.4 on ("tarfile", "Supporting older Python versions").
        packed.extraction_filter = getattr(tarfile, "data_filter", None)
        packed.extractall(made)
    return made, what


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


class Runner:
    """A machine of GitHub's for one job.

    Args:
        scratch: a folder for what the job makes.
        tree: the repository that is checked out.
        action: where our action is unpacked.
        python: what actions/setup-python would bring.
        container: where the steps run; on this machine without one.
        wheel: what the action installs, in place of the repository that it stands in.

    Attributes:
        log: what the steps printed.
        stand_ins: a folder with programs that are found before those which the steps install.
        outputs: what steps have handed on: ``steps.check.outputs.sarif``.
    """

    def __init__(
        self,
        scratch: Path,
        tree: Path,
        action: Path,
        python: str,
        container: Container | None = None,
        wheel: Path | None = None,
    ) -> None:
        self.tree, self.action = tree, action
        self.container, self.wheel = container, wheel
        self.temp = scratch / "temp"
        self.temp.mkdir(parents=True)
        self.summary = scratch / "summary"
        self.path: list[str] = []
        self.stand_ins = scratch / "stand-ins"
        self.log = ""
        self.outputs = {
            "runner.temp": str(self.temp),
            "steps.python.outputs.python-path": python,  # what actions/setup-python would bring
        }
        home = scratch / "home"
        home.mkdir()
        self.environment = {
            **{k: v for k, v in os.environ.items() if k.startswith("PIP_")},
            "HOME": str(home),
            "CARGO_HOME": os.environ.get("CARGO_HOME", str(Path.home() / ".cargo")),
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
            "PATH": os.pathsep.join(
                [str(Path(shutil.which("cargo") or "/bin/sh").parent), os.defpath]
            ),
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(tree),
            "GITHUB_ACTION_PATH": str(action),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "RUNNER_TEMP": str(self.temp),
        }
        if container is not None:
            rust = {"CARGO_HOME": str(home / "cargo"), "RUSTUP_HOME": "", "LANG": "C.UTF-8"}
            self.environment |= rust | {"PATH": path_inside()}
        if wheel is not None:
            self.environment["PIP_FIND_LINKS"] = str(wheel.parent)

    def portkit(self, *arguments: str | Path) -> None:
        """Run the portkit that the action has installed, where the steps run."""
        command = [str(self.temp / "portkit/bin/portkit"), *map(str, arguments)]
        self._started(command, self.environment).check_returncode()

    def job(self, workflow: Path, name: str, **environment: str) -> bool:
        """Run a job of a workflow, and return whether all its steps passed.

        Args:
            workflow: its file.
            name: the job's.
            environment: variables that count more than the workflow's.
        """
        read = read_workflow(workflow)
        self.environment |= read.get("env", {}) | environment
        return self._steps(read["jobs"][name]["steps"], {})

    def _steps(self, steps: list[dict[str, Any]], inputs: dict[str, str]) -> bool:
        passed = True
        for step in steps:
            condition = str(step.get("if", ""))
            wanted = passed or "!cancelled()" in condition
            if condition in self.outputs or re.fullmatch(r"steps\.\w+\.outputs\.\w+", condition):
                wanted = wanted and bool(self.outputs.get(condition))
            if condition == "inputs.check != 'none'":
                wanted = wanted and inputs["check"] != "none"
            if not wanted:
                continue
            if OURS.fullmatch(step.get("uses", "")):
                action = read_workflow(self.action / "action.yml")
                known = {name: each.get("default", "") for name, each in action["inputs"].items()}
                if self.wheel is not None:
                    known["version"] = self.wheel.name.split("-")[1]
                assert set(step.get("with", {})) <= set(known)
                passed = self._steps(action["runs"]["steps"], known | step.get("with", {}))
                for name, each in action["outputs"].items():
                    key = f"steps.{step.get('id')}.outputs.{name}"
                    self.outputs[key] = self._filled(each["value"], {})
            elif "run" in step:
                passed = self._run(step, inputs) and passed
        return passed

    def _filled(self, text: str, inputs: dict[str, str]) -> str:
        known = self.outputs | {f"inputs.{name}": value for name, value in inputs.items()}
        return _EXPRESSION.sub(
            lambda found: next((v for k in found[1].split(" || ") if (v := known.get(k, ""))), ""),
            text,
        )

    def _run(self, step: dict[str, Any], inputs: dict[str, str]) -> bool:
        files = {name: self.temp / f"file.{name}" for name in ("GITHUB_OUTPUT", "GITHUB_PATH")}
        for file in files.values():
            file.write_text("")
        own = {name: self._filled(value, inputs) for name, value in step.get("env", {}).items()}
        done = self._started(
            [*SHELLS[step.get("shell")], self._filled(step["run"], inputs)],
            self.environment
            | {name: str(file) for name, file in files.items()}
            | own
            | {
                "PATH": os.pathsep.join([str(self.stand_ins), *self.path, self.environment["PATH"]])
            },
        )
        self.log += done.stdout
        self.path[:0] = files["GITHUB_PATH"].read_text().splitlines()
        for line in files["GITHUB_OUTPUT"].read_text().splitlines():
            name, _, value = line.partition("=")
            self.outputs[f"steps.{step['id']}.outputs.{name}"] = value
        return done.returncode == 0

    def _started(
        self, command: list[str], environment: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        if self.container is not None:
            command = self.container.words(command, str(self.tree), environment)
        return subprocess.run(
            command,
            cwd=self.tree,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
