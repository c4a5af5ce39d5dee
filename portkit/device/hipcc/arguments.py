"""The command line of hipcc."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LANGUAGE_OF_SUFFIX: Final = {".hip": "hip", ".cu": "hip", ".cpp": "hip", ".cc": "hip"}
"""As hipcc takes C++ files: as HIP."""

_WITH_VALUE: Final = frozenset({"-mllvm", "-Xarch_device", "-Xarch_host", "-MF", "-MT", "-MQ"})
"""Options of clang that another argument follows and that mean nothing here."""


_FOR_CXX: Final = frozenset({"-fPIC", "-fno-exceptions", "-fno-rtti", "-g", "-w"})
"""Options that mean the same to every C++ compiler."""


_FLAGS: Final = frozenset(
    {"-c", "-E", "--genco", "--no-gpu-bundle-output", "--gpu-bundle-output", "-v", "-pipe"}
)
_FLAG_GROUPS: Final = ("--offload-", "-O", "-W", "-f", "-m", "-g", "-M", "--rocm-")
"""How to optimize and what to warn of is for AMD's compiler."""


class UsageError(Exception):
    """A command line that the stand-in does not understand."""


class Mode(Enum):
    """What is made."""

    PREPROCESS = "preprocessed text"
    DEVICE = "a code object"
    HOST = "an object with launchers"
    BUNDLE = "a bundle of code objects"
    OBJECT = "an object with its code objects"
    PROGRAM = "a program"


@dataclass(frozen=True, slots=True)
class Arguments:
    """What hipcc is asked for."""

    mode: Mode  # what is made
    inputs: tuple[str, ...]  # sources and objects
    output: str  # the file that is made; empty for the default
    archs: tuple[str, ...]  # architectures, as given
    language: str  # of every source; empty when the suffix tells
    preprocessing: tuple[str, ...]  # ``-I``, ``-D``, ``-U``, ``-include``, ``-isystem``
    compiling: tuple[str, ...]  # options that a C++ compiler is given
    linking: tuple[str, ...]  # options for the linker
    bundle: str  # the bundle that a host object embeds; empty for none

    def is_hip(self, source: str) -> bool:
        """Whether a source is HIP, and not C++ without kernels."""
        return (self.language or _LANGUAGE_OF_SUFFIX.get(Path(source).suffix, "")) == "hip"

    def has_no_kernels(self, source: str) -> bool:
        """Return whether a source is compiled as C++: no HIP, or a host part without a bundle."""
        return not self.is_hip(source) or (self.mode is Mode.HOST and not self.bundle)


def read_arguments(arguments: Sequence[str]) -> Arguments:
    """Return what a command line asks for."""
    output = language = bundle = ""
    inputs: list[str] = []
    archs: list[str] = []
    preprocessing: list[str] = []
    compiling: list[str] = []
    linking: list[str] = []
    flags: set[str] = set()
    rest = iter(arguments)
    for argument in rest:
        if argument == "-o":
            output = _take_value(argument, rest)
        elif argument == "-x":
            value = _take_value(argument, rest)
            language = "" if value == "none" else value
        elif argument.startswith(("--offload-arch=", "--amdgpu-target=")):
            archs += [a for a in argument.partition("=")[2].split(",") if a]
        elif argument == "-Xclang":
            bundle = _read_bundle(_take_value(argument, rest), rest) or bundle
        elif argument in ("-I", "-D", "-U", "-include", "-isystem", "-iquote"):
            preprocessing += [argument, _take_value(argument, rest)]
        elif argument.startswith(("-I", "-D", "-U", "-isystem", "-iquote")):
            preprocessing.append(argument)
        elif argument in _FOR_CXX or argument.startswith("-std="):
            compiling.append(argument)
        elif argument.startswith(("-l", "-L", "-Wl,", "-shared", "-pthread")):
            linking.append(argument)
        elif argument in _WITH_VALUE:
            _take_value(argument, rest)
        elif argument in _FLAGS or argument.startswith(_FLAG_GROUPS):
            flags.add(argument)
        elif argument.startswith("-"):
            raise UsageError(f"unknown argument: {argument}")
        else:
            inputs.append(argument)
    if not inputs:
        raise UsageError("no input files")
    return Arguments(
        mode=_choose_mode(flags),
        inputs=tuple(inputs),
        output=output,
        archs=tuple(dict.fromkeys(archs)),
        language=language,
        preprocessing=tuple(preprocessing),
        compiling=tuple(compiling),
        linking=tuple(linking),
        bundle=bundle,
    )


def _read_bundle(argument: str, rest: Iterator[str]) -> str:
    """Return the file of an option for clang itself; empty for another option."""
    if argument == "-fcuda-include-gpubinary":
        if _take_value(argument, rest) != "-Xclang":
            raise UsageError(f"{argument} lacks a file")
        return _take_value(argument, rest)
    if argument.startswith("-fcuda"):
        raise UsageError(f"unknown argument: {argument}")
    return ""


def _choose_mode(flags: set[str]) -> Mode:
    if "-E" in flags:
        return Mode.PREPROCESS
    if "--genco" in flags:
        return Mode.BUNDLE
    if "--offload-device-only" in flags:
        return Mode.DEVICE if "--no-gpu-bundle-output" in flags else Mode.BUNDLE
    if "--offload-host-only" in flags:
        return Mode.HOST
    return Mode.OBJECT if "-c" in flags else Mode.PROGRAM


def _take_value(option: str, rest: Iterator[str]) -> str:
    value = next(rest, None)
    if value is None:
        raise UsageError(f"{option} lacks a value")
    return value
