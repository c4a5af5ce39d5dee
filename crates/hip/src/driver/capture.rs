//! The captures of a GPU's streams that are underway.
//!
//! What a stream does while it is captured is not done then, but with each launch of the graph. So
//! an order between it and other work is not made while it is captured, where HIP would refuse to
//! wait for what is not in the capture, but with each launch; and its memory is kept from other
//! work as long as the graph may be launched. What it did before has been waited for when it comes
//! to be captured, since HIP lets nobody wait for that meanwhile (`hipErrorStreamCaptureIsolation`
//! in `hipStreamWaitEvent_common`, `hipamd/src/hip_stream.cpp`).

use super::allocator::{Address, Pool, SHARED};
use super::gpu::{lock, Gpu, StreamKey};
use super::stream::Queue;
use super::uses::Uses;
use super::{result, sys, HipError, HipStream};
use std::any::Any;
use std::collections::HashMap;
use std::mem::{size_of, size_of_val};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// What a graph reads, and so has to have as long as it may be launched.
pub(super) type Read = Arc<dyn Any + Send + Sync>;

/// How many captures there are of all GPUs: what HIP forbids beside one it forbids everywhere.
static UNDERWAY: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug, Default)]
pub(super) struct Captures {
    /// How many there are, so that nobody else has to look.
    count: AtomicUsize,
    last: AtomicU64,
    /// Held while one begins, and while none may.
    beginning: Mutex<()>,
    underway: Mutex<Vec<Capture>>,
}

/// One capture.
#[derive(Debug)]
struct Capture {
    pool: Pool,
    /// The streams in it, first the one that it began on.
    members: Vec<StreamKey>,
    /// Keeps the streams that joined it alive: HIP may give the handle of a stream that has ended to
    /// a new one, which would count as captured.
    joined: Vec<Arc<Queue>>,
    /// By address: memory that is used, and the streams whose uses no other has waited for.
    uses: HashMap<usize, (Uses, Vec<StreamKey>)>,
    held: Vec<(Address, Uses)>,
    read: Vec<Read>,
    /// Those of graphs that were dropped meanwhile.
    pools: Vec<Pool>,
}

/// While it is there, no capture of the GPU begins.
pub(super) type Quiet<'a> = MutexGuard<'a, ()>;

/// Whether there is a capture on any GPU.
pub(super) fn any_underway() -> bool {
    UNDERWAY.load(Ordering::SeqCst) > 0
}

/// Lets the calling thread allocate and free memory and wait for streams that are none of a
/// capture's business until what is given is dropped, also beside one that begins meanwhile.
///
/// Else HIP refuses that in each thread, and newer ones end the capture as well
/// (`CHECK_STREAM_CAPTURE_SUPPORTED` in `hipamd/src/hip_internal.hpp`, `StreamCaptureOngoing` in
/// `hip_stream.cpp`).
pub(super) fn relaxed() -> Result<Relaxed, HipError> {
    let mode = sys::hipStreamCaptureMode::hipStreamCaptureModeRelaxed;
    result::stream::exchange_capture_mode(mode).map(Relaxed)
}

/// Lets the calling thread do what captures forbid, until it is dropped.
pub(crate) struct Relaxed(sys::hipStreamCaptureMode);

impl Drop for Relaxed {
    fn drop(&mut self) {
        // The mode was the thread's before. There is nobody to tell an error to.
        let _ = result::stream::exchange_capture_mode(self.0);
    }
}

/// What a graph works on.
#[derive(Debug)]
pub(super) struct Captured {
    /// Where memory comes from that was allocated for it.
    pub(super) pools: Vec<Pool>,
    /// The memory that it uses.
    pub(super) uses: Vec<Uses>,
    /// Memory that was given up while it was captured.
    pub(super) held: Vec<(Address, Uses)>,
    /// What it reads besides.
    pub(super) read: Vec<Read>,
}

impl Captures {
    /// Whether there is any.
    pub(super) fn are_underway(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }

    /// The pool of the capture that a stream is in, else the one of all other work.
    pub(super) fn pool(&self, stream: StreamKey) -> Pool {
        self.of(stream, |capture| capture.pool).unwrap_or(SHARED)
    }

    /// Begins a capture, which `begin` does.
    pub(super) fn begin(
        &self,
        stream: StreamKey,
        begin: impl FnOnce() -> Result<(), HipError>,
    ) -> Result<(), HipError> {
        // Most of the wait keeps nobody from anything.
        self.settle(stream)?;
        let _beginning = lock(&self.beginning);
        let mut underway = lock(&self.underway);
        if !underway.iter().any(|capture| capture.has(stream)) {
            wait(stream)?;
        }
        UNDERWAY.fetch_add(1, Ordering::SeqCst);
        begin().inspect_err(|_| {
            UNDERWAY.fetch_sub(1, Ordering::SeqCst);
        })?;
        underway.push(Capture {
            pool: self.last.fetch_add(1, Ordering::Relaxed) + 1,
            members: vec![stream],
            joined: Vec::new(),
            uses: HashMap::new(),
            held: Vec::new(),
            read: Vec::new(),
            pools: Vec::new(),
        });
        self.count.store(underway.len(), Ordering::SeqCst);
        Ok(())
    }

    /// Has to be told before a stream waits for an event of a capture, which it joins by that.
    pub(super) fn join(&self, pool: Pool, stream: &HipStream) -> Result<(), HipError> {
        let key = stream.key();
        if self.has(key) {
            return Ok(());
        }
        wait(key)?;
        let mut underway = lock(&self.underway);
        if let Some(capture) = underway.iter_mut().find(|capture| capture.pool == pool) {
            capture.members.push(key);
            capture.joined.push(stream.queue().clone());
        }
        Ok(())
    }

    /// Whether a stream is captured. Then what it was given before has been waited for.
    pub(super) fn has(&self, stream: StreamKey) -> bool {
        self.of(stream, |_| ()).is_some()
    }

    /// Whether a capture began on a stream, and is not over.
    pub(super) fn began(&self, stream: StreamKey) -> bool {
        let began = |capture: &mut Capture| capture.members[0] == stream;
        self.of(stream, began).unwrap_or(false)
    }

    /// Waits for a stream, unless it is captured.
    pub(super) fn settle(&self, stream: StreamKey) -> Result<(), HipError> {
        if self.has(stream) {
            return Ok(());
        }
        wait(stream)
    }

    /// Orders work behind what a stream was given, unless that is captured: then it has been waited
    /// for. It does not come to be captured meanwhile, or what orders would be part of the capture.
    pub(super) fn unless(
        &self,
        stream: StreamKey,
        order: impl FnOnce() -> Result<(), HipError>,
    ) -> Result<(), HipError> {
        let underway = lock(&self.underway);
        if underway.iter().any(|capture| capture.has(stream)) {
            return Ok(());
        }
        order()
    }

    /// What keeps captures of this GPU from beginning as long as it is there, for what none may be
    /// beside; `None` where there is one. Of another GPU none is there either, but one may begin:
    /// to keep it from that could be to wait for oneself, where GPUs wait for each other.
    pub(super) fn quiet(&self) -> Option<Quiet<'_>> {
        let beginning = lock(&self.beginning);
        (!any_underway()).then_some(beginning)
    }

    /// Ends the capture that began on a stream.
    pub(super) fn end(&self, stream: StreamKey) -> Option<Captured> {
        let mut underway = lock(&self.underway);
        let of = |capture: &Capture| capture.members[0] == stream;
        let mut capture = underway.iter().position(of).map(|at| underway.remove(at))?;
        self.count.store(underway.len(), Ordering::SeqCst);
        UNDERWAY.fetch_sub(1, Ordering::SeqCst);
        // Streams may end here, which must not be while the captures are locked.
        drop(underway);
        drop(capture.joined);
        capture.pools.push(capture.pool);
        Some(Captured {
            pools: capture.pools,
            uses: capture.uses.into_values().map(|(uses, _)| uses).collect(),
            held: capture.held,
            read: capture.read,
        })
    }

    /// Lets a captured stream wait for uses of memory that are captured as well; `None` for a
    /// stream that is not.
    pub(super) fn begin_uses(
        &self,
        gpu: &Gpu,
        uses: &[&Uses],
        stream: StreamKey,
    ) -> Option<Result<(), HipError>> {
        self.of(stream, |capture| {
            for used in uses {
                let users = capture.users(used);
                for &other in users.iter().filter(|&&other| other != stream) {
                    gpu.order_at_once(other, stream)?;
                }
                *users = vec![stream];
            }
            Ok(())
        })
    }

    /// Records uses by a captured stream; false for one that is not.
    pub(super) fn end_uses(&self, uses: &[&Uses], stream: StreamKey) -> bool {
        let recorded = self.of(stream, |capture| {
            for used in uses {
                let users = capture.users(used);
                if !users.contains(&stream) {
                    users.push(stream);
                }
            }
        });
        recorded.is_some()
    }

    /// Keeps memory that a captured stream gives up, unless it was allocated for the capture, until
    /// the graph is gone; false for another stream.
    pub(super) fn hold(&self, gpu: &Gpu, stream: StreamKey, address: Address, uses: &Uses) -> bool {
        if !self.are_underway() {
            return false;
        }
        // Asked for before the captures are locked: the allocator may be waiting for them.
        let from = gpu.memory.pool(address);
        self.of(stream, |capture| {
            let kept = from != Some(capture.pool);
            if kept {
                capture.held.push((address, uses.clone()));
            }
            kept
        })
        .unwrap_or(false)
    }

    /// Copies values of the host that a captured stream is to copy; `None` for another stream. The
    /// graph does so with each launch, when they may be gone.
    pub(super) fn copied<T>(&self, stream: StreamKey, values: &[T]) -> Option<*const T> {
        self.of(stream, |capture| {
            let len = size_of_val(values);
            let mut copy = vec![0u128; len.div_ceil(size_of::<u128>())];
            // SAFETY: there is room for the bytes.
            unsafe {
                copy.as_mut_ptr()
                    .cast::<u8>()
                    .copy_from(values.as_ptr().cast(), len)
            };
            let at = copy.as_ptr().cast();
            capture.read.push(Arc::new(copy));
            at
        })
    }

    /// Keeps what the capture that began on a stream reads until the graph is gone; false where
    /// none did.
    pub(super) fn reads(&self, stream: StreamKey, read: Read) -> bool {
        self.of(stream, |capture| {
            let began = capture.members[0] == stream;
            if began {
                capture.read.push(read);
            }
            began
        })
        .unwrap_or(false)
    }

    /// Keeps the memory of a graph of a stream that is captured, and so cannot be waited for, until
    /// the new graph is gone; gives it back for another stream.
    pub(super) fn adopt(&self, stream: StreamKey, captured: Captured) -> Option<Captured> {
        let mut captured = Some(captured);
        let mut uses = Vec::new();
        self.of(stream, |capture| {
            if let Some(captured) = captured.take() {
                capture.pools.extend(captured.pools);
                capture.held.extend(captured.held);
                capture.read.extend(captured.read);
                uses = captured.uses;
            }
        });
        // Streams may end with them, which must not be while the captures are locked.
        drop(uses);
        captured
    }

    fn of<T>(&self, stream: StreamKey, body: impl FnOnce(&mut Capture) -> T) -> Option<T> {
        if !self.are_underway() {
            return None;
        }
        let mut underway = lock(&self.underway);
        let capture = underway.iter_mut().find(|capture| capture.has(stream))?;
        Some(body(capture))
    }
}

/// Waits for a stream that is not captured.
fn wait(stream: StreamKey) -> Result<(), HipError> {
    let _relaxed = relaxed()?;
    // SAFETY: the stream is one that its caller has, so it is alive.
    unsafe { result::stream::synchronize(stream.handle()) }
}

impl Capture {
    fn has(&self, stream: StreamKey) -> bool {
        self.members.contains(&stream)
    }

    fn users(&mut self, uses: &Uses) -> &mut Vec<StreamKey> {
        let key = uses.number();
        &mut self
            .uses
            .entry(key)
            .or_insert_with(|| (uses.clone(), Vec::new()))
            .1
    }
}
