use super::{result, sys, HipError};
use crate::arch::GfxArch;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::Arc;

/// A device and what this crate knows about it.
///
/// HIP has one context for each device, which it makes and keeps itself; two values of this type
/// with the same ordinal are equal.
#[derive(Debug)]
pub struct HipContext {
    device: sys::hipDevice_t,
    ordinal: usize,
    has_async_alloc: bool,
    pub(super) num_streams: AtomicUsize,
    event_tracking: AtomicBool,
    error_state: AtomicU32,
}

impl PartialEq for HipContext {
    fn eq(&self, other: &Self) -> bool {
        self.device == other.device && self.ordinal == other.ordinal
    }
}

impl Eq for HipContext {}

impl HipContext {
    /// The context of the device with an ordinal, which becomes the one of the calling thread.
    pub fn new(ordinal: usize) -> Result<Arc<Self>, HipError> {
        let invalid = HipError(sys::hipError_t::hipErrorInvalidDevice);
        result::init()?;
        let device = result::device::get(ordinal.try_into().map_err(|_| invalid)?)?;
        let pools = sys::hipDeviceAttribute_t::hipDeviceAttributeMemoryPoolsSupported;
        // SAFETY: the device comes from HIP.
        let has_async_alloc = unsafe { result::device::get_attribute(device, pools) }? > 0;
        let context = Arc::new(Self {
            device,
            ordinal,
            has_async_alloc,
            num_streams: AtomicUsize::new(0),
            event_tracking: AtomicBool::new(true),
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

    /// The ordinal of the device.
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// The device.
    pub fn hip_device(&self) -> sys::hipDevice_t {
        self.device
    }

    /// Whether memory is allocated and freed in the order of a stream.
    pub fn has_async_alloc(&self) -> bool {
        self.has_async_alloc
    }

    /// The name of the device.
    pub fn name(&self) -> Result<String, HipError> {
        self.check_err()?;
        result::device::get_name(self.device)
    }

    /// The identity of the device.
    pub fn uuid(&self) -> Result<sys::hipUUID, HipError> {
        self.check_err()?;
        result::device::get_uuid(self.device)
    }

    /// The architecture of the device.
    ///
    /// # Errors
    ///
    /// The error of HIP; [`hipErrorNotSupported`](sys::hipError_t::hipErrorNotSupported) if HIP's
    /// name of the architecture cannot be understood.
    pub fn arch(&self) -> Result<GfxArch, HipError> {
        self.check_err()?;
        let name = result::device::get_arch_name(self.device)?;
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
        unsafe { result::device::get_attribute(self.device, attribute) }
    }

    /// The size of the device's memory in bytes.
    pub fn total_mem(&self) -> Result<usize, HipError> {
        self.check_err()?;
        // SAFETY: the device comes from HIP.
        unsafe { result::device::total_mem(self.device) }
    }

    /// Free and total bytes of the device's memory.
    pub fn mem_get_info(&self) -> Result<(usize, usize), HipError> {
        self.bind_to_thread()?;
        result::mem_get_info()
    }

    /// Makes the device the one of the calling thread. All other functions do so where needed.
    pub fn bind_to_thread(&self) -> Result<(), HipError> {
        self.check_err()?;
        if result::device::get_current()? != self.device {
            result::device::set_current(self.device)?;
        }
        Ok(())
    }

    /// Waits until all work of the device is done.
    pub fn synchronize(&self) -> Result<(), HipError> {
        self.bind_to_thread()?;
        result::device::synchronize()
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

    /// Whether streams other than the default ones have been made.
    pub fn is_in_multi_stream_mode(&self) -> bool {
        self.num_streams.load(Ordering::Relaxed) > 0
    }

    /// Whether slices keep events of their last uses.
    pub fn is_event_tracking(&self) -> bool {
        self.event_tracking.load(Ordering::Relaxed)
    }

    /// Whether streams wait for each other through the events of slices.
    pub fn is_managing_stream_synchronization(&self) -> bool {
        self.is_in_multi_stream_mode() && self.is_event_tracking()
    }

    /// Lets slices keep events of their last uses, as they do from the beginning.
    ///
    /// # Safety
    ///
    /// Slices that were made while tracking was off stay without events; their order on several
    /// streams stays the caller's care.
    pub unsafe fn enable_event_tracking(&self) {
        self.event_tracking.store(true, Ordering::Relaxed);
    }

    /// Lets slices that are made from now on do without events, which saves time where one stream
    /// is used or the caller orders the work.
    ///
    /// # Safety
    ///
    /// The caller has to see to it that a slice is neither used on a stream before another has
    /// allocated or written it, nor written or freed before another has read it.
    pub unsafe fn disable_event_tracking(&self) {
        self.event_tracking.store(false, Ordering::Relaxed);
    }

    /// Gives and forgets the last error that [`record_err`](Self::record_err) kept.
    pub fn check_err(&self) -> Result<(), HipError> {
        sys::hipError_t(self.error_state.swap(0, Ordering::Relaxed)).result()
    }

    /// Keeps an error for the next call that can return it, where one happens that cannot be
    /// returned, as in a `drop`.
    pub fn record_err<T>(&self, result: Result<T, HipError>) {
        if let Err(HipError(status)) = result {
            self.error_state.store(status.0, Ordering::Relaxed);
        }
    }
}
