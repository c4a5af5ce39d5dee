use super::region::Region;
use super::uses::Uses;
use super::{sys, HipStream, SyncOnDrop};
use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

macro_rules! view {
    ($(#[$meta:meta])* $name:ident, $marker:ty) => {
        $(#[$meta])*
        #[derive(Debug)]
        pub struct $name<'a, T> {
            pointer: sys::hipDeviceptr_t,
            len: usize,
            uses: &'a Uses,
            stream: &'a Arc<HipStream>,
            marker: PhantomData<$marker>,
        }

        impl<'a, T> $name<'a, T> {
            pub(super) fn new(
                pointer: sys::hipDeviceptr_t,
                len: usize,
                uses: &'a Uses,
                stream: &'a Arc<HipStream>,
            ) -> Self {
                Self { pointer, len, uses, stream, marker: PhantomData }
            }

            /// The number of values.
            pub fn len(&self) -> usize {
                self.len
            }

            /// Whether there are no values.
            pub fn is_empty(&self) -> bool {
                self.len == 0
            }

            fn part(&self, start: usize, end: usize) -> Self {
                debug_assert!(start <= end && end <= self.len);
                let offset = (start * size_of::<T>()) as sys::hipDeviceptr_t;
                Self::new(self.pointer + offset, end - start, self.uses, self.stream)
            }

            fn holds<S>(&self, len: usize) -> bool {
                len.checked_mul(size_of::<S>())
                    .is_some_and(|bytes| bytes <= self.len * size_of::<T>())
            }
        }

        impl<T> Region for $name<'_, T> {
            fn pointer(&self) -> &sys::hipDeviceptr_t {
                &self.pointer
            }

            fn len(&self) -> usize {
                self.len
            }

            fn uses(&self) -> &Uses {
                self.uses
            }

            fn stream(&self) -> &Arc<HipStream> {
                self.stream
            }
        }
    };
}

view! {
    /// Part of a [`HipSlice`](super::HipSlice).
    HipView, &'a [T]
}

view! {
    /// Part of a [`HipSlice`](super::HipSlice) that can be written.
    HipViewMut, &'a mut [T]
}

impl<'a, T> HipView<'a, T> {
    /// Part of the view.
    ///
    /// # Panics
    ///
    /// If the bounds are not within the view.
    pub fn slice(&self, bounds: impl RangeBounds<usize>) -> Self {
        self.try_slice(bounds).unwrap()
    }

    /// Part of the view, or `None` if the bounds are not within it.
    pub fn try_slice(&self, bounds: impl RangeBounds<usize>) -> Option<Self> {
        range(bounds, self.len).map(|(start, end)| self.part(start, end))
    }

    /// The memory as `len` values of another type, or `None` if it is too small.
    ///
    /// # Safety
    ///
    /// The bytes have to be values of `S`.
    pub unsafe fn transmute<S>(&self, len: usize) -> Option<HipView<'a, S>> {
        self.holds::<S>(len)
            .then(|| HipView::new(self.pointer, len, self.uses, self.stream))
    }

    /// The parts before and from `mid`.
    ///
    /// # Panics
    ///
    /// If `mid` is not within the view.
    pub fn split_at(&self, mid: usize) -> (Self, Self) {
        self.try_split_at(mid).unwrap()
    }

    /// The parts before and from `mid`, or `None` if that is not within the view.
    pub fn try_split_at(&self, mid: usize) -> Option<(Self, Self)> {
        (mid <= self.len).then(|| (self.part(0, mid), self.part(mid, self.len)))
    }

    /// The view in chunks of `chunk_size` values.
    ///
    /// # Panics
    ///
    /// If the view is not a whole number of chunks.
    pub fn chunks_exact(&self, chunk_size: usize) -> impl Iterator<Item = HipView<'a, T>> + '_ {
        assert_eq!(self.len % chunk_size, 0);
        (0..self.len / chunk_size).map(move |i| self.part(i * chunk_size, (i + 1) * chunk_size))
    }

    /// The address, with the guard that [`DevicePtr::device_ptr`](super::DevicePtr::device_ptr)
    /// gives.
    pub fn view_ptr(self, stream: &'a HipStream) -> (sys::hipDeviceptr_t, SyncOnDrop<'a>) {
        (self.pointer, SyncOnDrop::use_of(self.uses, stream))
    }
}

impl<'a, T> HipViewMut<'a, T> {
    /// All of the view, to be read.
    pub fn as_view(&self) -> HipView<'_, T> {
        HipView::new(self.pointer, self.len, self.uses, self.stream)
    }

    /// All of the view, not to be written any more.
    pub fn into_view(self) -> HipView<'a, T> {
        HipView::new(self.pointer, self.len, self.uses, self.stream)
    }

    /// Part of the view, to be read.
    ///
    /// # Panics
    ///
    /// If the bounds are not within the view.
    pub fn slice(&self, bounds: impl RangeBounds<usize>) -> HipView<'_, T> {
        self.as_view().slice(bounds)
    }

    /// Part of the view, to be read, or `None` if the bounds are not within it.
    pub fn try_slice(&self, bounds: impl RangeBounds<usize>) -> Option<HipView<'_, T>> {
        self.as_view().try_slice(bounds)
    }

    /// Part of the view.
    ///
    /// # Panics
    ///
    /// If the bounds are not within the view.
    pub fn slice_mut(&mut self, bounds: impl RangeBounds<usize>) -> HipViewMut<'_, T> {
        self.try_slice_mut(bounds).unwrap()
    }

    /// Part of the view, or `None` if the bounds are not within it.
    pub fn try_slice_mut(&mut self, bounds: impl RangeBounds<usize>) -> Option<HipViewMut<'_, T>> {
        self.reborrow().into_part(bounds)
    }

    /// The memory as `len` values of another type, to be read, or `None` if it is too small.
    ///
    /// # Safety
    ///
    /// The bytes have to be values of `S`.
    pub unsafe fn transmute<S>(&self, len: usize) -> Option<HipView<'_, S>> {
        self.as_view().transmute(len)
    }

    /// The memory as `len` values of another type, or `None` if it is too small.
    ///
    /// # Safety
    ///
    /// The bytes have to be values of `S`, and what is written values of `T`.
    pub unsafe fn transmute_mut<S>(&mut self, len: usize) -> Option<HipViewMut<'_, S>> {
        self.reborrow().into_type(len)
    }

    /// The parts before and from `mid`.
    ///
    /// # Panics
    ///
    /// If `mid` is not within the view.
    pub fn split_at_mut(&mut self, mid: usize) -> (HipViewMut<'_, T>, HipViewMut<'_, T>) {
        self.try_split_at_mut(mid).unwrap()
    }

    /// The parts before and from `mid`, or `None` if that is not within the view.
    pub fn try_split_at_mut(
        &mut self,
        mid: usize,
    ) -> Option<(HipViewMut<'_, T>, HipViewMut<'_, T>)> {
        self.reborrow().into_halves(mid)
    }

    /// The view in chunks of `chunk_size` values.
    ///
    /// # Panics
    ///
    /// If the view is not a whole number of chunks.
    pub fn chunks_exact_mut(self, chunk_size: usize) -> impl Iterator<Item = HipViewMut<'a, T>> {
        assert_eq!(self.len % chunk_size, 0);
        (0..self.len / chunk_size).map(move |i| self.part(i * chunk_size, (i + 1) * chunk_size))
    }

    /// The address, to be read, with the guard that
    /// [`DevicePtr::device_ptr`](super::DevicePtr::device_ptr) gives.
    pub fn view_ptr(self, stream: &'a HipStream) -> (sys::hipDeviceptr_t, SyncOnDrop<'a>) {
        (self.pointer, SyncOnDrop::use_of(self.uses, stream))
    }

    /// The address, to be written, with the guard that
    /// [`DevicePtrMut::device_ptr_mut`](super::DevicePtrMut::device_ptr_mut) gives.
    pub fn view_ptr_mut(self, stream: &'a HipStream) -> (sys::hipDeviceptr_t, SyncOnDrop<'a>) {
        (self.pointer, SyncOnDrop::use_of(self.uses, stream))
    }

    fn reborrow(&mut self) -> HipViewMut<'_, T> {
        HipViewMut::new(self.pointer, self.len, self.uses, self.stream)
    }

    pub(super) fn into_part(self, bounds: impl RangeBounds<usize>) -> Option<Self> {
        range(bounds, self.len).map(|(start, end)| self.part(start, end))
    }

    pub(super) fn into_type<S>(self, len: usize) -> Option<HipViewMut<'a, S>> {
        self.holds::<S>(len)
            .then(|| HipViewMut::new(self.pointer, len, self.uses, self.stream))
    }

    pub(super) fn into_halves(self, mid: usize) -> Option<(Self, Self)> {
        (mid <= self.len).then(|| (self.part(0, mid), self.part(mid, self.len)))
    }
}

/// Start and end of bounds within `len` values, or `None` if they are not within.
fn range(bounds: impl RangeBounds<usize>, len: usize) -> Option<(usize, usize)> {
    let start = match bounds.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.checked_add(1)?,
        Bound::Unbounded => 0,
    };
    let end = match bounds.end_bound() {
        Bound::Included(&last) => last.checked_add(1)?,
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    (start <= end && end <= len).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn bounds_within() {
        assert_eq!(range(.., 4), Some((0, 4)));
        assert_eq!(range(1..3, 4), Some((1, 3)));
        assert_eq!(range(1..=3, 4), Some((1, 4)));
        assert_eq!(range(4.., 4), Some((4, 4)));
        assert_eq!(range(..0, 0), Some((0, 0)));
    }

    #[test]
    #[allow(clippy::reversed_empty_ranges)]
    fn bounds_not_within() {
        assert_eq!(range(..5, 4), None);
        assert_eq!(range(5.., 4), None);
        assert_eq!(range(3..2, 4), None);
        assert_eq!(range(..=usize::MAX, 4), None);
    }
}
