//! Devices.

use super::HipError;
use crate::driver::sys::{self, hipDeviceAttribute_t, hipDevice_t};
use std::ffi::{c_int, CStr};
use std::mem::MaybeUninit;

/// The device with an ordinal.
pub fn get(ordinal: c_int) -> Result<hipDevice_t, HipError> {
    let mut device = 0;
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::hipDeviceGet(&mut device, ordinal) }.result()?;
    Ok(device)
}

/// The number of devices.
pub fn get_count() -> Result<c_int, HipError> {
    let mut count = 0;
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::hipGetDeviceCount(&mut count) }.result()?;
    Ok(count)
}

/// The device of the calling thread.
pub fn get_current() -> Result<hipDevice_t, HipError> {
    let mut device = 0;
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::hipGetDevice(&mut device) }.result()?;
    Ok(device)
}

/// Makes a device the one of the calling thread.
pub fn set_current(device: hipDevice_t) -> Result<(), HipError> {
    // SAFETY: HIP checks the number.
    unsafe { sys::hipSetDevice(device) }.result()
}

/// Waits until all work of the calling thread's device is done.
pub fn synchronize() -> Result<(), HipError> {
    // SAFETY: there are no arguments.
    unsafe { sys::hipDeviceSynchronize() }.result()
}

/// Sets how threads wait for the calling thread's device.
pub fn set_flags(flags: sys::hipDeviceFlags) -> Result<(), HipError> {
    // SAFETY: HIP checks the flags.
    unsafe { sys::hipSetDeviceFlags(flags) }.result()
}

/// A limit of the calling thread's device.
pub fn get_limit(limit: sys::hipLimit_t) -> Result<usize, HipError> {
    let mut value = 0;
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::hipDeviceGetLimit(&mut value, limit) }.result()?;
    Ok(value)
}

/// Sets a limit of the calling thread's device.
pub fn set_limit(limit: sys::hipLimit_t, value: usize) -> Result<(), HipError> {
    // SAFETY: HIP checks the limit.
    unsafe { sys::hipDeviceSetLimit(limit, value) }.result()
}

/// The size of a device's memory in bytes.
///
/// # Safety
///
/// The device has to come from [`get`].
pub unsafe fn total_mem(device: hipDevice_t) -> Result<usize, HipError> {
    let mut bytes = 0;
    sys::hipDeviceTotalMem(&mut bytes, device).result()?;
    Ok(bytes)
}

/// The value of an attribute of a device.
///
/// AMD GPUs have no larger limit of shared memory to opt in to, and HIP answers 0 when asked for
/// it (`sharedMemPerBlockOptin` in `hipamd/src/hip_device.cpp`); the limit that there is stands in.
///
/// # Safety
///
/// The device has to come from [`get`].
pub unsafe fn get_attribute(
    device: hipDevice_t,
    attribute: hipDeviceAttribute_t,
) -> Result<i32, HipError> {
    let mut value = 0;
    sys::hipDeviceGetAttribute(&mut value, attribute, device).result()?;
    if value == 0 && attribute == hipDeviceAttribute_t::hipDeviceAttributeSharedMemPerBlockOptin {
        let limit = hipDeviceAttribute_t::hipDeviceAttributeMaxSharedMemoryPerBlock;
        sys::hipDeviceGetAttribute(&mut value, limit, device).result()?;
    }
    Ok(value)
}

/// The name of a device.
pub fn get_name(device: hipDevice_t) -> Result<String, HipError> {
    let mut name = [0; 256];
    // SAFETY: the pointer is valid for a write of as many characters.
    unsafe { sys::hipDeviceGetName(name.as_mut_ptr(), name.len() as c_int - 1, device) }
        .result()?;
    // SAFETY: the last character stays zero.
    Ok(unsafe { CStr::from_ptr(name.as_ptr()) }
        .to_string_lossy()
        .into_owned())
}

/// The identity of a device.
pub fn get_uuid(device: hipDevice_t) -> Result<sys::hipUUID, HipError> {
    let mut uuid = sys::hipUUID::default();
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::hipDeviceGetUuid(&mut uuid, device) }.result()?;
    Ok(uuid)
}

/// The architecture of a device with its target features, such as `gfx90a:sramecc+:xnack-`.
pub fn get_arch_name(device: hipDevice_t) -> Result<String, HipError> {
    let mut properties = MaybeUninit::<sys::hipDeviceProp_tR0600>::zeroed();
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::hipGetDevicePropertiesR0600(properties.as_mut_ptr(), device) }.result()?;
    // SAFETY: zeros are a valid value, whatever HIP left unwritten.
    let name = unsafe { properties.assume_init() }.gcnArchName;
    // SAFETY: HIP ends the name with a zero.
    Ok(unsafe { CStr::from_ptr(name.as_ptr()) }
        .to_string_lossy()
        .into_owned())
}
