//! Events.

use super::HipError;
use crate::driver::sys::{self, hipEvent_t, hipStream_t};

/// Creates an event on the calling thread's device.
pub fn create(flags: sys::hipEventFlags) -> Result<hipEvent_t, HipError> {
    let mut event = std::ptr::null_mut();
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::hipEventCreateWithFlags(&mut event, flags) }.result()?;
    Ok(event)
}

/// Puts an event into a stream.
///
/// # Safety
///
/// Both have to be alive and of one device.
pub unsafe fn record(event: hipEvent_t, stream: hipStream_t) -> Result<(), HipError> {
    sys::hipEventRecord(event, stream).result()
}

/// The milliseconds between two events.
///
/// # Safety
///
/// Both have to be alive.
pub unsafe fn elapsed(start: hipEvent_t, end: hipEvent_t) -> Result<f32, HipError> {
    let mut ms = 0.;
    sys::hipEventElapsedTime(&mut ms, start, end).result()?;
    Ok(ms)
}

/// `Ok` when an event has been reached, else the error
/// [`hipErrorNotReady`](sys::hipError_t::hipErrorNotReady).
///
/// # Safety
///
/// The event has to be alive.
pub unsafe fn query(event: hipEvent_t) -> Result<(), HipError> {
    sys::hipEventQuery(event).result()
}

/// Waits until an event has been reached.
///
/// # Safety
///
/// The event has to be alive.
pub unsafe fn synchronize(event: hipEvent_t) -> Result<(), HipError> {
    sys::hipEventSynchronize(event).result()
}

/// Destroys an event.
///
/// # Safety
///
/// The event has to be alive, and is not afterwards.
pub unsafe fn destroy(event: hipEvent_t) -> Result<(), HipError> {
    sys::hipEventDestroy(event).result()
}
