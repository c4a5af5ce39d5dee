use super::allocator::{Pool, SHARED};
use super::{capture, result, sys, HipContext, HipError, HipStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// A point in the work of a stream that can be waited for.
#[derive(Debug)]
pub struct HipEvent {
    event: sys::hipEvent_t,
    context: Arc<HipContext>,
    /// The capture that it was recorded in last.
    capture: AtomicU64,
}

// SAFETY: HIP's functions on events can be called from any thread.
unsafe impl Send for HipEvent {}
// SAFETY: as above.
unsafe impl Sync for HipEvent {}

impl Drop for HipEvent {
    fn drop(&mut self) {
        let _bound = self.context.bound();
        // SAFETY: the event is alive and not used again.
        self.context
            .record_err(unsafe { result::event::destroy(self.event) });
    }
}

impl HipContext {
    /// Creates an event, by default one without a time.
    pub fn new_event(
        self: &Arc<Self>,
        flags: Option<sys::hipEventFlags>,
    ) -> Result<HipEvent, HipError> {
        self.bind_to_thread()?;
        let flags = flags.unwrap_or(sys::hipEventFlags::hipEventDisableTiming);
        Ok(HipEvent {
            event: result::event::create(flags)?,
            context: self.clone(),
            capture: AtomicU64::new(SHARED),
        })
    }
}

impl HipEvent {
    /// The handle. It must not be destroyed.
    pub fn hip_event(&self) -> sys::hipEvent_t {
        self.event
    }

    /// The device of the event.
    pub fn context(&self) -> &Arc<HipContext> {
        &self.context
    }

    /// Puts the event behind the work that the stream has now.
    ///
    /// # Errors
    ///
    /// [`hipErrorInvalidContext`](sys::hipError_t::hipErrorInvalidContext) for a stream of another
    /// device.
    pub fn record(&self, stream: &HipStream) -> Result<(), HipError> {
        self.check_device(stream.context())?;
        self.context.bind_to_thread()?;
        // SAFETY: both are alive and of one device.
        unsafe { result::event::record(self.event, stream.hip_stream()) }?;
        let pool = stream.gpu().captures.pool(stream.key());
        self.capture.store(pool, Ordering::SeqCst);
        Ok(())
    }

    /// The capture that it was recorded in last, if it was in one.
    pub(super) fn captured(&self) -> Option<Pool> {
        Some(self.capture.load(Ordering::SeqCst)).filter(|&pool| pool != SHARED)
    }

    /// Waits until the event has been reached.
    pub fn synchronize(&self) -> Result<(), HipError> {
        self.context.bind_to_thread()?;
        let _relaxed = capture::relaxed()?;
        // SAFETY: the event is alive.
        unsafe { result::event::synchronize(self.event) }
    }

    /// Waits for both events, and gives the milliseconds from this to `end`. Both have to have
    /// been created with a time.
    pub fn elapsed_ms(&self, end: &Self) -> Result<f32, HipError> {
        self.check_device(&end.context)?;
        self.synchronize()?;
        end.synchronize()?;
        // SAFETY: both are alive.
        unsafe { result::event::elapsed(self.event, end.event) }
    }

    /// Whether the event has been reached; false if that cannot be found out.
    pub fn is_complete(&self) -> bool {
        self.try_is_complete().unwrap_or(false)
    }

    /// Whether the event has been reached.
    pub fn try_is_complete(&self) -> Result<bool, HipError> {
        let _relaxed = capture::relaxed()?;
        // SAFETY: the event is alive.
        match unsafe { result::event::query(self.event) } {
            Ok(()) => Ok(true),
            Err(HipError(sys::hipError_t::hipErrorNotReady)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn check_device(&self, other: &Arc<HipContext>) -> Result<(), HipError> {
        if self.context != *other {
            return Err(HipError(sys::hipError_t::hipErrorInvalidContext));
        }
        Ok(())
    }
}
