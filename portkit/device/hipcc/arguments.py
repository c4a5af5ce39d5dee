"""The command line of hipcc."""

from __future__ import annotations

from dataclasses import dataclass, field
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


@dataclass
class _Reader:
    inputs: list[str] = field(default_factory=list)
    output: str = ""
    archs: list[str] = field(default_factory=list)
    language: str = ""
    preprocessing: list[str] = field(default_factory=list)
    compiling: list[str] = field(default_factory=list)
    linking: list[str] = field(default_factory=list)
    bundle: str = ""
    flags: set[str] = field(default_factory=set)

    def read(self, arguments: Sequence[str]) -> None:
        rest = iter(arguments)
        for argument in rest:
            self._read_one(argument, rest)

    def _read_one(self, argument: str, rest: Iterator[str]) -> None:
        if argument in ("-o", "-x"):
            value = _take_value(argument, rest)
            if argument == "-o":
                self.output = value
            else:
                self.language = "" if value == "none" else value
        elif argument.startswith(("--offload-arch=", "--amdgpu-target=")):
            self.archs += [a for a in argument.partition("=")[2].split(",") if a]
        elif argument in ("-c", "-E", "--genco") or argument.startswith("--offload-"):
            self.flags.add(argument)
        elif argument == "-Xclang":
            self._read_for_clang(_take_value(argument, rest), rest)
        elif argument in ("-I", "-D", "-U", "-include", "-isystem", "-iquote"):
            self.preprocessing += [argument, _take_value(argument, rest)]
        elif argument.startswith(("-I", "-D", "-U", "-isystem", "-iquote")):
            self.preprocessing.append(argument)
        elif argument in _FOR_CXX or argument.startswith("-std="):
            self.compiling.append(argument)
        elif argument.startswith(("-l", "-L", "-Wl,", "-shared", "-pthread")):
            self.linking.append(argument)
        elif argument in _WITH_VALUE:
            _take_value(argument, rest)
        elif argument.startswith(("-O", "-W", "-f", "-m", "-g", "-M", "--rocm-")):
            # How to optimize and what to warn of is for AMD's compiler.
            self.flags.add(argument)
        elif argument in ("--no-gpu-bundle-output", "--gpu-bundle-output", "-v", "-pipe"):
            self.flags.add(argument)
        elif argument.startswith("-"):
            raise UsageError(f"unknown argument: {argument}")
        else:
            self.inputs.append(argument)

    def _read_for_clang(self, argument: str, rest: Iterator[str]) -> None:
        if argument == "-fcuda-include-gpubinary":
            if _take_value(argument, rest) != "-Xclang":
                raise UsageError(f"{argument} lacks a file")
            self.bundle = _take_value(argument, rest)
        elif argument.startswith("-fcuda"):
            raise UsageError(f"unknown argument: {argument}")

    def mode(self) -> Mode:
        if "-E" in self.flags:
            return Mode.PREPROCESS
        if "--genco" in self.flags:
            return Mode.BUNDLE
        if "--offload-device-only" in self.flags:
            return Mode.DEVICE if "--no-gpu-bundle-output" in self.flags else Mode.BUNDLE
        if "--offload-host-only" in self.flags:
            return Mode.HOST
        return Mode.OBJECT if "-c" in self.flags else Mode.PROGRAM


def read_arguments(arguments: Sequence[str]) -> Arguments:
    """Return what a command line asks for."""
    reader = _Reader()
    reader.read(arguments)
    if not reader.inputs:
        raise UsageError("no input files")
    return Arguments(
        mode=reader.mode(),
        inputs=tuple(reader.inputs),
        output=reader.output,
        archs=tuple(dict.fromkeys(reader.archs)),
        language=reader.language,
        preprocessing=tuple(reader.preprocessing),
        compiling=tuple(reader.compiling),
        linking=tuple(reader.linking),
        bundle=reader.bundle,
    )


def _take_value(option: str, rest: Iterator[str]) -> str:
    value = next(rest, None)
    if value is None:
        raise UsageError(f"{option} lacks a value")
    return value
