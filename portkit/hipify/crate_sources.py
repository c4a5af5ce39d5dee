"""The HIP sources of a kernels crate that compiles CUDA's as they stand.

The crate's build script makes them of what stands in the tree (``sources.rs`` in ``crates/build``).
Here the same is done for those who look at the sources without building: what a macro says stays
the preprocessor's to do.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from portkit.hipify.cuda_patch import apply_changes, parse_patch
from portkit.hipify.errors import KernelPatchError
from portkit.hipify.launch_bounds import add_bounds, read_bounds_header
from portkit.hipify.paths import PATCH_FILE, derive_hip_path, is_cuda
from portkit.hipify.prelude import load_device_files
from portkit.hipify.shared_sources import INCLUDE, NAMES, find_hip_include

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

_PRELUDE: Final = "hipx.h"

_OWN: Final = (".h", ".hip", ".cpp")


def assemble_sources(own: Mapping[str, str], cuda: Mapping[str, str], place: str) -> dict[str, str]:
    """Return what hipcc compiles, by its path in one folder.

    Args:
        own: the files of the crate's ``src``, by their path below it.
        cuda: those of the CUDA crate's.
        place: the way from the crate to those, such as ``../toy-kernels/src``, which the compiler
            names in what it says.
    """
    parts = dict(parse_patch(own[PATCH_FILE]))
    bounded = read_bounds_header(own[NAMES])
    names = {PurePosixPath(path).name for path in cuda}
    made = {path: text for path, text in own.items() if path.endswith(_OWN)}
    if _PRELUDE not in made:
        # The crate that compiles them brings these.
        made = {**load_device_files(), **made}
    for path in sorted(path for path in cuda if is_cuda(path)):
        up = "../" * path.count("/")
        text = apply_changes(path, cuda[path], parts.pop(path, ()))
        text = add_bounds(_replace_headers(text, up, names), bounded)
        if path.endswith(".cu"):
            head = f'#include "{up}{NAMES}"\n#line 1 "{place}/{path}"\n'
            made[derive_hip_path(path)] = head + text
        else:
            made[path] = text
    if parts:
        raise KernelPatchError(
            f"{PATCH_FILE} changes {min(parts)}, which is not there: write the patch again (portkit"
            " apply --regenerate)"
        )
    return made


def _replace_headers(text: str, up: str, own: set[str]) -> str:
    def other(match: re.Match[bytes]) -> bytes:
        name, quoted = match[2].decode("latin-1"), match[1] == b'"'
        if quoted and name.endswith(".cu"):
            return match[0].replace(match[2], derive_hip_path(name).encode("latin-1"))
        new = find_hip_include(name, own, quoted=quoted)
        if not new:
            return match[0]
        shown = f'"{up}{new}"' if new.startswith("hipx") else f"<{new}>"
        return f"#include {shown}".encode("latin-1")

    return INCLUDE.sub(other, text.encode()).decode()
