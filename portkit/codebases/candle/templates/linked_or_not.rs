let dev = qstorage.device();
if !candle_rocm_kernels::launchers_run_on(dev.rocm_stream().context()) {
    return Ok(None);
}
