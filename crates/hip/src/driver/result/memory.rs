//! Memory. No bytes are nothing to do: allocating none gives a null pointer, which can be freed,
//! copied and set like any other; HIP itself would refuse to free it.

use super::HipError;
use crate::driver::sys::{self, hipDeviceptr_t, hipStream_t};
use std::ffi::{c_int, c_uchar, c_uint, c_void};
use std::mem::size_of_val;

/// Allocates device memory in the order of a stream.
///
/// # Safety
///
/// The stream has to be alive. The memory is not set.
pub unsafe fn malloc_async(
    stream: hipStream_t,
    num_bytes: usize,
) -> Result<hipDeviceptr_t, HipError> {
    if num_bytes == 0 {
        return Ok(0);
    }
    let mut pointer = std::ptr::null_mut();
    sys::hipMallocAsync(&mut pointer, num_bytes, stream).result()?;
    Ok(pointer as hipDeviceptr_t)
}

/// Allocates device memory.
///
/// # Safety
///
/// The memory is not set.
pub unsafe fn malloc_sync(num_bytes: usize) -> Result<hipDeviceptr_t, HipError> {
    if num_bytes == 0 {
        return Ok(0);
    }
    let mut pointer = std::ptr::null_mut();
    sys::hipMalloc(&mut pointer, num_bytes).result()?;
    Ok(pointer as hipDeviceptr_t)
}

/// Frees device memory in the order of a stream.
///
/// # Safety
///
/// The pointer has to come from [`malloc_async`], and is not valid afterwards.
pub unsafe fn free_async(pointer: hipDeviceptr_t, stream: hipStream_t) -> Result<(), HipError> {
    if pointer == 0 {
        return Ok(());
    }
    sys::hipFreeAsync(pointer as *mut c_void, stream).result()
}

/// Frees device memory.
///
/// # Safety
///
/// The pointer has to come from [`malloc_sync`], and is not valid afterwards.
pub unsafe fn free_sync(pointer: hipDeviceptr_t) -> Result<(), HipError> {
    if pointer == 0 {
        return Ok(());
    }
    sys::hipFree(pointer as *mut c_void).result()
}

/// Allocates page-locked host memory.
///
/// # Safety
///
/// The memory is not set.
pub unsafe fn malloc_host(num_bytes: usize, flags: c_uint) -> Result<*mut c_void, HipError> {
    let mut pointer = std::ptr::null_mut();
    sys::hipHostMalloc(&mut pointer, num_bytes, flags).result()?;
    Ok(pointer)
}

/// Frees page-locked host memory.
///
/// # Safety
///
/// The pointer has to come from [`malloc_host`], and is not valid afterwards.
pub unsafe fn free_host(pointer: *mut c_void) -> Result<(), HipError> {
    sys::hipHostFree(pointer).result()
}

/// Free and total bytes of the calling thread's device.
pub fn mem_get_info() -> Result<(usize, usize), HipError> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: the pointers are valid for a write.
    unsafe { sys::hipMemGetInfo(&mut free, &mut total) }.result()?;
    Ok((free, total))
}

/// Sets bytes of device memory.
///
/// # Safety
///
/// The memory has to be valid.
pub unsafe fn memset_d8_sync(
    dst: hipDeviceptr_t,
    value: c_uchar,
    num_bytes: usize,
) -> Result<(), HipError> {
    if num_bytes == 0 {
        return Ok(());
    }
    sys::hipMemsetD8(dst as *mut c_void, value, num_bytes).result()
}

/// Sets bytes of device memory in the order of a stream.
///
/// # Safety
///
/// The stream has to be alive, and the memory valid until the stream has got past this.
pub unsafe fn memset_d8_async(
    dst: hipDeviceptr_t,
    value: c_uchar,
    num_bytes: usize,
    stream: hipStream_t,
) -> Result<(), HipError> {
    if num_bytes == 0 {
        return Ok(());
    }
    sys::hipMemsetD8Async(dst as *mut c_void, value, num_bytes, stream).result()
}

/// Copies from host to device.
///
/// # Safety
///
/// The device memory has to be valid.
pub unsafe fn memcpy_htod_sync<T>(dst: hipDeviceptr_t, src: &[T]) -> Result<(), HipError> {
    if size_of_val(src) == 0 {
        return Ok(());
    }
    sys::hipMemcpyHtoD(dst as *mut c_void, src.as_ptr().cast(), size_of_val(src)).result()
}

/// Copies from host to device in the order of a stream.
///
/// Host memory that is not page-locked has been read when this returns (`ihipMemcpy` in
/// `hipamd/src/hip_memory.cpp` waits for such a copy).
///
/// # Safety
///
/// The stream has to be alive, and device and page-locked memory valid until the stream has got
/// past the copy.
pub unsafe fn memcpy_htod_async<T>(
    dst: hipDeviceptr_t,
    src: &[T],
    stream: hipStream_t,
) -> Result<(), HipError> {
    if size_of_val(src) == 0 {
        return Ok(());
    }
    sys::hipMemcpyHtoDAsync(
        dst as *mut c_void,
        src.as_ptr().cast(),
        size_of_val(src),
        stream,
    )
    .result()
}

/// Copies from device to host.
///
/// # Safety
///
/// The device memory has to be valid, and its bytes values of `T`.
pub unsafe fn memcpy_dtoh_sync<T>(dst: &mut [T], src: hipDeviceptr_t) -> Result<(), HipError> {
    if size_of_val(dst) == 0 {
        return Ok(());
    }
    sys::hipMemcpyDtoH(
        dst.as_mut_ptr().cast(),
        src as *mut c_void,
        size_of_val(dst),
    )
    .result()
}

/// Copies from device to host in the order of a stream.
///
/// Host memory that is not page-locked has been written when this returns (`ihipMemcpy` in
/// `hipamd/src/hip_memory.cpp` waits for such a copy).
///
/// # Safety
///
/// The stream has to be alive, device and page-locked memory valid until the stream has got past
/// the copy, and the bytes values of `T`.
pub unsafe fn memcpy_dtoh_async<T>(
    dst: &mut [T],
    src: hipDeviceptr_t,
    stream: hipStream_t,
) -> Result<(), HipError> {
    if size_of_val(dst) == 0 {
        return Ok(());
    }
    sys::hipMemcpyDtoHAsync(
        dst.as_mut_ptr().cast(),
        src as *mut c_void,
        size_of_val(dst),
        stream,
    )
    .result()
}

/// Copies within a device.
///
/// # Safety
///
/// The memory has to be valid.
pub unsafe fn memcpy_dtod_sync(
    dst: hipDeviceptr_t,
    src: hipDeviceptr_t,
    num_bytes: usize,
) -> Result<(), HipError> {
    if num_bytes == 0 {
        return Ok(());
    }
    sys::hipMemcpyDtoD(dst as *mut c_void, src as *mut c_void, num_bytes).result()
}

/// Copies within a device in the order of a stream.
///
/// # Safety
///
/// The stream has to be alive, and the memory valid until the stream has got past the copy.
pub unsafe fn memcpy_dtod_async(
    dst: hipDeviceptr_t,
    src: hipDeviceptr_t,
    num_bytes: usize,
    stream: hipStream_t,
) -> Result<(), HipError> {
    if num_bytes == 0 {
        return Ok(());
    }
    sys::hipMemcpyDtoDAsync(dst as *mut c_void, src as *mut c_void, num_bytes, stream).result()
}

/// Copies from one device to another in the order of a stream.
///
/// # Safety
///
/// As for [`memcpy_dtod_async`].
pub unsafe fn memcpy_peer_async(
    dst_device: c_int,
    dst: hipDeviceptr_t,
    src_device: c_int,
    src: hipDeviceptr_t,
    num_bytes: usize,
    stream: hipStream_t,
) -> Result<(), HipError> {
    if num_bytes == 0 {
        return Ok(());
    }
    sys::hipMemcpyPeerAsync(
        dst as *mut c_void,
        dst_device,
        src as *const c_void,
        src_device,
        num_bytes,
        stream,
    )
    .result()
}
