"""Bundles of code objects, one for each architecture.

The format is Clang's (Clang documentation, "Clang Offload Bundler", "Bundled Binary File Layout"),
uncompressed, with an empty entry for the host, as hipcc writes it.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAGIC: Final = b"__CLANG_OFFLOAD_BUNDLE__"
_HOST: Final = "host-x86_64-unknown-linux-gnu-"
_DEVICE: Final = "hipv4-amdgcn-amd-amdhsa--"
_ALIGN: Final = 4096


def pack_bundle(entries: Sequence[tuple[str, bytes]]) -> bytes:
    """Return a bundle."""
    named = [(_HOST, b""), *((_DEVICE + arch, code) for arch, code in entries)]
    header = len(_MAGIC) + 8 + sum(24 + len(name) for name, _ in named)
    offset = _align(header)
    head = bytearray(_MAGIC + struct.pack("<Q", len(named)))
    body = bytearray()
    for name, code in named:
        head += struct.pack("<QQQ", offset + len(body), len(code), len(name)) + name.encode()
        body += code.ljust(_align(len(code)), b"\0")
    return bytes(head.ljust(offset, b"\0") + body)


def _align(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN
