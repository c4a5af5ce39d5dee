fn conv1d($arguments) -> Result<Self> {
    #[cfg(feature = "miopen")]
    if let Some(out) = miopen::conv1d((self, l), (kernel, kernel_l), params)? {
        return Ok(out);
    }
