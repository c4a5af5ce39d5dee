/// How an operation in place is launched with a kernel, where the kernel says so.
///
/// # Errors
///
/// If the kernel is not for one tensor of f32, or the device cannot launch it so.
#[cfg($condition)]
pub(crate) fn launch_in_place(
    &self,
    name: &str,
    kernel: &$ug::lang::ssa::Kernel,
) -> Result<Option<candle_hip::driver::LaunchConfig>> {
    use candle_hip::driver::sys::hipDeviceAttribute_t;
    let most_threads = hipDeviceAttribute_t::hipDeviceAttributeMaxThreadsPerBlock;
    let context = self.default_stream().context();
    let most_threads = context.attribute(most_threads).w()? as u32;
    let launch = $writer launch_in_place(name, kernel, most_threads)?;
    Ok(launch.map(|launch| candle_hip::driver::LaunchConfig {
        grid_dim: (launch.grid_dim, 1, 1),
        block_dim: (launch.block_dim, 1, 1),
        shared_mem_bytes: launch.shared_mem,
    }))
}

$all
