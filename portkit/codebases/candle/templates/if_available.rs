#[cfg(feature = "rocm")]
if !crate::rocm_backend::WrapErr::w(
    crate::rocm_backend::candle_hip::driver::HipContext::is_available(),
)? {
    return Ok(Self::Cpu);
}
$all
