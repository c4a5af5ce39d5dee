use super::{sys, HipSlice, HipView, HipViewMut};
use std::ffi::c_void;

/// A type that kernels can take and that memory of a device can hold.
///
/// # Safety
///
/// What the parameter points to has to look on the device as the kernel expects it, and to be there
/// as long as the value.
pub unsafe trait DeviceRepr {
    /// Where the value lies that a kernel takes; by default the value itself.
    fn as_kernel_param(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }
}

macro_rules! numbers {
    ($($type:ty),* $(,)?) => {
        $(
            // SAFETY: plain bits with the same layout on host and device.
            unsafe impl DeviceRepr for $type {}
        )*
    };
}

numbers! {
    bool, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64,
    half::f16, half::bf16,
}

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
}

/// Memory of a device that can be read.
pub trait DevicePtr<T>: DeviceSlice<T> {
    /// The address.
    fn device_ptr(&self) -> &sys::hipDeviceptr_t;
}

/// Memory of a device that can be written.
pub trait DevicePtrMut<T>: DeviceSlice<T> {
    /// The address.
    fn device_ptr_mut(&mut self) -> &mut sys::hipDeviceptr_t;
}

macro_rules! memory {
    ($($type:ty),*) => {
        $(
            impl<T> DeviceSlice<T> for $type {
                fn len(&self) -> usize {
                    self.len
                }
            }

            impl<T> DevicePtr<T> for $type {
                fn device_ptr(&self) -> &sys::hipDeviceptr_t {
                    &self.pointer
                }
            }

            // SAFETY: a kernel takes the address, which lies in the memory's owner.
            unsafe impl<T: DeviceRepr> DeviceRepr for &$type {
                fn as_kernel_param(&self) -> *mut c_void {
                    std::ptr::from_ref(&self.pointer).cast_mut().cast()
                }
            }
        )*
    };
}

macro_rules! writable {
    ($($type:ty),*) => {
        $(
            impl<T> DevicePtrMut<T> for $type {
                fn device_ptr_mut(&mut self) -> &mut sys::hipDeviceptr_t {
                    &mut self.pointer
                }
            }

            // SAFETY: as above.
            unsafe impl<T: DeviceRepr> DeviceRepr for &mut $type {
                fn as_kernel_param(&self) -> *mut c_void {
                    std::ptr::from_ref(&self.pointer).cast_mut().cast()
                }
            }
        )*
    };
}

memory!(HipSlice<T>, HipView<'_, T>, HipViewMut<'_, T>);
writable!(HipSlice<T>, HipViewMut<'_, T>);
