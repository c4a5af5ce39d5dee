"""The API table: what a CUDA name becomes in HIP, since which ROCm, and who says so.

The files in ``portkit/vendors/rocm/api`` are made from HIPIFY's documentation by ``ci/api-table``,
one for each group of the CUDA API, in CSV, which takes a tenth of the time of TOML to read;
``corrections.toml`` is written by hand and wins. What that documentation lacks and HIP's headers
declare under CUDA's name is in ``headers.toml``, made by ``ci/hip-names``. The same table feeds the
engine, ``portkit map`` and the docs.
"""

from __future__ import annotations

import csv
import difflib
import re
import tomllib
from functools import cache
from itertools import chain
from typing import Final

from msgspec.structs import replace

from portkit.codebases.directory import VENDORS
from portkit.syntax.value import Value

FOLDER = VENDORS / "rocm" / "api"
GROUPS: Final = {
    "runtime": "CUDA_Runtime_API_functions_supported_by_HIP.md",
    "driver": "CUDA_Driver_API_functions_supported_by_HIP.md",
    "device": "CUDA_Device_API_supported_by_HIP.md",
    "rtc": "CUDA_RTC_API_supported_by_HIP.md",
    "cub": "CUB_API_supported_by_HIP.md",
    "rand": "CURAND_API_supported_by_HIP.md",
    "blas": "CUBLAS_API_supported_by_HIP.md",
    "complex": "cuComplex_API_supported_by_HIP.md",
}
"""The page of HIPIFY's documentation that each group is made from."""

_API_NAME: Final = re.compile(
    r"(?:__|make_)?cu[a-zA-Z_]|CU[A-Za-z_]|nvrtc|NVRTC_|_?Cub[DL]|__?CUB_"
)

COLUMNS: Final = ("kind", "cuda", "hip", "since")
"""Of a group's file, which tells them in its first row."""

CORRECTIONS = "corrections"


class Mapping(Value, frozen=True):
    """What a CUDA name becomes."""

    cuda: str  # the CUDA name; of a header as in ``#include``, without brackets
    hip: str  # the HIP name; empty where HIP has no counterpart
    # ``function``, ``data`` (type, constant or macro), ``header``, ``lacking`` (a header without a
    # counterpart), ``namespace``, ``prelude`` (a name that the prelude headers define), ``ptx`` (an
    # instruction or a register), ``api`` (a name of the runtime's that the prelude has), or of
    # cooperative groups ``group`` (HIP has it as it is), ``lanes`` (it lacks it, or counts lanes of
    # the wavefront) and ``member`` (of a group)
    kind: str
    since: str  # the ROCm release that first has it; empty when unknown
    source: str  # who says so
    note: str = ""  # what to know, one sentence; empty mostly
    names: tuple[str, ...] = ()  # names without a row of their own that come with it
    header: str = ""  # the prelude's header that has it, where ``hipx.h`` does not include it
    group: str = ""  # of a name of the host's APIs, such as ``runtime``; empty of others


@cache
def load_group(name: str) -> dict[str, Mapping]:
    """Return one group of the table, CUDA name to mapping, without the corrections."""
    source = f"HIPIFY documentation, {GROUPS[name]}"
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows)
        return {
            cuda: Mapping(
                cuda, hip, kind, since, source, group=name if _is_api_name(name, cuda) else ""
            )
            for kind, cuda, hip, since in rows
        }


def _is_api_name(group: str, name: str) -> bool:
    """Whether a name is one of the host's APIs: others are of the device or of no group alone."""
    return group != "device" and _API_NAME.match(name) is not None


@cache
def load_corrections() -> dict[str, Mapping]:
    """Return the entries written by hand."""
    text = (FOLDER / f"{CORRECTIONS}.toml").read_text(encoding="utf-8")
    return {
        row["cuda"]: Mapping(
            row["cuda"],
            row["hip"],
            kind,
            row.get("since", ""),
            row["source"],
            row.get("note", ""),
            tuple(row.get("names", ())),
            row.get("header", ""),
        )
        for kind, rows in tomllib.loads(text).items()
        for row in rows
    }


@cache
def list_corrections(*kinds: str) -> list[Mapping]:
    """Return the corrections of some kinds, in their order."""
    return [mapping for mapping in load_corrections().values() if mapping.kind in kinds]


@cache
def load_declared_names() -> dict[str, Mapping]:
    """Return the device functions that HIP's headers declare under a name such as CUDA's."""
    document = tomllib.loads((FOLDER / "headers.toml").read_text(encoding="utf-8"))
    return {
        name: Mapping(name, name, "function", "", f"{document['source']}, {header}")
        for header, names in document["declared"].items()
        for name in names
    }


@cache
def load_table() -> dict[str, Mapping]:
    """Return all tables as one: a correction wins, then a row with a counterpart in HIP."""
    table: dict[str, Mapping] = {}
    for mapping in chain(*(load_group(name).values() for name in GROUPS)):
        known = table.get(mapping.cuda)
        if known is None or (mapping.group and not (known.hip and known.group)):
            table[mapping.cuda] = mapping
    for name, mapping in load_declared_names().items():
        if name not in table or not (table[name].hip or table[name].group):
            table[name] = mapping
    for name, mapping in load_corrections().items():
        by_kind = "runtime" if mapping.kind == "api" else ""
        group = table[name].group if name in table else by_kind
        table[name] = replace(mapping, group=group or by_kind)
    return table


def find_mapping(name: str) -> Mapping | None:
    """Return what ``name`` becomes, None when no table knows it."""
    return load_table().get(name)


class Lookup(Value, frozen=True):
    """What ``portkit map`` prints."""

    name: str  # what was asked
    mapping: Mapping | None  # what it becomes; None when the table does not know it
    similar: tuple[str, ...] = ()  # known names like it, best first; empty when it is known
    part_of: Mapping | None = None  # the namespace or the header that an unknown name belongs to

    @property
    def exit_code(self) -> int:
        """0 when the name is known, else 1."""
        return 0 if self.mapping else 1


def look_up_name(name: str) -> Lookup:
    """Look a CUDA name up: a function, type, constant, header or namespace.

    Args:
        name: as it stands in a source; of a header with or without brackets or quotes.
    """
    name = name.strip().strip('<>"')
    mapping = find_mapping(name)
    if mapping is not None:
        return Lookup(name, mapping)
    around = _find_containing_name(name)
    return Lookup(name, None, () if around else tuple(find_similar_names(name)), around)


def _find_containing_name(name: str) -> Mapping | None:
    """Return the innermost namespace that is known, or the header that brings one of the parts."""
    parts = name.split("::")
    outer = ("::".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
    spaces = (mapping for mapping in map(find_mapping, outer) if mapping is not None)
    headers = (m for m in load_corrections().values() if not set(m.names).isdisjoint(parts))
    return next(chain(spaces, headers), None)


def find_similar_names(name: str, limit: int = 5) -> list[str]:
    """Return the known names that are most like ``name``, best first."""
    known = {key.lower(): key for key in sorted(load_table())}
    close = difflib.get_close_matches(name.lower(), known, n=limit, cutoff=0.6)
    return [known[key] for key in close]
