use super::sys::{ncclDataType_t, ncclRedOp_t};

/// How values of several ranks become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReduceOp {
    /// Their sum.
    Sum,
    /// Their product.
    Prod,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// Their sum, divided by the number of ranks.
    Avg,
}

impl From<&ReduceOp> for ncclRedOp_t {
    fn from(op: &ReduceOp) -> Self {
        match op {
            ReduceOp::Sum => Self::ncclSum,
            ReduceOp::Prod => Self::ncclProd,
            ReduceOp::Max => Self::ncclMax,
            ReduceOp::Min => Self::ncclMin,
            ReduceOp::Avg => Self::ncclAvg,
        }
    }
}

/// A type of values that RCCL knows.
pub trait RcclType {
    /// RCCL's name of it.
    fn as_rccl_type() -> ncclDataType_t;
}

macro_rules! types {
    ($($type:ty = $name:ident,)*) => {
        $(
            impl RcclType for $type {
                fn as_rccl_type() -> ncclDataType_t {
                    ncclDataType_t::$name
                }
            }
        )*
    };
}

types! {
    i8 = ncclInt8,
    u8 = ncclUint8,
    i32 = ncclInt32,
    u32 = ncclUint32,
    i64 = ncclInt64,
    u64 = ncclUint64,
    half::f16 = ncclFloat16,
    half::bf16 = ncclBfloat16,
    f32 = ncclFloat32,
    f64 = ncclFloat64,
}
