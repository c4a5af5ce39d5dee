"""What a code object says about its kernels: names, registers, spills, memory.

A code object is an ELF file whose note of type 32 (``NT_AMDGPU_METADATA``, owner ``AMDGPU``)
holds a MessagePack map. Sources: LLVM, "User Guide for AMDGPU Backend", sections "Note Records"
and "Code Object V5 Metadata"; the MessagePack specification.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from portkit.hipify.errors import HipToolError
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

_OWNER = "AMDGPU"
_METADATA = "32"


class KernelUse(Value, frozen=True, order=True):
    """What one kernel uses."""

    name: str  # as it is loaded by
    vgpr: int  # vector registers of a lane
    agpr: int  # accumulation registers of a lane (CDNA only)
    sgpr: int  # scalar registers of a wavefront
    vgpr_spills: int  # vector registers that are kept in memory
    sgpr_spills: int  # scalar registers that are kept in vector registers or memory
    lds: int  # bytes of group memory with a size known at compile time
    scratch: int  # bytes of private memory of a lane


def read_kernels(code_object: bytes) -> tuple[KernelUse, ...]:
    """Return the kernels of a code object, by name.

    Raises:
        HipToolError: the file is no AMD code object.
    """
    try:
        (metadata,) = _read_metadata(code_object)
        return tuple(sorted(_read_use(row) for row in metadata["amdhsa.kernels"]))
    except Exception as error:
        # Readers of formats meet damage in ways of their own: each is the same to the user.
        raise HipToolError(
            "the compiler's output is not an AMD code object with kernel metadata: check that hipcc"
            " is AMD's"
        ) from error


def _read_use(row: dict[str, Any]) -> KernelUse:
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


def _read_metadata(code_object: bytes) -> Iterator[Any]:
    """Yield what each note with metadata holds."""
    import msgpack
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import NoteSection

    elf = ELFFile(io.BytesIO(code_object))
    sections = (s for s in elf.iter_sections() if isinstance(s, NoteSection))
    for section in sections:
        for note in section.iter_notes():
            # The library names the types that it knows; of this owner it knows none.
            if (note["n_name"], str(note["n_type"])) == (_OWNER, _METADATA):
                yield msgpack.unpackb(note["n_descdata"])
