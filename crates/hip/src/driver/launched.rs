//! What launchers met that give back nothing.

use super::{sys::hipError_t, HipError};
use std::cell::Cell;

thread_local! {
    /// The first failure of the thread that nobody was told of.
    static FAILURE: Cell<hipError_t> = const { Cell::new(hipError_t::hipSuccess) };
}

/// Keeps what a function met that launches kernels by itself and cannot give an error, such as one
/// with `<<<>>>` in a linked library, for the next call of this thread that can: for
/// [`HipContext::check_err`](super::HipContext::check_err), with which every operation begins. Of
/// several failures it is the first. Success changes nothing.
pub fn record_launch(status: hipError_t) {
    FAILURE.with(|failure| {
        if failure.get() == hipError_t::hipSuccess {
            failure.set(status);
        }
    });
}

/// Gives and forgets it.
pub(super) fn take() -> Result<(), HipError> {
    FAILURE
        .with(|failure| failure.replace(hipError_t::hipSuccess))
        .result()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_is_told_once_and_to_its_thread() {
        for status in [
            hipError_t::hipSuccess,
            hipError_t::hipErrorOutOfMemory,
            hipError_t::hipSuccess,
            hipError_t::hipErrorInvalidValue,
        ] {
            record_launch(status);
        }
        assert_eq!(std::thread::spawn(take).join().unwrap(), Ok(()));
        assert_eq!(take(), Err(HipError(hipError_t::hipErrorOutOfMemory)));
        assert_eq!(take(), Ok(()));
    }
}
