#[cfg(feature = "rocm")]
if device.is_rocm() {
    crate::bail!("ug ops are not supported on rocm: there is no code generator for HIP")
}
