"""What a build adds to portkit: the commit that it is made from, as ``portkit --version`` says it.

It stands in ``portkit/shipped/COMMIT``. In what ``git archive`` makes, as GitHub's archives are
made, git has put it there ("export-subst" in gitattributes(5)), in an sdist an earlier build; in a
clone git is asked. Hatchling calls the class: https://hatch.pypa.io/latest/plugins/build-hook/custom.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILE = "portkit/shipped/COMMIT"
UNKNOWN = "$Format:"
DESCRIBE = ("git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty")


class Built(BuildHookInterface[Any]):
    """Puts the commit into a wheel and an sdist; pyproject.toml leaves out the clone's file."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the file to put there; an editable installation asks git when it is run."""
        if version == "editable":
            return
        file = Path(self.root, FILE)
        if file.read_text().startswith(UNKNOWN) and Path(self.root, ".git").exists():
            self.folder = tempfile.TemporaryDirectory()
            done = subprocess.run(
                DESCRIBE, cwd=self.root, check=False, stdout=subprocess.PIPE, text=True
            )
            file = Path(self.folder.name, "COMMIT")
            file.write_text(done.stdout)
        build_data["force_include"][str(file)] = FILE
