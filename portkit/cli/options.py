"""The arguments and options that several commands share, each declared once."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from portkit.cli.completion import complete_codebases, complete_codes
from portkit.syntax.shell import quote_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from portkit.codebases import directory


def option(spec: str, help: str, complete: Callable[[str], Any] | None = None) -> Any:
    """Return an option of typer's.

    Args:
        spec: its names, and what stands for its value in the help: ``--output -o FILE``.
        help: one or two sentences.
        complete: returns what a shell may complete a word to.
    """
    *names, last = spec.split()
    metavar = None if last.startswith("-") else last
    names += [] if metavar else [last]
    return typer.Option(
        *names, metavar=metavar, help=help, show_default=metavar is None, autocompletion=complete
    )


class Gating(StrEnum):
    """How a tree without the feature is kept compiling."""

    DUMMY = "dummy"
    CFG = "cfg"


Directory = Annotated[
    Path, typer.Argument(metavar="[DIR]", help="The directory of the workspace's root manifest.")
]
GatingOption = Annotated[
    Gating | None,
    typer.Option(
        help="What stands without the feature: a dummy backend, or nothing (all behind cfg);"
        " by default what portkit.toml says, else dummy.",
        show_default=False,
    ),
]
Gpu = Annotated[
    str, option("--gpu ARCH", "The GPU that --device emulator stands for; gfx1100 by default.")
]
EmulatorProgram = Annotated[
    str,
    option(
        "--emulator FILE",
        "The program of AMD's emulator, rocjitsu; by default what PORTKIT_EMULATOR names, else"
        " the one on PATH.",
    ),
]
Rocm = Annotated[
    str,
    option(
        "--rocm DIR",
        "The ROCm that --device emulator runs: an installation, or a folder that ci/toolchain"
        " made; by default what ROCM_PATH names, else hipcc's, else this system's.",
    ),
]
Profile = Annotated[
    str,
    option(
        "--profile NAME|DIR",
        "The codebase: its name, or the directory that holds its profile; by default what"
        " portkit.toml says, else the one whose crate is there.",
        complete_codebases,
    ),
]


def _parse_output_file(given: Path | None) -> Path | None:
    return None if given == Path("-") else given


Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        callback=_parse_output_file,
        help="Write the report to this file; - is standard output.",
        show_default=False,
    ),
]
Select = Annotated[
    list[str] | None,
    option("--select CODES", "Only these codes, or prefixes of codes: PK3,PK501.", complete_codes),
]
Skip = Annotated[
    list[str] | None,
    option("--skip CODES", "All but these codes, or prefixes of codes.", complete_codes),
]
At = Annotated[
    list[str] | None,
    option(
        "--at FILE:LINE",
        "Only the places that this line is part of, as the source stands; repeatable.",
    ),
]

Trust = Annotated[
    bool, option("--trust", "Run what the tree brings: build scripts, macros and tests; this once.")
]
Sandbox = Annotated[
    bool, option("--sandbox", "Run it in a sandbox (bubblewrap): no network, the tree read-only.")
]


def format_options(gating: Gating | None, profile: str) -> str:
    """Return the options that a command repeats, as typed, with a space before each."""
    return quote_options({"--gating": gating or "", "--profile": profile})


def find_profile_directory(given: str) -> directory.Directory | None:
    """Return the directory that ``--profile`` names; none where it is not given."""
    from portkit.codebases.registry import find_codebase

    return find_codebase(given) if given else None


def split_words(given: Iterable[str] | None) -> tuple[str, ...]:
    """Return the values of a repeatable option that may list with commas."""
    split = (word.strip() for option in given or () for word in option.split(","))
    return tuple(filter(None, split))


def parse_codes(given: Iterable[str] | None) -> tuple[str, ...]:
    """Return the prefixes of codes in options such as ``PK3,PK501``.

    Whether there is one of the codebase's own patches, PH3nn, ``check_codes`` can say.
    """
    prefixes = tuple(word.upper() for word in split_words(given))
    check_codes((prefix for prefix in prefixes if not prefix.startswith("PH3")), None)
    return prefixes


def check_codes(prefixes: Iterable[str], own: directory.Directory | None) -> None:
    """Refuse prefixes of codes that there are none of."""
    from portkit.engine.rule_pages import list_all_pages
    from portkit.syntax.typed_toml import suggest_nearest

    for prefix in prefixes:
        known = [page.code for page in list_all_pages(own)]
        if not any(code.startswith(prefix) for code in known):
            near = suggest_nearest(prefix, known)
            raise typer.BadParameter(
                f"no code begins with {prefix!r}; `portkit rules` lists them{near}"
            )


def check_emulated(gpu: str, emulator: str, rocm: str, *, wanted: bool) -> None:
    """Refuse emulator options without --device emulator, and an unknown GPU architecture."""
    from portkit.profiles.settings import ARCH

    if (gpu or emulator or rocm) and not wanted:
        raise typer.BadParameter("--gpu, --emulator and --rocm need --device emulator: add it")
    if gpu and not re.fullmatch(ARCH, gpu):
        raise typer.BadParameter(f"{gpu!r} is no architecture: write one such as gfx1100")
