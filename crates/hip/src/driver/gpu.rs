//! What all contexts of a GPU share, for the life of the process.

use super::capture::Captures;
use super::device_memory::Memory;
use super::{result, sys, HipError};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One GPU of the process. It is made with the first context and never dropped: work that was put
/// in by one context is there for the next.
#[derive(Debug)]
pub(super) struct Gpu {
    pub(super) device: sys::hipDevice_t,
    /// Which streams were handed out.
    streams: Mutex<Streams>,
    /// Whether there is more than one of them.
    many: AtomicBool,
    /// Those that are alive, and how many values each has.
    alive: Mutex<BTreeMap<StreamKey, usize>>,
    tracking: AtomicBool,
    /// The handle of the stream that is shared, once it was asked for.
    own: Mutex<Option<usize>>,
    pub(super) contexts: AtomicUsize,
    pub(super) captures: Captures,
    pub(super) memory: Memory,
}

/// A stream, as work and memory know it: the handle, and for the stream of a thread which thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StreamKey {
    device: sys::hipDevice_t,
    handle: usize,
    thread: u64,
}

impl StreamKey {
    /// The stream of a device that a handle means in the calling thread.
    pub(super) fn new(device: sys::hipDevice_t, handle: sys::hipStream_t) -> Self {
        static THREADS: AtomicU64 = AtomicU64::new(1);
        let next = || THREADS.fetch_add(1, Ordering::Relaxed);
        thread_local! {
            static THREAD: u64 = THREADS.fetch_add(1, Ordering::Relaxed);
        }
        let own = handle == sys::hipStreamPerThread;
        Self {
            device,
            handle: handle as usize,
            // A thread that is ending has no number any more, and gets one for each thing it does.
            thread: if own {
                THREAD.try_with(|&number| number).unwrap_or_else(|_| next())
            } else {
                0
            },
        }
    }

    pub(super) fn handle(self) -> sys::hipStream_t {
        self.handle as sys::hipStream_t
    }

    /// Whether it is a stream of a thread: no other can record an event on it.
    pub(super) fn is_of_thread(self) -> bool {
        self.thread != 0
    }
}

/// The streams that were handed out.
#[derive(Debug)]
enum Streams {
    None,
    One(StreamKey),
    /// More than one. Events are recorded from here on; what was put in before is done, or is of a
    /// stream that has to be waited for yet.
    Many {
        unsettled: Option<StreamKey>,
    },
}

impl Gpu {
    /// The GPU with a number, which HIP knows.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::new`].
    pub(super) fn of(device: sys::hipDevice_t) -> Result<&'static Self, HipError> {
        static GPUS: Mutex<Vec<&'static Gpu>> = Mutex::new(Vec::new());
        let mut gpus = lock(&GPUS);
        if let Some(gpu) = gpus.iter().find(|gpu| gpu.device == device) {
            return Ok(gpu);
        }
        let gpu: &'static Self = Box::leak(Box::new(Self {
            device,
            streams: Mutex::new(Streams::None),
            many: AtomicBool::new(false),
            alive: Mutex::new(BTreeMap::new()),
            tracking: AtomicBool::new(true),
            own: Mutex::new(None),
            contexts: AtomicUsize::new(0),
            captures: Captures::default(),
            memory: Memory::new(device)?,
        }));
        gpus.push(gpu);
        Ok(gpu)
    }

    /// Makes the GPU the one of the calling thread.
    pub(super) fn bind(&self) -> Result<(), HipError> {
        if result::device::get_current()? != self.device {
            result::device::set_current(self.device)?;
        }
        Ok(())
    }

    /// The same until what is given is dropped.
    pub(super) fn bound(&self) -> Result<Bound, HipError> {
        let before = result::device::get_current()?;
        if before == self.device {
            return Ok(Bound(None));
        }
        result::device::set_current(self.device)?;
        Ok(Bound(Some(before)))
    }

    /// Waits until all work of the GPU is done.
    pub(super) fn wait(&self) -> Result<(), HipError> {
        let _bound = self.bound()?;
        result::device::synchronize()
    }

    /// The same; beside a capture it is an error, and the capture goes on.
    pub(super) fn wait_beside_none(&self) -> Result<(), HipError> {
        let unsupported = HipError(sys::hipError_t::hipErrorStreamCaptureUnsupported);
        let _quiet = self.captures.quiet().ok_or(unsupported)?;
        self.wait()
    }

    /// Whether more than one stream was handed out, ever.
    pub(super) fn has_many_streams(&self) -> bool {
        self.many.load(Ordering::SeqCst)
    }

    /// Whether uses of memory are put in order. A graph of the only stream may be launched when
    /// there are others.
    pub(super) fn orders(&self) -> bool {
        self.is_tracking() && (self.has_many_streams() || self.captures.are_underway())
    }

    pub(super) fn is_tracking(&self) -> bool {
        self.tracking.load(Ordering::SeqCst)
    }

    pub(super) fn track(&self, tracking: bool) {
        self.tracking.store(tracking, Ordering::SeqCst);
    }

    /// Has to be told of each stream before anybody gets it.
    ///
    /// From the second stream on uses of memory are recorded. What the first was given before that
    /// is waited for here; whoever puts work in meanwhile looks again whether to record it
    /// afterwards.
    pub(super) fn hand_out(&self, stream: StreamKey) -> Result<(), HipError> {
        *lock(&self.alive).entry(stream).or_insert(0) += 1;
        let mut streams = lock(&self.streams);
        let first = match *streams {
            // Threads have streams of their own from the first call on.
            Streams::None if stream.is_of_thread() => None,
            Streams::None => {
                *streams = Streams::One(stream);
                return Ok(());
            }
            Streams::One(first) if first == stream => return Ok(()),
            Streams::One(first) => Some(first),
            Streams::Many { unsettled } => unsettled,
        };
        *streams = Streams::Many { unsettled: first };
        self.many.store(true, Ordering::SeqCst);
        if let Some(first) = first {
            self.settle(first)?;
        }
        *streams = Streams::Many { unsettled: None };
        Ok(())
    }

    /// Waits for what a stream was given, if it is alive: one that ends has been waited for.
    fn settle(&self, stream: StreamKey) -> Result<(), HipError> {
        let alive = lock(&self.alive); // it does not end meanwhile
        if !alive.contains_key(&stream) {
            return Ok(());
        }
        let _bound = self.bound()?;
        self.captures.settle(stream)
    }

    /// Whether a stream was handed out and is alive.
    pub(super) fn knows(&self, stream: StreamKey) -> bool {
        lock(&self.alive).contains_key(&stream)
    }

    /// Has to be told of each stream that ends.
    pub(super) fn forget(&self, stream: StreamKey) {
        let mut alive = lock(&self.alive);
        if let Some(values) = alive.get_mut(&stream) {
            *values -= 1;
            if *values == 0 {
                alive.remove(&stream);
            }
        }
    }

    /// The stream that all who ask for it share.
    pub(super) fn own_stream(&self) -> Result<sys::hipStream_t, HipError> {
        let mut own = lock(&self.own);
        if let Some(handle) = *own {
            return Ok(handle as sys::hipStream_t);
        }
        let _bound = self.bound()?;
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking)?;
        *own = Some(stream as usize);
        Ok(stream)
    }

    /// Lets what `then` is given from now on wait for what `first`, a stream of this GPU that is
    /// not a thread's, has been given so far.
    pub(super) fn order(&self, first: StreamKey, then: StreamKey) -> Result<(), HipError> {
        self.captures
            .unless(first, || self.order_at_once(first, then))
    }

    /// The same for work of which none or all is captured.
    pub(super) fn order_at_once(&self, first: StreamKey, then: StreamKey) -> Result<(), HipError> {
        let event = self.record(first)?;
        event.before(then)
    }

    /// An event behind what a stream has been given so far.
    pub(super) fn record(&self, stream: StreamKey) -> Result<Moment, HipError> {
        let _bound = self.bound()?;
        let flags = sys::hipEventFlags::hipEventDisableTiming;
        let moment = Moment(result::event::create(flags)? as usize);
        // SAFETY: the event was just made, on the device of the stream, which is alive: a stream
        // is forgotten everywhere before it is destroyed.
        unsafe { result::event::record(moment.0 as sys::hipEvent_t, stream.handle()) }?;
        Ok(moment)
    }
}

/// A moment in the work of a stream.
#[derive(Debug)]
pub(super) struct Moment(usize);

impl Moment {
    /// Lets what a stream is given from now on wait for the moment.
    pub(super) fn before(&self, stream: StreamKey) -> Result<(), HipError> {
        // SAFETY: the event is alive, and so is the stream, which its caller is about to use.
        unsafe { result::stream::wait_event(stream.handle(), self.0 as sys::hipEvent_t) }
    }

    /// Whether it has come. An error counts as no: it comes again where it can be told.
    pub(super) fn is_over(&self) -> bool {
        // SAFETY: the event is alive.
        unsafe { result::event::query(self.0 as sys::hipEvent_t) }.is_ok()
    }
}

impl Drop for Moment {
    fn drop(&mut self) {
        // SAFETY: the event is alive and not used again; streams that wait for it go on to do so.
        // There is nobody to tell an error to.
        let _ = unsafe { result::event::destroy(self.0 as sys::hipEvent_t) };
    }
}

/// Makes the device of the calling thread what it was, when it is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct Bound(Option<sys::hipDevice_t>);

impl Drop for Bound {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            // It was the thread's device before. There is nobody to tell an error to.
            let _ = result::device::set_current(before);
        }
    }
}

/// What a lock guards, also where a thread has panicked with it: no value here is ever half
/// changed when something that can panic is called.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
