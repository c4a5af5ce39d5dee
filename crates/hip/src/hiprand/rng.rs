use super::result::{self, HiprandError, LogNormalFill, NormalFill, UniformFill};
use super::sys;
use crate::driver::{DevicePtrMut, HipStream};
use std::sync::Arc;

/// A generator of random numbers, which puts its work into one stream.
///
/// Equal seeds give equal numbers; they are not those of NVIDIA's cuRAND.
#[derive(Debug)]
pub struct HipRng {
    generator: sys::hiprandGenerator_t,
    stream: Arc<HipStream>,
}

impl Drop for HipRng {
    fn drop(&mut self) {
        let context = self.stream.context();
        let _bound = context.bound();
        let _relaxed = self.stream.context().relaxed();
        // SAFETY: the generator is alive and not used again. There is nobody to tell an error to.
        let _ = unsafe { result::destroy_generator(self.generator) };
    }
}

impl HipRng {
    /// Creates a generator for a stream.
    pub fn new(seed: u64, stream: Arc<HipStream>) -> Result<Self, HiprandError> {
        let context = stream.context();
        let _bound = context.bound();
        // It allocates memory by itself.
        let _relaxed = context.relaxed();
        let mut rng = Self {
            generator: result::create_generator()?,
            stream,
        };
        // SAFETY: both are alive and of one device.
        unsafe { result::set_stream(rng.generator, rng.stream.hip_stream()) }?;
        rng.set_seed(seed)?;
        Ok(rng)
    }

    /// Puts work into another stream from now on.
    ///
    /// # Safety
    ///
    /// The stream has to be of the same device, and the work on the former one to be done.
    pub unsafe fn set_stream(&mut self, stream: Arc<HipStream>) -> Result<(), HiprandError> {
        result::set_stream(self.generator, stream.hip_stream())?;
        self.stream = stream;
        Ok(())
    }

    /// Sets the seed.
    pub fn set_seed(&mut self, seed: u64) -> Result<(), HiprandError> {
        // SAFETY: the generator is alive.
        unsafe { result::set_seed(self.generator, seed) }
    }

    /// Sets where in the sequence to go on.
    pub fn set_offset(&mut self, offset: u64) -> Result<(), HiprandError> {
        // SAFETY: the generator is alive.
        unsafe { result::set_offset(self.generator, offset) }
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
        let (dst, mut guard) = dst.device_ptr_mut(&self.stream);
        guard.begun()?;
        // SAFETY: generator and memory are alive.
        unsafe { self.fill_uniform(dst as *mut T, num) }
    }

    /// Fills memory with normally distributed numbers.
    ///
    /// # Errors
    ///
    /// [`HIPRAND_STATUS_LENGTH_NOT_MULTIPLE`](sys::hiprandStatus_t::HIPRAND_STATUS_LENGTH_NOT_MULTIPLE)
    /// for an odd number of numbers; see [`NormalFill::fill`].
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
        let (dst, mut guard) = dst.device_ptr_mut(&self.stream);
        guard.begun()?;
        // SAFETY: generator and memory are alive.
        unsafe { self.fill_normal(dst as *mut T, num, mean, std) }
    }

    /// Fills memory with numbers with normally distributed logarithms.
    ///
    /// # Errors
    ///
    /// As for [`fill_with_normal`](Self::fill_with_normal).
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
        let (dst, mut guard) = dst.device_ptr_mut(&self.stream);
        guard.begun()?;
        // SAFETY: generator and memory are alive.
        unsafe { self.fill_log_normal(dst as *mut T, num, mean, std) }
    }

    // The memory of each has to have room for that many numbers.
    pub(crate) unsafe fn fill_uniform<T>(&self, dst: *mut T, num: usize) -> Result<(), HiprandError>
    where
        sys::hiprandGenerator_t: UniformFill<T>,
    {
        let _bound = self.stream.context().bound();
        let _relaxed = self.stream.context().relaxed(); // the first one allocates memory
        UniformFill::fill(self.generator, dst, num)
    }

    pub(crate) unsafe fn fill_normal<T>(
        &self,
        dst: *mut T,
        num: usize,
        mean: T,
        std: T,
    ) -> Result<(), HiprandError>
    where
        sys::hiprandGenerator_t: NormalFill<T>,
    {
        let _bound = self.stream.context().bound();
        let _relaxed = self.stream.context().relaxed(); // the first one allocates memory
        NormalFill::fill(self.generator, dst, num, mean, std)
    }

    pub(crate) unsafe fn fill_log_normal<T>(
        &self,
        dst: *mut T,
        num: usize,
        mean: T,
        std: T,
    ) -> Result<(), HiprandError>
    where
        sys::hiprandGenerator_t: LogNormalFill<T>,
    {
        let _bound = self.stream.context().bound();
        let _relaxed = self.stream.context().relaxed(); // the first one allocates memory
        LogNormalFill::fill(self.generator, dst, num, mean, std)
    }
}
