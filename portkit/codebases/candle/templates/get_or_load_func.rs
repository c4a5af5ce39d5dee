pub fn get_or_load_func(&self, fn_name: &str, mdl: &kernels::Module) -> Result<RocmFunc> {
    use candle_hip::driver::{sys::hipError_t, HipError};

    let ms = self.modules.read().unwrap();
    let loaded = ms.mdls[mdl.index()].clone();
    drop(ms);
    let rocm_module = match loaded {
        Some(rocm_module) => rocm_module,
        None => {
            // The compiler may take a while, in which other kernels are launched. Whoever needs the
            // same ones meanwhile gets them from the same compilation.
            let rocm_module = self.context.load_module(mdl.hsaco().into()).w()?;
            let mut ms = self.modules.write().unwrap();
            ms.mdls[mdl.index()].get_or_insert(rocm_module).clone()
        }
    };
    // The names of kernels spell this dtype with an underscore, in some modules with a p as well.
    // Other names are not copied: this runs before each launch.
    let kernel = match fn_name.contains("f8e4m3") {
        true => std::borrow::Cow::from(fn_name.replace("f8e4m3", "f8_e4m3")),
        false => std::borrow::Cow::from(fn_name),
    };
    let func = match rocm_module.load_function(&kernel) {
        Err(HipError(hipError_t::hipErrorNotFound)) => {
            rocm_module.load_function(&fn_name.replace("f8e4m3", "fp8_e4m3"))
        }
        func => func,
    };
    let func = match func {
        Err(HipError(hipError_t::hipErrorNotFound)) => {
            let (op, dtype) = fn_name.rsplit_once('_').unwrap_or((fn_name, "this dtype"));
            crate::bail!("{op} is not implemented for {dtype} on ROCm: there is no kernel {kernel}")
        }
        func => func.w()?,
    };
    Ok(RocmFunc {
        func,
        stream: self.stream.clone(),
    })
}
