"""The prelude's numbers, against exact arithmetic from their specifications.

fp8: OCP 8-bit Floating Point Specification 1.0, tables 1 and 2; conversion as CUDA's with
__NV_SATFINITE: nearest, ties to even, values beyond the largest become the largest, infinity too.
Integers from fp8: CUDA Math API, the conversion operators of __nv_fp8_e4m3 and __nv_fp8_e5m2.
Bytes: CUDA Math API, "SIMD Intrinsics". bfloat16: the same, "Bfloat16 Comparison Functions".
"""

from __future__ import annotations

import functools
import itertools
import math
import random
import struct
from bisect import bisect_left
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from host_support import build, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FORMATS = {"e4m3": (3, 7, 448), "e5m2": (2, 15, 57344)}
NAN_CODES = {"e4m3": {0x7F, 0xFF}, "e5m2": {0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF}}


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[str]], list[int]]:
    program = build("numbers", tmp_path_factory.mktemp("numbers"))

    def ask(commands: list[str]) -> list[int]:
        lines = run(program, "\n".join(commands) + "\n")
        assert len(lines) == len(commands)
        return [int(line, 16) for line in lines]

    return ask


def value_of(code: int, kind: str) -> Fraction | None:
    """The value of a code by the specification; None for NaN and infinities."""
    mantissa_bits, bias, largest = FORMATS[kind]
    magnitude = code & 0x7F
    exponent, mantissa = magnitude >> mantissa_bits, magnitude & ((1 << mantissa_bits) - 1)
    if exponent == 0:
        value = Fraction(mantissa) * Fraction(2) ** (1 - bias - mantissa_bits)
    else:
        value = (1 + Fraction(mantissa, 1 << mantissa_bits)) * Fraction(2) ** (exponent - bias)
    if value > largest:
        return None
    return -value if code & 0x80 else value


@functools.cache
def magnitudes(kind: str) -> list[Fraction]:
    """The values of the codes without a sign; they grow with the code."""
    values = [value_of(code, kind) for code in range(0x80)]
    return [value for value in values if value is not None]


def nearest(value: float, kind: str) -> int:
    """The code of the value nearest to ``value``; of two, the even one."""
    known = magnitudes(kind)
    magnitude = min(Fraction(abs(value)), known[-1])
    above = bisect_left(known, magnitude)
    around = [code for code in (above - 1, above) if 0 <= code < len(known)]
    best = min(around, key=lambda code: (abs(known[code] - magnitude), code % 2))
    return best | (0x80 if value < 0 else 0)


def f32(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def f64(value: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def interesting(kind: str) -> list[float]:
    """Every value, every middle between two, what lies right beside those, and far away."""
    finite = sorted({float(v) for c in range(256) if (v := value_of(c, kind)) is not None})
    middles = [(a + b) / 2 for a, b in itertools.pairwise(finite)]
    exact = [*finite, *middles, float(FORMATS[kind][2]) * 1.05]
    near = [
        struct.unpack("<f", struct.pack("<I", f32(x) + d))[0] for x in exact if x for d in (-1, 1)
    ]
    chance = random.Random(7)
    spread = [math.ldexp(chance.uniform(-2, 2), chance.randint(-30, 20)) for _ in range(500)]
    spread = [struct.unpack("<f", struct.pack("<f", x))[0] for x in spread]
    return [*exact, *near, *spread, 1e30, -1e30, 1e-30, -1e-30]


@pytest.mark.parametrize("kind", FORMATS)
def test_floats_become_the_nearest_fp8(
    numbers: Callable[[list[str]], list[int]], kind: str
) -> None:
    values = interesting(kind)
    got = numbers([f"f32_{kind} {f32(value):x} 0 0" for value in values])
    expected = [nearest(value, kind) for value in values]
    assert got == expected


@pytest.mark.parametrize("kind", FORMATS)
def test_doubles_are_rounded_once(numbers: Callable[[list[str]], list[int]], kind: str) -> None:
    values = interesting(kind)
    # Beside a middle by less than a float can tell: rounding to float first would make a tie.
    values += [math.nextafter(value, math.inf) for value in values]
    values += [math.nextafter(value, -math.inf) for value in values]
    got = numbers([f"f64_{kind} {f64(value):x} 0 0" for value in values])
    expected = [nearest(value, kind) for value in values]
    assert got == expected


@pytest.mark.parametrize("kind", FORMATS)
def test_infinities_saturate_and_nan_stays(
    numbers: Callable[[list[str]], list[int]], kind: str
) -> None:
    largest = {"e4m3": 0x7E, "e5m2": 0x7B}[kind]
    for width, bits in (("f32", f32), ("f64", f64)):
        commands = [f"{width}_{kind} {bits(x):x} 0 0" for x in (math.inf, -math.inf, math.nan)]
        positive, negative, nan = numbers(commands)
        assert (positive, negative) == (largest, largest | 0x80)
        assert nan in NAN_CODES[kind]
    zeros = numbers([f"f32_{kind} {f32(x):x} 0 0" for x in (0.0, -0.0)])
    assert zeros == [0x00, 0x80]


@pytest.mark.parametrize("kind", FORMATS)
def test_every_code_has_its_value(numbers: Callable[[list[str]], list[int]], kind: str) -> None:
    got = numbers([f"{kind}_f32 {code:x} 0 0" for code in range(256)])
    for code, bits in enumerate(got):
        value = struct.unpack("<f", struct.pack("<I", bits))[0]
        expected = value_of(code, kind)
        if code in NAN_CODES[kind]:
            assert math.isnan(value), hex(code)
        elif expected is None:
            assert value == (-math.inf if code & 0x80 else math.inf), hex(code)
        else:
            assert Fraction(value) == expected, hex(code)
            assert math.copysign(1, value) == (-1 if code & 0x80 else 1)


@pytest.mark.parametrize("kind", FORMATS)
def test_every_code_is_that_value_in_double(
    numbers: Callable[[list[str]], list[int]], kind: str
) -> None:
    codes = [code for code in range(256) if value_of(code, kind) is not None]
    got = numbers([f"double_{kind} {code:x} 0 0" for code in codes])
    assert [Fraction(struct.unpack("<d", struct.pack("<Q", bits))[0]) for bits in got] == [
        value_of(code, kind) for code in codes
    ]


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize("kind", FORMATS)
def test_integers_hold_what_they_can_of_a_code(
    numbers: Callable[[list[str]], list[int]], kind: str, width: int, signed: bool
) -> None:
    least, most = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    name = f"{'' if signed else 'u'}int{width}"
    got = numbers([f"{kind}_as_{name} {code:x} 0 0" for code in range(256)])
    for code, integer in enumerate(got):
        value = value_of(code, kind)
        if code in NAN_CODES[kind]:
            expected = 1 << 63 if width == 64 else 0
        elif value is None:
            expected = least if code & 0x80 else most
        else:
            expected = max(least, min(most, math.trunc(value)))
        assert integer == expected % (1 << 64), hex(code)


@pytest.mark.parametrize("kind", FORMATS)
def test_zeros_alone_are_false(numbers: Callable[[list[str]], list[int]], kind: str) -> None:
    got = numbers([f"{kind}_as_bool {code:x} 0 0" for code in range(256)])
    assert [code for code, true in enumerate(got) if not true] == [0x00, 0x80]


@pytest.mark.parametrize("kind", FORMATS)
def test_integers_become_the_nearest_fp8(
    numbers: Callable[[list[str]], list[int]], kind: str
) -> None:
    values = [*range(-600, 600), *(s << e for e in range(9, 63) for s in (-1, 1, 3, 5, 9))]
    values = [value for value in values if -(1 << 63) <= value < 1 << 63]
    got = numbers([f"int64_{kind} {value % (1 << 64):x} 0 0" for value in values])
    assert got == [nearest(value, kind) for value in values]


BFLOAT16 = {0x7F80: math.inf, 0xFF80: -math.inf, 0x3F80: 1.0, 0xC000: -2.0, 0x0000: 0.0}
BFLOAT16_NAN = (0x7FC0, 0xFFC1)


@pytest.mark.parametrize(("operation", "better"), [("max_nan", max), ("min_nan", min)])
def test_extremes_of_bfloat16_keep_nan(
    numbers: Callable[[list[str]], list[int]],
    operation: str,
    better: Callable[[float, float], float],
) -> None:
    pairs = [(a, b) for a in (*BFLOAT16, *BFLOAT16_NAN) for b in (*BFLOAT16, *BFLOAT16_NAN)]
    got = numbers([f"{operation} {a:x} {b:x} 0" for a, b in pairs])
    for (a, b), code in zip(pairs, got, strict=True):
        if a in BFLOAT16_NAN or b in BFLOAT16_NAN:
            assert code & 0x7FFF > 0x7F80, (hex(a), hex(b))
        else:
            assert BFLOAT16[code] == better(BFLOAT16[a], BFLOAT16[b]), (hex(a), hex(b))


def signed(word: int) -> list[int]:
    return list(struct.unpack("<4b", struct.pack("<I", word)))


def unsigned(word: int) -> list[int]:
    return list(struct.pack("<I", word))


def packed(parts: list[int]) -> int:
    return int.from_bytes(bytes(part & 0xFF for part in parts), "little")


def saturated(value: int) -> int:
    return max(-128, min(127, value))


OPERATIONS: dict[str, Callable[[int, int, int], int]] = {
    "dp4a": lambda a, b, c: c + sum(x * y for x, y in zip(signed(a), signed(b), strict=True)),
    "dp4a_u": lambda a, b, c: c + sum(x * y for x, y in zip(unsigned(a), unsigned(b), strict=True)),
    "vsubss4": lambda a, b, _: packed(
        [saturated(x - y) for x, y in zip(signed(a), signed(b), strict=True)]
    ),
    "vaddss4": lambda a, b, _: packed(
        [saturated(x + y) for x, y in zip(signed(a), signed(b), strict=True)]
    ),
    "vsub4": lambda a, b, _: packed([x - y for x, y in zip(unsigned(a), unsigned(b), strict=True)]),
    "vadd4": lambda a, b, _: packed([x + y for x, y in zip(unsigned(a), unsigned(b), strict=True)]),
    "vcmpne4": lambda a, b, _: packed(
        [0xFF * (x != y) for x, y in zip(unsigned(a), unsigned(b), strict=True)]
    ),
    "vcmpeq4": lambda a, b, _: packed(
        [0xFF * (x == y) for x, y in zip(unsigned(a), unsigned(b), strict=True)]
    ),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_byte_intrinsics(numbers: Callable[[list[str]], list[int]], operation: str) -> None:
    chance = random.Random(11)
    edges = [0, 0xFFFFFFFF, 0x80808080, 0x7F7F7F7F, 0x7F80FF01, 0x00FF00FF, 0x01010101]
    words = [(a, b, 0) for a in edges for b in edges]
    for _ in range(300):
        a = chance.getrandbits(32)
        b = chance.choice([a ^ (0xFF << (8 * chance.randrange(4))), chance.getrandbits(32), a])
        words.append((a, b, chance.getrandbits(32)))
    got = numbers([f"{operation} {a:x} {b:x} {c:x}" for a, b, c in words])
    assert got == [OPERATIONS[operation](*each) & 0xFFFFFFFF for each in words]


def test_launches_are_given_what_the_kernel_takes(tmp_path: Path) -> None:
    """A launch with attributes is a plain one, or a cooperative one where one of them says so."""
    # Grid, block, shared memory, and 3, null and 'A' as a double, a pointer and a short.
    assert run(build("launch", tmp_path)) == [
        "plain 5 6 48 3 1 65",
        "plain 5 6 48 3 1 65",
        "cooperative 5 6 48 3 1 65",
    ]
