"""Small CUDA programs from public reports: what they print on NVIDIA, and what their ports do.

Each file of ``tests/fixtures/constructs`` is one construct. Its first lines name the report, the
value that CUDA gives and who says so, and the findings of ``portkit hipify`` if it has to say
something. All programs of one translator are one source, each in a namespace of its own, so that a
compiler runs once for all of them.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from portkit.hipify.stage import hipify
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FOLDER: Final = Path(__file__).parents[1] / "tests" / "fixtures" / "constructs"
_HEAD: Final = re.compile(r"// (construct|report|expected|finding|device|source): (.*)\n")
_INCLUDE: Final = re.compile(r"^[ \t]*#[ \t]*include[ \t].*\n", re.MULTILINE)
_VALUES: Final = 8
_THREADS: Final = 64

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
        values = (head.get(key, "") for key in Row._fields[1:-1])
        rows.append(Row(path.stem, *values, text))
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
    texts: Mapping[str, str], compile_text: Callable[[str], str], rounds: int = 8
) -> dict[str, str]:
    """Compile programs together, without those with errors; return the errors by name.

    ``compile_text`` returns what the compiler prints, empty after success.
    """
    errors: dict[str, str] = {}
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
