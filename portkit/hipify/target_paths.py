"""Which files of a folder become HIP sources, and under which names.

CUDA's sources and headers do by their suffix (`portkit.hipify.paths`). A plain header does where a
CUDA source includes it, itself or through others, and it says something of CUDA's or includes what
is translated. It stays for CUDA, so its translation beside it has another name.
"""

from __future__ import annotations

import posixpath
import re
from itertools import count
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from portkit.hipify.paths import HIP_SUFFIXES, derive_hip_path, is_cuda

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

PLAIN_HEADERS: Final = (".h", ".hpp")
"""How the names of headers end that may be CUDA's by what they say."""
_INCLUDE: Final = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def find_includes(path: str, sources: Mapping[str, bytes]) -> dict[str, str]:
    """Return what a file includes of its folder: the name in quotes, and the file.

    A file is found from the folder of the one that includes it (C++ standard, [cpp.include]), or
    from the root; else it is the only one whose path ends so, as `-I` would find it.
    """
    found = {}
    for match in _INCLUDE.finditer(sources[path]):
        name = match[1].decode("latin-1")
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        ways = [each for each in (beside, name) if each in sources]
        ways = ways or [each for each in sources if each.endswith(f"/{name}")]
        if ways and (len(ways) == 1 or ways[0] in (beside, name)):
            found[name] = ways[0]
    return found


def find_included_files(sources: Mapping[str, bytes]) -> dict[str, frozenset[str]]:
    """Return the CUDA sources, the plain headers that they include, and what each includes."""
    pending = [path for path in sorted(sources) if is_cuda(path)]
    found: dict[str, frozenset[str]] = {}
    while pending:
        path = pending.pop()
        if path not in found:
            held = frozenset(find_includes(path, sources).values())
            found[path] = frozenset(p for p in held if is_cuda(p) or p.endswith(PLAIN_HEADERS))
            pending += sorted(found[path])
    return found


def find_headers_to_translate(
    found: Mapping[str, frozenset[str]], names_cuda: Callable[[str], bool]
) -> frozenset[str]:
    """Return the plain headers that cannot stay as they are."""
    plain = [path for path in found if not is_cuda(path)]
    changed = {path for path in plain if names_cuda(path)}
    while more := {
        path
        for path in plain
        if path not in changed and any(is_cuda(p) or p in changed for p in found[path])
    }:
        changed |= more
    return frozenset(changed)


def choose_targets(paths: Iterable[str], kept: Collection[str]) -> dict[str, str]:
    """Return the path of each translation by that of what is translated."""
    taken, found = {*kept}, {}
    for path in sorted(paths):
        found[path] = next(each for each in _list_candidate_names(path) if each not in taken)
        taken.add(found[path])
    return found


def _list_candidate_names(path: str) -> Iterator[str]:
    """Yield the names that a translation may have, the first one that is free."""
    old = PurePosixPath(path)
    suffix = HIP_SUFFIXES.get(old.suffix, old.suffix)
    yield str(old.with_name(old.stem.replace("cuda", "hip") + suffix))
    yield str(old.with_name(f"hip_{old.stem}{suffix}"))
    yield from (str(old.with_name(f"hip_{old.stem}_{n}{suffix}")) for n in count(2))


def find_renamed_includes(
    path: str, sources: Mapping[str, bytes], made: Mapping[str, str]
) -> dict[str, str]:
    """Return the includes of a file whose header has another name than its suffix says."""
    found = {}
    for name, header in find_includes(path, sources).items():
        if header in made:
            new = str(PurePosixPath(name).with_name(PurePosixPath(made[header]).name))
            if new != derive_hip_path(name):
                found[name] = new
    return found
