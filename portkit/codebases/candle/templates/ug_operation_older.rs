func: candle_hip::older::driver::HipFunction,
#[cfg(feature = "rocm")]
launch: Option<candle_hip::driver::LaunchConfig>
