use super::{sys, DeviceRepr, HipDevice, HipError};
use crate::driver;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// Memory of a device, freed in the order of the device's stream.
#[derive(Debug)]
pub struct HipSlice<T> {
    pub(super) pointer: sys::hipDeviceptr_t,
    pub(super) len: usize,
    pub(super) device: Arc<HipDevice>,
    memory: driver::HipSlice<u8>,
    marker: PhantomData<T>,
}

impl<T> HipSlice<T> {
    /// Takes memory over that holds `len` values at least.
    pub(super) fn of(memory: driver::HipSlice<u8>, len: usize, device: Arc<HipDevice>) -> Self {
        let (pointer, used) = driver::DevicePtr::device_ptr(&memory, device.default_stream());
        drop(used);
        Self {
            pointer,
            len,
            device,
            memory,
            marker: PhantomData,
        }
    }

    /// The device.
    pub fn device(&self) -> Arc<HipDevice> {
        self.device.clone()
    }

    /// Gives up the memory, which is not freed; see [`HipDevice::upgrade_device_ptr`].
    pub fn leak(self) -> sys::hipDeviceptr_t {
        self.memory.leak()
    }

    /// A part of the memory.
    ///
    /// # Panics
    ///
    /// If it reaches beyond the end.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> HipView<'_, T> {
        self.try_slice(range).unwrap()
    }

    /// A part of the memory, or none if it reaches beyond the end.
    pub fn try_slice(&self, range: impl RangeBounds<usize>) -> Option<HipView<'_, T>> {
        HipView::of(self.pointer, self.len, range)
    }

    /// A part of the memory, to be written.
    ///
    /// # Panics
    ///
    /// If it reaches beyond the end.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> HipViewMut<'_, T> {
        self.try_slice_mut(range).unwrap()
    }

    /// A part of the memory, to be written, or none if it reaches beyond the end.
    pub fn try_slice_mut(&mut self, range: impl RangeBounds<usize>) -> Option<HipViewMut<'_, T>> {
        HipViewMut::of(self.pointer, self.len, range)
    }

    /// The memory as values of another type, or none if they need more bytes.
    ///
    /// # Safety
    ///
    /// The bytes have to be values of that type.
    pub unsafe fn transmute<S>(&self, len: usize) -> Option<HipView<'_, S>> {
        (len * std::mem::size_of::<S>() <= self.len * std::mem::size_of::<T>())
            .then(|| HipView::of(self.pointer, len, ..))?
    }

    /// The memory as values of another type, to be written, or none if they need more bytes.
    ///
    /// # Safety
    ///
    /// The bytes have to be values of that type, before and after.
    pub unsafe fn transmute_mut<S>(&mut self, len: usize) -> Option<HipViewMut<'_, S>> {
        (len * std::mem::size_of::<S>() <= self.len * std::mem::size_of::<T>())
            .then(|| HipViewMut::of(self.pointer, len, ..))?
    }
}

impl<T: DeviceRepr> HipSlice<T> {
    /// A copy in memory of its own.
    pub fn try_clone(&self) -> Result<Self, HipError> {
        // SAFETY: all of it is written before it is read.
        let mut copy = unsafe { self.device.alloc(self.len) }?;
        self.device.dtod_copy(self, &mut copy)?;
        Ok(copy)
    }
}

impl<T: DeviceRepr> Clone for HipSlice<T> {
    fn clone(&self) -> Self {
        self.try_clone().unwrap()
    }
}

impl<T: Clone + Default + DeviceRepr + Unpin> TryFrom<HipSlice<T>> for Vec<T> {
    type Error = HipError;

    fn try_from(slice: HipSlice<T>) -> Result<Self, HipError> {
        slice.device().sync_reclaim(slice)
    }
}

macro_rules! views {
    ($($(#[$doc:meta])* $name:ident, $of:ty;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub struct $name<'a, T> {
                pub(super) pointer: sys::hipDeviceptr_t,
                pub(super) len: usize,
                marker: PhantomData<$of>,
            }

            impl<T> $name<'_, T> {
                fn of(
                    pointer: sys::hipDeviceptr_t,
                    len: usize,
                    range: impl RangeBounds<usize>,
                ) -> Option<Self> {
                    let (start, end) = bounds(range, len)?;
                    Some(Self {
                        pointer: pointer + (start * std::mem::size_of::<T>()) as sys::hipDeviceptr_t,
                        len: end - start,
                        marker: PhantomData,
                    })
                }

                /// A part of it.
                ///
                /// # Panics
                ///
                /// If it reaches beyond the end.
                pub fn slice(&self, range: impl RangeBounds<usize>) -> HipView<'_, T> {
                    self.try_slice(range).unwrap()
                }

                /// A part of it, or none if it reaches beyond the end.
                pub fn try_slice(&self, range: impl RangeBounds<usize>) -> Option<HipView<'_, T>> {
                    HipView::of(self.pointer, self.len, range)
                }
            }
        )*
    };
}

views! {
    /// A part of memory of a device.
    HipView, &'a HipSlice<T>;
    /// A part of memory of a device that can be written.
    HipViewMut, &'a mut HipSlice<T>;
}

impl<T> HipViewMut<'_, T> {
    /// A part of it, to be written.
    ///
    /// # Panics
    ///
    /// If it reaches beyond the end.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> HipViewMut<'_, T> {
        self.try_slice_mut(range).unwrap()
    }

    /// A part of it, to be written, or none if it reaches beyond the end.
    pub fn try_slice_mut(&mut self, range: impl RangeBounds<usize>) -> Option<HipViewMut<'_, T>> {
        HipViewMut::of(self.pointer, self.len, range)
    }
}

/// The first value of a range and the one behind its last, unless it reaches beyond the end.
fn bounds(range: impl RangeBounds<usize>, len: usize) -> Option<(usize, usize)> {
    let start = match range.start_bound() {
        Bound::Included(&at) => at,
        Bound::Excluded(&at) => at.checked_add(1)?,
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&at) => at.checked_add(1)?,
        Bound::Excluded(&at) => at,
        Bound::Unbounded => len,
    };
    (start <= end && end <= len).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::bounds;

    #[test]
    fn a_range_lies_within_the_memory() {
        assert_eq!(bounds(.., 4), Some((0, 4)));
        assert_eq!(bounds(1..=3, 4), Some((1, 4)));
        assert_eq!(bounds(4..4, 4), Some((4, 4)));
        assert_eq!(bounds(2..5, 4), None);
        assert_eq!(bounds((Bound::Excluded(3), Bound::Included(1)), 4), None);
        assert_eq!(bounds(0..=usize::MAX, 4), None);
    }

    use std::ops::Bound;
}
