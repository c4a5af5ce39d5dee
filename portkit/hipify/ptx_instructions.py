"""The PTX instructions that the prelude has a function for, and the operands that they take.

Modifiers that change no result are left out of a function's name: what an instruction tells the
caches, and the rounding that is the default.

Source: PTX ISA, the sections that ``hipx_ptx_*.h`` name.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from portkit.syntax.value import Value


class Instruction(Value, frozen=True):
    """An instruction with operands that it takes."""

    function: str  # the prelude's, in ``hipx::ptx``
    # each operand, of vectors each element: the size of a register, with ``=`` where it is written
    # and ``*`` for any size; ``n``, a constant; ``mask``, a mask of all lanes; ``barrier``, that of
    # all threads; ``[]``, an address; ``%`` and a special register
    shapes: tuple[str, ...]


_MMA_4: Final = "{=32 =32 =32 =32} {32 32 32 32} {32 32} {32 32 32 32}"
_MMA_2: Final = "{=32 =32 =32 =32} {32 32} 32 {32 32 32 32}"
_MMA_1: Final = "{=32 =32} 32 32 {32 32}"
_FTZ: Final = r"(\.ftz)?"
_ORDER: Final = r"((?:\.(?:relaxed|ordered))?(?:\.(?:global|shared))?)"

INSTRUCTIONS: Final = (
    # Conversions.
    (r"cvt\.(rn|rz)\.(f16|bf16)\.f32", r"cvt_\1_\2_f32", "=16 32"),
    (r"cvt\.f32\.(f16|bf16)", r"cvt_f32_\1", "=32 16"),
    (r"cvt\.(rn|rz)\.(f16|bf16)x2\.f32", r"cvt_\1_\2x2_f32", "=32 32 32"),
    (r"cvt\.rn\.satfinite\.(e4m3|e5m2)x2\.f32", r"cvt_rn_satfinite_\1x2_f32", "=16 32 32"),
    (r"cvt\.rn\.satfinite\.(e4m3|e5m2)x2\.f16x2", r"cvt_rn_satfinite_\1x2_f16x2", "=16 32"),
    (r"cvt\.rn\.f16x2\.(e4m3|e5m2)x2", r"cvt_rn_f16x2_\1x2", "=32 16"),
    (r"cvt\.(rni|rzi)\.(s32|u32)\.f32", r"cvt_\1_\2_f32", "=32 32"),
    (r"cvt\.rn\.f32\.(s32|u32)", r"cvt_rn_f32_\1", "=32 32"),
    # Moves.
    (r"mov\.[bus]16", "mov_b16", "=16 16"),
    (r"mov\.[busf]32", "mov_b32", "=32 32"),
    (r"mov\.[busf]64", "mov_b64", "=64 64"),
    (r"mov\.[bu]32", "mov_b32_pack", "=32 {16 16}"),
    (r"mov\.[bu]32", "mov_b32_unpack", "{=16 =16} 32"),
    (r"mov\.[bu]64", "mov_b64_pack", "=64 {32 32}"),
    (r"mov\.[bu]64", "mov_b64_unpack", "{=32 =32} 64"),
    *((r"mov\.[bus]32", f"mov_{name}", f"=32 %{name}") for name in ("laneid", "clock")),
    *(
        (r"mov\.[bus]32", f"mov_lanemask_{name}", f"=32 %lanemask_{name}")
        for name in ("eq", "lt", "le", "gt", "ge")
    ),
    *(
        (r"mov\.[bus]32", f"mov_{name}_{axis}", f"=32 %{name}.{axis}")
        for name in ("tid", "ntid", "ctaid", "nctaid")
        for axis in "xyz"
    ),
    (r"mov\.[bus]64", "mov_clock64", "=64 %clock64"),
    # Arithmetic.
    (r"(add|sub|mul)(?:\.rn)?\.(f16|bf16)", r"\1_\2", "=16 16 16"),
    (r"(add|sub|mul)(?:\.rn)?\.(f16|bf16)x2", r"\1_\2x2", "=32 32 32"),
    (r"fma\.rn\.(f16|bf16)", r"fma_rn_\1", "=16 16 16 16"),
    (r"fma\.rn\.(f16|bf16)x2", r"fma_rn_\1x2", "=32 32 32 32"),
    (rf"(add|sub|mul)(?:\.rn)?{_FTZ}\.f32", r"\1\2_f32", "=32 32 32"),
    (rf"div\.(?:approx|full|rn){_FTZ}\.f32", r"div\1_f32", "=32 32 32"),
    (rf"fma\.rn{_FTZ}\.f32", r"fma_rn\1_f32", "=32 32 32 32"),
    (r"fma\.rn\.f64", "fma_rn_f64", "=64 64 64 64"),
    (rf"(ex2|lg2|rcp|rsqrt|sqrt|sin|cos)\.approx{_FTZ}\.f32", r"\1_approx\2_f32", "=32 32"),
    (r"(rcp|sqrt)\.rn\.f32", r"\1_approx_f32", "=32 32"),
    (r"tanh\.approx\.f32", "tanh_approx_f32", "=32 32"),
    (r"ex2\.approx\.f16", "ex2_approx_f16", "=16 16"),
    (r"ex2\.approx\.f16x2", "ex2_approx_f16x2", "=32 32"),
    (r"tanh\.approx\.(f16|bf16)", r"tanh_approx_\1", "=16 16"),
    (r"tanh\.approx\.(f16|bf16)x2", r"tanh_approx_\1x2", "=32 32"),
    # Integers.
    (r"(and|or|xor)\.b32", r"\1_b32", "=32 32 32"),
    (r"not\.b32", "not_b32", "=32 32"),
    (r"shl\.b32", "shl_b32", "=32 32 32"),
    (r"shr\.[bu]32", "shr_b32", "=32 32 32"),
    (r"shr\.s32", "shr_s32", "=32 32 32"),
    (r"shf\.([lr])\.(wrap|clamp)\.b32", r"shf_\1_\2_b32", "=32 32 32 32"),
    (r"lop3\.b32", "lop3_b32", "=32 32 32 32 n"),
    (r"prmt\.b32", "prmt_b32", "=32 32 32 32"),
    (r"(add|sub|mul\.lo)\.[su]32", r"\1_b32", "=32 32 32"),
    (r"mul\.hi\.([su]32)", r"mul_hi_\1", "=32 32 32"),
    (r"mad\.lo\.[su]32", "mad_lo_b32", "=32 32 32 32"),
    (r"(min|max)\.([su]32)", r"\1_\2", "=32 32 32"),
    (r"(popc|clz|brev)\.b32", r"\1_b32", "=32 32"),
    (r"(popc|clz)\.b64", r"\1_b64", "=32 64"),
    (r"brev\.b64", "brev_b64", "=64 64"),
    (r"dp4a\.(s32\.s32|u32\.u32)", r"dp4a_\1", "=32 32 32 32"),
    (r"bfe\.([su]32)", r"bfe_\1", "=32 32 32 32"),
    (r"bfi\.b32", "bfi_b32", "=32 32 32 32 32"),
    (r"setp\.(eq|ne)\.[bsu]32", r"setp_\1_b32", "32 32"),
    (r"setp\.(lt|le|gt|ge)\.([su]32)", r"setp_\1_\2", "32 32"),
    # Warps and barriers.
    (r"shfl\.sync\.(up|down|bfly|idx)\.b32", r"shfl_sync_\1_b32", "=32 32 32 32 mask"),
    (r"activemask\.b32", "activemask_b32", "=32"),
    (r"bar\.warp\.sync", "bar_warp_sync", "mask"),
    (r"(?:bar|barrier)\.sync(?:\.aligned)?", "bar_sync", "barrier"),
    (r"membar\.(cta|gl|sys)", r"membar_\1", ""),
    (r"fence\.(?:acq_rel|sc)\.(cta)", r"membar_\1", ""),
    (r"fence\.(?:acq_rel|sc)\.gpu", "membar_gl", ""),
    (r"fence\.(?:acq_rel|sc)\.(sys)", r"membar_\1", ""),
    (r"griddepcontrol\.(wait|launch_dependents)", r"griddepcontrol_\1", ""),
    # Memory.
    (rf"ld{_ORDER}\.(\w\d+)", r"ld\1_\2", "=* []"),
    (rf"ld{_ORDER}\.v2\.(\w\d+)", r"ld\1_v2_\2", "{=* =*} []"),
    (rf"ld{_ORDER}\.v4\.(\w\d+)", r"ld\1_v4_\2", "{=* =* =* =*} []"),
    (rf"st{_ORDER}\.(\w\d+)", r"st\1_\2", "[] *"),
    (rf"st{_ORDER}\.v2\.(\w\d+)", r"st\1_v2_\2", "[] {* *}"),
    (rf"st{_ORDER}\.v4\.(\w\d+)", r"st\1_v4_\2", "[] {* * * *}"),
    (r"cvta\.to\.shared\.u(?:32|64)", "cvta_to_shared", "=* 64"),
    (r"cvta\.shared\.u64", "cvta_shared", "=64 *"),
    (r"cvta(?:\.to)?\.global\.u64", "cvta_global", "=64 64"),
    (r"prefetch(?:\.global|\.local)?\.L[12](?:::evict_(?:last|normal))?", "prefetch", "[]"),
    (
        r"cp\.async\.c[ag]\.shared(?:::cta)?\.global(?:\.L2::(?:64|128|256)B)?",
        "cp_async_shared_global",
        "[] [] n",
    ),
    (
        r"cp\.async\.c[ag]\.shared(?:::cta)?\.global(?:\.L2::(?:64|128|256)B)?",
        "cp_async_shared_global",
        "[] [] n 32",
    ),
    (r"cp\.async\.(commit_group|wait_all)", r"cp_async_\1", ""),
    (r"cp\.async\.wait_group", "cp_async_wait_group", "n"),
    *(
        row
        for operation, types in (
            ("add", "s32|u32|u64|f32"),
            ("min|max", "s32|u32"),
            ("and|or|xor|exch", "[bu]32"),
        )
        for row in (
            (rf"red\.(global|shared)\.({operation})\.({types})", r"red_\1_\2_\3", "[] *"),
            (rf"atom\.(global|shared)\.({operation})\.({types})", r"atom_\1_\2_\3", "=* [] *"),
        )
    ),
    # Matrices.
    *(
        row
        for count, registers in (("1", "32"), ("2", "{32 32}"), ("4", "{32 32 32 32}"))
        for row in (
            (
                rf"ldmatrix\.sync\.aligned(\.trans)?\.m8n8\.x{count}(\.trans)?(\.shared)?(?:::cta)?\.b16",
                rf"ldmatrix_x{count}\1\2\3",
                f"{registers.replace('32', '=32')} []",
            ),
            (
                rf"stmatrix\.sync\.aligned(\.trans)?\.m8n8\.x{count}(\.trans)?(\.shared)?(?:::cta)?\.b16",
                rf"stmatrix_x{count}\1\2\3",
                f"[] {registers}",
            ),
        )
    ),
    (r"movmatrix\.sync\.aligned\.m8n8\.trans\.b16", "movmatrix_trans_b16", "=32 32"),
    *(
        (
            rf"mma\.sync\.aligned\.({shape})\.row\.col\.({types})",
            r"mma_\1_\2",
            operands,
        )
        for shape, types, operands in (
            ("m16n8k16", r"f32\.(?:f16\.f16|bf16\.bf16)\.f32", _MMA_4),
            ("m16n8k8", r"f32\.(?:f16\.f16|bf16\.bf16)\.f32", _MMA_2),
            ("m16n8k8", r"f32\.tf32\.tf32\.f32", _MMA_4),
            ("m16n8k4", r"f32\.tf32\.tf32\.f32", _MMA_2),
            ("m16n8k32", r"f32\.(?:e4m3\.e4m3|e5m2\.e5m2)\.f32", _MMA_4),
            ("m16n8k32", r"s32\.(?:s8\.s8|u8\.u8)\.s32", _MMA_4),
            ("m16n8k16", r"s32\.(?:s8\.s8|u8\.u8)\.s32", _MMA_2),
            ("m8n8k16", r"s32\.(?:s8\.s8|u8\.u8)\.s32", _MMA_1),
            ("m16n8k16", r"f16\.f16\.f16\.f16", "{=32 =32} {32 32 32 32} {32 32} {32 32}"),
            ("m16n8k8", r"f16\.f16\.f16\.f16", "{=32 =32} {32 32} 32 {32 32}"),
        )
    ),
)
"""Of each instruction the name, what the function is called, and operands."""

_SHAPE: Final = re.compile(r"\[\]|%[\w.]+|=?[\w*]+")
_ACCEPTED: Final = {
    "=16": "(?:=16|_)",
    "=32": "(?:=32|_)",
    "=64": "(?:=64|_)",
    "=*": r"(?:=\d+|_)",
    "16": "=?16",
    "32": "(?:=?32|n)",
    "64": "=?64",
    "*": r"(?:=?\d+|n)",
    "n": "n",
    "mask": "(?:=?32|n)",
    "[]": r"\[\d+\]",
    "barrier": "n",
}

_MEMORY: Final = frozenset({"ld", "ldu", "st", "red", "atom"})
_ORDERS: Final = {
    "weak": "",
    "volatile": "relaxed",
    "relaxed": "relaxed",
    "acquire": "ordered",
    "release": "ordered",
}
_UNTOLD: Final = re.compile(
    r"cta|cluster|gpu|sys|nc|c[agsv]|lu|w[bt]|L1::\w+|L2::(?:64|128|256)B|L2::evict_\w+"
)


def find_instruction(name: str, kinds: str) -> Instruction | None:
    """Return an instruction that takes operands of some kinds, None where none is known.

    ``kinds``: as shapes, but with ``[64]`` for an address of that size, and ``_``.
    """
    plain = _strip_hints(name)
    if plain is None:
        return None
    for pattern, function, operands in INSTRUCTIONS:
        match = re.fullmatch(pattern, plain)
        if match and _match_operands(operands).fullmatch(kinds):
            called = match.expand(function).replace(".", "_")
            return Instruction(called, tuple(_SHAPE.findall(operands)))
    return None


def is_known_instruction(name: str) -> bool:
    """Whether an instruction is known, with whatever operands."""
    plain = _strip_hints(name)
    return plain is not None and any(re.fullmatch(pattern, plain) for pattern, _, _ in INSTRUCTIONS)


@cache
def _match_operands(shape: str) -> re.Pattern[str]:
    """Return what matches the kinds that a shape takes."""
    kinds = _SHAPE.sub(
        lambda found: _ACCEPTED.get(found[0], re.escape(found[0])),
        shape.replace("{", r"\{").replace("}", r"\}"),
    )
    return re.compile(kinds)


def _strip_hints(name: str) -> str | None:
    """Return the name of an access of memory with what counts, in an order; others as they are.

    None where it has a modifier that is not known, or two that exclude each other.
    """
    opcode, *modifiers = name.split(".")
    if opcode not in _MEMORY:
        return name
    order = space = vector = operation = kind = ""
    for modifier in modifiers:
        if modifier in _ORDERS:
            order = order or _ORDERS[modifier]
        elif modifier in ("global", "shared", "shared::cta"):
            space = modifier.partition("::")[0]
        elif modifier in ("v2", "v4"):
            vector = modifier
        elif re.fullmatch(r"[busf](8|16|32|64)", modifier):
            kind = modifier
        elif modifier in ("add", "min", "max", "and", "or", "xor", "exch"):
            operation = modifier
        elif not _UNTOLD.fullmatch(modifier):
            return None
    if opcode in ("red", "atom"):
        if order == "ordered":
            return None
        if operation in ("and", "or", "xor", "exch"):
            kind = kind.replace("b", "u")
        return ".".join((opcode, space or "global", operation, kind))
    signed = kind in ("s8", "s16") and opcode != "st"
    kind = kind if signed else "b" + kind[1:]
    return ".".join(filter(None, (opcode.removesuffix("u"), order, space, vector, kind)))
