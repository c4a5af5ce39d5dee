//! Compiles kernels at run time, with hipRTC.

mod cache;
mod compile;
mod hsaco;
mod kernels;
mod once;
mod options;
pub mod result;
pub mod sys;

pub use compile::{compile_hsaco, compile_hsaco_with_opts, CompileError};
pub use hsaco::Hsaco;
pub(crate) use hsaco::HsacoKind;
pub use kernels::Kernels;
pub use options::CompileOptions;

/// The types that own their handles.
pub mod safe {
    pub use super::{
        compile_hsaco, compile_hsaco_with_opts, CompileError, CompileOptions, Hsaco, Kernels,
    };
}
