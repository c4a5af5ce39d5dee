func: candle_hip::driver::HipFunction,
#[cfg(feature = "rocm")]
launch: Option<candle_hip::driver::LaunchConfig>
