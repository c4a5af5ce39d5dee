"""The tree that the ladder looks at, and how cargo is run on it."""

from __future__ import annotations

import hashlib
import os
import shlex
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from portkit.cache import cache_folder
from portkit.verify import baseline, process
from portkit.verify.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from portkit.scan import Scan
    from portkit.verify.process import Finished
    from portkit.verify.settings import Settings


@dataclass(frozen=True)
class Tree:
    """A ported tree.

    Attributes:
        scan: the scan of the tree.
        revision: the commit to compare with; empty for the one on which apply was run.
        say: is given each line that cargo writes, and what is being done.
    """

    scan: Scan
    revision: str
    say: Callable[[str], None]

    @cached_property
    def root(self) -> Path:
        """The directory of the workspace's root manifest, absolute."""
        return self.scan.port.workspace.root.resolve()

    @cached_property
    def settings(self) -> Settings:
        """What the ladder has to know of the codebase."""
        return load_settings(self.scan.port.codebase.name)

    @cached_property
    def tested(self) -> tuple[str, ...]:
        """The crates whose tests are compared, those of the settings that the tree has."""
        names = {crate.name for crate in self.scan.port.workspace.crates}
        return tuple(name for name in self.settings.tested if name in names)

    @property
    def feature(self) -> str:
        """The Cargo feature of the port."""
        return self.scan.port.vendor.name

    @cached_property
    def commit(self) -> str:
        """The commit to compare with."""
        if self.revision:
            return baseline.resolve(self.root, self.revision)
        manifest = f"{self.scan.port.vendor.facade.name}/Cargo.toml"
        return baseline.default_revision(self.root, manifest)

    @cached_property
    def baseline(self) -> Path:
        """The files of that commit, in the user's cache."""
        return baseline.checked_out(self.root, self.baseline_tree)

    @cached_property
    def baseline_tree(self) -> str:
        """The hash of the files of that commit."""
        return baseline.tree_of(self.root, self.commit)

    def cargo(self, *arguments: str, folder: Path | None = None) -> Finished:
        """Run cargo.

        Build products go to the user's cache, keyed by the tree's path, unless ``CARGO_TARGET_DIR``
        says otherwise; the baseline's go there too, so that what both depend on is built once.

        Args:
            arguments: what follows ``cargo``.
            folder: where it runs; the root by default.

        Raises:
            ToolError: cargo is missing.
        """
        self.say(f"$ {shlex.join(('cargo', *arguments))}")
        key = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        environment = {
            "CARGO_TARGET_DIR": str(cache_folder() / "target" / key),
            **os.environ,
            **self.settings.environment,
            # The output is read, so it must look the same everywhere.
            "CARGO_TERM_COLOR": "never",
            "LC_ALL": "C.UTF-8",
        }
        where = folder or self.root
        return process.run(
            ("cargo", *arguments), folder=where, environment=environment, show=self.say
        )
