"""Cache the results of steps, so that unchanged inputs are not checked again.

An outcome is found again under the digest of all that decides it. Only what passed is kept: why
something failed may lie outside that (a full disk, a network), and whoever runs verify again after
a failure wants it looked at. An entry appears whole or not at all, so that two runs can share it.
"""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from portkit.cache import read_cached, write_cached
from portkit.errors import DiskError, PortkitError
from portkit.verify.digests import digest_code, digest_files, digest_lock, digest_texts
from portkit.verify.step_runner import Result, TestResult, Verdict, pass_step

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from portkit.verify.step_runner import Step
    from portkit.verify.verified_tree import VerifiedTree

_KIND: Final = "verified"
_FIELDS: Final = ("evidence", "left_out", "figures", "seconds", "tests")
"""What is kept of the outcome of a step."""


@dataclass(frozen=True)
class ResultCache:
    """The memory of one run."""

    tree: VerifiedTree

    def recall(self, step: Step) -> Result | None:
        """Return the cached result of a step, if nothing has changed since."""
        key = self._key(step, self._first)
        kept = self.load(key, *_FIELDS) if key else None
        return None if kept is None else _parse_result(step, kept)

    def mark(self, step: Step) -> str:
        """Return the digest of the files as a step begins, for ``keep``."""
        return "" if step.inputs is None else self.files()

    def keep(self, step: Step, mark: str, result: Result) -> None:
        """Cache a step's result, unless the files have changed meanwhile.

        Cargo may have written the lock file meanwhile: what counts is the one that it has used.
        """
        if step.inputs is None or result.verdict is not Verdict.PASSED:
            return
        if self.files() != mark:
            self.tree.say(f"{step.name}: the tree changed meanwhile, so this is not remembered")
            return
        content = {
            "evidence": list(result.evidence),
            "left_out": list(result.outcome.left_out),
            "figures": dict(result.outcome.figures),
            "seconds": round(result.seconds, 3),
            "tests": [astuple(test) for test in result.outcome.tests],
        }
        if key := self._key(step, mark):
            self.save(key, content)

    def files(self) -> str:
        """Return the digest of the tree's files as they are now."""
        return digest_files(self.tree.root, self.tree.options.report)

    def key(self, folder: Path, files: str, *parts: str) -> str:
        """Return the key of something that depends on all that cargo depends on."""
        own = (self._code, self._profile)
        return digest_texts((files, digest_lock(folder), *own, *self.tree.toolchain, *parts))

    def load(self, key: str, *fields: str) -> dict[str, Any] | None:
        """Return the values that ``save`` stored, with the time as ``found``, or None."""
        try:
            kept = read_cached(_KIND, f"{key}.json") if self.tree.options.cached else None
            content = json.loads(kept or "null")
        except ValueError:
            return None
        whole = isinstance(content, dict) and {"found", *fields} <= content.keys()
        return content if whole else None

    def save(self, key: str, content: dict[str, Any]) -> None:
        """Keep something; where it cannot be kept, the run goes on without."""
        content = {**content, "found": datetime.now(UTC).isoformat(timespec="seconds")}
        try:
            write_cached(_KIND, f"{key}.json", json.dumps(content, indent=1) + "\n")
        except DiskError as error:
            self.tree.say(f"not remembered: {error}")

    def _key(self, step: Step, files: str) -> str:
        """Return the key of a step's outcome; empty where it cannot be known.

        A step that compares with the tree before the port may pass where there is none.
        """
        if step.inputs is None:
            return ""
        try:
            inputs = step.inputs(self.tree)
        except PortkitError:
            return ""
        shard = str(self.tree.options.shard) if step.divisible else ""
        return self.key(self.tree.root, files, step.name, shard, *inputs)

    @cached_property
    def _first(self) -> str:
        """The digest of the files as the run began."""
        return self.files()

    @cached_property
    def _code(self) -> str:
        return digest_code()

    @cached_property
    def _profile(self) -> str:
        """The digest of the codebase's directory, which may lie anywhere."""
        directory = self.tree.scan.job.codebase.directory
        return directory.digest() if directory else ""


def _parse_result(step: Step, kept: Mapping[str, Any]) -> Result:
    outcome = pass_step(*kept["evidence"], left_out=kept["left_out"], figures=kept["figures"])
    outcome = replace(outcome, tests=tuple(TestResult(*test) for test in kept["tests"]))
    return Result(step.name, step.shows, outcome, kept["seconds"], remembered=kept["found"])
