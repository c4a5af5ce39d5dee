use super::result::stream::StreamKind;
use super::{result, sys, HipContext, HipError, HipEvent};
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// A queue of work on a device.
#[derive(Debug)]
pub struct HipStream {
    stream: sys::hipStream_t,
    context: Arc<HipContext>,
    owned: bool,
}

// SAFETY: HIP's functions on streams can be called from any thread.
unsafe impl Send for HipStream {}
// SAFETY: as above.
unsafe impl Sync for HipStream {}

impl PartialEq for HipStream {
    fn eq(&self, other: &Self) -> bool {
        self.stream == other.stream && self.context == other.context
    }
}

impl Eq for HipStream {}

impl Drop for HipStream {
    fn drop(&mut self) {
        if self.owned {
            self.context.record_err(self.context.bind_to_thread());
            self.context.num_streams.fetch_sub(1, Ordering::Relaxed);
            // SAFETY: the stream is alive and not used again.
            self.context
                .record_err(unsafe { result::stream::destroy(self.stream) });
        }
    }
}

impl HipContext {
    /// The default stream of the device.
    pub fn default_stream(self: &Arc<Self>) -> Arc<HipStream> {
        self.borrowed(result::stream::null())
    }

    /// The default stream of the device for whichever thread uses it.
    pub fn per_thread_stream(self: &Arc<Self>) -> Arc<HipStream> {
        self.borrowed(sys::hipStreamPerThread)
    }

    /// A stream that something else owns.
    ///
    /// # Safety
    ///
    /// The stream has to be of this device, and alive as long as the value.
    pub unsafe fn wrap_borrowed_stream(
        self: &Arc<Self>,
        stream: sys::hipStream_t,
    ) -> Arc<HipStream> {
        self.borrowed(stream)
    }

    /// Creates a stream that does not wait for the default stream.
    pub fn new_stream(self: &Arc<Self>) -> Result<Arc<HipStream>, HipError> {
        self.owned(|| result::stream::create(StreamKind::NonBlocking))
    }

    /// Creates a stream with a priority; a lower number goes first.
    pub fn new_stream_with_priority(
        self: &Arc<Self>,
        priority: i32,
    ) -> Result<Arc<HipStream>, HipError> {
        self.owned(|| result::stream::create_with_priority(StreamKind::NonBlocking, priority))
    }

    fn borrowed(self: &Arc<Self>, stream: sys::hipStream_t) -> Arc<HipStream> {
        Arc::new(HipStream {
            stream,
            context: self.clone(),
            owned: false,
        })
    }

    fn owned(
        self: &Arc<Self>,
        create: impl FnOnce() -> Result<sys::hipStream_t, HipError>,
    ) -> Result<Arc<HipStream>, HipError> {
        self.bind_to_thread()?;
        if !self.is_in_multi_stream_mode() && self.is_event_tracking() {
            // What the default stream did so far is in no event.
            self.synchronize()?;
        }
        let stream = create()?;
        self.num_streams.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(HipStream {
            stream,
            context: self.clone(),
            owned: true,
        }))
    }
}

impl HipStream {
    /// Creates a stream that first waits for the work that this one has now.
    pub fn fork(&self) -> Result<Arc<Self>, HipError> {
        self.context.bind_to_thread()?;
        let stream = result::stream::create(StreamKind::NonBlocking)?;
        self.context.num_streams.fetch_add(1, Ordering::Relaxed);
        let stream = Arc::new(Self {
            stream,
            context: self.context.clone(),
            owned: true,
        });
        stream.join(self)?;
        Ok(stream)
    }

    /// The handle. It must not be destroyed.
    pub fn hip_stream(&self) -> sys::hipStream_t {
        self.stream
    }

    /// The device of the stream.
    pub fn context(&self) -> &Arc<HipContext> {
        &self.context
    }

    /// Waits until all work of the stream is done.
    pub fn synchronize(&self) -> Result<(), HipError> {
        self.context.bind_to_thread()?;
        // SAFETY: the stream is alive.
        unsafe { result::stream::synchronize(self.stream) }
    }

    /// Creates an event behind the work that the stream has now.
    pub fn record_event(&self, flags: Option<sys::hipEventFlags>) -> Result<HipEvent, HipError> {
        let event = self.context.new_event(flags)?;
        event.record(self)?;
        Ok(event)
    }

    /// Makes work that is put into the stream from now on wait for an event.
    pub fn wait(&self, event: &HipEvent) -> Result<(), HipError> {
        self.context.bind_to_thread()?;
        // SAFETY: both are alive.
        unsafe { result::stream::wait_event(self.stream, event.hip_event()) }
    }

    /// Makes work that is put into the stream from now on wait for the work that another has now.
    pub fn join(&self, other: &HipStream) -> Result<(), HipError> {
        self.wait(&other.record_event(None)?)
    }

    /// Begins to capture the stream into a graph.
    pub fn begin_capture(&self, mode: sys::hipStreamCaptureMode) -> Result<(), HipError> {
        self.context.bind_to_thread()?;
        // SAFETY: the stream is alive.
        unsafe { result::stream::begin_capture(self.stream, mode) }
    }

    /// Whether the stream is being captured.
    pub fn capture_status(&self) -> Result<sys::hipStreamCaptureStatus, HipError> {
        self.context.bind_to_thread()?;
        // SAFETY: the stream is alive.
        unsafe { result::stream::is_capturing(self.stream) }
    }
}
