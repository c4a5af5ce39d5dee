"""Small CUDA programs from public reports: what they print on NVIDIA, and what their ports do.

Each file of ``tests/fixtures/constructs`` is one construct. Its first lines name the report, the
value that CUDA gives and who says so, and the findings of ``portkit hipify`` if it has to say
something. All programs of one translator are one source, each in a namespace of its own, so that a
compiler runs once for all of them.

Usage: ``python -m tools.constructs`` writes ``reports/proof/constructs.md``. It needs what
``ci/toolchain`` and ``ci/rocm-headers`` print, and half an hour. With ``--cuda FILE`` it writes the
programs as one source for nvcc, which prints what CUDA gives.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from portkit.device.toolkit import build_toolkit
from portkit.hipify.external_engines import Engine, find_engine
from portkit.hipify.hipcc import find_hipcc
from portkit.hipify.prelude import PRELUDE_FOLDER
from portkit.hipify.stage import hipify
from portkit.shipped import shipped
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FOLDER: Final = Path(__file__).parents[1] / "tests" / "fixtures" / "constructs"
_HEAD: Final = re.compile(r"// (construct|report|expected|finding|device|source): (.*)\n")
_INCLUDE: Final = re.compile(r"^[ \t]*#[ \t]*include[ \t].*\n", re.MULTILINE)
_WAVES: Final = {32: "gfx1100", 64: "gfx90a"}
_FLAGS: Final = ("-std=c++17", "-w")
_PTX: Final = re.compile(r'\basm(?: volatile)?\("[^"]')
"""Assembly that is for NVIDIA, which no other assembler reads."""
_PAGE: Final = Path(__file__).parents[1] / "reports" / "proof" / "constructs.md"
_MISSING: Final = re.compile(r"fatal error: '?([\w/.+-]+)'?:? (?:file not found|No such file)")
"""What a compiler says of a header that it lacks, which ends the compile of all programs."""

_MAIN: Final = """
#include <cstdio>
#include <cstring>
#if defined(__HIPCC__) || defined(__HIP__) || defined(__HIP_PLATFORM_AMD__)
#include <hip/hip_runtime.h>
#define RUNTIME(name) hip##name
#else
#include <cuda_runtime.h>
#define RUNTIME(name) cuda##name
#endif
static void show(const char *name, const double *o) {
  std::printf("%s", name);
  for (int i = 0; i < 8; ++i) std::printf(" %.17g", o[i]);
  std::printf("\\n");
  std::fflush(stdout);
}
template <typename Kernel>
static void launch(const char *name, Kernel kernel) {
  double values[8] = {}, *o;
  (void)RUNTIME(Malloc)((void **)&o, sizeof values);
  (void)RUNTIME(Memset)(o, 0, sizeof values);
  kernel<<<1, 64, 1024>>>(o);
  const int status = (int)RUNTIME(Memcpy)(values, o, sizeof values, RUNTIME(MemcpyDeviceToHost));
  if (status) std::printf("%s error %d\\n", name, status); else show(name, values);
  (void)RUNTIME(Free)(o);
}
template <typename Function>
static void call(const char *name, Function function) {
  double values[8] = {};
  function(values);
  show(name, values);
}
"""


class Row(NamedTuple):
    """One construct."""

    name: str
    construct: str
    report: str  # its address
    expected: str  # what CUDA gives, between blanks; empty if only the finding counts
    finding: str  # the codes that hipify has to report; empty if the port has to give the value
    device: str  # why the CPU device does not run it; empty mostly
    source: str  # who says what CUDA gives
    text: str  # the program

    @property
    def is_program(self) -> bool:
        """Whether the CPU device has to give the value."""
        return not (self.finding or self.device)

    def matches(self, printed: str) -> bool:
        """Whether a line of values begins with the expected ones."""
        wanted, found = self.expected.split(), printed.split()
        return len(found) >= len(wanted) and all(
            float(a) == float(b) for a, b in zip(wanted, found, strict=False)
        )


class Port(NamedTuple):
    """What hipify makes of a construct."""

    text: str
    manual: tuple[str, ...]  # the codes of findings that need a person
    review: tuple[str, ...]  # the codes of findings for review


def load_rows(folder: Path = FOLDER) -> list[Row]:
    """Return the constructs, by name."""
    rows = []
    for path in sorted(folder.glob("*.cu")):
        text = path.read_text(encoding="utf-8")
        head = dict(_HEAD.findall(text))
        told = [head.get(key, "") for key in Row._fields[1:-1]]
        construct, report, expected, finding, device, source = told
        rows.append(Row(path.stem, construct, report, expected, finding, device, source, text))
    return rows


def port_row(row: Row) -> Port:
    """Translate one construct as a user does who has only this file."""
    report = hipify([FOLDER / f"{row.name}.cu"])
    codes = {
        kind: tuple(sorted({f.code for f in report.findings if f.applicability is kind}))
        for kind in (Applicability.MANUAL, Applicability.REVIEW)
    }
    text = report.translations[0].content.decode()
    return Port(text, codes[Applicability.MANUAL], codes[Applicability.REVIEW])


def join_programs(texts: Mapping[str, str]) -> str:
    """Return one source with each program in a namespace, and a main that prints their values."""
    includes = dict.fromkeys(
        line.strip() for text in texts.values() for line in _INCLUDE.findall(text)
    )
    parts = ["\n".join(includes), _MAIN]
    calls = []
    for name, text in texts.items():
        body = _INCLUDE.sub("\n", text)
        macros = re.findall(r"^#define (\w+)", body, re.MULTILINE)
        ends = "\n".join(f"#undef {macro}" for macro in macros)
        parts.append(f'namespace row_{name} {{\n#line 1 "{name}.cu"\n{body}\n}}\n{ends}')
        if re.search(r"\bhost\(double \*o\)", body):
            calls.append(f'  call("{name}", row_{name}::host);')
        elif re.search(r"\brun\(double \*o\)", body):
            calls.append(f'  launch("{name}", row_{name}::run);')
    return "\n".join([*parts, '#line 1 "main.cu"', "int main() {", *calls, "}", ""])


def compile_most(
    texts: Mapping[str, str], compile_text: Callable[[str], str], rounds: int = 24
) -> dict[str, str]:
    """Compile programs together, without those with errors; return the errors by name.

    ``compile_text`` returns what the compiler prints, empty after success.
    """
    errors = {name: "inline PTX" for name, text in texts.items() if _PTX.search(text)}
    for _ in range(rounds):
        left = {name: text for name, text in texts.items() if name not in errors}
        printed = compile_text(join_programs(left))
        if not printed:
            return errors
        found = {
            name: line
            for line in printed.splitlines()
            for name in re.findall(r"(\w+)\.cu:\d+", line)
            if name in left and "error" in line
        }
        if missing := _MISSING.search(printed):
            found = {name: missing[0] for name, text in left.items() if missing[1] in text}
        found = found or _find_mentioned(printed, left)
        if not found:
            raise RuntimeError(printed[:4000])
        errors |= found
    raise RuntimeError(f"errors after {rounds} rounds: {sorted(errors)}")


def _find_mentioned(printed: str, left: Mapping[str, str]) -> dict[str, str]:
    return {
        name: line
        for line in printed.splitlines()
        for name in re.findall(r"(\w+)\.cu:\d+", line)
        if name in left
    }


def run_compiler(command: Sequence[str | Path]) -> str:
    """Return the errors of a compiler, empty after success."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else (done.stderr + done.stdout or "failed")


def read_values(printed: str) -> dict[str, str]:
    """Return the values that a joined program printed, by name."""
    return dict(line.split(" ", 1) for line in printed.splitlines() if " " in line)


class Results(NamedTuple):
    """What compilers and runs say of programs, by name."""

    tried: frozenset[str]
    errors: Mapping[str, str]  # the first error of each program that does not compile
    values: Mapping[int, Mapping[str, str]]  # what was printed, by lanes of a wavefront

    def describe(self, row: Row, lanes: int) -> str:
        """Return what a run at a width of wavefronts gives, in a word."""
        if row.name not in self.tried:
            return "not run"
        if row.name in self.errors:
            return "does not compile"
        printed = self.values[lanes].get(row.name, "ends with an error")
        if row.matches(printed):
            return "right"
        return " ".join(printed.split()[: max(1, len(row.expected.split()))])


def run_on_cpu_device(texts: Mapping[str, str]) -> Results:
    """Compile programs for the CPU device and run them at both widths of wavefronts."""
    device = build_toolkit()
    prelude = shipped(f"{PRELUDE_FOLDER}/src/device")
    archs = [f"--offload-arch={arch}" for arch in _WAVES.values()]
    with tempfile.TemporaryDirectory() as scratch:
        source, program = Path(scratch) / "all.hip", Path(scratch) / "all"

        def compile_text(text: str) -> str:
            source.write_text(text, encoding="utf-8")
            return run_compiler(
                [device.hipcc(), *archs, *_FLAGS, f"-I{prelude}", source, "-o", program]
            )

        errors = compile_most(texts, compile_text)
        values = {
            lanes: read_values(
                subprocess.run(
                    [program],
                    capture_output=True,
                    text=True,
                    env=device.environment(arch=arch),
                    check=False,
                ).stdout
            )
            for lanes, arch in _WAVES.items()
        }
    return Results(frozenset(texts), errors, values)


def compile_with_hipcc(texts: Mapping[str, str], arch: str) -> Results:
    """Let hipcc check programs for one architecture."""
    prelude = shipped(f"{PRELUDE_FOLDER}/src/device")
    folders = os.environ.get("ROCM_INCLUDE", "").split(os.pathsep)
    headers = [word for folder in folders if folder for word in ("-idirafter", folder)]
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "all.hip"

        def compile_text(text: str) -> str:
            source.write_text(text, encoding="utf-8")
            limits = ("-fsyntax-only", "-ferror-limit=0", f"--offload-arch={arch}")
            return run_compiler([find_hipcc(), *_FLAGS, *limits, f"-I{prelude}", *headers, source])

        return Results(frozenset(texts), compile_most(texts, compile_text), {})


def port_with_perl(rows: Sequence[Row]) -> dict[str, str]:
    """Translate programs by hipify-perl, all in one run, which takes minutes."""
    with tempfile.TemporaryDirectory() as scratch:
        source, target = Path(scratch) / "all.cu", Path(scratch) / "all.hip"
        source.write_text("".join(f"// <<{row.name}>>\n{row.text}" for row in rows))
        program = find_engine(Engine.HIPIFY_PERL).program
        subprocess.run([program, source, f"-o={target}"], capture_output=True, check=True)
        parts = re.split(r"// <<(\w+)>>\n", target.read_text(encoding="utf-8"))
    runtime = "#include <hip/hip_runtime.h>\n"
    return {name: runtime + text for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def render_page(
    rows: Sequence[Row],
    ours: Results,
    compiled: Mapping[str, Results],
    perl: Results,
    perl_compiled: Results,
) -> str:
    """Return the page of all constructs."""
    columns = (
        *("construct", "report", "CUDA gives", "portkit, 32 lanes", "64 lanes"),
        *(f"hipcc {arch}" for arch in compiled),
        *("hipify-perl, hipcc gfx90a", "32 lanes", "64 lanes"),
    )
    table = [" | ".join(columns), " | ".join("---" for _ in columns)]
    for row in rows:
        said = f"finding {', '.join(row.finding.split())}"
        words = row.report.removeprefix("https://github.com/").split("/")
        report = f"[{words[0]}/{words[1]} {words[-1]}]({row.report})"
        shown = [f"[{row.construct}](../../tests/fixtures/constructs/{row.name}.cu)", report]
        shown.append(row.expected or "not run")
        if row.finding:
            shown += [said, said, *("" for _ in compiled)]
        else:
            shown += [ours.describe(row, lanes) for lanes in _WAVES]
            shown += [
                "error" if row.name in each.errors else "compiles" for each in compiled.values()
            ]
        if row.name in perl_compiled.tried:
            shown.append("error" if row.name in perl_compiled.errors else "compiles")
        else:
            shown.append("not tried")
        shown += [perl.describe(row, lanes) if row.expected else "not run" for lanes in _WAVES]
        table.append(" | ".join(shown))
    lines = "\n".join(f"| {line} |" for line in table)
    programs = [row for row in rows if row.is_program]
    right = sum(all(ours.describe(row, lanes) == "right" for lanes in _WAVES) for row in programs)
    wrong = sum(
        row.name in perl.tried
        and row.name not in perl.errors
        and any(perl.describe(row, lanes) != "right" for lanes in _WAVES)
        for row in rows
        if row.expected
    )
    reports = len({row.report for row in rows})
    return f"""# Constructs of CUDA kernels from public reports

Each row is a construct that a public report names, or a construct of the same kind. The program is
ours and lies in `tests/fixtures/constructs`; its first lines say which page of CUDA the value comes
from. `python -m tools.constructs` makes this page.

| figure | number |
| --- | --- |
| constructs | {len(rows)} |
| public reports | {reports} |
| programs that portkit ports and that run on the CPU device | {len(programs)} |
| of these right with wavefronts of 32 and of 64 lanes | {right} |
| constructs that portkit reports as a finding | {sum(bool(row.finding) for row in rows)} |
| programs that hipify-perl ports, that compile and give another value than CUDA | {wrong} |

- "Not run": the construct has no program, or the CPU device lacks a part of HIP that it needs.
- hipcc compiles the ports for two architectures with the headers of ROCm {_read_release()}. No GPU
  of AMD has run them.
- CUDA's values follow from its documentation. On 2026-11-28 an NVIDIA H200 ran the 144 programs
  that have a value, built by nvcc 13.0 (`python -m tools.constructs --cuda FILE`, with `::` before
  the `atomicMax` of CUDA in `atomic_float_max_own.cu`). Each gave the value of this table.
- hipify-perl is the program of that release, with nothing done to its output by hand. The last two
  columns are runs on the CPU device. hipify-clang is not in the table.
- The CPU device runs threads one after the other. A lock that hangs on a GPU ends there.

{lines}
"""


def _read_release() -> str:
    done = subprocess.run([find_hipcc(), "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"HIP version: (\d+\.\d+)", done.stdout)
    return found[1] if found else "(unknown)"


def main() -> None:
    """Write the page, or the programs for nvcc."""
    rows = load_rows()
    if sys.argv[1:2] == ["--cuda"]:
        texts = {row.name: row.text for row in rows if row.expected}
        Path(sys.argv[2]).write_text(join_programs(texts), encoding="utf-8")
        return
    ports = {row.name: port_row(row) for row in rows}
    programs = {row.name: ports[row.name].text for row in rows if row.is_program}
    translated = {row.name: ports[row.name].text for row in rows if not row.finding}
    theirs = port_with_perl([row for row in rows if row.expected])
    without = {row.name for row in rows if row.device} | {"spin_lock"}
    page = render_page(
        rows,
        run_on_cpu_device(programs),
        {arch: compile_with_hipcc(translated, arch) for arch in _WAVES.values()},
        run_on_cpu_device({name: text for name, text in theirs.items() if name not in without}),
        compile_with_hipcc(theirs, _WAVES[64]),
    )
    _PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
