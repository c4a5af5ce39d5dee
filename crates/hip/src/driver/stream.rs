use super::allocator::SHARED;
use super::capture;
use super::gpu::{Gpu, StreamKey};
use super::kept::{this_thread, Kept};
use super::result::stream::StreamKind;
use super::{result, sys, HipContext, HipError, HipEvent};
use std::any::Any;
use std::sync::Arc;

/// A queue of work on a device.
#[derive(Debug)]
pub struct HipStream(Arc<Queue>);

/// What a stream is made of. Memory that the stream has used keeps it.
#[derive(Debug)]
pub(super) struct Queue {
    stream: sys::hipStream_t,
    context: Arc<HipContext>,
    kind: Kind,
    kept: Kept,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// It is there as long as the process, or as the thread.
    Lasting,
    /// It is destroyed with this value.
    Owned,
    /// Something else destroys it, after this value is dropped.
    Borrowed,
}

// SAFETY: HIP's functions on streams can be called from any thread.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl PartialEq for HipStream {
    fn eq(&self, other: &Self) -> bool {
        self.0.stream == other.0.stream && self.0.context == other.0.context
    }
}

impl Eq for HipStream {}

impl Drop for HipStream {
    /// Ends a capture that nobody can end any more, if the stream is this value's.
    fn drop(&mut self) {
        if self.0.kind == Kind::Owned && self.gpu().captures.began(self.key()) {
            self.give_up_capture();
        }
    }
}

impl Drop for Queue {
    /// Waits for the work of the stream, so that its memory is free for others.
    fn drop(&mut self) {
        if self.kind == Kind::Lasting {
            return;
        }
        let context = &self.context;
        let _bound = context.bound();
        let relaxed = capture::relaxed();
        // SAFETY: the stream is alive.
        let done = relaxed.and_then(|_relaxed| unsafe { result::stream::synchronize(self.stream) });
        // What is kept frees its memory for this stream.
        self.kept.clear();
        self.gpu().forget(self.key());
        if done.is_ok() {
            self.gpu().memory.retire(self.key());
        }
        context.record_err(done);
        if self.kind == Kind::Owned {
            // SAFETY: the stream is alive and not used again.
            context.record_err(unsafe { result::stream::destroy(self.stream) });
        }
    }
}

impl Queue {
    pub(super) fn gpu(&self) -> &'static Gpu {
        self.context.gpu()
    }

    /// The stream that this is in the calling thread.
    fn key(&self) -> StreamKey {
        StreamKey::new(self.gpu().device, self.stream)
    }
}

impl HipContext {
    /// The default stream of the device.
    pub fn default_stream(self: &Arc<Self>) -> Arc<HipStream> {
        self.told(result::stream::null(), Kind::Lasting)
    }

    /// The stream that everyone in the process who asks for it shares: it is made once for each
    /// device, does not wait for the default stream, and can be captured.
    ///
    /// Work of any thread and of any context is in the order in which it was put in, as on the
    /// default stream, so that as long as it is the only stream in use nothing else needs to be
    /// kept in order.
    pub fn shared_stream(self: &Arc<Self>) -> Result<Arc<HipStream>, HipError> {
        self.bind_to_thread()?;
        let stream = self.gpu().own_stream()?;
        self.handed(stream, Kind::Lasting)
    }

    /// The default stream of the device for whichever thread uses it: each thread has another.
    ///
    /// Nothing but the memory that work uses puts the streams of two threads in order, and an event
    /// is recorded with each use: [`shared_stream`](Self::shared_stream) costs less.
    pub fn per_thread_stream(self: &Arc<Self>) -> Arc<HipStream> {
        self.told(sys::hipStreamPerThread, Kind::Lasting)
    }

    /// A stream that something else owns. When the value is dropped it waits for the stream.
    ///
    /// # Safety
    ///
    /// The stream has to be of this device, and alive as long as the value, as memory that it has
    /// used and as a capture that it has joined.
    pub unsafe fn wrap_borrowed_stream(
        self: &Arc<Self>,
        stream: sys::hipStream_t,
    ) -> Arc<HipStream> {
        let lasting = [result::stream::null(), sys::hipStreamPerThread];
        if lasting.contains(&stream) {
            self.told(stream, Kind::Lasting)
        } else {
            self.told(stream, Kind::Borrowed)
        }
    }

    /// Creates a stream that does not wait for the default stream.
    pub fn new_stream(self: &Arc<Self>) -> Result<Arc<HipStream>, HipError> {
        self.owned(|| result::stream::create(StreamKind::NonBlocking))
    }

    /// Creates a stream that waits for the default stream, as that does for it (HIP programming
    /// manual, "Default stream").
    pub fn new_waiting_stream(self: &Arc<Self>) -> Result<Arc<HipStream>, HipError> {
        self.owned(|| result::stream::create(StreamKind::Default))
    }

    /// Creates a stream with a priority; a lower number goes first.
    pub fn new_stream_with_priority(
        self: &Arc<Self>,
        priority: i32,
    ) -> Result<Arc<HipStream>, HipError> {
        self.owned(|| result::stream::create_with_priority(StreamKind::NonBlocking, priority))
    }

    /// A stream that the device is told of, where an error can only be told later.
    fn told(self: &Arc<Self>, stream: sys::hipStream_t, kind: Kind) -> Arc<HipStream> {
        let made = self.stream(stream, kind);
        self.record_err(self.gpu().hand_out(made.key()));
        made
    }

    fn owned(
        self: &Arc<Self>,
        create: impl FnOnce() -> Result<sys::hipStream_t, HipError>,
    ) -> Result<Arc<HipStream>, HipError> {
        self.bind_to_thread()?;
        self.handed(create()?, Kind::Owned)
    }

    fn handed(
        self: &Arc<Self>,
        stream: sys::hipStream_t,
        kind: Kind,
    ) -> Result<Arc<HipStream>, HipError> {
        let made = self.stream(stream, kind);
        self.gpu().hand_out(made.key())?;
        Ok(made)
    }

    fn stream(self: &Arc<Self>, stream: sys::hipStream_t, kind: Kind) -> Arc<HipStream> {
        Arc::new(HipStream(Arc::new(Queue {
            stream,
            context: self.clone(),
            kind,
            kept: Kept::default(),
        })))
    }
}

impl HipStream {
    /// Creates a stream that first waits for the work that this one has now.
    pub fn fork(&self) -> Result<Arc<Self>, HipError> {
        let stream = self.context().new_stream()?;
        stream.join(self)?;
        Ok(stream)
    }

    /// What a library keeps for the stream, which is made if there is none; on the stream of a thread
    /// each thread has its own. It is dropped before the stream is destroyed, and must not keep it.
    pub fn kept<T: Any + Send + Sync, E>(
        &self,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let thread = self.is_of_thread().then(this_thread);
        self.0.kept.get(&thread.unwrap_or_default(), make)
    }

    pub(super) fn queue(&self) -> &Arc<Queue> {
        &self.0
    }

    pub(super) fn gpu(&self) -> &'static Gpu {
        self.0.gpu()
    }

    /// Whether each thread means another stream.
    pub(crate) fn is_of_thread(&self) -> bool {
        self.key().is_of_thread()
    }

    pub(crate) fn is_captured(&self) -> bool {
        self.gpu().captures.pool(self.key()) != SHARED
    }

    /// Whether any stream of any device is captured.
    pub(crate) fn captures_are_underway(&self) -> bool {
        capture::any_underway()
    }

    /// The stream that this is in the calling thread.
    pub(super) fn key(&self) -> StreamKey {
        self.0.key()
    }

    /// The handle. It must not be destroyed.
    pub fn hip_stream(&self) -> sys::hipStream_t {
        self.0.stream
    }

    /// The device of the stream.
    pub fn context(&self) -> &Arc<HipContext> {
        &self.0.context
    }

    /// Waits until all work of the stream is done.
    pub fn synchronize(&self) -> Result<(), HipError> {
        self.context().bind_to_thread()?;
        let _relaxed = capture::relaxed()?;
        // SAFETY: the stream is alive.
        unsafe { result::stream::synchronize(self.0.stream) }?;
        self.context().check_err()
    }

    /// Creates an event behind the work that the stream has now.
    pub fn record_event(&self, flags: Option<sys::hipEventFlags>) -> Result<HipEvent, HipError> {
        let event = self.context().new_event(flags)?;
        event.record(self)?;
        Ok(event)
    }

    /// Makes work that is put into the stream from now on wait for an event.
    pub fn wait(&self, event: &HipEvent) -> Result<(), HipError> {
        self.context().bind_to_thread()?;
        if let Some(pool) = event.captured() {
            self.gpu().captures.join(pool, self)?;
        }
        // SAFETY: both are alive.
        unsafe { result::stream::wait_event(self.0.stream, event.hip_event()) }
    }

    /// Makes work that is put into the stream from now on wait for the work that another has now.
    pub fn join(&self, other: &HipStream) -> Result<(), HipError> {
        self.wait(&other.record_event(None)?)
    }

    /// Begins to capture the stream into a graph. Streams that wait for an event of a captured
    /// stream are captured as well.
    ///
    /// What the graph does is ordered with other work that uses the same memory when it is launched.
    /// Memory that is allocated while the stream is captured is not used by other work as long as
    /// the graph is there. What is captured by other means than this function, such as through
    /// [`sys`], has neither.
    pub fn begin_capture(&self, mode: sys::hipStreamCaptureMode) -> Result<(), HipError> {
        self.context().bind_to_thread()?;
        self.gpu().captures.begin(self.key(), || {
            // SAFETY: the stream is alive.
            unsafe { result::stream::begin_capture(self.0.stream, mode) }
        })
    }

    /// Whether the stream is being captured.
    pub fn capture_status(&self) -> Result<sys::hipStreamCaptureStatus, HipError> {
        self.context().bind_to_thread()?;
        // SAFETY: the stream is alive.
        unsafe { result::stream::is_capturing(self.0.stream) }
    }
}
