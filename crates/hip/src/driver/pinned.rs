use super::gpu::{lock, StreamKey};
use super::{capture, result, sys, DeviceRepr, HipContext, HipError, HipEvent, HipStream};
use super::{HostSlice, SyncOnDrop, ValidAsZeroBits};
use std::sync::{Arc, Mutex};

/// Page-locked memory of the host, from and to which copies are faster and run beside the host.
#[derive(Debug)]
pub struct PinnedHostSlice<T> {
    pointer: *mut T,
    len: usize,
    context: Arc<HipContext>,
    uses: HostUses,
}

/// The uses of memory of the host by streams: an event for each stream that has used it, recorded
/// with each use, since the host waits for them as well. A use that is captured is none: the host
/// has to wait for the stream that the graph is launched on.
#[derive(Debug, Default)]
pub(super) struct HostUses(Mutex<Vec<(StreamKey, HipEvent)>>);

impl HostUses {
    /// Lets a stream wait for the uses by others.
    pub(super) fn begin(&self, stream: &HipStream) -> Result<(), HipError> {
        let key = stream.key();
        if stream.is_captured() {
            return Ok(());
        }
        let uses = lock(&self.0);
        stream.context().bind_to_thread()?;
        let mut others = uses.iter().filter(|(by, _)| *by != key);
        others.try_for_each(|(by, event)| {
            // SAFETY: both are alive.
            event.context().gpu().captures.unless(*by, || unsafe {
                result::stream::wait_event(stream.hip_stream(), event.hip_event())
            })
        })
    }

    /// Records a use, after the work was put in.
    pub(super) fn end(&self, stream: &HipStream) -> Result<(), HipError> {
        let key = stream.key();
        if stream.is_captured() {
            return Ok(());
        }
        let mut uses = lock(&self.0);
        if let Some((_, event)) = uses.iter().find(|(by, _)| *by == key) {
            return event.record(stream);
        }
        let blocking = sys::hipEventFlags(
            sys::hipEventFlags::hipEventBlockingSync.0
                | sys::hipEventFlags::hipEventDisableTiming.0,
        );
        uses.push((key, stream.record_event(Some(blocking))?));
        Ok(())
    }

    /// Waits for all uses.
    fn wait(&self) -> Result<(), HipError> {
        let uses = lock(&self.0);
        let mut underway = uses.iter().filter(|(by, event)| !is_captured(*by, event));
        underway.try_for_each(|(_, event)| event.synchronize())
    }
}

/// Whether the stream of a use is captured by now. Then the use is over, and to ask its event would
/// end the capture (`hipEventSynchronize` in `hipamd/src/hip_event.cpp`).
fn is_captured(by: StreamKey, event: &HipEvent) -> bool {
    event.context().gpu().captures.has(by)
}

// SAFETY: the memory is owned; other threads see it through `&self` only once streams are done.
unsafe impl<T: Send> Send for PinnedHostSlice<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for PinnedHostSlice<T> {}

impl<T> Drop for PinnedHostSlice<T> {
    fn drop(&mut self) {
        let _bound = self.context.bound();
        self.context.record_err(self.uses.wait());
        let relaxed = capture::relaxed();
        // SAFETY: the memory comes from `malloc_host` and is not used again.
        self.context.record_err(
            relaxed.and_then(|_relaxed| unsafe { result::free_host(self.pointer.cast()) }),
        );
    }
}

impl HipContext {
    /// Allocates page-locked memory for `len` values, which the host had better write and not
    /// read.
    ///
    /// # Safety
    ///
    /// The memory is not set.
    pub unsafe fn alloc_pinned<T: DeviceRepr>(
        self: &Arc<Self>,
        len: usize,
    ) -> Result<PinnedHostSlice<T>, HipError> {
        self.alloc_pinned_with_flags(len, sys::hipHostMallocWriteCombined)
    }

    /// Allocates page-locked memory for `len` values.
    ///
    /// # Safety
    ///
    /// The memory is not set.
    ///
    /// # Panics
    ///
    /// If `len` values are more than an address can reach.
    pub unsafe fn alloc_pinned_with_flags<T: DeviceRepr>(
        self: &Arc<Self>,
        len: usize,
        flags: u32,
    ) -> Result<PinnedHostSlice<T>, HipError> {
        self.bind_to_thread()?;
        let bytes = std::alloc::Layout::array::<T>(len)
            .expect("too many values")
            .size();
        let _relaxed = capture::relaxed()?;
        // HIP gives a null pointer for no bytes, and a slice needs one that is not.
        let pointer = result::malloc_host(bytes.max(1), flags)?.cast();
        Ok(PinnedHostSlice {
            pointer,
            len,
            context: self.clone(),
            uses: HostUses::default(),
        })
    }
}

impl<T> PinnedHostSlice<T> {
    /// The device whose streams the memory is used by.
    pub fn context(&self) -> &Arc<HipContext> {
        &self.context
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of bytes.
    pub fn num_bytes(&self) -> usize {
        self.len * std::mem::size_of::<T>()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<T: ValidAsZeroBits> PinnedHostSlice<T> {
    /// The address, once streams are done with the memory.
    pub fn as_ptr(&self) -> Result<*const T, HipError> {
        self.uses.wait()?;
        Ok(self.pointer)
    }

    /// The address, to be written, once streams are done with the memory.
    pub fn as_mut_ptr(&mut self) -> Result<*mut T, HipError> {
        self.uses.wait()?;
        Ok(self.pointer)
    }

    /// The values, once streams are done with the memory.
    pub fn as_slice(&self) -> Result<&[T], HipError> {
        let pointer = self.as_ptr()?;
        // SAFETY: the memory holds `len` values, and nothing writes it.
        Ok(unsafe { std::slice::from_raw_parts(pointer, self.len) })
    }

    /// The values, to be written, once streams are done with the memory.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], HipError> {
        let pointer = self.as_mut_ptr()?;
        // SAFETY: the memory holds `len` values, and nothing else uses it.
        Ok(unsafe { std::slice::from_raw_parts_mut(pointer, self.len) })
    }
}

impl<T> HostSlice<T> for PinnedHostSlice<T> {
    fn len(&self) -> usize {
        self.len
    }

    unsafe fn stream_synced_slice<'a>(
        &'a self,
        stream: &'a HipStream,
    ) -> (&'a [T], SyncOnDrop<'a>) {
        let guard = SyncOnDrop::use_of_host(&self.uses, stream);
        let values = std::slice::from_raw_parts(self.pointer, self.len);
        (values, guard)
    }

    unsafe fn stream_synced_mut_slice<'a>(
        &'a mut self,
        stream: &'a HipStream,
    ) -> (&'a mut [T], SyncOnDrop<'a>) {
        let guard = SyncOnDrop::use_of_host(&self.uses, stream);
        let values = std::slice::from_raw_parts_mut(self.pointer, self.len);
        (values, guard)
    }
}
