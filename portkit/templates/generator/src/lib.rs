//! HIP sources for the kernels of `ug`.

pub mod code_gen;
mod launch;

pub use launch::launch_in_place;
pub use ug;
