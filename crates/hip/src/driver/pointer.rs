use super::pinned::HostUses;
use super::region::Region;
use super::uses::{self, Uses};
use super::{sys, HipError, HipEvent, HipSlice, HipStream, HipView, HipViewMut};
use std::sync::Arc;

/// Memory of a device.
pub trait DeviceSlice<T> {
    /// The number of values.
    fn len(&self) -> usize;

    /// The number of bytes.
    fn num_bytes(&self) -> usize {
        self.len() * std::mem::size_of::<T>()
    }

    /// Whether there are no values.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The stream that the memory belongs to.
    fn stream(&self) -> &Arc<HipStream>;
}

/// Memory of a device that can be read.
pub trait DevicePtr<T>: DeviceSlice<T> {
    /// The address, for work on `stream`, which first waits for writes on other streams.
    ///
    /// The guard has to be dropped after the work has been put into the stream: it then records
    /// the read.
    fn device_ptr<'a>(&'a self, stream: &'a HipStream) -> (sys::hipDeviceptr_t, SyncOnDrop<'a>);
}

/// Memory of a device that can be written.
pub trait DevicePtrMut<T>: DeviceSlice<T> {
    /// The address, for work on `stream`, which first waits for reads and writes on other streams.
    ///
    /// The guard has to be dropped after the work has been put into the stream: it then records
    /// the write.
    fn device_ptr_mut<'a>(
        &'a mut self,
        stream: &'a HipStream,
    ) -> (sys::hipDeviceptr_t, SyncOnDrop<'a>);
}

macro_rules! readable {
    ($($type:ty),*) => {
        $(
            impl<T> DeviceSlice<T> for $type {
                fn len(&self) -> usize {
                    Region::len(self)
                }

                fn stream(&self) -> &Arc<HipStream> {
                    Region::stream(self)
                }
            }

            impl<T> DevicePtr<T> for $type {
                fn device_ptr<'a>(
                    &'a self,
                    stream: &'a HipStream,
                ) -> (sys::hipDeviceptr_t, SyncOnDrop<'a>) {
                    self.used_on(stream)
                }
            }
        )*
    };
}

macro_rules! writable {
    ($($type:ty),*) => {
        $(
            impl<T> DevicePtrMut<T> for $type {
                fn device_ptr_mut<'a>(
                    &'a mut self,
                    stream: &'a HipStream,
                ) -> (sys::hipDeviceptr_t, SyncOnDrop<'a>) {
                    self.used_on(stream)
                }
            }
        )*
    };
}

readable!(HipSlice<T>, HipView<'_, T>, HipViewMut<'_, T>);
writable!(HipSlice<T>, HipViewMut<'_, T>);

/// What has to be done once work on memory has been put into a stream; dropping this does it.
///
/// Where the stream could not be made to wait for other uses of the memory, dropping this keeps the
/// error for [`HipContext::check_err`](super::HipContext::check_err).
#[derive(Debug)]
#[must_use]
pub struct SyncOnDrop<'a> {
    then: Then<'a>,
    unordered: Option<HipError>,
}

#[derive(Debug)]
enum Then<'a> {
    Nothing,
    Record(&'a HipEvent, &'a HipStream),
    Used(&'a Uses, &'a HipStream),
    UsedHost(&'a HostUses, &'a HipStream),
    Wait(&'a HipStream),
}

impl<'a> SyncOnDrop<'a> {
    /// Does nothing.
    pub fn nothing() -> Self {
        Self::of(Then::Nothing, Ok(()))
    }

    fn of(then: Then<'a>, begun: Result<(), HipError>) -> Self {
        let unordered = begun.err();
        Self { then, unordered }
    }

    /// Records the event, if there is one.
    pub fn record_event(event: &'a Option<HipEvent>, stream: &'a HipStream) -> Self {
        let then = match event {
            Some(event) => Then::Record(event, stream),
            None => Then::Nothing,
        };
        Self::of(then, Ok(()))
    }

    /// Waits for the stream.
    pub fn sync_stream(stream: &'a HipStream) -> Self {
        Self::of(Then::Wait(stream), Ok(()))
    }

    /// Lets the stream wait for uses of memory by others, and records its own.
    pub(super) fn use_of(uses: &'a Uses, stream: &'a HipStream) -> Self {
        Self::of(Then::Used(uses, stream), uses::begin(&[uses], stream))
    }

    /// The same for memory of the host.
    pub(super) fn use_of_host(uses: &'a HostUses, stream: &'a HipStream) -> Self {
        Self::of(Then::UsedHost(uses, stream), uses.begin(stream))
    }

    /// Whether there is nothing to do, as for memory of the host that is not page-locked.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(self.then, Then::Nothing)
    }

    /// Gives the error of a stream that does not wait, before work is put in that relies on it.
    pub(crate) fn begun(&mut self) -> Result<(), HipError> {
        self.unordered.take().map_or(Ok(()), Err)
    }
}

impl Drop for SyncOnDrop<'_> {
    fn drop(&mut self) {
        let (stream, done) = match &self.then {
            Then::Nothing => return,
            Then::Record(event, stream) => (stream, event.record(stream)),
            Then::Used(uses, stream) => (stream, uses::end(&[uses], stream)),
            Then::UsedHost(uses, stream) => (stream, uses.end(stream)),
            Then::Wait(stream) => (stream, stream.synchronize()),
        };
        let begun = self.unordered.map_or(Ok(()), Err);
        stream.context().record_err(done.and(begun));
    }
}

/// Memory of the host that can be copied from and to.
pub trait HostSlice<T> {
    /// The number of values.
    fn len(&self) -> usize;

    /// Whether there are no values.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values, to be read by work on `stream`.
    ///
    /// # Safety
    ///
    /// The guard has to be dropped after the work has been put into the stream.
    unsafe fn stream_synced_slice<'a>(&'a self, stream: &'a HipStream)
        -> (&'a [T], SyncOnDrop<'a>);

    /// The values, to be written by work on `stream`.
    ///
    /// # Safety
    ///
    /// The guard has to be dropped after the work has been put into the stream.
    unsafe fn stream_synced_mut_slice<'a>(
        &'a mut self,
        stream: &'a HipStream,
    ) -> (&'a mut [T], SyncOnDrop<'a>);
}

/// Memory that is not page-locked needs no guard: a copy is done when HIP returns.
macro_rules! pageable {
    ($([$($generics:tt)*] $type:ty),* $(,)?) => {
        $(
            impl<$($generics)*> HostSlice<T> for $type {
                fn len(&self) -> usize {
                    <[T]>::len(self)
                }

                unsafe fn stream_synced_slice<'a>(
                    &'a self,
                    _stream: &'a HipStream,
                ) -> (&'a [T], SyncOnDrop<'a>) {
                    (self, SyncOnDrop::nothing())
                }

                unsafe fn stream_synced_mut_slice<'a>(
                    &'a mut self,
                    _stream: &'a HipStream,
                ) -> (&'a mut [T], SyncOnDrop<'a>) {
                    (self, SyncOnDrop::nothing())
                }
            }
        )*
    };
}

pageable!([T] [T], [T] Vec<T>, [T, const N: usize] [T; N]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::sys::hipError_t;

    #[test]
    fn who_puts_in_work_is_told_first_that_it_would_not_wait_and_once() {
        let error = HipError(hipError_t::hipErrorUnknown);
        let mut guard = SyncOnDrop::of(Then::Nothing, Err(error));
        assert_eq!(guard.begun(), Err(error));
        assert_eq!(guard.begun(), Ok(()));
    }
}
