let dev = input.device().as_rocm_device()?;
if !candle::rocm_backend::kernels::launchers_run_on(dev.rocm_stream().context()) {
    candle::bail!(
        "this build has no fused mixture of experts for the device: build it with the \
         device's architecture in CANDLE_ROCM_ARCHS, or use the layers one by one"
    )
}
