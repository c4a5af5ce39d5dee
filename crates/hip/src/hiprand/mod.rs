//! Random numbers on a stream, with hipRAND.

pub mod result;
mod rng;
pub mod sys;

pub use rng::HipRng;

/// The type that owns its handle.
pub mod safe {
    pub use super::HipRng;
}
