//! Dense linear algebra on a stream, with rocBLAS.
//!
//! Matrices are stored by columns, as in all BLAS libraries.

mod asum;
mod gemm;
mod gemv;
mod handle;
pub mod result;
pub mod sys;

pub use asum::{Asum, AsumConfig};
pub use gemm::{Gemm, GemmConfig, StridedBatchedConfig};
pub use gemv::{Gemv, GemvConfig};
pub use handle::RocBlas;

/// The types that own their handles, and what they can do.
pub mod safe {
    pub use super::{
        Asum, AsumConfig, Gemm, GemmConfig, Gemv, GemvConfig, RocBlas, StridedBatchedConfig,
    };
}
