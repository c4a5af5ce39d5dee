"""The two passes over a source, and what hipcc puts together from them."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.device.hipcc.archs import read_arch
from portkit.device.hipcc.arguments import Mode, UsageError
from portkit.device.hipcc.bundle import pack_bundle
from portkit.device.hipcc.rewrite import rewrite_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portkit.device.hipcc.archs import Arch
    from portkit.device.hipcc.arguments import Arguments
    from portkit.device.hipcc.cxx import Cxx

DEFAULT_ARCH: Final = "gfx1100"
"""The architecture of a device that is told nothing (src/runtime/options.h)."""

_ARCH: Final = "PORTKIT_DEVICE_ARCH"
"""The variable that says as which GPU the device answers."""

_HIP: Final = ("-D__HIP__=1", "-D__HIPCC__=1", "-D__HIP_PLATFORM_AMD__=1")

_QUIET: Final = ("-w", "-fno-strict-aliasing", "-fno-math-errno")

# A class may not give a name another meaning than it had there before, and no compiler need say so
# ([basic.scope.class]): clang does not, and GCC has no narrower option before its version 13.
_AS_CLANG_GCC: Final = ("-fpermissive",)

# Lanes meet where the same call of a wavefront function returns to: calls must not be doubled.
_ONE_CALL_EACH: Final = ("-fno-optimize-sibling-calls",)
_ONE_CALL_EACH_GCC: Final = (
    "-fno-thread-jumps",
    "-fno-tree-tail-merge",
    "-fno-crossjumping",
    "-fno-split-paths",
    "-fno-unswitch-loops",
    "-fno-reorder-blocks",
    "-fno-reorder-blocks-and-partition",
    "-fno-partial-inlining",
)


class CompileError(Exception):
    """The C++ compiler refuses a source; it has said why."""


@dataclass(frozen=True)
class Passes:
    """How sources are compiled."""

    cxx: Cxx  # the C++ compiler
    root: Path  # the tree of the device: ``include`` and ``lib`` lie in it
    optimize: str  # of kernels
    checked: bool  # whether kernels report their accesses of memory to the checker

    def make(self, arguments: Arguments) -> None:
        """Make what a command line asks for."""
        archs = [read_arch(name) for name in arguments.archs]
        if arguments.mode is Mode.PREPROCESS:
            return  # only asked to find out whether an architecture is known
        if arguments.mode is Mode.PROGRAM:
            self._program(arguments, archs)
            return
        if len(arguments.inputs) != 1:
            raise UsageError(f"{arguments.mode.value} is made of one source")
        source = arguments.inputs[0]
        output = Path(arguments.output or Path(source).with_suffix(".o").name)
        if arguments.has_no_kernels(source):
            self._plain(arguments, source, output)
        elif arguments.mode is Mode.DEVICE:
            if len(archs) != 1:
                raise UsageError("a code object is for one architecture")
            self._device(arguments, source, archs[0], output)
        elif arguments.mode is Mode.BUNDLE:
            output.write_bytes(self._bundle(arguments, source, archs))
        elif arguments.mode is Mode.HOST:
            self._host(arguments, source, Path(arguments.bundle), output)
        else:
            self._both(arguments, source, archs, output)

    def _program(self, arguments: Arguments, archs: Sequence[Arch]) -> None:
        with tempfile.TemporaryDirectory(prefix="hipcc-") as scratch:
            objects = []
            for number, name in enumerate(arguments.inputs):
                if Path(name).suffix in (".o", ".a", ".so"):
                    objects.append(name)
                    continue
                made = Path(scratch) / f"{number}.o"
                if arguments.is_hip(name):
                    self._both(arguments, name, archs, made)
                else:
                    self._plain(arguments, name, made)
                objects.append(str(made))
            library = self.root / "lib"
            linked = (f"-L{library}", "-lamdhip64", f"-Wl,-rpath,{library}")
            self._run(*objects, *arguments.linking, *linked, "-o", arguments.output or "a.out")

    def _both(self, arguments: Arguments, source: str, archs: Sequence[Arch], output: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="hipcc-") as scratch:
            binary = Path(scratch) / "bundle"
            binary.write_bytes(self._bundle(arguments, source, archs))
            self._host(arguments, source, binary, output)

    def _bundle(self, arguments: Arguments, source: str, archs: Sequence[Arch]) -> bytes:
        entries = []
        with tempfile.TemporaryDirectory(prefix="hipcc-") as scratch:
            # As hipcc does, which asks for the GPUs of the machine where it is told nothing.
            for arch in archs or (read_arch(os.environ.get(_ARCH) or DEFAULT_ARCH),):
                made = Path(scratch) / arch.name
                self._device(arguments, source, arch, made)
                entries.append((arch.name, made.read_bytes()))
        return pack_bundle(entries)

    def _device(self, arguments: Arguments, source: str, arch: Arch, output: Path) -> None:
        lanes = arch.wavefront
        macros = ("__HIP_DEVICE_COMPILE__", "HIPCPU_DEVICE_PASS", *arch.macros)
        widths = (f"-DHIPCPU_WAVEFRONT={lanes}", f"-D__AMDGCN_WAVEFRONT_SIZE={lanes}")
        defined = (f"-D{name}=1" for name in macros)
        text = self._preprocessed(arguments, source, *defined, *widths)
        table = (
            '\nextern "C" __attribute__((visibility("default")))'
            " const ::hipcpu::Module *hipcpu_module() {"
            f' static ::hipcpu::Module module{{::hipcpu::abi_version, {lanes}, "{arch.name}",'
            f" {str(self.checked).lower()}, nullptr}};"
            " module.kernels = ::hipcpu::kernels; return &module; }\n"
        )
        with tempfile.TemporaryDirectory(prefix="hipcc-") as scratch:
            made = Path(scratch) / "device.o"
            for_gcc = () if self.cxx.is_clang else (*_ONE_CALL_EACH_GCC, "-fno-gnu-unique")
            sections = ("-g1", "-fvisibility=hidden", "-ffunction-sections")
            checks = self._checks() if self.checked else ()
            options = (*_ONE_CALL_EACH, *for_gcc, *sections, *checks, *_choose_standard(arguments))
            rewritten = rewrite_source(text, device=True).text
            self._compile(rewritten + table, made, self.optimize, *options)
            # What only the host calls goes; its lines stay, at low addresses.
            linked = ["-Wl,--gc-sections,-Bsymbolic,-Ttext-segment=0x10000000"]
            if self.checked:
                linked.append("-Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset")
            library = (f"-L{self.root / 'lib'}", "-lamdhip64")
            self._run("-shared", str(made), *linked, *library, "-o", str(output))

    def _host(self, arguments: Arguments, source: str, binary: Path, output: Path) -> None:
        # What a header does without exceptions or without types at run time, macros decide.
        text = self._preprocessed(arguments, source, *arguments.compiling)
        rewritten = rewrite_source(text, device=False)
        text = rewritten.text
        if rewritten.kernels:
            if not binary.is_file():
                raise UsageError(f"{binary}: no such bundle of code objects")
            text += _render_embedding(binary)
        self._compile(text, output, "-O1", "-fno-threadsafe-statics", *arguments.compiling)

    def _plain(self, arguments: Arguments, source: str, output: Path) -> None:
        macros = _HIP if arguments.is_hip(source) else ()
        options = (*self._includes(), *macros, *arguments.preprocessing, "-O1")
        target = (source, "-o", str(output))
        self._run("-c", "-x", "c++", *options, *arguments.compiling, *target)

    def _preprocessed(self, arguments: Arguments, source: str, *macros: str) -> str:
        options = (*_choose_standard(arguments), *self.cxx.machine, *self._includes(), *_HIP)
        run = self.cxx.run(("-E", "-x", "c++", *options, *macros, *arguments.preprocessing, source))
        sys.stderr.write(run.stderr)
        if run.returncode != 0:
            raise CompileError
        return run.stdout

    def _compile(self, text: str, output: Path, *options: str) -> None:
        with tempfile.TemporaryDirectory(prefix="hipcc-") as scratch:
            source = Path(scratch) / "source.ii"
            source.write_text(text, encoding="utf-8", errors="surrogateescape")
            language = "c++-cpp-output"
            as_clang = () if self.cxx.is_clang else _AS_CLANG_GCC
            fixed = ("-c", "-fPIC", *_QUIET, *as_clang, *self.cxx.machine)
            self._run(*fixed, *options, "-x", language, str(source), "-o", str(output))

    def _checks(self) -> tuple[str, ...]:
        """Return the options that put a call before each access of memory."""
        if self.cxx.is_clang:
            entries = ("-mllvm", "-tsan-instrument-func-entry-exit=0")
        else:
            entries = ("--param", "tsan-instrument-func-entry-exit=0")
        return ("-fsanitize=thread", *entries)

    def _includes(self) -> tuple[str, ...]:
        return ("-isystem", str(self.root / "include"))

    def _run(self, *arguments: str) -> None:
        run = self.cxx.run(arguments)
        sys.stderr.write(run.stderr)
        if run.returncode != 0:
            raise CompileError


def _choose_standard(arguments: Arguments) -> list[str]:
    given = [option for option in arguments.compiling if option.startswith("-std=")]
    return given or ["-std=c++17"]


def _render_embedding(binary: Path) -> str:
    """Return what ends a host source that has kernels: its bundle, as hipcc embeds it."""
    path = str(binary.resolve()).replace("\\", "\\\\").replace('"', '\\"')
    quoted = path.replace("\\", "\\\\").replace('"', '\\"')
    return f"""
__asm__(".section .hip_fatbin,\\"a\\"\\n.balign 4096\\nhipcpu_bundle_data:\\n"
        ".incbin \\"{quoted}\\"\\n.previous\\n");
extern "C" __attribute__((visibility("hidden"))) const char hipcpu_bundle_data[];
static void **hipcpu_bundle() {{
  static const ::hipcpu::FatBinary binary{{0x48495046, 1, hipcpu_bundle_data, nullptr}};
  static void **handle = nullptr;
  if (handle == nullptr) handle = __hipRegisterFatBinary(&binary);
  return handle;
}}
"""
