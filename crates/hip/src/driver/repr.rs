/// A type that kernels can take and that memory of a device can hold.
///
/// # Safety
///
/// The type has to look the same on the device, and to be all there is: it may not point to
/// memory of the host.
pub unsafe trait DeviceRepr {}

/// A type for which zeros in all bits are a value.
///
/// # Safety
///
/// Zeros in all bits have to be a value.
pub unsafe trait ValidAsZeroBits {}

macro_rules! numbers {
    ($($type:ty),* $(,)?) => {
        $(
            // SAFETY: plain bits with the same layout on host and device.
            unsafe impl DeviceRepr for $type {}
            // SAFETY: zeros are 0, or `false`.
            unsafe impl ValidAsZeroBits for $type {}
        )*
    };
}

numbers! {
    bool, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64,
    half::f16, half::bf16,
}

#[cfg(feature = "float8")]
numbers! { float8::F8E4M3, float8::F8E5M2 }

// SAFETY: an array is its elements, one after the other.
unsafe impl<T: DeviceRepr, const N: usize> DeviceRepr for [T; N] {}
// SAFETY: an array of zeros is one of elements of zeros.
unsafe impl<T: ValidAsZeroBits, const N: usize> ValidAsZeroBits for [T; N] {}

macro_rules! tuples {
    ($first:ident $(, $rest:ident)*) => {
        // SAFETY: a tuple of zeros is one of elements of zeros.
        unsafe impl<$first: ValidAsZeroBits $(, $rest: ValidAsZeroBits)*> ValidAsZeroBits
            for ($first, $($rest,)*)
        {
        }
        tuples!($($rest),*);
    };
    () => {};
}

tuples!(A, B, C, D, E, F, G, H, I, J, K, L);
