//! The shape that `cudarc` had before 0.14, whole: for code that implements its traits.
//!
//! There memory belongs to a device and not to a stream, [`driver::DevicePtr`] gives an address
//! without asking for a stream, and [`driver::DeviceRepr`] says how a value becomes an argument of
//! a kernel. Nothing orders work on streams but [`driver::HipDevice::wait_for`] and
//! [`driver::HipStream::wait_for_default`]. Code that only uses a device finds the same shape, over
//! slices that know their streams, in [`crate::driver::HipDevice`].
//!
//! Names and signatures follow `cudarc` 0.9.15, 0.11.9 and 0.13.9, modules `driver::safe`,
//! `cublas::safe`, `curand::safe` and `types`, with HIP's names.

pub mod driver;
pub mod hiprand;
pub mod rocblas;
pub mod types;

pub use crate::hiprtc;
