//! Modules: code objects that are loaded on a device.

use super::HipError;
use crate::driver::sys::{self, hipDeviceptr_t, hipFunction_t, hipModule_t};
use std::ffi::{c_void, CStr};

/// Loads the code object of a file on the calling thread's device.
pub fn load(path: &CStr) -> Result<hipModule_t, HipError> {
    let mut module = std::ptr::null_mut();
    // SAFETY: the pointers are valid.
    unsafe { sys::hipModuleLoad(&mut module, path.as_ptr()) }.result()?;
    Ok(module)
}

/// Loads a code object on the calling thread's device.
///
/// # Safety
///
/// The image has to be a whole code object, and to stay where it is until the module is unloaded:
/// HIP does not copy it.
pub unsafe fn load_data(image: *const c_void) -> Result<hipModule_t, HipError> {
    let mut module = std::ptr::null_mut();
    sys::hipModuleLoadData(&mut module, image).result()?;
    Ok(module)
}

/// The kernel of a module with a name.
///
/// # Safety
///
/// The module has to be loaded.
pub unsafe fn get_function(module: hipModule_t, name: &CStr) -> Result<hipFunction_t, HipError> {
    let mut function = std::ptr::null_mut();
    sys::hipModuleGetFunction(&mut function, module, name.as_ptr()).result()?;
    Ok(function)
}

/// Address and size in bytes of the global variable of a module with a name.
///
/// # Safety
///
/// The module has to be loaded.
pub unsafe fn get_global(
    module: hipModule_t,
    name: &CStr,
) -> Result<(hipDeviceptr_t, usize), HipError> {
    let (mut pointer, mut bytes) = (std::ptr::null_mut(), 0);
    sys::hipModuleGetGlobal(&mut pointer, &mut bytes, module, name.as_ptr()).result()?;
    Ok((pointer as hipDeviceptr_t, bytes))
}

/// Unloads a module.
///
/// # Safety
///
/// The module has to be loaded, and is not afterwards.
pub unsafe fn unload(module: hipModule_t) -> Result<(), HipError> {
    sys::hipModuleUnload(module).result()
}
