//! Streams.

use super::HipError;
use crate::driver::sys::{self, hipEvent_t, hipStreamFlags, hipStream_t};
use std::ffi::{c_int, c_void};

/// Whether a stream waits for the default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// The stream and the default stream wait for each other.
    Default,
    /// They do not.
    NonBlocking,
}

impl StreamKind {
    fn flags(self) -> hipStreamFlags {
        match self {
            Self::Default => hipStreamFlags::hipStreamDefault,
            Self::NonBlocking => hipStreamFlags::hipStreamNonBlocking,
        }
    }
}

/// The default stream.
pub fn null() -> hipStream_t {
    std::ptr::null_mut()
}

/// Creates a stream on the calling thread's device.
pub fn create(kind: StreamKind) -> Result<hipStream_t, HipError> {
    let mut stream = null();
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::hipStreamCreateWithFlags(&mut stream, kind.flags()) }.result()?;
    Ok(stream)
}

/// Creates a stream with a priority on the calling thread's device; a lower number goes first.
pub fn create_with_priority(kind: StreamKind, priority: c_int) -> Result<hipStream_t, HipError> {
    let mut stream = null();
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::hipStreamCreateWithPriority(&mut stream, kind.flags(), priority) }.result()?;
    Ok(stream)
}

/// The numbers of the lowest and of the highest priority.
pub fn get_priority_range() -> Result<(i32, i32), HipError> {
    let (mut least, mut greatest) = (0, 0);
    // SAFETY: the pointers are valid for a write.
    unsafe { sys::hipDeviceGetStreamPriorityRange(&mut least, &mut greatest) }.result()?;
    Ok((least, greatest))
}

/// Waits until all work of a stream is done.
///
/// # Safety
///
/// The stream has to be alive.
pub unsafe fn synchronize(stream: hipStream_t) -> Result<(), HipError> {
    sys::hipStreamSynchronize(stream).result()
}

/// Destroys a stream.
///
/// # Safety
///
/// The stream has to be alive, and is not afterwards.
pub unsafe fn destroy(stream: hipStream_t) -> Result<(), HipError> {
    sys::hipStreamDestroy(stream).result()
}

/// Makes a stream wait for an event.
///
/// # Safety
///
/// Both have to be alive.
pub unsafe fn wait_event(stream: hipStream_t, event: hipEvent_t) -> Result<(), HipError> {
    sys::hipStreamWaitEvent(stream, event, 0).result()
}

/// Puts a call of a host function into a stream.
///
/// # Safety
///
/// The stream has to be alive, and the data valid when the function is called. The function must
/// not call HIP.
pub unsafe fn launch_host_function(
    stream: hipStream_t,
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
) -> Result<(), HipError> {
    sys::hipLaunchHostFunc(stream, function, data).result()
}

/// Begins to capture a stream into a graph.
///
/// # Safety
///
/// The stream has to be alive.
pub unsafe fn begin_capture(
    stream: hipStream_t,
    mode: sys::hipStreamCaptureMode,
) -> Result<(), HipError> {
    sys::hipStreamBeginCapture(stream, mode).result()
}

/// Ends the capture of a stream; null if the capture was invalidated.
///
/// # Safety
///
/// The stream has to be alive.
pub unsafe fn end_capture(stream: hipStream_t) -> Result<sys::hipGraph_t, HipError> {
    let mut graph = std::ptr::null_mut();
    sys::hipStreamEndCapture(stream, &mut graph).result()?;
    Ok(graph)
}

/// Whether a stream is being captured.
///
/// # Safety
///
/// The stream has to be alive.
pub unsafe fn is_capturing(stream: hipStream_t) -> Result<sys::hipStreamCaptureStatus, HipError> {
    let mut status = sys::hipStreamCaptureStatus::hipStreamCaptureStatusNone;
    sys::hipStreamIsCapturing(stream, &mut status).result()?;
    Ok(status)
}

/// Sets what captures forbid the calling thread; gives what they did before.
pub fn exchange_capture_mode(
    mode: sys::hipStreamCaptureMode,
) -> Result<sys::hipStreamCaptureMode, HipError> {
    let mut mode = mode;
    // SAFETY: the pointer is valid for a read and a write.
    unsafe { sys::hipThreadExchangeStreamCaptureMode(&mut mode) }.result()?;
    Ok(mode)
}
