fn conv2d($arguments) -> Result<Self> {
    #[cfg(feature = "miopen")]
    if let Some(out) = miopen::conv2d((self, l), (kernel, kernel_l), params)? {
        return Ok(out);
    }
