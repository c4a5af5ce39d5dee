pub fn get_or_load_func(
    &self,
    fn_name: &str,
    hsaco: impl Into<candle_hip::hiprtc::Hsaco>,
) -> Result<HipFunction> {
    use candle_hip::driver::{sys::hipError_t, HipError};

    if !self.has_func(fn_name, fn_name) {
        // Leaking the name here is a bit sad but the device wants a &'static str, and this is done
        // once for each kernel.
        let name: &'static str = Box::leak(fn_name.to_string().into_boxed_str());
        match self.load_hsaco(hsaco.into(), name, &[name]) {
            Err(HipError(hipError_t::hipErrorNotFound)) => {
                let (op, dtype) = name.rsplit_once('_').unwrap_or((name, "this dtype"));
                crate::bail!(
                    "{op} is not implemented for {dtype} on ROCm: there is no kernel {name}"
                )
            }
            loaded => loaded
                .map_err(|rocm| RocmError::Load {
                    rocm,
                    module_name: name.to_string(),
                })
                .w()?,
        }
    }
    self.get_func(fn_name, fn_name)
        .ok_or_else(|| RocmError::MissingKernel {
            module_name: fn_name.to_string(),
        })
        .w()
}
