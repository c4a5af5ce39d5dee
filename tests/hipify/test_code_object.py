"""Reading code objects, made here by the specifications: ELF notes and MessagePack."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from portkit.hipify.code_object import KernelUse, read_kernels
from portkit.hipify.errors import HipToolError


def pack(value: Any) -> bytes:
    """MessagePack (specification, "Formats"), in the widths that a compiler may choose."""
    if value is None or isinstance(value, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, int):
        if 0 <= value < 0x80:
            return bytes([value])
        if value < 0:
            return struct.pack(">Bi", 0xD2, value)
        return (
            struct.pack(">BH", 0xCD, value) if value < 0x10000 else struct.pack(">BI", 0xCE, value)
        )
    if isinstance(value, str):
        data = value.encode()
        head = bytes([0xA0 | len(data)]) if len(data) < 32 else struct.pack(">BB", 0xD9, len(data))
        return head + data
    if isinstance(value, list):
        head = (
            bytes([0x90 | len(value)]) if len(value) < 16 else struct.pack(">BH", 0xDC, len(value))
        )
        return head + b"".join(map(pack, value))
    head = bytes([0x80 | len(value)]) if len(value) < 16 else struct.pack(">BH", 0xDE, len(value))
    return head + b"".join(pack(key) + pack(item) for key, item in value.items())


def elf(*notes: tuple[int, bytes]) -> bytes:
    """An ELF file with one section of notes (System V ABI, "Note Section")."""
    section = b""
    for kind, content in notes:
        padded = content + b"\0" * (-len(content) % 4)
        section += struct.pack("<III", 7, len(content), kind) + b"AMDGPU\0\0" + padded
    header = bytearray(b"\x7fELF\x02\x01\x01".ljust(64, b"\0"))
    struct.pack_into("<Q", header, 0x28, 64 + len(section))
    struct.pack_into("<HH", header, 0x3A, 64, 2)
    table = bytes(64) + struct.pack("<IIQQQQIIQQ", 0, 7, 0, 0, 64, len(section), 0, 0, 4, 0)
    return bytes(header) + section + table


def kernel(name: str, **more: int) -> dict[str, Any]:
    return {
        ".name": name,
        ".vgpr_count": 40,
        ".sgpr_count": 300,
        ".group_segment_fixed_size": 70000,
        ".private_segment_fixed_size": 0,
        ".args": [{".size": -1, ".const": True, ".none": None}],
        **more,
    }


def test_kernels_come_by_name_with_what_they_use() -> None:
    rows = [kernel(f"k{i:02}") for i in range(20, 0, -1)]
    rows.append(kernel("a" * 40, **{".vgpr_spill_count": 3, ".agpr_count": 8}))
    found = read_kernels(
        elf((1, b"other"), (32, pack({"amdhsa.kernels": rows, "amdhsa.version": [1]})))
    )
    assert [use.name for use in found][:3] == ["a" * 40, "k01", "k02"]
    assert found[0] == KernelUse("a" * 40, 40, 8, 300, 3, 0, 70000, 0)
    assert len(found) == 21


@pytest.mark.parametrize(
    "data",
    [b"", b"text", elf(), elf((32, b"\xc1")), elf((32, b"\x81"))],
    ids=["empty", "text", "no metadata", "unknown type", "cut short"],
)
def test_anything_else_is_an_error(data: bytes) -> None:
    with pytest.raises(HipToolError):
        read_kernels(data)
