"""``portkit hipify`` and ``portkit map``: CUDA sources and names on AMD's platform."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from portkit.cli.command import FOUND, make_command
from portkit.cli.completion import complete_codebases
from portkit.cli.options import option, split_words
from portkit.cli.output import (
    open_error_terminal,
    open_screen,
    print_bytes,
    print_notice,
    print_text,
    write_report,
)

if TYPE_CHECKING:
    from portkit.hipify.kernel_profile import KernelProfile
    from portkit.hipify.stage import HipifyReport


class EngineName(StrEnum):
    """What renames CUDA's names; portkit's rules run in every case."""

    PORTKIT = "portkit"
    HIPIFY_CLANG = "hipify-clang"
    HIPIFY_PERL = "hipify-perl"


@make_command(
    "portkit hipify kernel.cu > kernel.hip",
    "portkit hipify csrc -o hip --define USE_ROCM",
    "portkit hipify candle-kernels/src -o hip --profile candle",
    "portkit hipify src -o hip --engine hipify-clang --report hip.json",
)
def hipify(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE|DIR...",
            help="CUDA sources, or folders of which every source and header is taken.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        option(
            "--output -o FOLDER",
            "Write the translations and the headers that they include to this folder.",
        ),
    ] = None,
    engine: Annotated[
        EngineName, option("--engine", "What renames CUDA's names; our rules run in every case.")
    ] = EngineName.PORTKIT,
    profile: Annotated[
        str,
        option(
            "--profile NAME|DIR",
            "The codebase whose own kernels these are, such as candle, or the directory that"
            " holds its profile.",
            complete_codebases,
        ),
    ] = "",
    define: Annotated[
        list[str] | None,
        option(
            "--define -D MACROS",
            "Macros that your build for AMD defines, such as USE_ROCM: what they hide from its"
            " compiler is not refused.",
        ),
    ] = None,
    undefine: Annotated[
        list[str] | None,
        option("--undefine -U MACROS", "Macros that it does not define, likewise."),
    ] = None,
    report: Annotated[
        Path | None, option("--report FILE", "Write each place to this file, as JSON.")
    ] = None,
    skip_unfinished: Annotated[
        bool, option("--skip-unfinished", "Do not write a file that a person must finish first.")
    ] = False,
    overwrite: Annotated[
        bool, option("--overwrite", "Write over files that portkit did not write, or not so.")
    ] = False,
) -> int:
    """Translate CUDA sources to HIP.

    Without -o nothing is written: one FILE is translated to standard output, for several there is
    the report alone. A translation includes headers (hipx*.h), which -o writes with it. What no
    rule can do is named with its place and what to do about it, and the exit code is 1.
    """
    from portkit.hipify.errors import KernelInputError
    from portkit.hipify.external_engines import Engine
    from portkit.hipify.stage import hipify as translate
    from portkit.report.hipify_report import render_hipify_json, render_hipify_table
    from portkit.report.model import count_noun
    from portkit.report.progress import show_waiting
    from portkit.workspace.process import end_on_signals

    with end_on_signals(), show_waiting(f"Translating {', '.join(map(str, paths[:2]))}"):
        done = translate(
            paths,
            output,
            engine=Engine(engine),
            profile=_load_kernel_facts(profile),
            define=split_words(define),
            undefine=split_words(undefine),
            skip_unfinished=skip_unfinished,
            overwrite=overwrite,
        )
    if report is not None:
        write_report(render_hipify_json(done, output), report)
    if output is None and len(paths) == 1 and not paths[0].is_dir():
        _print_translation(done)
    else:
        print_text(render_hipify_table(done, output, open_screen()), end="")
    if done.refusals:
        first, *more = done.refusals
        others = (
            f"; {count_noun(len(more), 'more file')} of which the report speaks" if more else ""
        )
        raise KernelInputError(f"{first.reason}{others}")
    return done.exit_code


def _load_kernel_facts(profile: str) -> KernelProfile:
    from portkit.cli.options import find_profile_directory
    from portkit.hipify.errors import KernelProfileError
    from portkit.hipify.kernel_profile import FILE, NO_PROFILE, load_profile
    from portkit.profiles.profile import load_codebase

    directory = find_profile_directory(profile)
    if directory is None:
        return NO_PROFILE
    if not directory.has(FILE):
        raise KernelProfileError(f"{directory} says nothing of kernels: leave --profile away")
    return load_profile(directory, load_codebase(directory).name)


def _print_translation(done: HipifyReport) -> None:
    from portkit.report.hipify_report import render_listing, render_missing

    print_notice(render_listing(done, open_error_terminal()))
    for translation in done.translations:
        print_bytes(translation.content)
    print_notice(render_missing(done))


@make_command("portkit map cudaMallocAsync", "portkit map '<cuda_fp16.h>' __shfl_sync", name="map")
def map_names(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME...", help="A function, type, constant, macro or header."),
    ],
) -> int:
    """Show the HIP name of a CUDA name, since which version, and the source.

    With the ROCm release that first has it, and the source of the knowledge. The exit code is 1
    where a name is not known, with names like it.
    """
    from portkit.hipify.api_table import look_up_name
    from portkit.report.hipify_report import render_mapping, render_unknown

    code = 0
    for name in names:
        found = look_up_name(name)
        if found.mapping is None:
            code = FOUND
            print_notice(render_unknown(found))
        else:
            print_text(render_mapping(found.mapping, open_screen()), end="")
    return code
