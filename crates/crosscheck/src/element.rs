//! The types of elements, and how a real number becomes one: rounding to nearest, ties to even, as
//! IEEE 754 has it. The arithmetic is our own, so that neither backend judges itself.

use candle::DType;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    U8,
    U32,
    I16,
    I32,
    I64,
    BF16,
    F16,
    F32,
    F64,
    F8E4M3,
}

use Element::*;

pub const ALL: [Element; 10] = [U8, U32, I16, I32, I64, BF16, F16, F32, F64, F8E4M3];
pub const FLOATS: [Element; 4] = [BF16, F16, F32, F64];
/// What candle's users compute with: fp8 and the narrow integers are for storing.
pub const USUAL: [Element; 7] = [U8, U32, I64, BF16, F16, F32, F64];

/// The largest integer up to which every integer is an f64: the reference computes in f64.
pub const EXACT: f64 = 9_007_199_254_740_992.0;

/// Widths of a binary floating-point format.
struct Format {
    exponent: i32,
    mantissa: i32,
    /// Without infinities, and with one pattern for NaN: OCP's 8-bit floating point (revision 1.0).
    finite: bool,
}

impl Format {
    fn bias(&self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    fn lowest(&self) -> i32 {
        1 - self.bias()
    }

    fn max(&self) -> f64 {
        let (exponent, last) = if self.finite {
            (self.bias() + 1, 2)
        } else {
            (self.bias(), 1)
        };
        let mantissa = f64::from((1 << (self.mantissa + 1)) - last);
        mantissa * power(exponent - self.mantissa)
    }

    /// The distance between neighbours at a value.
    fn step(&self, value: f64) -> f64 {
        power(exponent(value).max(self.lowest()) - self.mantissa)
    }

    fn round(&self, value: f64) -> f64 {
        if value.is_nan() || value == 0.0 {
            return value;
        }
        let step = self.step(value.clamp(-1e300, 1e300));
        let rounded = (value / step).round_ties_even() * step;
        if rounded.abs() <= self.max() {
            rounded
        } else if self.finite {
            self.max().copysign(value)
        } else {
            f64::INFINITY.copysign(value)
        }
    }

    /// The bits of a value that [`Format::round`] returned.
    fn bits(&self, value: f64) -> u32 {
        let sign = u32::from(value.is_sign_negative()) << (self.exponent + self.mantissa);
        let ones = ((1u32 << self.exponent) - 1) << self.mantissa;
        let magnitude = if value.is_nan() {
            ones | if self.finite {
                (1 << self.mantissa) - 1
            } else {
                1 << (self.mantissa - 1)
            }
        } else if value.is_infinite() {
            ones
        } else if value == 0.0 {
            0
        } else {
            let scale = exponent(value).max(self.lowest());
            let steps = (value.abs() / power(scale - self.mantissa)) as u32;
            (((scale - self.lowest()) as u32) << self.mantissa) + steps
        };
        sign | magnitude
    }

    fn value(&self, bits: u32) -> f64 {
        let field = (bits >> self.mantissa) & ((1 << self.exponent) - 1);
        let mantissa = bits & ((1 << self.mantissa) - 1);
        let ones = field == (1 << self.exponent) - 1;
        let magnitude = if ones && self.finite && mantissa == (1 << self.mantissa) - 1 {
            f64::NAN
        } else if ones && !self.finite {
            if mantissa == 0 {
                f64::INFINITY
            } else {
                f64::NAN
            }
        } else if field == 0 {
            f64::from(mantissa) * power(self.lowest() - self.mantissa)
        } else {
            f64::from(mantissa + (1 << self.mantissa))
                * power(field as i32 - 1 + self.lowest() - self.mantissa)
        };
        if bits >> (self.exponent + self.mantissa) == 1 {
            -magnitude
        } else {
            magnitude
        }
    }
}

fn power(exponent: i32) -> f64 {
    2f64.powi(exponent)
}

/// The exponent of a finite number other than 0, as if numbers had no smallest exponent.
fn exponent(value: f64) -> i32 {
    let field = ((value.to_bits() >> 52) & 0x7ff) as i32;
    if field == 0 {
        -1074 + (63 - (value.to_bits() << 1 >> 1).leading_zeros() as i32)
    } else {
        field - 1023
    }
}

impl Element {
    pub fn dtype(self) -> DType {
        match self {
            U8 => DType::U8,
            U32 => DType::U32,
            I16 => DType::I16,
            I32 => DType::I32,
            I64 => DType::I64,
            BF16 => DType::BF16,
            F16 => DType::F16,
            F32 => DType::F32,
            F64 => DType::F64,
            F8E4M3 => DType::F8E4M3,
        }
    }

    pub fn of(dtype: DType) -> Option<Self> {
        ALL.into_iter().find(|element| element.dtype() == dtype)
    }

    pub fn name(self) -> &'static str {
        self.dtype().as_str()
    }

    pub fn is_float(self) -> bool {
        matches!(self, BF16 | F16 | F32 | F64 | F8E4M3)
    }

    fn format(self) -> Option<Format> {
        let (exponent, mantissa) = match self {
            BF16 => (8, 7),
            F16 => (5, 10),
            F32 => (8, 23),
            F8E4M3 => (4, 3),
            _ => return None,
        };
        Some(Format {
            exponent,
            mantissa,
            finite: self == F8E4M3,
        })
    }

    /// The smallest and the largest finite value (within what is exact in an f64).
    pub fn limits(self) -> (f64, f64) {
        match self {
            U8 => (0.0, 255.0),
            U32 => (0.0, f64::from(u32::MAX)),
            I16 => (f64::from(i16::MIN), f64::from(i16::MAX)),
            I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
            I64 => (-EXACT, EXACT),
            F64 => (f64::MIN, f64::MAX),
            _ => self
                .format()
                .map_or((0.0, 0.0), |format| (-format.max(), format.max())),
        }
    }

    /// The distance between neighbours at a value: 0 for integers.
    pub fn step(self, value: f64) -> f64 {
        match (self.format(), self) {
            _ if !value.is_finite() => 0.0,
            (Some(format), _) => format.step(if value == 0.0 {
                f64::MIN_POSITIVE
            } else {
                value
            }),
            (None, F64) => power((exponent(value).max(-1022)) - 52),
            _ => 0.0,
        }
    }

    /// The distance between 1 and its neighbour: 0 for integers.
    pub fn epsilon(self) -> f64 {
        self.step(1.0)
    }

    /// The nearest element; integers wrap around, as those of C++ and of a GPU do.
    pub fn round(self, value: f64) -> f64 {
        let wrap = |bits: u32, signed: bool| {
            let modulus = power(bits as i32);
            let low = value.trunc().rem_euclid(modulus);
            if signed && low >= modulus / 2.0 {
                low - modulus
            } else {
                low
            }
        };
        match self {
            U8 => wrap(8, false),
            U32 => wrap(32, false),
            I16 => wrap(16, true),
            I32 => wrap(32, true),
            I64 => value.trunc(),
            F32 => f64::from(value as f32),
            F64 => value,
            BF16 | F16 | F8E4M3 => self.format().map_or(value, |format| format.round(value)),
        }
    }

    /// Little-endian bytes of values that [`Element::round`] returned.
    pub fn encode(self, values: &[f64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &value in values {
            match self {
                U8 => bytes.push(value as u8),
                U32 => bytes.extend((value as u32).to_le_bytes()),
                I16 => bytes.extend((value as i16).to_le_bytes()),
                I32 => bytes.extend((value as i32).to_le_bytes()),
                I64 => bytes.extend((value as i64).to_le_bytes()),
                F32 => bytes.extend((value as f32).to_le_bytes()),
                F64 => bytes.extend(value.to_le_bytes()),
                BF16 | F16 | F8E4M3 => {
                    let bits = self
                        .format()
                        .map_or(0, |format| format.bits(value))
                        .to_le_bytes();
                    bytes.extend(&bits[..if self == F8E4M3 { 1 } else { 2 }]);
                }
            }
        }
        bytes
    }

    pub fn decode(self, bytes: &[u8]) -> Vec<f64> {
        let size = match self {
            U8 | F8E4M3 => 1,
            I16 | BF16 | F16 => 2,
            U32 | I32 | F32 => 4,
            I64 | F64 => 8,
        };
        let one = |chunk: &[u8]| {
            let mut wide = [0; 8];
            wide[..size].copy_from_slice(chunk);
            let bits = u64::from_le_bytes(wide);
            match self {
                U8 => bits as f64,
                U32 => bits as f64,
                I16 => f64::from(bits as i16),
                I32 => f64::from(bits as i32),
                I64 => bits as i64 as f64,
                F32 => f64::from(f32::from_bits(bits as u32)),
                F64 => f64::from_bits(bits),
                BF16 | F16 | F8E4M3 => self
                    .format()
                    .map_or(0.0, |format| format.value(bits as u32)),
            }
        };
        bytes.chunks_exact(size).map(one).collect()
    }

    /// Values at the edges: for floats also NaN, infinities, subnormals and the smaller zero.
    pub fn special(self) -> Vec<f64> {
        let (low, high) = self.limits();
        let mut values = vec![0.0, 1.0, low, high];
        if self.is_float() {
            let format = self.format();
            let smallest = format
                .as_ref()
                .map_or(f64::MIN_POSITIVE, |f| power(f.lowest()));
            let subnormal = format
                .as_ref()
                .map_or(5e-324, |f| power(f.lowest() - f.mantissa));
            values.extend([-0.0, -1.0, smallest, subnormal, -subnormal, f64::NAN]);
            if self != F8E4M3 {
                values.extend([f64::INFINITY, f64::NEG_INFINITY]);
            }
        } else if low < 0.0 {
            values.push(-1.0);
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        for element in ALL {
            for value in element.special() {
                let rounded = element.round(value);
                let back = element.decode(&element.encode(&[rounded]))[0];
                assert!(
                    back == rounded || back.is_nan() && rounded.is_nan(),
                    "{element:?} {value}"
                );
            }
        }
    }

    #[test]
    fn every_pattern_of_16_bits_is_kept() {
        for element in [BF16, F16] {
            for bits in 0..=u16::MAX {
                let value = element.decode(&bits.to_le_bytes())[0];
                if !value.is_nan() {
                    assert_eq!(element.encode(&[element.round(value)]), bits.to_le_bytes());
                }
            }
        }
    }

    #[test]
    fn limits_are_those_of_the_standards() {
        assert_eq!(F16.limits().1, 65504.0);
        assert_eq!(F8E4M3.limits().1, 448.0);
        assert_eq!(F32.limits().1, f64::from(f32::MAX));
        assert_eq!(F16.round(65520.0), f64::INFINITY);
        assert_eq!(F16.round(65519.0), 65504.0);
        assert_eq!(F8E4M3.round(1000.0), 448.0);
        assert_eq!(F16.round(2f64.powi(-25)), 0.0);
        assert_eq!(BF16.round(1.0 + 2f64.powi(-8)), 1.0);
        assert_eq!(F32.step(1.0), f64::from(f32::EPSILON));
        assert_eq!(F64.step(1.0), f64::EPSILON);
    }
}
