"""What PTX instructions have to give, in exact arithmetic, by the sections of the PTX ISA.

Numbers are fractions; what they are rounded to is worked out from the formats' definitions (IEEE
754; bfloat16 is single precision with 8 bits of significand; OCP 8-bit Floating Point Specification
1.0).
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

TYPES: Final = {
    "h": "unsigned short",
    "r": "unsigned",
    "f": "float",
    "l": "unsigned long long",
    "d": "double",
}
SIZES: Final = {"h": 16, "r": 32, "f": 32, "l": 64, "d": 64}

Number = Fraction | float
"""A fraction, or an infinity or a NaN as a float; -0.0 is a float as well."""


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: the bits of its significand, with the hidden one, and of its exponent."""

    digits: int
    exponent: int

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1

    @property
    def bits(self) -> int:
        return self.digits + self.exponent

    def value(self, code: int) -> Number:
        """The value of a code."""
        fraction = code & (1 << self.digits - 1) - 1
        exponent = code >> self.digits - 1 & (1 << self.exponent) - 1
        negative = code >> self.bits - 1 & 1
        if exponent == (1 << self.exponent) - 1:
            return math.nan if fraction else -math.inf if negative else math.inf
        if exponent == fraction == 0:
            return -0.0 if negative else Fraction(0)
        whole = fraction + ((1 << self.digits - 1) if exponent else 0)
        size = whole * Fraction(2) ** (max(exponent, 1) - self.bias - self.digits + 1)
        return -size if negative else size

    def code(self, value: Number, *, towards_zero: bool = False) -> int | None:
        """The code of the nearest value, of two the even one; None for a NaN."""
        if isinstance(value, float):
            if math.isnan(value):
                return None
            sign = int(math.copysign(1, value) < 0) << self.bits - 1
            return sign | (((1 << self.exponent) - 1) << self.digits - 1 if value else 0)
        sign = int(value < 0) << self.bits - 1
        size = abs(value)
        if size == 0:
            return sign
        place = size.numerator.bit_length() - size.denominator.bit_length()
        place -= Fraction(2) ** place > size
        step = Fraction(2) ** (max(place, 1 - self.bias) - self.digits + 1)
        whole, rest = divmod(size / step, 1)
        if not towards_zero and (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2)):
            whole += 1
        largest = ((1 << self.exponent) - 1) << self.digits - 1
        lowest = max(place, 1 - self.bias) + self.bias - 1
        code = (lowest << self.digits - 1) + int(whole)
        return sign | min(code, largest - towards_zero)


F16: Final = Format(11, 5)
BF16: Final = Format(8, 8)
F32: Final = Format(24, 8)
F64: Final = Format(53, 11)
FORMATS: Final = {"f16": F16, "bf16": BF16, "f32": F32}


def plus(a: Number, b: Number) -> Number:
    """The sum; of zeros with different signs, and of what cancels out, it is the positive zero."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a + b
    if any(isinstance(x, float) and not math.isfinite(x) for x in (a, b)):
        return _float(a) + _float(b)
    if a == b == 0:
        both = all(isinstance(x, float) for x in (a, b))
        return -0.0 if both else Fraction(0)
    return Fraction(a) + Fraction(b)


def times(a: Number, b: Number) -> Number:
    """The product, with the sign of a zero."""
    if any(isinstance(x, float) and not math.isfinite(x) for x in (a, b)):
        return _float(a) * _float(b)
    product = Fraction(a) * Fraction(b)
    return product or (-0.0 if negative(a) != negative(b) else Fraction(0))


def over(a: Number, b: Number) -> Number:
    """The quotient, by the rules for zeros and infinities."""
    sign = -1.0 if negative(a) != negative(b) else 1.0
    special = [isinstance(x, float) and not math.isfinite(x) for x in (a, b)]
    if any(isinstance(x, float) and math.isnan(x) for x in (a, b)) or all(special):
        return math.nan
    if a == 0 and b == 0:
        return math.nan
    if special[0] or b == 0:
        return sign * math.inf
    if special[1] or a == 0:
        return Fraction(0) if sign > 0 else -0.0
    return Fraction(a) / Fraction(b)


def minus(a: Number) -> Number:
    return Fraction(0) if isinstance(a, float) and a == 0 else -a if a else -0.0


def negative(a: Number) -> bool:
    return math.copysign(1, a) < 0 if isinstance(a, float) else a < 0


def _float(a: Number) -> float:
    """A float that is zero, infinite, a NaN or of the same sign as ``a``."""
    return a if isinstance(a, float) else (0.0 if a == 0 else 1.0 if a > 0 else -1.0)


Expected = int | None | Callable[[int], bool]
"""A code, None for any NaN, or what a code has to be."""


@dataclass(frozen=True, slots=True)
class Case:
    """An instruction, with its operands' constraints and what it gives for the bits of them."""

    ptx: str
    outputs: str
    inputs: str
    expected: Callable[..., Sequence[Expected]]
    formats: tuple[Format | None, ...]
    """Of each output."""
    lanes: Format | None = None
    """What the halves of the operands of 32 bits are."""

    def holds(self, given: Sequence[int], results: Sequence[int]) -> bool:
        expected = self.expected(*given)
        return all(
            wanted(got)
            if callable(wanted)
            else got == wanted
            if wanted is not None
            else self._nan(got, f)
            for wanted, got, f in zip(expected, results, self.formats, strict=True)
        )

    @staticmethod
    def _nan(got: int, kind: Format | None) -> bool:
        value = kind.value(got) if kind else 0
        return isinstance(value, float) and math.isnan(value)

    def edges(self, constraint: str) -> list[int]:
        """Operands at the ends of what there is."""
        if constraint == "f":
            values = (0.0, -0.0, 1.0, -1.5, 65504.0, 65519.9, 65520.0, 65536.0, 2.0**-24, 2.0**-25)
            more = (1e-45, -1e-40, 2.0**-126, 3.4e38, -3.4e38, math.inf, -math.inf, math.nan, 448.0)
            last = (
                464.0,
                464.1,
                57344.0,
                61440.0,
                2147483648.0,
                -2147483648.0,
                4294967296.0,
                0.5,
                2.5,
            )
            return [_bits("f", x) for x in (*values, *more, *last)]
        if constraint == "d":
            return [_bits("d", x) for x in (0.0, 1.0, -1.5, 1e300, -1e-300, math.inf, math.nan)]
        size = SIZES[constraint]
        codes = [0, 1, (1 << size) - 1, 1 << size - 1, (1 << size - 1) - 1, 5, 31, 32, 33]
        if size == 16 or self.lanes:
            halves = [
                0x0000,
                0x8000,
                0x0001,
                0x3C00,
                0x3F80,
                0xBC01,
                0x7BFF,
                0x7C00,
                0x7F7F,
                0x7F80,
                0xFFFF,
            ]
            return (
                halves
                if size == 16
                else [a << 16 | b for a in halves for b in (halves[3], 0xFF7F, a)]
            )
        return codes

    def drawn(self, constraint: str, chance: Random) -> int:
        """An operand by chance: any bits, or a number of a usual size."""
        if constraint == "f" and chance.random() < 0.7:
            return _bits(
                "f", math.ldexp(chance.uniform(-2, 2), chance.choice((0, 1, 5, 14, 30, -14, -26)))
            )
        if self.lanes or constraint == "h":
            return sum(self._half(chance) << at for at in range(0, SIZES[constraint], 16))
        if chance.random() < 0.3:
            return chance.randrange(70)
        return chance.getrandbits(SIZES[constraint])

    def _half(self, chance: Random) -> int:
        kind = self.lanes or F16
        if chance.random() < 0.3:
            return chance.getrandbits(16)
        near = math.ldexp(chance.choice((-1, 1)) * chance.uniform(1, 2), chance.randint(-9, 9))
        return kind.code(Fraction(near)) or 0


def _bits(kind: str, value: float) -> int:
    """The bits of the nearest number in single or double precision."""
    if kind == "f" and math.isfinite(value):
        return (
            F32.code(Fraction(value) or (-0.0 if math.copysign(1, value) < 0 else Fraction(0))) or 0
        )
    return int.from_bytes(struct.pack("<f" if kind == "f" else "<d", value), "little")


def halves(word: int) -> tuple[int, int]:
    return word & 0xFFFF, word >> 16


def signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word


Scalar = Callable[..., Number]


def of_codes(kind: Format, function: Scalar) -> Callable[..., list[Expected]]:
    """An operation on codes of a format from one on values."""
    return lambda *codes: [kind.code(function(*map(kind.value, codes)))]


def of_pairs(kind: Format, function: Scalar) -> Callable[..., list[Expected]]:
    """The same on both halves of words; a NaN in either may be any."""

    def both(*words: int) -> list[Expected]:
        wanted = [
            kind.code(function(*(kind.value(halves(word)[half]) for word in words)))
            for half in (0, 1)
        ]
        return [
            lambda got: all(_same(kind, w, g) for w, g in zip(wanted, halves(got), strict=True))
        ]

    return both


def _same(kind: Format, wanted: int | None, got: int) -> bool:
    return math.isnan(kind.value(got)) if wanted is None else wanted == got


def flushed(function: Scalar) -> Scalar:
    """The operation with ``.ftz``: subnormal numbers are zeros of their sign."""

    def flush(value: Number) -> Number:
        if isinstance(value, Fraction) and abs(value) < Fraction(2) ** -126:
            return -0.0 if value < 0 else Fraction(0)
        return value

    def result(*values: Number) -> Number:
        exact = function(*map(flush, values))
        # What is rounded up to the least normal number is one.
        code = F32.code(exact)
        return exact if code is None else flush(F32.value(code))

    return result


def _of_flushed(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: function(0.0 if abs(x) < 2.0**-126 else x)


def _within_a_turn(function: Callable[[float], float]) -> Callable[[float], float]:
    """The function where the ISA promises something of it."""

    def within(x: float) -> float:
        if not abs(x) <= math.pi:
            raise ValueError
        return function(x)

    return within


def near(
    function: Callable[[float], float], kind: Format, relative: float, absolute: float = 0.0
) -> Callable[[int], list[Expected]]:
    """A function of one number within what the ISA allows."""

    def expected(code: int) -> list[Expected]:
        value = float(kind.value(code))
        try:
            exact = function(value)
        except (ValueError, ZeroDivisionError, OverflowError):
            return [lambda _: True]  # special values have tests of their own

        def holds(got: int) -> bool:
            found = float(kind.value(got))
            if math.isnan(exact) or math.isinf(exact):
                return math.isnan(found) == math.isnan(exact)
            least = 2.0 ** (1 - kind.bias) if kind is F32 else 2.0 ** (2 - kind.bias - kind.digits)
            if math.isinf(found):
                return abs(exact) > float(
                    kind.value((1 << kind.bits - 1) - 1 - (1 << kind.digits - 1))
                )
            return abs(found - exact) <= max(relative * abs(exact), absolute, least)

        return [holds]

    return expected


def near_pairs(
    function: Callable[[float], float], kind: Format, relative: float
) -> Callable[[int], list[Expected]]:
    one = near(function, kind, relative)

    def expected(word: int) -> list[Expected]:
        return [
            lambda got: all(
                one(half)[0](result)  # type: ignore[operator,misc]
                for half, result in zip(halves(word), halves(got), strict=True)
            )
        ]

    return expected


def converted(to: Format, *, towards_zero: bool = False) -> Callable[[int], list[Expected]]:
    return lambda bits: [to.code(F32.value(bits), towards_zero=towards_zero)]


def converted_pair(
    to: Format, *, towards_zero: bool = False
) -> Callable[[int, int], list[Expected]]:
    """The first operand is the upper half."""

    def expected(a: int, b: int) -> list[Expected]:
        wanted = [to.code(F32.value(x), towards_zero=towards_zero) for x in (b, a)]
        return [lambda got: all(_same(to, w, g) for w, g in zip(wanted, halves(got), strict=True))]

    return expected


def fp8(value: Number, kind: str) -> int | None:
    """The code of the nearest value of OCP's formats, the largest beyond it; None for a NaN."""
    largest = Fraction({"e4m3": 448, "e5m2": 57344}[kind])
    if isinstance(value, float) and math.isnan(value):
        return None
    sign = 0x80 if negative(value) else 0
    size = largest if isinstance(value, float) and value else min(abs(Fraction(value)), largest)
    known = [fp8_value(code, kind) for code in range(0x7F if kind == "e4m3" else 0x7C)]
    return sign | min(range(len(known)), key=lambda code: (abs(known[code] - size), code % 2))


def fp8_value(code: int, kind: str) -> Fraction:
    mantissa, bias = {"e4m3": (3, 7), "e5m2": (2, 15)}[kind]
    exponent, fraction = (code & 0x7F) >> mantissa, code & (1 << mantissa) - 1
    whole = Fraction(fraction, 1 << mantissa) + (exponent > 0)
    return whole * Fraction(2) ** (max(exponent, 1) - bias) * (-1 if code & 0x80 else 1)


def fp8_nan(code: int, kind: str) -> bool:
    return code & 0x7F == 0x7F if kind == "e4m3" else code & 0x7F > 0x7C


def fp8_pair(values: Sequence[Number], kind: str) -> list[Expected]:
    """The codes of two numbers, the first below."""
    wanted = [fp8(value, kind) for value in values]
    return [
        lambda got: all(
            fp8_nan(byte, kind) if w is None else w == byte
            for w, byte in zip(wanted, (got & 0xFF, got >> 8), strict=True)
        )
    ]


def from_fp8_pair(codes: int, kind: str) -> list[Expected]:
    def one(code: int, got: int) -> bool:
        if fp8_nan(code, kind):
            return math.isnan(F16.value(got))
        if kind == "e5m2" and code & 0x7F == 0x7C:
            return F16.value(got) == (-math.inf if code & 0x80 else math.inf)
        return F16.value(got) == fp8_value(code, kind)

    return [lambda got: one(codes & 0xFF, got & 0xFFFF) and one(codes >> 8, got >> 16)]


def to_integer(value: Number, low: int, high: int, *, nearest: bool) -> int:
    """To the nearest whole number, of two the even one, or towards zero; limits and zero beyond."""
    if isinstance(value, float):
        return 0 if math.isnan(value) or value == 0 else (low if value < 0 else high)
    return max(low, min(high, round(value) if nearest else math.trunc(value)))


def permuted(a: int, b: int, c: int) -> int:
    """prmt: "Each of the selector's nibbles picks a byte; its top bit replicates the sign"."""
    source = [*a.to_bytes(4, "little"), *b.to_bytes(4, "little")]
    picked = [(source[c >> 4 * i & 7], c >> 4 * i & 8) for i in range(4)]
    return int.from_bytes(bytes(0xFF * (x >> 7) if sign else x for x, sign in picked), "little")


def bits_of_field(a: int, b: int, c: int, *, is_signed: bool) -> int:
    """bfe: the pseudo-code of the section, bit by bit."""
    msb, pos, length = 31, b & 0xFF, c & 0xFF
    sbit = a >> min(pos + length - 1, msb) & 1 if is_signed and length else 0
    return sum(
        (a >> pos + i & 1 if i < length and pos + i <= msb else sbit) << i for i in range(msb + 1)
    )


def inserted(a: int, b: int, c: int, d: int) -> int:
    """bfi: the pseudo-code of the section, bit by bit."""
    pos, length = c & 0xFF, d & 0xFF
    result = b
    for i in range(length):
        if pos + i <= 31:
            result = result & ~(1 << pos + i) | (a >> i & 1) << pos + i
    return result


def table(a: int, b: int, c: int, lut: int) -> int:
    """lop3: the bit of the table that three bits name."""
    return sum(
        (lut >> 4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1) & 1) << i for i in range(32)
    )


def integer(ptx: str, inputs: str, function: Callable[..., int], output: str = "r") -> Case:
    mask = (1 << SIZES[output]) - 1
    return Case(ptx, output, inputs, lambda *given: [function(*given) & mask], (None,))


def dot(a: int, b: int, c: int, *, is_signed: bool) -> int:
    values = [
        [
            int.from_bytes(bytes([byte]), "little", signed=is_signed)
            for byte in word.to_bytes(4, "little")
        ]
        for word in (a, b)
    ]
    return c + sum(x * y for x, y in zip(values[0], values[1], strict=True))


def _arithmetic() -> list[Case]:
    operations: dict[str, Scalar] = {
        "add": plus,
        "sub": lambda a, b: plus(a, minus(b)),
        "mul": times,
    }
    cases = []
    for name, function in operations.items():
        for kind in ("f16", "bf16"):
            form = FORMATS[kind]
            modifier = ".rn" if kind == "bf16" else ""
            cases += [
                Case(
                    f"{name}{modifier}.{kind} %0, %1, %2",
                    "h",
                    "hh",
                    of_codes(form, function),
                    (form,),
                    form,
                ),
                Case(
                    f"{name}{modifier}.{kind}x2 %0, %1, %2",
                    "r",
                    "rr",
                    of_pairs(form, function),
                    (None,),
                    form,
                ),
            ]
        for modifier in ("", ".rn"):
            cases.append(
                Case(f"{name}{modifier}.f32 %0, %1, %2", "f", "ff", of_codes(F32, function), (F32,))
            )
        cases.append(
            Case(f"{name}.ftz.f32 %0, %1, %2", "f", "ff", of_codes(F32, flushed(function)), (F32,))
        )

    def fused(a: Number, b: Number, c: Number) -> Number:
        return plus(times(a, b), c)

    for kind in ("f16", "bf16"):
        form = FORMATS[kind]
        cases += [
            Case(f"fma.rn.{kind} %0, %1, %2, %3", "h", "hhh", of_codes(form, fused), (form,), form),
            Case(
                f"fma.rn.{kind}x2 %0, %1, %2, %3", "r", "rrr", of_pairs(form, fused), (None,), form
            ),
        ]
    cases += [
        Case("fma.rn.f32 %0, %1, %2, %3", "f", "fff", of_codes(F32, fused), (F32,)),
        Case("fma.rn.ftz.f32 %0, %1, %2, %3", "f", "fff", of_codes(F32, flushed(fused)), (F32,)),
        Case("fma.rn.f64 %0, %1, %2, %3", "d", "ddd", of_codes(F64, fused), (F64,)),
    ]
    return cases


def _conversions() -> list[Case]:
    cases = []
    for kind, form in (("f16", F16), ("bf16", BF16)):
        for how in ("rn", "rz"):
            zero = how == "rz"
            one, two = converted(form, towards_zero=zero), converted_pair(form, towards_zero=zero)
            cases += [
                Case(f"cvt.{how}.{kind}.f32 %0, %1", "h", "f", one, (form,)),
                Case(f"cvt.{how}.{kind}x2.f32 %0, %1, %2", "r", "ff", two, (None,)),
            ]
        cases.append(
            Case(
                f"cvt.f32.{kind} %0, %1",
                "f",
                "h",
                lambda code, form=form: [F32.code(form.value(code))],
                (F32,),
                form,
            )
        )
    for kind in ("e4m3", "e5m2"):
        cases += [
            Case(
                f"cvt.rn.satfinite.{kind}x2.f32 %0, %1, %2",
                "h",
                "ff",
                lambda a, b, kind=kind: fp8_pair((F32.value(b), F32.value(a)), kind),
                (None,),
            ),
            Case(
                f"cvt.rn.satfinite.{kind}x2.f16x2 %0, %1",
                "h",
                "r",
                lambda a, kind=kind: fp8_pair([F16.value(x) for x in halves(a)], kind),
                (None,),
                F16,
            ),
            Case(
                f"cvt.rn.f16x2.{kind}x2 %0, %1",
                "r",
                "h",
                lambda a, kind=kind: from_fp8_pair(a, kind),
                (None,),
            ),
        ]
    limits = {"s32": (-(1 << 31), (1 << 31) - 1), "u32": (0, (1 << 32) - 1)}
    for kind, (low, high) in limits.items():
        for how in ("rni", "rzi"):
            cases.append(
                integer(
                    f"cvt.{how}.{kind}.f32 %0, %1",
                    "f",
                    lambda bits, low=low, high=high, how=how: to_integer(
                        F32.value(bits), low, high, nearest=how == "rni"
                    ),
                )
            )
    cases += [
        Case("cvt.rn.f32.s32 %0, %1", "f", "r", lambda x: [F32.code(Fraction(signed(x)))], (F32,)),
        Case("cvt.rn.f32.u32 %0, %1", "f", "r", lambda x: [F32.code(Fraction(x))], (F32,)),
    ]
    return cases


def _approximations() -> list[Case]:
    """The largest errors are those of each instruction's section."""
    functions: dict[str, tuple[Callable[[float], float], float, float]] = {
        "ex2": (lambda x: 2.0**x, 2.0**-22, 0.0),
        "lg2": (math.log2, 2.0**-22, 2.0**-22),
        "rcp": (lambda x: 1 / x, 2.0**-23, 0.0),
        "rsqrt": (lambda x: 1 / math.sqrt(x), 2.0**-22.9, 0.0),
        "sqrt": (math.sqrt, 2.0**-23, 0.0),
    }
    cases = [
        Case(
            f"{name}.approx{ftz}.f32 %0, %1",
            "f",
            "f",
            near(_of_flushed(function) if ftz else function, F32, relative, absolute),
            (F32,),
        )
        for name, (function, relative, absolute) in functions.items()
        for ftz in ("", ".ftz")
    ]
    cases += [
        Case(
            f"{name}.approx.f32 %0, %1",
            "f",
            "f",
            near(_within_a_turn(function), F32, 0.0, 2.0**-20.5),
            (F32,),
        )
        for name, function in (("sin", math.sin), ("cos", math.cos))
    ]
    cases += [
        Case(f"{name} %0, %1, %2", "f", "ff", of_codes(F32, over), (F32,))
        for name in ("div.rn.f32", "div.full.f32", "div.approx.f32")
    ]
    cases += [
        Case("rcp.rn.f32 %0, %1", "f", "f", of_codes(F32, lambda a: over(Fraction(1), a)), (F32,)),
        Case("sqrt.rn.f32 %0, %1", "f", "f", near(math.sqrt, F32, 2.0**-24), (F32,)),
        Case("div.full.ftz.f32 %0, %1, %2", "f", "ff", of_codes(F32, flushed(over)), (F32,)),
        Case("tanh.approx.bf16 %0, %1", "h", "h", near(math.tanh, BF16, 2.0**-8), (BF16,), BF16),
        Case("tanh.approx.f32 %0, %1", "f", "f", near(math.tanh, F32, 2.0**-11), (F32,)),
        Case("tanh.approx.f16 %0, %1", "h", "h", near(math.tanh, F16, 2.0**-10.987), (F16,), F16),
        Case(
            "tanh.approx.f16x2 %0, %1",
            "r",
            "r",
            near_pairs(math.tanh, F16, 2.0**-10.987),
            (None,),
            F16,
        ),
        Case(
            "tanh.approx.bf16x2 %0, %1",
            "r",
            "r",
            near_pairs(math.tanh, BF16, 2.0**-8),
            (None,),
            BF16,
        ),
        Case(
            "ex2.approx.f16 %0, %1", "h", "h", near(lambda x: 2.0**x, F16, 2.0**-9.9), (F16,), F16
        ),
        Case(
            "ex2.approx.f16x2 %0, %1",
            "r",
            "r",
            near_pairs(lambda x: 2.0**x, F16, 2.0**-9.9),
            (None,),
            F16,
        ),
    ]
    return cases


def _moves() -> list[Case]:
    return [
        integer("mov.b32 %0, {%1, %2}", "hh", lambda a, b: a | b << 16),
        integer("mov.b32 %0, {%1, %1}", "h", lambda a: a | a << 16),
        integer("mov.b64 %0, {%1, %2}", "rr", lambda a, b: a | b << 32, "l"),
        Case("mov.b32 {%0, %1}, %2", "hh", "r", lambda a: [a & 0xFFFF, a >> 16], (None, None)),
        Case("mov.b64 {%0, %1}, %2", "rr", "l", lambda a: [a & 0xFFFFFFFF, a >> 32], (None, None)),
        integer("mov.b32 %0, %1", "f", lambda a: a),
        integer("mov.u16 %0, %1", "h", lambda a: a, "h"),
        integer("mov.u64 %0, %1", "d", lambda a: a, "l"),
        integer("mov.u32 %0, 0f3F800000", "", lambda: 0x3F800000),
        integer("mov.u32 %0, -1", "", lambda: 0xFFFFFFFF),
    ]


def _integers() -> list[Case]:
    cases = [
        integer(
            f"lop3.b32 %0, %1, %2, %3, {lut:#x}",
            "rrr",
            lambda a, b, c, lut=lut: table(a, b, c, lut),
        )
        for lut in (0x00, 0x96, 0xCA, 0xEA, 0x1B, 0xFF)
    ]
    cases += [
        integer("prmt.b32 %0, %1, %2, %3", "rrr", permuted),
        integer("prmt.b32 %0, %1, %2, 0x7654", "rr", lambda _, b: b),
        integer("bfe.u32 %0, %1, %2, %3", "rrr", lambda *x: bits_of_field(*x, is_signed=False)),
        integer("bfe.s32 %0, %1, %2, %3", "rrr", lambda *x: bits_of_field(*x, is_signed=True)),
        integer("bfi.b32 %0, %1, %2, %3, %4", "rrrr", inserted),
        integer("and.b32 %0, %1, %2", "rr", lambda a, b: a & b),
        integer("or.b32 %0, %1, %2", "rr", lambda a, b: a | b),
        integer("xor.b32 %0, %1, %2", "rr", lambda a, b: a ^ b),
        integer("not.b32 %0, %1", "r", lambda a: ~a),
        integer("shl.b32 %0, %1, %2", "rr", lambda a, b: a << min(b, 32)),
        integer("shr.u32 %0, %1, %2", "rr", lambda a, b: a >> min(b, 32)),
        integer("shr.s32 %0, %1, %2", "rr", lambda a, b: signed(a) >> min(b, 32)),
        integer(
            "shf.l.wrap.b32 %0, %1, %2, %3", "rrr", lambda a, b, c: (b << 32 | a) << (c & 31) >> 32
        ),
        integer("shf.r.wrap.b32 %0, %1, %2, %3", "rrr", lambda a, b, c: (b << 32 | a) >> (c & 31)),
        integer(
            "shf.l.clamp.b32 %0, %1, %2, %3",
            "rrr",
            lambda a, b, c: (b << 32 | a) << min(c, 32) >> 32,
        ),
        integer(
            "shf.r.clamp.b32 %0, %1, %2, %3", "rrr", lambda a, b, c: (b << 32 | a) >> min(c, 32)
        ),
        integer("add.u32 %0, %1, %2", "rr", lambda a, b: a + b),
        integer("sub.s32 %0, %1, %2", "rr", lambda a, b: a - b),
        integer("mul.lo.u32 %0, %1, %2", "rr", lambda a, b: a * b),
        integer("mul.hi.u32 %0, %1, %2", "rr", lambda a, b: a * b >> 32),
        integer("mul.hi.s32 %0, %1, %2", "rr", lambda a, b: signed(a) * signed(b) >> 32),
        integer("mad.lo.s32 %0, %1, %2, %3", "rrr", lambda a, b, c: a * b + c),
        integer("min.u32 %0, %1, %2", "rr", min),
        integer("max.s32 %0, %1, %2", "rr", lambda a, b: max(signed(a), signed(b))),
        integer("min.s32 %0, %1, %2", "rr", lambda a, b: min(signed(a), signed(b))),
        integer("popc.b32 %0, %1", "r", int.bit_count),
        integer("popc.b64 %0, %1", "l", int.bit_count),
        integer("clz.b32 %0, %1", "r", lambda a: 32 - a.bit_length()),
        integer("clz.b64 %0, %1", "l", lambda a: 64 - a.bit_length()),
        integer("brev.b32 %0, %1", "r", lambda a: int(f"{a:032b}"[::-1], 2)),
        integer("brev.b64 %0, %1", "l", lambda a: int(f"{a:064b}"[::-1], 2), "l"),
        integer("dp4a.s32.s32 %0, %1, %2, %3", "rrr", lambda *x: dot(*x, is_signed=True)),
        integer("dp4a.u32.u32 %0, %1, %2, %3", "rrr", lambda *x: dot(*x, is_signed=False)),
        integer("xor.b32 %0, %1, %2; not.b32 %0, %0", "rr", lambda a, b: ~(a ^ b)),
        integer(
            "{ .reg .pred p; setp.lt.s32 p, %1, %2; mov.b32 %0, %2; @p mov.b32 %0, 7; }",
            "rr",
            lambda a, b: 7 if signed(a) < signed(b) else b,
        ),
        *(
            integer(
                f"{{ .reg .pred p; setp.{name}.{kind}32 p, %1, %2; mov.b32 %0, 0;"
                " @p mov.b32 %0, 1; }",
                "rr",
                lambda a, b, holds=holds, kind=kind: int(
                    holds(signed(a), signed(b)) if kind == "s" else holds(a, b)
                ),
            )
            for kind in "su"
            for name, holds in (
                ("eq", operator.eq),
                ("ne", operator.ne),
                ("lt", operator.lt),
                ("le", operator.le),
                ("gt", operator.gt),
                ("ge", operator.ge),
            )
        ),
        integer(
            "{ .reg .pred p; setp.eq.u32 p, %1, 0; mov.b32 %0, %1; @!p mov.b32 %0, 1; }",
            "r",
            lambda a: int(a != 0),
        ),
    ]
    return cases


CASES: Final = [*_conversions(), *_moves(), *_arithmetic(), *_approximations(), *_integers()]
