//! The functions of [`sys`] with [`Result`]s.
//!
//! Nothing here looks after the life of a handle or the order of work, so most of it is unsafe.

pub mod device;
mod error;
pub mod event;
pub mod function;
pub mod graph;
mod launch;
mod memory;
pub mod module;
pub mod occupancy;
pub mod stream;

pub use error::HipError;
pub use launch::{launch_cooperative_kernel, launch_kernel};
pub use memory::{
    free_async, free_host, free_sync, malloc_async, malloc_host, malloc_sync, mem_get_info,
    memcpy_dtod_async, memcpy_dtod_sync, memcpy_dtoh_async, memcpy_dtoh_sync, memcpy_htod_async,
    memcpy_htod_sync, memcpy_peer_async, memset_d8_async, memset_d8_sync,
};

use super::sys;

/// Initializes HIP. To do so again has no effect.
pub fn init() -> Result<(), HipError> {
    // SAFETY: 0 is the only flag there is.
    unsafe { sys::hipInit(0) }.result()
}

/// The version of the HIP runtime: major * 10,000,000 + minor * 100,000 + patch.
pub fn runtime_version() -> Result<i32, HipError> {
    let mut version = 0;
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::hipRuntimeGetVersion(&mut version) }.result()?;
    Ok(version)
}

/// Lets HIP forget the last failure of the calling thread, which was dealt with.
pub(crate) fn forget_last_error() {
    // SAFETY: there are no arguments.
    let _ = unsafe { sys::hipGetLastError() };
}
