//! Products of half and bf16 matrices with hipBLASLt, below [`rocblas`](crate::rocblas).
//!
//! Nobody calls what is here: the products of [`RocBlas`](crate::rocblas::RocBlas), and
//! [`gemm_ex`](crate::rocblas::result::gemm_ex) and its strided kin with its handle, are given to hipBLASLt
//! where that is there and faster, and to rocBLAS else. [`Choice`] says which.
//!
//! | asked in this order | goes to rocBLAS |
//! | --- | --- |
//! | `HIPRC_BLAS`, or what [`RocBlas::with_choice`](crate::rocblas::RocBlas::with_choice) was given | with `rocblas` |
//! | the types | what is not f16 or bf16 throughout, added in single precision |
//! | the architecture and the layout, unless the choice is `hipblaslt` | where rocBLAS is the better choice: [`Choice::Auto`] |
//! | the handle | scalars on the device; another stream than that of the [`RocBlas`](crate::rocblas::RocBlas) |
//! | the library | there is none, or it has no kernels for the architecture; while a stream is captured, where it was not used before |
//! | its heuristic | no solution for the shape, which is said once |
//! | the workspace | there is no memory for it |
//!
//! A product that hipBLASLt refuses is done by rocBLAS, where nothing of `c` is read; else it is an error.

mod choice;
mod engine;
mod kernels;
mod plan;
pub mod result;
mod shape;
pub mod sys;

pub use choice::Choice;
pub(crate) use engine::{attach, detach, take, taken, Product};
pub(crate) use shape::shape;
