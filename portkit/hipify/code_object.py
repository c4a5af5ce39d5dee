"""What a code object says about its kernels: names, registers, spills, memory.

A code object is an ELF file whose note of type 32 (``NT_AMDGPU_METADATA``, owner ``AMDGPU``)
holds a MessagePack map. Sources: LLVM, "User Guide for AMDGPU Backend", sections "Note Records"
and "Code Object V5 Metadata"; the MessagePack specification.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from portkit.hipify.errors import HipToolError

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOTE_SECTION = 7
_METADATA = 32


@dataclass(frozen=True, slots=True, order=True)
class KernelUse:
    """What one kernel uses.

    Attributes:
        name: as it is loaded by.
        vgpr: vector registers of a lane.
        agpr: accumulation registers of a lane (CDNA only).
        sgpr: scalar registers of a wavefront.
        vgpr_spills: vector registers that are kept in memory.
        sgpr_spills: scalar registers that are kept in vector registers or memory.
        lds: bytes of group memory with a size known at compile time.
        scratch: bytes of private memory of a lane.
    """

    name: str
    vgpr: int
    agpr: int
    sgpr: int
    vgpr_spills: int
    sgpr_spills: int
    lds: int
    scratch: int


def kernels(code_object: bytes) -> tuple[KernelUse, ...]:
    """Return the kernels of a code object, by name.

    Args:
        code_object: the ELF file.

    Returns:
        Every kernel.

    Raises:
        HipToolError: the file is no AMD code object.
    """
    try:
        notes = list(_notes(code_object))
        metadata = [_unpack(content) for owner, kind, content in notes if kind == _METADATA]
    except (struct.error, IndexError, UnicodeDecodeError, ValueError) as error:
        raise HipToolError("the compiler's output is no code object that can be read") from error
    if not metadata:
        raise HipToolError("the compiler's output has no metadata of kernels")
    return tuple(sorted(_use(row) for row in metadata[0].get("amdhsa.kernels", [])))


def _use(row: dict[str, Any]) -> KernelUse:
    return KernelUse(
        name=row[".name"],
        vgpr=row[".vgpr_count"],
        agpr=row.get(".agpr_count", 0),
        sgpr=row[".sgpr_count"],
        vgpr_spills=row.get(".vgpr_spill_count", 0),
        sgpr_spills=row.get(".sgpr_spill_count", 0),
        lds=row[".group_segment_fixed_size"],
        scratch=row[".private_segment_fixed_size"],
    )


def _notes(elf: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    """Return owner, type and content of each note of a 64-bit little-endian ELF file."""
    if elf[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit ELF file")
    table = struct.unpack_from("<Q", elf, 0x28)[0]
    size, count = struct.unpack_from("<HH", elf, 0x3A)
    for index in range(count):
        header = table + index * size
        kind = struct.unpack_from("<I", elf, header + 4)[0]
        offset, length = struct.unpack_from("<QQ", elf, header + 0x18)
        if kind != _NOTE_SECTION:
            continue
        position, end = offset, offset + length
        while position < end:
            owner_size, content_size, note = struct.unpack_from("<III", elf, position)
            owner = position + 12
            content = owner + (owner_size + 3) // 4 * 4
            yield elf[owner : owner + owner_size], note, elf[content : content + content_size]
            position = content + (content_size + 3) // 4 * 4


_NUMBERS = dict(zip(range(0xCC, 0xD4), "BHIQbhiq", strict=True))
_STRINGS = dict(zip(range(0xD9, 0xDC), "BHI", strict=True))
_ARRAYS = dict(zip(range(0xDC, 0xDE), "HI", strict=True))
_MAPS = dict(zip(range(0xDE, 0xE0), "HI", strict=True))
_WORDS = {0xC0: None, 0xC2: False, 0xC3: True}


def _unpack(data: bytes) -> Any:
    return _Unpacker(data).value()


class _Unpacker:
    """Reads the MessagePack types that metadata uses."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def _number(self, form: str) -> int:
        value: int = struct.unpack_from(">" + form, self._data, self._position)[0]
        self._position += struct.calcsize(form)
        return value

    def _string(self, length: int) -> str:
        start = self._position
        self._position += length
        return self._data[start : self._position].decode()

    def _map(self, length: int) -> dict[str, Any]:
        return {self.value(): self.value() for _ in range(length)}

    def value(self) -> Any:
        """Return the next value."""
        tag = self._number("B")
        if tag < 0x80:
            return tag
        if tag < 0x90:
            return self._map(tag & 0x0F)
        if tag < 0xA0:
            return [self.value() for _ in range(tag & 0x0F)]
        if tag < 0xC0:
            return self._string(tag & 0x1F)
        if tag >= 0xE0:
            return tag - 0x100
        if tag in _WORDS:
            return _WORDS[tag]
        if tag in _NUMBERS:
            return self._number(_NUMBERS[tag])
        if tag in _STRINGS:
            return self._string(self._number(_STRINGS[tag]))
        if tag in _ARRAYS:
            return [self.value() for _ in range(self._number(_ARRAYS[tag]))]
        if tag in _MAPS:
            return self._map(self._number(_MAPS[tag]))
        raise ValueError(f"MessagePack type {tag:#x}")
