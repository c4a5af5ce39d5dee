//! Random numbers, in memory of a device.

use super::driver::{DevicePtrMut, HipDevice};
use crate::hiprand;
use std::sync::Arc;

pub use crate::hiprand::{result, sys};
use result::{HiprandError, LogNormalFill, NormalFill, UniformFill};

/// A generator of random numbers, whose work goes through the device's stream.
///
/// Equal seeds give equal numbers; they are not those of NVIDIA's cuRAND.
#[derive(Debug)]
pub struct HipRng(hiprand::HipRng);

impl HipRng {
    /// Creates a generator.
    pub fn new(seed: u64, device: Arc<HipDevice>) -> Result<Self, HiprandError> {
        hiprand::HipRng::new(seed, device.default_stream().clone()).map(Self)
    }

    /// Sets the seed.
    pub fn set_seed(&mut self, seed: u64) -> Result<(), HiprandError> {
        self.0.set_seed(seed)
    }

    /// Sets where in the sequence to go on.
    pub fn set_offset(&mut self, offset: u64) -> Result<(), HiprandError> {
        self.0.set_offset(offset)
    }

    /// Fills memory with evenly distributed numbers in (0, 1].
    pub fn fill_with_uniform<T, Dst: DevicePtrMut<T>>(
        &self,
        dst: &mut Dst,
    ) -> Result<(), HiprandError>
    where
        sys::hiprandGenerator_t: UniformFill<T>,
    {
        let num = dst.len();
        // SAFETY: the memory has that many values.
        unsafe { self.0.fill_uniform(*dst.device_ptr_mut() as *mut T, num) }
    }

    /// Fills memory with normally distributed numbers.
    ///
    /// # Errors
    ///
    /// As for [`hiprand::HipRng::fill_with_normal`].
    pub fn fill_with_normal<T, Dst: DevicePtrMut<T>>(
        &self,
        dst: &mut Dst,
        mean: T,
        std: T,
    ) -> Result<(), HiprandError>
    where
        sys::hiprandGenerator_t: NormalFill<T>,
    {
        let num = dst.len();
        // SAFETY: the memory has that many values.
        unsafe {
            let dst = *dst.device_ptr_mut() as *mut T;
            self.0.fill_normal(dst, num, mean, std)
        }
    }

    /// Fills memory with numbers with normally distributed logarithms.
    ///
    /// # Errors
    ///
    /// As for [`hiprand::HipRng::fill_with_normal`].
    pub fn fill_with_log_normal<T, Dst: DevicePtrMut<T>>(
        &self,
        dst: &mut Dst,
        mean: T,
        std: T,
    ) -> Result<(), HiprandError>
    where
        sys::hiprandGenerator_t: LogNormalFill<T>,
    {
        let num = dst.len();
        // SAFETY: the memory has that many values.
        unsafe {
            let dst = *dst.device_ptr_mut() as *mut T;
            self.0.fill_log_normal(dst, num, mean, std)
        }
    }
}
