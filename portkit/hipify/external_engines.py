"""hipify-clang and hipify-perl behind our rules, as other engines and as a cross-check.

Both rename CUDA's API names and leave the rest; our rules run over what they write. Known faults
of theirs are put right from ``api/engines.toml``. A file that they cannot do is done by our rules
alone, with a finding.
"""

from __future__ import annotations

import os
import re
import tempfile
import tomllib
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from portkit.hipify import api_table
from portkit.hipify.errors import HipToolError
from portkit.hipify.hipcc import describe_installation
from portkit.hipify.kernel_profile import NO_PROFILE, KernelProfile
from portkit.hipify.kernel_source import KernelSource
from portkit.hipify.parallel_programs import run_parallel
from portkit.hipify.paths import is_cuda
from portkit.hipify.prelude import load_prelude_headers
from portkit.hipify.rules.includes import read_header
from portkit.hipify.rules.rule import report_site
from portkit.hipify.translator import (
    Translation,
    apply_edits,
    apply_rules,
    patch_source,
    translate,
)
from portkit.syntax.value import Value
from portkit.workspace.finding import Applicability, Edit
from portkit.workspace.programs import find_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from portkit.hipify.parallel_programs import Programs

FAILED = "PH210"
"""The code of a finding for a file that another engine could not do."""


class Engine(StrEnum):
    """What renames the API's names; our rules run in every case."""

    PORTKIT = "portkit"
    HIPIFY_CLANG = "hipify-clang"
    HIPIFY_PERL = "hipify-perl"


class ExternalEngine(Value, frozen=True):
    """A tool of the HIPIFY project, ready to run."""

    engine: Engine  # which
    program: Path  # its path
    cuda_home: Path | None = None  # a tree with CUDA's headers; hipify-perl needs none


def find_engine(engine: Engine) -> ExternalEngine:
    """Find a tool and what it needs."""
    program = find_program(engine.value)
    if not program:
        raise HipToolError(f"{engine} is not on PATH: {describe_installation()}")
    if engine is Engine.HIPIFY_PERL:
        return ExternalEngine(engine, Path(program))
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    if home is None or not (Path(home) / "include" / "cuda_runtime.h").is_file():
        raise HipToolError(
            "hipify-clang needs CUDA headers: set CUDA_HOME to a tree with include/cuda_runtime.h "
            "(ci/cuda-headers makes one)"
        )
    return ExternalEngine(engine, Path(program), Path(home))


def translate_with(
    external: ExternalEngine,
    files: Mapping[str, bytes],
    profile: KernelProfile = NO_PROFILE,
    own: frozenset[str] = frozenset(),
    around: Sequence[Path] = (),
) -> list[Translation]:
    """Translate every CUDA source of a tree with another engine and our rules after it.

    ``files``: the tree, headers of other suffixes included, since sources include them.
    ``around``: folders with headers of the files that are not among them.
    """
    tree = {path: patch_source(path, content, profile) for path, content in files.items()}
    tree |= {header: text.encode() for header, text in profile.headers}
    tree |= {header: text.encode() for header, text in load_prelude_headers().items()}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "tree"
        for name, content in tree.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)

        def one(path: str, programs: Programs) -> Translation:
            ours = translate(path, files[path], profile, own)
            try:
                renamed = _run(external, folder, path, programs, around)
            except _ToolFailedError as error:
                message = f"{external.engine} failed, our rules did the file alone: {error}"
                failure = report_site(
                    FAILED, path, "other engine", external.engine, message, Applicability.REVIEW
                )
                return replace(ours, findings=(failure, *ours.findings))
            text = apply_rules(path, _correct_text(path, renamed), profile)
            return replace(ours, content=text.encode("latin-1"))

        return run_parallel(one, sorted(filter(is_cuda, files)))


class _ToolFailedError(Exception):
    """The first line of what went wrong."""


def _run(
    external: ExternalEngine, tree: Path, path: str, programs: Programs, around: Sequence[Path]
) -> str:
    """Return the tool's output for a source of the tree."""
    output = tree.parent / f"{path.replace('/', '_')}.out"
    command = [str(external.program), str(tree / path), f"-o={output}"]
    if external.engine is Engine.HIPIFY_CLANG:
        command += build_clang_arguments(external, [tree, *around])
    try:
        run = programs.run(command)
    except OSError as error:
        raise HipToolError(f"{external.program} cannot be run: {error.strerror}") from error
    # hipify-perl exits with 0 whatever happens, so the output is what counts.
    if run.returncode != 0 or not output.is_file() or not output.stat().st_size:
        errors = re.findall(r"(?:error|ERROR): *([^\n]*)", run.stderr)
        raise _ToolFailedError(errors[0] if errors else f"exit code {run.returncode}")
    return output.read_bytes().decode("latin-1")


def build_clang_arguments(external: ExternalEngine, folders: Sequence[Path]) -> list[str]:
    """Return what hipify-clang needs to be told where headers lie in some folders."""
    return [
        *(f"--cuda-path={external.cuda_home}", "--cuda-gpu-arch=sm_89", "--default-preprocessor"),
        *(f"-I{folder}" for folder in folders),
        *("--", "-x", "cuda", "-std=c++17", "-include", "cassert"),
        # What nvcc would define; without it sources take paths for old compilers.
        *("-D__CUDACC_VER_MAJOR__=12", "-D__CUDACC_VER_MINOR__=6"),
        # The device pass alone sees what the feature level shows, and it is what we port.
        "--cuda-device-only",
    ]


@cache
def _load_engine_corrections() -> dict[str, dict[str, str]]:
    text = (api_table.FOLDER / "engines.toml").read_text(encoding="utf-8")
    document: dict[str, dict[str, str]] = tomllib.loads(text)
    return document


def _correct_text(path: str, text: str) -> str:
    """Put right what the tools are known to get wrong."""
    source = KernelSource(path, text)
    return apply_edits(text, _correct(source), path)[0]


def _correct(source: KernelSource) -> Iterator[Edit]:
    for token in source.tokens:
        if token.kind == "name" and (new := _load_engine_corrections()["name"].get(token.text)):
            yield Edit(token.start, token.end, new)
        elif token.kind == "include":
            quote, name = read_header(token.text)
            new = _load_engine_corrections()["header"].get(name)
            if new is not None:
                ours = new in load_prelude_headers()
                shown = f'"{source.to_root}{new}"' if ours else f"<{new}>"
                yield Edit(token.start + quote, token.end, shown)
