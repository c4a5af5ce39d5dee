//! A kernel with what it is given and how it is launched.

use crate::number::Number;
use crate::reference::Argument;
use crate::rng::Rng;
use candle_ug_rocm::ug::lang::ssa::{DType, Kernel};

pub const DTYPES: [DType; 5] = [DType::F32, DType::F16, DType::BF16, DType::I32, DType::I64];

pub struct Case {
    pub name: String,
    pub kernel: Kernel,
    pub grid: u32,
    pub threads: usize,
    pub arguments: Vec<Argument>,
}

/// Values that a type holds exactly: small, of both signs, halves and quarters among the floats.
pub fn values(rng: &mut Rng, dtype: DType, count: usize) -> Vec<Number> {
    let one = |rng: &mut Rng| match dtype {
        DType::I32 | DType::I64 => Number::Int(rng.within(0, 24) as i64 - 12),
        _ => Number::exact((rng.within(0, 96) as f64 - 48.) / 16.),
    };
    (0..count).map(|_| one(rng)).collect()
}

pub fn memory(rng: &mut Rng, dtype: DType, count: usize) -> Argument {
    Argument::Memory(dtype, values(rng, dtype, count))
}
