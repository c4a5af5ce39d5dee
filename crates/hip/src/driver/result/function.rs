//! Kernels.

use super::HipError;
use crate::driver::sys::{self, hipFunction_attribute, hipFunction_t};

/// The value of an attribute of a kernel.
///
/// # Safety
///
/// The module of the kernel has to be loaded.
pub unsafe fn get_function_attribute(
    function: hipFunction_t,
    attribute: hipFunction_attribute,
) -> Result<i32, HipError> {
    let mut value = 0;
    sys::hipFuncGetAttribute(&mut value, attribute, function).result()?;
    Ok(value)
}

/// Sets an attribute of a kernel.
///
/// HIP takes this and does nothing (`hipFuncSetAttribute` in `hipamd/src/hip_module.cpp`): AMD
/// GPUs have no larger limit of shared memory to opt in to.
///
/// # Safety
///
/// The module of the kernel has to be loaded.
pub unsafe fn set_function_attribute(
    function: hipFunction_t,
    attribute: hipFunction_attribute,
    value: i32,
) -> Result<(), HipError> {
    sys::hipFuncSetAttribute(function as *const _, attribute, value).result()
}

/// Sets the balance of cache and shared memory for a kernel.
///
/// # Safety
///
/// The module of the kernel has to be loaded.
pub unsafe fn set_function_cache_config(
    function: hipFunction_t,
    config: sys::hipFuncCache_t,
) -> Result<(), HipError> {
    sys::hipFuncSetCacheConfig(function as *const _, config).result()
}
