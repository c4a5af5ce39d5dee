use super::allocator::MemoryStats;
use super::capture::{self, Relaxed};
use super::gpu::{Bound, Gpu};
use super::{launched, result, sys, HipError};
use crate::arch::GfxArch;
use crate::loader::HIP;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

/// A device and what this crate knows about it.
///
/// HIP has one context for each device, which it makes and keeps itself; two values of this type
/// with the same ordinal are equal. They share streams, the order of work and memory; errors that
/// wait to be told are each value's own.
#[derive(Debug)]
pub struct HipContext {
    gpu: &'static Gpu,
    ordinal: usize,
    error_state: AtomicU32,
}

impl Drop for HipContext {
    /// With the last context of a device its unused memory is given back.
    fn drop(&mut self) {
        if self.gpu.contexts.fetch_sub(1, Ordering::SeqCst) == 1 {
            // There is nobody to tell an error to.
            let _ = self.gpu.memory.trim(0);
        }
    }
}

impl PartialEq for HipContext {
    fn eq(&self, other: &Self) -> bool {
        self.ordinal == other.ordinal
    }
}

impl Eq for HipContext {}

impl HipContext {
    /// The context of the device with an ordinal, which becomes the one of the calling thread.
    ///
    /// The first one of a device reads `HIPRC_ALLOCATOR` and `HIPRC_MEMORY_LIMIT`; see
    /// [`memory_stats`](Self::memory_stats).
    ///
    /// # Errors
    ///
    /// HIP's, and one that says what to do where the environment cannot be understood.
    pub fn new(ordinal: usize) -> Result<Arc<Self>, HipError> {
        let invalid = HipError(sys::hipError_t::hipErrorInvalidDevice);
        result::init()?;
        let device = result::device::get(ordinal.try_into().map_err(|_| invalid)?)?;
        let gpu = Gpu::of(device)?;
        gpu.contexts.fetch_add(1, Ordering::SeqCst);
        let context = Arc::new(Self {
            gpu,
            ordinal,
            error_state: AtomicU32::new(0),
        });
        context.bind_to_thread()?;
        Ok(context)
    }

    /// The number of devices.
    pub fn device_count() -> Result<i32, HipError> {
        result::init()?;
        result::device::get_count()
    }

    /// Whether there is a device: not without one, nor where ROCm is not installed.
    ///
    /// # Errors
    ///
    /// HIP's others, and that of a runtime that is there and cannot be loaded.
    pub fn is_available() -> Result<bool, HipError> {
        match Self::device_count() {
            Ok(count) => Ok(count > 0),
            Err(HipError(sys::hipError_t::hipErrorNoDevice)) => Ok(false),
            Err(_) if HIP.is_absent() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The ordinal of the device.
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// The device.
    pub fn hip_device(&self) -> sys::hipDevice_t {
        self.gpu.device
    }

    /// Whether memory comes from HIP's pool, where it is allocated and freed in the order of a
    /// stream, and not from this crate's allocator, which keeps that order itself.
    pub fn has_async_alloc(&self) -> bool {
        self.gpu.memory.is_pool()
    }

    /// What the allocator has done for the device, in all contexts; zeros where memory comes from
    /// HIP's pool.
    ///
    /// Memory is taken from HIP in segments, of which blocks are handed out again and again. The
    /// environment says otherwise when a device is first used: `HIPRC_ALLOCATOR=pool` takes memory
    /// from HIP's pool, `HIPRC_MEMORY_LIMIT` says how many MiB of a device may be held.
    pub fn memory_stats(&self) -> MemoryStats {
        self.gpu.memory.stats()
    }

    /// Waits for the device, and gives memory back to HIP that is not in use.
    ///
    /// While a stream is captured this does nothing.
    pub fn empty_cache(&self) -> Result<(), HipError> {
        self.trim_cache(0)
    }

    /// As [`empty_cache`](Self::empty_cache), until at most `keep` bytes are held.
    pub fn trim_cache(&self, keep: usize) -> Result<(), HipError> {
        self.check_err()?;
        self.gpu.memory.trim(keep)
    }

    /// The name of the device.
    pub fn name(&self) -> Result<String, HipError> {
        self.check_err()?;
        result::device::get_name(self.gpu.device)
    }

    /// The identity of the device.
    pub fn uuid(&self) -> Result<sys::hipUUID, HipError> {
        self.check_err()?;
        result::device::get_uuid(self.gpu.device)
    }

    /// The architecture of the device.
    ///
    /// # Errors
    ///
    /// The error of HIP; [`hipErrorNotSupported`](sys::hipError_t::hipErrorNotSupported) if HIP's
    /// name of the architecture cannot be understood.
    pub fn arch(&self) -> Result<GfxArch, HipError> {
        self.check_err()?;
        let name = result::device::get_arch_name(self.gpu.device)?;
        name.parse()
            .map_err(|_| HipError(sys::hipError_t::hipErrorNotSupported))
    }

    /// Major and minor version of the device's architecture: (9, 0) for gfx90a, (11, 0) for
    /// gfx1100. They cannot be compared with NVIDIA's compute capabilities.
    pub fn compute_capability(&self) -> Result<(i32, i32), HipError> {
        use sys::hipDeviceAttribute_t as Attribute;
        Ok((
            self.attribute(Attribute::hipDeviceAttributeComputeCapabilityMajor)?,
            self.attribute(Attribute::hipDeviceAttributeComputeCapabilityMinor)?,
        ))
    }

    /// The value of an attribute of the device; see [`result::device::get_attribute`].
    pub fn attribute(&self, attribute: sys::hipDeviceAttribute_t) -> Result<i32, HipError> {
        self.check_err()?;
        // SAFETY: the device comes from HIP.
        unsafe { result::device::get_attribute(self.gpu.device, attribute) }
    }

    /// The size of the device's memory in bytes.
    pub fn total_mem(&self) -> Result<usize, HipError> {
        self.check_err()?;
        // SAFETY: the device comes from HIP.
        unsafe { result::device::total_mem(self.gpu.device) }
    }

    /// Free and total bytes of the device's memory.
    pub fn mem_get_info(&self) -> Result<(usize, usize), HipError> {
        self.bind_to_thread()?;
        result::mem_get_info()
    }

    /// Makes the device the one of the calling thread. All other functions do so where needed.
    ///
    /// # Errors
    ///
    /// HIP's; else that of [`check_err`](Self::check_err), with the device made that of the thread
    /// nevertheless.
    pub fn bind_to_thread(&self) -> Result<(), HipError> {
        self.gpu.bind()?;
        self.check_err()
    }

    /// Lets the calling thread allocate and free beside captures; see [`capture::relaxed`].
    pub(crate) fn relaxed(&self) -> Result<Relaxed, HipError> {
        capture::relaxed()
    }

    pub(super) fn gpu(&self) -> &'static Gpu {
        self.gpu
    }

    /// Makes the device that of the thread until what is given is dropped, for a `drop`: no other
    /// work of the thread may come to another device by it.
    pub(crate) fn bound(&self) -> Option<Bound> {
        let bound = self.gpu.bound();
        bound
            .map_err(|error| self.record_err::<()>(Err(error)))
            .ok()
    }

    /// Waits until all work of the device is done.
    ///
    /// # Errors
    ///
    /// HIP's; [`hipErrorStreamCaptureUnsupported`](sys::hipError_t::hipErrorStreamCaptureUnsupported)
    /// while a stream is captured, of whichever device and in whatever mode: HIP would end the
    /// capture.
    pub fn synchronize(&self) -> Result<(), HipError> {
        self.bind_to_thread()?;
        self.gpu.wait_beside_none()
    }

    /// Lets threads that wait for the device sleep.
    pub fn set_blocking_synchronize(&self) -> Result<(), HipError> {
        self.set_flags(sys::hipDeviceFlags::hipDeviceScheduleBlockingSync)
    }

    /// Sets how threads wait for the device.
    pub fn set_flags(&self, flags: sys::hipDeviceFlags) -> Result<(), HipError> {
        self.bind_to_thread()?;
        result::device::set_flags(flags)
    }

    /// A limit of the device.
    pub fn get_limit(&self, limit: sys::hipLimit_t) -> Result<usize, HipError> {
        self.bind_to_thread()?;
        result::device::get_limit(limit)
    }

    /// Sets a limit of the device.
    pub fn set_limit(&self, limit: sys::hipLimit_t, value: usize) -> Result<(), HipError> {
        self.bind_to_thread()?;
        result::device::set_limit(limit, value)
    }

    /// Whether more than one stream of the device was asked for, in whichever context, or a
    /// thread's own. It stays so for good.
    pub fn is_in_multi_stream_mode(&self) -> bool {
        self.gpu.has_many_streams()
    }

    /// Whether slices know which streams use them.
    pub fn is_event_tracking(&self) -> bool {
        self.gpu.is_tracking()
    }

    /// Whether streams wait for each other where they use the same memory.
    pub fn is_managing_stream_synchronization(&self) -> bool {
        self.gpu.has_many_streams() && self.gpu.is_tracking()
    }

    /// Lets slices know which streams use them, as they do from the beginning. This is one setting
    /// for all contexts of the device.
    ///
    /// # Safety
    ///
    /// Slices that were made while tracking was off never know; their order on several streams
    /// stays the caller's care.
    pub unsafe fn enable_event_tracking(&self) {
        self.gpu.track(true);
    }

    /// Lets slices that are made from now on not know, where the caller orders the work. One stream
    /// alone costs nothing in any case.
    ///
    /// # Safety
    ///
    /// The caller has to see to it that a slice is neither used on a stream before another has
    /// allocated or written it, nor written or freed before another has read it.
    pub unsafe fn disable_event_tracking(&self) {
        self.gpu.track(false);
    }

    /// Gives and forgets the last error that [`record_err`](Self::record_err) kept, or else what
    /// launchers of the calling thread met ([`record_launch`](super::record_launch)).
    pub fn check_err(&self) -> Result<(), HipError> {
        let kept = sys::hipError_t(self.error_state.swap(0, Ordering::Relaxed)).result();
        kept.and_then(|()| launched::take())
    }

    /// Keeps an error for the next call that can return it, where one happens that cannot be
    /// returned, as in a `drop`.
    pub fn record_err<T>(&self, result: Result<T, HipError>) {
        if let Err(HipError(status)) = result {
            self.error_state.store(status.0, Ordering::Relaxed);
        }
    }
}
