"""The tree under verification, and the programs that run on it."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from portkit.cache import cache_folder, path_key
from portkit.errors import VerificationError
from portkit.port.new_files import find_port_mark
from portkit.verify import baseline
from portkit.verify.diagnostics import render_cargo_line
from portkit.verify.digests import LOCK
from portkit.verify.result_cache import ResultCache
from portkit.verify.sandbox import open_sandbox
from portkit.verify.settings import load_settings
from portkit.verify.sibling_trees import SiblingTrees
from portkit.workspace import process
from portkit.workspace.programs import find_program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from portkit.engine.scan import Scan
    from portkit.verify.options import Options
    from portkit.verify.sandbox import Sandbox
    from portkit.verify.settings import Settings
    from portkit.workspace.process import FinishedProcess

# Variables that change what cargo, rustc, a C compiler or the build scripts of GPU crates make,
# beside those that begin with the codebase's name.
_TELLING: Final = (
    *("AR", "CARGO_", "CC", "CFLAGS", "CUDA", "CXX", "HIP", "HSA_", "LD_", "LIBRARY_"),
    *("NVCC", "PKG_CONFIG", "ROC", "RUST"),
)
# ... and those of them that only say where or how fast.
_SILENT: Final = (
    *("CARGO_BUILD_JOBS", "CARGO_HOME", "CARGO_NET_", "CARGO_TARGET_DIR", "CARGO_TERM_"),
    *("RUSTUP_HOME", "RUST_BACKTRACE", "RUST_LOG"),
)


_QUESTION_TIMEOUT: Final = 60.0
"""Seconds that a program may take to say its version."""


@dataclass(frozen=True)
class VerifiedTree:
    """A ported tree.

    Attributes:
        say: is given each line that cargo writes, and what is being done.
    """

    scan: Scan
    options: Options
    say: Callable[[str], None]

    @cached_property
    def root(self) -> Path:
        """The directory of the workspace's root manifest, absolute."""
        return self.scan.job.workspace.root.resolve()

    @property
    def title(self) -> str:
        """The name of the tree, such as ``toy 1.2.3``."""
        job = self.scan.job
        return f"{job.codebase.name or self.root.name} {job.workspace.version}".strip()

    @cached_property
    def settings(self) -> Settings:
        """The codebase's settings for verification."""
        return load_settings(self.scan.job.codebase)

    @cached_property
    def tested(self) -> tuple[str, ...]:
        """The crates whose tests are run: the user's, else those of the settings that it has."""
        names = {crate.name for crate in self.scan.job.workspace.crates}
        if unknown := [name for name in self.options.packages if name not in names]:
            raise VerificationError(
                f"{self.root} has no crate {', '.join(unknown)}: name one of its own with --package"
            )
        wanted = self.options.packages or self.settings.tested
        return tuple(name for name in wanted if name in names)

    @property
    def packages(self) -> tuple[str, ...]:
        """The same as arguments of cargo; the whole workspace where none are named."""
        named = tuple(word for crate in self.tested for word in ("--package", crate))
        return named or ("--workspace",)

    @property
    def compiled(self) -> tuple[str, ...]:
        """The crates that are type-checked, as arguments of cargo: the user's, else all."""
        return self.packages if self.options.packages else ("--workspace",)

    @property
    def feature(self) -> str:
        """The Cargo feature of the port."""
        return self.scan.job.feature

    @property
    def vendor(self) -> str:
        """The word that names of the port contain, such as those of its tests."""
        return self.scan.job.vendor.name

    @property
    def source_feature(self) -> str:
        """The Cargo feature of the backend that the port is derived from."""
        return self.scan.job.source_feature

    @cached_property
    def sandbox(self) -> Sandbox | None:
        """The sandbox for programs, if the user wants one."""
        return open_sandbox(self.root) if self.options.sandbox else None

    @cached_property
    def memory(self) -> ResultCache:
        """The cached results of earlier runs."""
        return ResultCache(self)

    @cached_property
    def commit(self) -> str:
        """The commit to compare with."""
        if self.options.revision:
            return baseline.resolve_revision(self.root, self.options.revision)
        if found := find_port_mark(self.scan.job):
            return baseline.find_default_revision(self.root, found)
        raise VerificationError(
            "the port has nothing by which the commit before it could be found: name that commit"
            " with --baseline"
        )

    @property
    def known_commit(self) -> str:
        """The commit to compare with, if a step has needed it; otherwise empty."""
        return str(self.__dict__.get("commit", ""))

    @property
    def baseline(self) -> Path:
        """The files of that commit, in the user's cache.

        With the lock file of the tree as it is now: the versions of what both depend on are the
        same. Entries of the port's own crates do no harm in it.
        """
        lock = self.root / LOCK
        content = lock.read_bytes() if lock.is_file() else None
        beside = SiblingTrees.of(self.scan.job.workspace)
        return baseline.check_out_tree(self.root, self.baseline_tree, content, beside)

    @cached_property
    def baseline_tree(self) -> str:
        """The hash of the files of that commit."""
        return baseline.find_tree_hash(self.root, self.commit)

    @cached_property
    def environment(self) -> Mapping[str, str]:
        """The environment of cargo.

        Build products go to the user's cache, keyed by the tree's path, unless ``CARGO_TARGET_DIR``
        says otherwise; the baseline's go there too, so that what both depend on is built once.
        """
        return {
            "CARGO_TARGET_DIR": str(cache_folder() / "target" / path_key(self.root)),
            **os.environ,
            **self.settings.environment,
            **(self.sandbox.environment if self.sandbox else {}),
            # The output is read, so it must look the same everywhere.
            "CARGO_TERM_COLOR": "never",
            "LC_ALL": "C.UTF-8",
        }

    @cached_property
    def toolchain(self) -> tuple[str, ...]:
        """Versions and variables that decide what cargo makes of the same files, sorted."""
        codebase = self.scan.job.codebase.name.upper().replace("-", "_")
        own = (f"{codebase}_",) if codebase else ()
        settings = sorted(
            f"{name}={value}"
            for name, value in self.environment.items()
            if name.startswith((*_TELLING, *own)) and not name.startswith(_SILENT)
        )
        compiler = self.environment.get("CC") or "cc"
        versions = [
            self.read_version("cargo", "--version", "--verbose"),
            self.read_version("rustc", "--version", "--verbose"),
            self.read_version(*shlex.split(compiler), "--version"),
        ]
        return (*versions, *settings)

    def read_version(self, program: str, *arguments: str) -> str:
        """Return the version that a program prints, or an empty text if it is missing or fails."""
        if not find_program(program, self.environment.get("PATH")):
            return ""
        done = self.run_silently(program, *arguments)
        return "\n".join(done.lines) if done.status == 0 else ""

    def lacks(self, subcommand: str) -> bool:
        """Whether cargo has no such subcommand: clippy and rustfmt are components of their own."""
        return self.run_silently("cargo", subcommand, "--version").status != 0

    def run_silently(
        self, program: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> FinishedProcess:
        """Run a program silently and return its answer."""
        return self.run(
            (program, *arguments),
            environment=environment,
            show=lambda line: None,
            patience=_QUESTION_TIMEOUT,
        )

    def run_cargo(
        self,
        *arguments: str,
        folder: Path | None = None,
        patience: float | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> FinishedProcess:
        """Run cargo."""
        self.say(f"$ {shlex.join(('cargo', *arguments))}")
        return self.run(
            ("cargo", *arguments),
            folder=folder,
            environment=environment,
            show=self._show,
            patience=patience,
        )

    def run(
        self,
        command: Sequence[str],
        *,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        show: Callable[[str], None],
        patience: float | None = None,
        limit: float | None = None,
        memory: int | None = None,
    ) -> FinishedProcess:
        """Run a program, in the sandbox where there is one; ``process.run`` has the rest."""
        folder = folder or self.root
        variables = {**self.environment, **(environment or {})}
        box = self.sandbox
        return process.run_process(
            command,
            folder=folder,
            environment=variables,
            show=show,
            patience=patience,
            limit=limit,
            memory=memory,
            within=(lambda words: box.around(words, folder, variables)) if box else tuple,
        )

    def _show(self, line: str) -> None:
        if text := render_cargo_line(line):
            self.say(text)
