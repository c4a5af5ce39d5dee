let dev = input.device().as_rocm_device()?;
if !candle::rocm_backend::kernels::launchers_run_on(dev.rocm_stream().context()) {
    candle::bail!(
        "the fused mixture of experts does not run here: {}; or use the layers one by one",
        candle::rocm_backend::kernels::launchers_are_for_others(dev.rocm_stream().context())
    )
}
