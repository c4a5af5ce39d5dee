//! Compiles the kernels of a crate for AMD GPUs, from its build script.
//!
//! ```no_run
//! use hiprc_build::{Kernels, Sources, DEVICE};
//! use std::path::PathBuf;
//!
//! fn build() -> Result<(), String> {
//!     let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
//!     let sources = Sources {
//!         workspace: "../toy-kernels",
//!         headers: &[("cuda_fp16.h", "hip/hip_fp16.h")],
//!         device: DEVICE,
//!     };
//!     let folder = &sources.assemble(&out_dir)?;
//!     Kernels {
//!         variables: "TOY_ROCM",
//!         modules: &["fill"],
//!         launchers: &[],
//!         root: ("OUT_DIR", "sources"),
//!         folder,
//!     }
//!     .build()
//! }
//! ```
#![warn(missing_docs)]

mod device;
mod kernels;
mod module;
mod sources;

pub use device::DEVICE;
pub use kernels::Kernels;
pub use module::module;
pub use sources::Sources;
