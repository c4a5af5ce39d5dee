use super::region::Region;
use super::uses::{self, Uses};
use super::{sys, DeviceRepr, HipContext, HipError, HipStream, HipView, HipViewMut};
use std::marker::PhantomData;
use std::mem::{size_of, ManuallyDrop};
use std::ops::RangeBounds;
use std::sync::Arc;

/// Memory of a device for `len` values of `T`, which is freed with this value.
///
/// It belongs to a stream, on which it was allocated and will be freed, and can be used on any
/// stream of the device.
#[derive(Debug)]
pub struct HipSlice<T> {
    pointer: sys::hipDeviceptr_t,
    len: usize,
    uses: Uses,
    stream: Arc<HipStream>,
    marker: PhantomData<*const T>,
}

// SAFETY: the values are on the device; what is here is an address and the handles.
unsafe impl<T> Send for HipSlice<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for HipSlice<T> {}

impl<T> Drop for HipSlice<T> {
    fn drop(&mut self) {
        let (context, gpu, stream) = (self.context(), self.stream.gpu(), self.stream.key());
        if self.pointer == 0 || gpu.captures.hold(gpu, stream, self.pointer, &self.uses) {
            return;
        }
        let _bound = context.bound();
        context.record_err(uses::begin(&[&self.uses], &self.stream));
        // SAFETY: the memory was allocated for this value, or the caller of `upgrade_device_ptr`
        // vouches for it, and it is not used again.
        context.record_err(unsafe { gpu.memory.free(gpu, self.pointer, stream) });
    }
}

impl<T: DeviceRepr> Clone for HipSlice<T> {
    /// Copies the memory.
    ///
    /// # Panics
    ///
    /// Where [`try_clone`](Self::try_clone) fails.
    fn clone(&self) -> Self {
        self.try_clone().unwrap()
    }
}

impl<T: DeviceRepr> HipSlice<T> {
    /// Copies the memory.
    pub fn try_clone(&self) -> Result<Self, HipError> {
        self.stream.clone_dtod(self)
    }
}

impl<T: DeviceRepr> TryFrom<HipSlice<T>> for Vec<T> {
    type Error = HipError;

    fn try_from(slice: HipSlice<T>) -> Result<Self, HipError> {
        slice.stream.clone_dtoh(&slice)
    }
}

impl HipStream {
    /// Makes a slice of memory that was allocated elsewhere, for instance by
    /// [`HipSlice::leak`].
    ///
    /// # Safety
    ///
    /// The memory has to be of the stream's device, to hold `len` values of `T`, to be the whole of
    /// what [`HipSlice::leak`] or an allocation of HIP gave, and not to be used or freed otherwise.
    /// Work that uses it and is not done has to be on this stream.
    ///
    /// # Panics
    ///
    /// If HIP cannot make events.
    pub unsafe fn upgrade_device_ptr<T>(
        self: &Arc<Self>,
        pointer: sys::hipDeviceptr_t,
        len: usize,
    ) -> HipSlice<T> {
        HipSlice::new(pointer, len, Uses::new(self).unwrap(), self)
    }
}

impl<T> HipSlice<T> {
    pub(super) fn new(
        pointer: sys::hipDeviceptr_t,
        len: usize,
        uses: Uses,
        stream: &Arc<HipStream>,
    ) -> Self {
        Self {
            pointer,
            len,
            uses,
            stream: stream.clone(),
            marker: PhantomData,
        }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of bytes.
    pub fn num_bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The ordinal of the device.
    pub fn ordinal(&self) -> usize {
        self.context().ordinal()
    }

    /// The device.
    pub fn context(&self) -> &Arc<HipContext> {
        self.stream.context()
    }

    /// The stream that the memory belongs to.
    pub fn stream(&self) -> &Arc<HipStream> {
        &self.stream
    }

    /// All of the slice as a view.
    pub fn as_view(&self) -> HipView<'_, T> {
        HipView::new(self.pointer, self.len, &self.uses, &self.stream)
    }

    /// All of the slice as a view that can be written.
    pub fn as_view_mut(&mut self) -> HipViewMut<'_, T> {
        HipViewMut::new(self.pointer, self.len, &self.uses, &self.stream)
    }

    /// Part of the slice.
    ///
    /// # Panics
    ///
    /// If the bounds are not within the slice.
    pub fn slice(&self, bounds: impl RangeBounds<usize>) -> HipView<'_, T> {
        self.as_view().slice(bounds)
    }

    /// Part of the slice, or `None` if the bounds are not within it.
    pub fn try_slice(&self, bounds: impl RangeBounds<usize>) -> Option<HipView<'_, T>> {
        self.as_view().try_slice(bounds)
    }

    /// Part of the slice, to be written.
    ///
    /// # Panics
    ///
    /// If the bounds are not within the slice.
    pub fn slice_mut(&mut self, bounds: impl RangeBounds<usize>) -> HipViewMut<'_, T> {
        self.try_slice_mut(bounds).unwrap()
    }

    /// Part of the slice, to be written, or `None` if the bounds are not within it.
    pub fn try_slice_mut(&mut self, bounds: impl RangeBounds<usize>) -> Option<HipViewMut<'_, T>> {
        self.as_view_mut().into_part(bounds)
    }

    /// The memory as `len` values of another type, or `None` if it is too small.
    ///
    /// # Safety
    ///
    /// The bytes have to be values of `S`.
    pub unsafe fn transmute<S>(&self, len: usize) -> Option<HipView<'_, S>> {
        self.as_view().transmute(len)
    }

    /// The memory as `len` values of another type, to be written, or `None` if it is too small.
    ///
    /// # Safety
    ///
    /// The bytes have to be values of `S`, and what is written values of `T`.
    pub unsafe fn transmute_mut<S>(&mut self, len: usize) -> Option<HipViewMut<'_, S>> {
        self.as_view_mut().into_type(len)
    }

    /// The parts before and from `mid`.
    ///
    /// # Panics
    ///
    /// If `mid` is not within the slice.
    pub fn split_at(&self, mid: usize) -> (HipView<'_, T>, HipView<'_, T>) {
        self.as_view().split_at(mid)
    }

    /// The parts before and from `mid`, or `None` if that is not within the slice.
    pub fn try_split_at(&self, mid: usize) -> Option<(HipView<'_, T>, HipView<'_, T>)> {
        self.as_view().try_split_at(mid)
    }

    /// The parts before and from `mid`, to be written.
    ///
    /// # Panics
    ///
    /// If `mid` is not within the slice.
    pub fn split_at_mut(&mut self, mid: usize) -> (HipViewMut<'_, T>, HipViewMut<'_, T>) {
        self.try_split_at_mut(mid).unwrap()
    }

    /// The parts before and from `mid`, to be written, or `None` if that is not within the slice.
    pub fn try_split_at_mut(
        &mut self,
        mid: usize,
    ) -> Option<(HipViewMut<'_, T>, HipViewMut<'_, T>)> {
        self.as_view_mut().into_halves(mid)
    }

    /// Gives up the memory, which is not freed. The stream first waits for its uses on others.
    pub fn leak(self) -> sys::hipDeviceptr_t {
        let context = self.context();
        let _bound = context.bound();
        context.record_err(uses::begin(&[&self.uses], &self.stream));
        drop(_bound);
        let mut slice = ManuallyDrop::new(self);
        // SAFETY: the slice is not used or dropped after its fields.
        unsafe {
            std::ptr::drop_in_place(&mut slice.uses);
            std::ptr::drop_in_place(&mut slice.stream);
        }
        slice.pointer
    }
}

impl<T> Region for HipSlice<T> {
    fn pointer(&self) -> &sys::hipDeviceptr_t {
        &self.pointer
    }

    fn len(&self) -> usize {
        self.len
    }

    fn uses(&self) -> &Uses {
        &self.uses
    }

    fn stream(&self) -> &Arc<HipStream> {
        &self.stream
    }
}
