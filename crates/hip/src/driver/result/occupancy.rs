//! How many blocks of a kernel run at a time.

use super::HipError;
use crate::driver::sys::{self, hipFunction_t, hipOccupancyFlags};
use std::ffi::c_int;

/// The number of blocks of a kernel that a compute unit can hold.
///
/// # Safety
///
/// The module of the kernel has to be loaded.
pub unsafe fn max_active_block_per_multiprocessor_with_flags(
    function: hipFunction_t,
    block_size: c_int,
    dynamic_smem_size: usize,
    flags: hipOccupancyFlags,
) -> Result<i32, HipError> {
    let mut blocks = 0;
    sys::hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        &mut blocks,
        function,
        block_size,
        dynamic_smem_size,
        flags,
    )
    .result()?;
    Ok(blocks)
}

/// The smallest grid and the block size that fill a device best.
///
/// # Safety
///
/// The module of the kernel has to be loaded.
pub unsafe fn max_potential_block_size_with_flags(
    function: hipFunction_t,
    dynamic_smem_size: usize,
    block_size_limit: c_int,
    flags: hipOccupancyFlags,
) -> Result<(i32, i32), HipError> {
    let (mut grid_size, mut block_size) = (0, 0);
    sys::hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
        &mut grid_size,
        &mut block_size,
        function,
        dynamic_smem_size,
        block_size_limit,
        flags,
    )
    .result()?;
    Ok((grid_size, block_size))
}
