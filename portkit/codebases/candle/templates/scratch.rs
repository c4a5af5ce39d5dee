// Scratch memory of one product.
// ---------------------------------------------------------------------------

/// Returns a device pointer to scratch memory, and the memory, which must be held until the kernels
/// that use it have been launched. What its stream allocates then may use it again behind them.
fn workspace_ensure(dev: &CudaDevice, bytes: usize) -> Result<(u64, CudaSlice<u8>)> {
    let scratch = unsafe { dev.alloc::<u8>(bytes.max(1))? };
    let ptr = scratch.device_ptr(scratch.stream()).0;
    Ok((ptr, scratch))
}
