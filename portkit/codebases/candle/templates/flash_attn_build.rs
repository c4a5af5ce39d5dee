//! CUDA's kernels are compiled where CUDA is asked for; ROCm's are those of candle-core.

#[cfg(feature = "cuda")]
include!("build.rs");

#[cfg(not(feature = "cuda"))]
fn main() {}
