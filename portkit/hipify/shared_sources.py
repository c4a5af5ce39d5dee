"""The CUDA sources of one folder compiled as they stand, with what AMD needs otherwise beside them.

Most of what the rules rewrite is a name, and the preprocessor rewrites names too: ``hipx_names.h``
has a macro for each. An include is another header. What is left of the rules, and the profile's
patches, is ``cuda.patch``, which the crate's build script applies to a copy of the sources. So that
an edit of the sources reaches both vendors, or the build says which part of the patch it meets.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from portkit.hipify import api_table, launch_bounds
from portkit.hipify.cuda_patch import render_patch
from portkit.hipify.paths import PATCH_FILE, is_cuda
from portkit.hipify.prelude import load_prelude_headers
from portkit.hipify.rules import CODES
from portkit.hipify.rules.calls import KERNEL_ARGUMENT
from portkit.hipify.rules.includes import HEADER, find_hip_header
from portkit.hipify.translated_sources import KernelFolder, decode_source
from portkit.hipify.translator import apply_edits

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from portkit.workspace.finding import Finding

NAMES: Final = "hipx_names.h"
"""The header with a macro for each name of CUDA."""

_PRELUDE: Final = "hipx_cuda.h"

_RENAMES: Final = frozenset(CODES[name] for name in ("api_name", "intrinsic", "narrow_float"))
"""Rules that write one name for another."""

_PRELUDE_NAMES: Final = frozenset(
    CODES[name]
    for name in ("arch_macro", "kernel_attribute", "prelude_include", "header_include", "warp_sync")
)
"""Rules whose outcome the prelude has, or the line that the build puts before a source."""

INCLUDE: Final = re.compile(
    rb'^(?:\A\xef\xbb\xbf)?[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE
)
"""An include, that of a first line with a byte order mark too."""

_QUOTED: Final = re.compile(r'"([^"]+)"')

_HEAD: Final = """\
// The names of CUDA in the sources of {name} that HIP has by another name. Each source is compiled
// with this before its first line; what is no name alone stands in {patch}.
#pragma once

{includes}
"""

_BOUNDS: Final = """
// Kernels that are launched with fewer threads than the 1,024 that HIP plans for. The build puts
// these launch bounds before their names.
"""


class SharedSources(KernelFolder, frozen=True, dict=True):
    """The CUDA sources of a folder, and what makes HIP sources of them.

    It has the files that ``TranslatedSources`` has none of, and no HIP source.
    """

    name: str = ""  # the crate that the sources are of, for a reader

    @cached_property
    def targets(self) -> Mapping[str, str]:
        """What each CUDA source is changed by, by its path."""
        return {path: PATCH_FILE for path in sorted(self.sources) if is_cuda(path)}

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """The headers that the sources get to see, the profile's and the prelude's."""
        return {_PRELUDE: load_prelude_headers()[_PRELUDE], **super().headers}

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file, sorted."""
        return tuple(sorted({*self.headers, NAMES, PATCH_FILE}))

    def text(self, path: str) -> str:
        """Return the text of one of the files."""
        if path == NAMES:
            return self._names
        return self._patch if path == PATCH_FILE else self.headers[path]

    @cached_property
    def hip_headers(self) -> Mapping[str, str]:
        """The HIP header for each CUDA header that the sources include, sorted."""
        own = {PurePosixPath(path).name for path in self.sources}
        asked = {
            (match[2].decode("latin-1"), match[1] == b'"')
            for path in self.targets
            for match in INCLUDE.finditer(self.sources[path])
        }
        found = {name: find_hip_include(name, own, quoted=quoted) for name, quoted in sorted(asked)}
        return {name: hip for name, hip in found.items() if hip}

    @cached_property
    def _names(self) -> str:
        first = [f.edits[0].text for f in self.findings if f.code == CODES["prelude_include"]]
        beside = {match.rpartition("/")[2] for text in first for match in _QUOTED.findall(text)}
        includes = [_PRELUDE, *sorted(beside - {HEADER})]
        head = _HEAD.format(
            name=self.name,
            patch=PATCH_FILE,
            includes="".join(f'#include "{name}"\n' for name in includes),
        )
        table = api_table.load_corrections()
        warp = sorted({f.symbol for f in self.findings if f.code == CODES["warp_sync"]})
        lines = [f"#define {name} {new}\n" for name, new in self._macros.items()]
        lines += [_render_lane_macro(name, table[name].hip) for name in warp]
        if self._bounded:
            lines += [
                _BOUNDS,
                *launch_bounds.render_bounds(self._bounded, {*self._kernels} - {*self._bounded}),
            ]
        return head + "".join(lines)

    @cached_property
    def _macros(self) -> Mapping[str, str]:
        """The new name of each name that is the same wherever it stands, sorted."""
        found: dict[str, str] = {}
        used: dict[str, int] = {}
        for path in self.targets:
            for finding in self._translations[path].findings:
                if finding.code in _RENAMES and finding.symbol not in KERNEL_ARGUMENT:
                    found[finding.symbol] = finding.edits[0].text
                    used[finding.symbol] = used.get(finding.symbol, 0) + 1
        for each in self._translations.values():
            for name, count in each.names.items():
                if name in used:
                    used[name] -= count
        return {name: found[name] for name in sorted(found) if used[name] == 0}

    @cached_property
    def _patch(self) -> str:
        return render_patch({p: (self._decode(p), self._without_bounds(p)) for p in self.targets})

    @cached_property
    def _bounded(self) -> Mapping[str, str]:
        """The threads of each kernel that the patches give launch bounds, by its name, sorted."""
        once = {name for name, count in self._kernels.items() if count == 1}
        found = dict(
            pair
            for text in self._changed.values()
            for pair in launch_bounds.find_bounds(text, once)
        )
        return {name: found[name] for name in sorted(found)}

    @cached_property
    def _kernels(self) -> Counter[str]:
        """How often each kernel without launch bounds stands in the sources, by its name."""
        return Counter(
            name
            for p in self.targets
            for name in launch_bounds.find_unbounded_kernels(self._decode(p))
        )

    def _decode(self, path: str) -> str:
        return decode_source(path, self.sources[path])

    def _without_bounds(self, path: str) -> str:
        """Return a source with what the header of names does not say."""
        return launch_bounds.remove_bounds(self._changed[path], self._decode(path), self._bounded)

    @cached_property
    def _changed(self) -> Mapping[str, str]:
        """Each source with what no macro for a name of CUDA's does."""
        return {path: self._with_edits(path) for path in self.targets}

    def _with_edits(self, path: str) -> str:
        text = self._translations[path].patched.decode("latin-1")
        edits = [
            edit
            for finding in self._translations[path].findings
            if not finding.code.startswith("PH3") and not self._is_shared(finding)
            for edit in finding.edits
        ]
        return apply_edits(text, edits, path)[0].encode("latin-1").decode()

    def _is_shared(self, finding: Finding) -> bool:
        """Whether the build has what a finding would write, without a change of the text."""
        if finding.code in _RENAMES:
            return finding.symbol in self._macros or finding.symbol in KERNEL_ARGUMENT
        if finding.code == CODES["namespace"]:
            # That of Thrust is inside another, which may be versioned.
            return all(edit.text in ("", "hipcub") for edit in finding.edits)
        return finding.code in _PRELUDE_NAMES


def find_hip_include(name: str, own: Container[str], *, quoted: bool) -> str:
    """Return the include for a header of CUDA's, without brackets; empty for another header."""
    if is_cuda(name) and name not in api_table.load_corrections():
        return ""
    return find_hip_header(name, own, "", quoted=quoted)[1:-1]


def _render_lane_macro(name: str, new: str) -> str:
    """Return the macro for a warp function, whose mask comes first, or not at all."""
    if new.endswith("::syncwarp"):
        return f"#define {name}(...) HIPX_ON_LANES(__VA_ARGS__, {new}())\n"
    return f"#define {name}(mask, ...) HIPX_ON_LANES(mask, {new}(__VA_ARGS__))\n"
