//! AMD's HIP runtime, rocBLAS, hipBLASLt, hipRAND, MIOpen, RCCL and hipRTC for Rust, loaded at run time.
//!
//! Nothing of ROCm is needed to build this crate. The shared libraries are opened on first use by
//! [`loader`], and a missing library or function is an error with a text that says what to
//! install, never a panic.
//!
//! | module | library | main types |
//! | --- | --- | --- |
//! | [`driver`] | `libamdhip64` | [`driver::HipContext`], [`driver::HipStream`], [`driver::HipSlice`] |
//! | [`rocblas`] | `librocblas` | [`rocblas::RocBlas`], [`rocblas::Gemm`] |
//! | [`hipblaslt`] | `libhipblaslt` | [`hipblaslt::Choice`] |
//! | [`hiprand`] | `libhiprand` | [`hiprand::HipRng`] |
//! | [`miopen`] | `libMIOpen` | [`miopen::Convolution`], [`miopen::ConvForward`] |
//! | [`rccl`] | `librccl` | [`rccl::Comm`] |
//! | [`hiprtc`] | `libhiprtc` | [`hiprtc::Hsaco`], [`hiprtc::compile_hsaco`], [`hiprtc::Kernels`] |
//!
//! Each of them has three layers: `sys` is the C interface as the headers have it, `result` turns
//! status codes into [`Result`]s, and the types at the top own their handles and keep the order of
//! work on streams. The layers, names and signatures follow those of the crate `cudarc`, with
//! HIP's names in place of CUDA's, so code that is written for one is easily written for the
//! other.
//! Code for `cudarc` 0.10 to 0.13 finds its shape in [`driver::HipDevice`] and
//! [`driver::LaunchAsync`].
//!
//! ```no_run
//! use hiprc::driver::{HipContext, LaunchConfig, PushKernelArg};
//! use hiprc::hiprtc::compile_hsaco;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let context = HipContext::new(0)?;
//! let stream = context.new_stream()?;
//! let source = r#"extern "C" __global__ void twice(float *x, int n) {
//!     int i = blockIdx.x * blockDim.x + threadIdx.x;
//!     if (i < n) x[i] *= 2.f;
//! }"#;
//! let twice = context.load_module(compile_hsaco(source)?)?.load_function("twice")?;
//! let mut x = stream.clone_htod(&[1f32, 2., 3.])?;
//! let mut launch = stream.launch_builder(&twice);
//! launch.arg(&mut x).arg(&3i32);
//! // SAFETY: the arguments are those of `twice`, which stays within `n` elements.
//! unsafe { launch.launch(LaunchConfig::for_num_elems(3))? };
//! assert_eq!(stream.clone_dtoh(&x)?, [2., 4., 6.]);
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]
#![warn(clippy::undocumented_unsafe_blocks)]

#[macro_use]
mod ffi;

pub mod arch;
pub mod driver;
pub mod hipblaslt;
pub mod hiprand;
pub mod hiprtc;
pub mod launchers;
pub mod loader;
pub mod miopen;
pub mod older;
pub mod rccl;
pub mod rocblas;
