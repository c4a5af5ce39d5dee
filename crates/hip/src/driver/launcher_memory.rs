//! Memory that launchers of a linked library ask HIP's pool for.
//!
//! They have it as work of the same stream has: a pool of HIP's costs two calls and gives its memory
//! back to the system whenever the stream is waited for.

use super::gpu::{Gpu, StreamKey};
use super::sys::{hipError_t, hipStream_t};
use super::{result, HipError};
use std::ffi::c_void;

/// What `hipMallocAsync` is in a launcher; `hipErrorNotSupported` for a stream that is not known
/// here, whose memory HIP has to have.
///
/// # Safety
///
/// The pointer is valid for a write.
pub(crate) unsafe extern "C" fn allocate(
    pointer: *mut *mut c_void,
    bytes: usize,
    stream: hipStream_t,
) -> hipError_t {
    let allocated = current().and_then(|gpu| {
        let stream = StreamKey::new(gpu.device, stream);
        if gpu.memory.is_pool() || !gpu.knows(stream) {
            return Err(HipError(hipError_t::hipErrorNotSupported));
        }
        let pool = gpu.captures.pool(stream);
        gpu.memory.allocate(stream, pool, bytes)
    });
    match allocated {
        Ok(address) => {
            pointer.write(address as *mut c_void);
            hipError_t::hipSuccess
        }
        Err(HipError(status)) => status,
    }
}

/// What `hipFreeAsync` is in a launcher, and `hipFree`, which waits for the work of the device;
/// `hipErrorNotSupported` for memory that is not from here.
///
/// # Safety
///
/// Memory from here is not valid afterwards.
pub(crate) unsafe extern "C" fn free(
    pointer: *mut c_void,
    stream: hipStream_t,
    waits: bool,
) -> hipError_t {
    let address = pointer as u64;
    let freed = current().and_then(|gpu| {
        if gpu.memory.pool(address).is_none() {
            return Err(HipError(hipError_t::hipErrorNotSupported));
        }
        let mut stream = StreamKey::new(gpu.device, stream);
        let known = gpu.knows(stream);
        if waits || !known {
            gpu.wait_beside_none()?;
        }
        if !known {
            // It may be destroyed; the default stream never is.
            stream = StreamKey::new(gpu.device, result::stream::null());
        }
        gpu.memory.free(gpu, address, stream)
    });
    freed.map_or_else(|HipError(status)| status, |()| hipError_t::hipSuccess)
}

/// The GPU of the calling thread.
fn current() -> Result<&'static Gpu, HipError> {
    Gpu::of(result::device::get_current()?)
}
