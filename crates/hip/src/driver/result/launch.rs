use super::HipError;
use crate::driver::sys::{self, hipFunction_t, hipStream_t};
use std::ffi::{c_uint, c_void};

/// Launches a kernel.
///
/// # Safety
///
/// Module and stream have to be alive; the parameters have to be those of the kernel, and what
/// they point to valid until the stream has got past the kernel.
pub unsafe fn launch_kernel(
    function: hipFunction_t,
    grid_dim: (c_uint, c_uint, c_uint),
    block_dim: (c_uint, c_uint, c_uint),
    shared_mem_bytes: c_uint,
    stream: hipStream_t,
    parameters: &mut [*mut c_void],
) -> Result<(), HipError> {
    sys::hipModuleLaunchKernel(
        function,
        grid_dim.0,
        grid_dim.1,
        grid_dim.2,
        block_dim.0,
        block_dim.1,
        block_dim.2,
        shared_mem_bytes,
        stream,
        parameters.as_mut_ptr(),
        std::ptr::null_mut(),
    )
    .result()
}

/// Launches a kernel whose blocks can synchronize with each other.
///
/// # Safety
///
/// As for [`launch_kernel`].
pub unsafe fn launch_cooperative_kernel(
    function: hipFunction_t,
    grid_dim: (c_uint, c_uint, c_uint),
    block_dim: (c_uint, c_uint, c_uint),
    shared_mem_bytes: c_uint,
    stream: hipStream_t,
    parameters: &mut [*mut c_void],
) -> Result<(), HipError> {
    sys::hipModuleLaunchCooperativeKernel(
        function,
        grid_dim.0,
        grid_dim.1,
        grid_dim.2,
        block_dim.0,
        block_dim.1,
        block_dim.2,
        shared_mem_bytes,
        stream,
        parameters.as_mut_ptr(),
    )
    .result()
}
