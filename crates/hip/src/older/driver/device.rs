use super::{sys, DevicePtrMut, DeviceRepr, HipError, HipFunction, HipSlice, ValidAsZeroBits};
use crate::driver::{self, result};
use crate::hiprtc::Hsaco;
use std::sync::Arc;

/// A device with its default stream and the modules that were loaded on it.
#[derive(Debug)]
pub struct HipDevice {
    device: Arc<driver::HipDevice>,
}

impl HipDevice {
    /// The device with an ordinal.
    pub fn new(ordinal: usize) -> Result<Arc<Self>, HipError> {
        let device = driver::HipDevice::new(ordinal)?;
        Ok(Arc::new(Self { device }))
    }

    /// The device with an ordinal, with a stream of its own: it and the default stream wait for each
    /// other, which [`new`](Self::new) gives, and two such streams do not.
    pub fn new_with_stream(ordinal: usize) -> Result<Arc<Self>, HipError> {
        let stream = driver::HipContext::new(ordinal)?.new_waiting_stream()?;
        let device = driver::HipDevice::of(stream);
        Ok(Arc::new(Self { device }))
    }

    /// The number of devices.
    pub fn count() -> Result<i32, HipError> {
        driver::HipDevice::count()
    }

    /// The ordinal of the device.
    pub fn ordinal(&self) -> usize {
        self.device.ordinal()
    }

    /// The value of an attribute of the device.
    pub fn attribute(&self, attribute: sys::hipDeviceAttribute_t) -> Result<i32, HipError> {
        self.device.stream().context().attribute(attribute)
    }

    /// The stream that all work goes through, unless it is given to another.
    pub fn default_stream(&self) -> &Arc<driver::HipStream> {
        self.device.stream()
    }

    /// HIP's handle of that stream.
    pub fn hip_stream(&self) -> sys::hipStream_t {
        self.default_stream().hip_stream()
    }

    /// Makes the device the one of the calling thread.
    pub fn bind_to_thread(&self) -> Result<(), HipError> {
        self.device.bind_to_thread()
    }

    /// Waits until the work of the device's stream is done.
    pub fn synchronize(&self) -> Result<(), HipError> {
        self.device.synchronize()
    }

    /// Makes a slice of what [`HipSlice::leak`] gave.
    ///
    /// # Safety
    ///
    /// The memory has to be of this device, to hold `len` values of `T` and not to be used or freed
    /// otherwise.
    ///
    /// # Panics
    ///
    /// If HIP cannot make events.
    pub unsafe fn upgrade_device_ptr<T>(
        self: &Arc<Self>,
        pointer: sys::hipDeviceptr_t,
        len: usize,
    ) -> HipSlice<T> {
        let memory = self
            .default_stream()
            .upgrade_device_ptr(pointer, len * std::mem::size_of::<T>());
        HipSlice::of(memory, len, self.clone())
    }

    /// Memory without values.
    pub fn null<T>(self: &Arc<Self>) -> Result<HipSlice<T>, HipError> {
        // SAFETY: there is nothing that would have to be set.
        let memory = unsafe { self.device.alloc(0) }?;
        Ok(HipSlice::of(memory, 0, self.clone()))
    }

    /// Allocates memory for `len` values.
    ///
    /// # Safety
    ///
    /// The memory is not set.
    pub unsafe fn alloc<T: DeviceRepr>(
        self: &Arc<Self>,
        len: usize,
    ) -> Result<HipSlice<T>, HipError> {
        let memory = self.device.alloc(len * std::mem::size_of::<T>())?;
        Ok(HipSlice::of(memory, len, self.clone()))
    }

    /// Allocates memory for `len` values and sets all bits to zero.
    pub fn alloc_zeros<T: ValidAsZeroBits + DeviceRepr>(
        self: &Arc<Self>,
        len: usize,
    ) -> Result<HipSlice<T>, HipError> {
        // SAFETY: it is set before it is read.
        let mut slice = unsafe { self.alloc(len) }?;
        self.memset_zeros(&mut slice)?;
        Ok(slice)
    }

    /// Sets all bits to zero.
    pub fn memset_zeros<T: ValidAsZeroBits + DeviceRepr, Dst: DevicePtrMut<T>>(
        &self,
        dst: &mut Dst,
    ) -> Result<(), HipError> {
        self.bind_to_thread()?;
        let bytes = dst.num_bytes();
        // SAFETY: the memory has that many bytes, and zeros are values.
        unsafe { result::memset_d8_async(*dst.device_ptr_mut(), 0, bytes, self.hip_stream()) }
    }

    /// Loads a code object under a name, and finds kernels in it. A module of the same name is
    /// forgotten.
    pub fn load_hsaco(
        &self,
        hsaco: Hsaco,
        module_name: &str,
        func_names: &[&'static str],
    ) -> Result<(), HipError> {
        self.device.load_hsaco(hsaco, module_name, func_names)
    }

    /// Whether a kernel was found in a module.
    pub fn has_func(self: &Arc<Self>, module_name: &str, func_name: &str) -> bool {
        self.device.has_func(module_name, func_name)
    }

    /// A kernel that was found in a module.
    pub fn get_func(self: &Arc<Self>, module_name: &str, func_name: &str) -> Option<HipFunction> {
        Some(HipFunction {
            function: self.device.get_func(module_name, func_name)?,
            device: self.clone(),
        })
    }
}
