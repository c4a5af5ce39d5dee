"""The words that portkit knows to be there after the ports that a tree is built on."""

from __future__ import annotations

import os
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from portkit.codebases.registry import find_shipped
from portkit.port.hip_bindings import HOME
from portkit.shipped import shipped
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from portkit.context.port_job import PortJob


class KnownNames(Value, frozen=True, dict=True):
    """The words of the bindings, and of the profiles of the codebases that a tree is built on.

    Attributes:
        job: the job.
    """

    job: PortJob

    def __contains__(self, name: str) -> bool:
        word = re.compile(rb"\b%s\b" % re.escape(name).encode())
        return any(word.search(text) for text in self._texts)

    @cached_property
    def _texts(self) -> tuple[bytes, ...]:
        codebase, directories = self.job.codebase, find_shipped()
        homes = [
            d.root for name, d in directories.items() if name in (*codebase.uses, codebase.name)
        ]
        files = (
            Path(folder) / file
            for home in (shipped(HOME) / "src", *homes)
            for folder, _, names in os.walk(home)
            for file in names
        )
        return tuple(path.read_bytes() for path in sorted(files))
