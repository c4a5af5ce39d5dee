//! Numbers in f64 that know how far from them a right result may lie.

use candle_ug_rocm::ug::lang::ssa::{BinaryOp, DType, ReduceOp, UnaryOp};

/// An integer, or a real number and a bound of what a device's may differ from it.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    Int(i64),
    Real { value: f64, error: f64 },
}

/// Why there is no one right result. Such a kernel is left out.
pub type Unsure = &'static str;

/// Half a unit in the last place of 1, and a bound of what is lost near 0.
fn rounding(dtype: DType) -> (f64, f64, f64) {
    match dtype {
        DType::F16 => (2f64.powi(-11), 2f64.powi(-24), 65504.),
        DType::BF16 => (2f64.powi(-8), 2f64.powi(-126), 3.38e38),
        _ => (2f64.powi(-24), 2f64.powi(-126), 3.4e38),
    }
}

fn is_exact(value: f64, dtype: DType) -> bool {
    match dtype {
        DType::F16 => half::f16::from_f64(value).to_f64() == value,
        DType::BF16 => half::bf16::from_f64(value).to_f64() == value,
        _ => f64::from(value as f32) == value,
    }
}

impl Number {
    pub fn exact(value: f64) -> Self {
        Self::Real { value, error: 0. }
    }

    pub fn int(self) -> Result<i64, Unsure> {
        match self {
            Self::Int(value) => Ok(value),
            Self::Real { .. } => Err("a real number where an integer belongs"),
        }
    }

    fn real(self) -> Result<(f64, f64), Unsure> {
        match self.of(DType::F32)? {
            Self::Real { value, error } => Ok((value, error)),
            Self::Int(_) => unreachable!("f32 is real"),
        }
    }

    /// The number as a value of a type.
    pub fn of(self, dtype: DType) -> Result<Self, Unsure> {
        if dtype.is_int() {
            let value = match self {
                Self::Int(value) => value,
                Self::Real { value, error } => {
                    let (low, high) = ((value - error).trunc(), (value + error).trunc());
                    if low != high || low.abs() > 9e15 {
                        return Err("a cast to an integer near a step");
                    }
                    low as i64
                }
            };
            if dtype == DType::I32 && i32::try_from(value).is_err() {
                return Err("an i32 overflows");
            }
            return Ok(Self::Int(value));
        }
        let (value, error) = match self {
            Self::Int(value) if value.abs() > 1 << 52 => {
                return Err("an integer too large for f64")
            }
            Self::Int(value) => (value as f64, 0.),
            Self::Real { value, error } => (value, error),
        };
        let (unit, tiny, largest) = rounding(dtype);
        if value.is_nan() || error.is_nan() {
            return Err("not a number");
        }
        if value.is_infinite() || (error == 0. && is_exact(value, dtype)) {
            return Ok(Self::Real { value, error: 0. });
        }
        if value.abs() + error > 0.98 * largest {
            return Err("near the largest number");
        }
        let error = error + unit * (value.abs() + error) + tiny;
        Ok(Self::Real { value, error })
    }

    pub fn unary(self, op: UnaryOp, dtype: DType) -> Result<Self, Unsure> {
        if let (UnaryOp::Id | UnaryOp::Cast(_), _) = (op, dtype) {
            return self.of(dtype);
        }
        if let (UnaryOp::Neg, Self::Int(value)) = (op, self) {
            return Self::Int(value.checked_neg().ok_or("an i64 overflows")?).of(dtype);
        }
        let (x, e) = self.real()?;
        // What a fast function may be off, beside the rounding.
        let off = 8. * 2f64.powi(-24);
        let (value, error) = match op {
            UnaryOp::Neg => (-x, e),
            UnaryOp::Exp => (x.exp(), x.exp() * (e.exp_m1() + off * (1. + x.abs()))),
            UnaryOp::Sin | UnaryOp::Cos if x.abs() > 100. => return Err("a large angle"),
            UnaryOp::Sin => (x.sin(), e + off),
            UnaryOp::Cos => (x.cos(), e + off),
            UnaryOp::Sqrt if x < 0. || (x < e && e > 0.) => return Err("a root near 0"),
            UnaryOp::Sqrt if x == 0. => (0., 0.),
            UnaryOp::Sqrt => (
                x.sqrt(),
                e / (x - e).sqrt().max(f64::MIN_POSITIVE) + off * x.sqrt(),
            ),
            UnaryOp::Id | UnaryOp::Cast(_) => unreachable!("answered above"),
        };
        Self::Real { value, error }.of(DType::F32)?.of(dtype)
    }

    pub fn binary(self, op: BinaryOp, other: Self, dtype: DType) -> Result<Self, Unsure> {
        if let (Self::Int(a), Self::Int(b)) = (self, other) {
            let value = match op {
                BinaryOp::Add => a.checked_add(b),
                BinaryOp::Sub => a.checked_sub(b),
                BinaryOp::Mul => a.checked_mul(b),
                BinaryOp::Div => a.checked_div(b),
                BinaryOp::Mod => a.checked_rem(b),
                BinaryOp::Min => Some(a.min(b)),
                BinaryOp::Max => Some(a.max(b)),
            };
            return Self::Int(value.ok_or("a quotient by 0, or an i64 overflows")?).of(dtype);
        }
        let ((a, ea), (b, eb)) = (self.real()?, other.real()?);
        let off = 8. * 2f64.powi(-24);
        let (value, error) = match op {
            BinaryOp::Add => (a + b, ea + eb),
            BinaryOp::Sub => (a - b, ea + eb),
            BinaryOp::Mul => (a * b, a.abs() * eb + b.abs() * ea + ea * eb),
            BinaryOp::Div if b.abs() <= 2. * eb || b == 0. => return Err("a quotient by almost 0"),
            BinaryOp::Div => {
                let error = (ea + (a / b).abs() * eb) / (b.abs() - eb);
                (a / b, error + off * (a / b).abs())
            }
            BinaryOp::Mod if ea != 0. || eb != 0. || b == 0. => {
                return Err("a remainder near a step")
            }
            BinaryOp::Mod => (a % b, 0.),
            BinaryOp::Min => (a.min(b), ea.max(eb)),
            BinaryOp::Max => (a.max(b), ea.max(eb)),
        };
        Self::Real { value, error }.of(DType::F32)?.of(dtype)
    }

    /// The reduction of the values of all threads, in any order.
    pub fn reduce(op: ReduceOp, values: &[Self], dtype: DType) -> Result<Self, Unsure> {
        let fold = match op {
            ReduceOp::Sum => BinaryOp::Add,
            ReduceOp::Min => BinaryOp::Min,
            ReduceOp::Max => BinaryOp::Max,
        };
        if let (ReduceOp::Sum, Self::Real { .. }) = (op, values[0]) {
            let (mut value, mut error, mut size) = (0., 0., 0.);
            for number in values {
                let (v, e) = number.real()?;
                (value, error, size) = (value + v, error + e, size + v.abs() + e);
            }
            error += values.len() as f64 * 2f64.powi(-24) * size;
            return Self::Real { value, error }.of(DType::F32)?.of(dtype);
        }
        let wide = match values[0] {
            Self::Int(_) => DType::I64,
            Self::Real { .. } => DType::F32,
        };
        let mut all = values[0];
        for &number in &values[1..] {
            all = all.binary(fold, number, wide)?;
        }
        all.of(dtype)
    }

    /// Whether a device's result is right.
    pub fn admits(self, got: Self) -> bool {
        match (self, got) {
            (Self::Int(value), Self::Int(got)) => value == got,
            (Self::Real { value, error }, Self::Real { value: got, .. }) => {
                value == got || (got - value).abs() <= error
            }
            _ => false,
        }
    }
}
