use super::uses::Uses;
use super::{result, sys, HipContext, HipError, HipStream, HipViewMut};
use crate::hiprtc::{Hsaco, HsacoKind};
use std::borrow::Cow;
use std::ffi::CString;
use std::sync::Arc;

/// A code object that is loaded on a device.
#[derive(Debug)]
pub struct HipModule {
    module: sys::hipModule_t,
    context: Arc<HipContext>,
    /// HIP goes on reading the image that it was given.
    _image: Option<Cow<'static, [u8]>>,
}

// SAFETY: HIP's functions on modules can be called from any thread.
unsafe impl Send for HipModule {}
// SAFETY: as above.
unsafe impl Sync for HipModule {}

impl Drop for HipModule {
    fn drop(&mut self) {
        let _bound = self.context.bound();
        // SAFETY: the module is loaded and not used again.
        self.context
            .record_err(unsafe { result::module::unload(self.module) });
    }
}

impl HipContext {
    /// Loads a code object on the device.
    ///
    /// [`Kernels`](crate::hiprtc::Kernels) that were compiled for other architectures are compiled
    /// from their source.
    ///
    /// # Errors
    ///
    /// One that says what to do for an image that is empty and for kernels that neither the build
    /// nor hipRTC has for the device.
    /// [`hipErrorInvalidImage`](sys::hipError_t::hipErrorInvalidImage) for an image that is not a
    /// whole code object, else the error of HIP. For one that was compiled for other architectures
    /// that is [`hipErrorNoBinaryForGpu`](sys::hipError_t::hipErrorNoBinaryForGpu),
    /// [`hipErrorInvalidValue`](sys::hipError_t::hipErrorInvalidValue) or
    /// [`hipErrorInvalidImage`](sys::hipError_t::hipErrorInvalidImage), by the release of ROCm.
    pub fn load_module(self: &Arc<Self>, hsaco: Hsaco) -> Result<Arc<HipModule>, HipError> {
        self.bind_to_thread()?;
        match hsaco.0 {
            HsacoKind::File(path) => {
                let path = c_string(&path.to_string_lossy())?;
                let module = result::module::load(&path)?;
                Ok(Arc::new(HipModule {
                    module,
                    context: self.clone(),
                    _image: None,
                }))
            }
            HsacoKind::Image(image) => self.load_image(image.into()),
            HsacoKind::Kernels(kernels) => kernels.load(self),
        }
    }

    /// Loads a code object on the calling thread's device, which has to be this one.
    pub(crate) fn load_image(
        self: &Arc<Self>,
        image: Cow<'static, [u8]>,
    ) -> Result<Arc<HipModule>, HipError> {
        if image.is_empty() {
            return Err(HipError::own(EMPTY.to_string()));
        }
        if !is_code_object(&image) {
            return Err(HipError(sys::hipError_t::hipErrorInvalidImage));
        }
        // SAFETY: the image is kept, in its place, as long as the module.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) }?;
        Ok(Arc::new(HipModule {
            module,
            context: self.clone(),
            _image: Some(image),
        }))
    }
}

/// What is said of a code object that has no bytes: build scripts write such ones for checks of
/// types and for documentation.
const EMPTY: &str = "the code object is empty, as those of a build without kernels are: build \
                     with them, with hipcc installed";

impl HipModule {
    /// The kernel with a name.
    ///
    /// # Errors
    ///
    /// [`hipErrorNotFound`](sys::hipError_t::hipErrorNotFound) if there is none.
    pub fn load_function(self: &Arc<Self>, name: &str) -> Result<HipFunction, HipError> {
        self.context.bind_to_thread()?;
        let name = c_string(name)?;
        // SAFETY: the module is loaded.
        let function = unsafe { result::module::get_function(self.module, &name) }?;
        Ok(HipFunction {
            function,
            module: self.clone(),
        })
    }

    /// The bytes of the global variable with a name.
    pub fn get_global<'a>(
        self: &'a Arc<Self>,
        name: &str,
        stream: &'a Arc<HipStream>,
    ) -> Result<HipViewMut<'a, u8>, HipError> {
        self.context.bind_to_thread()?;
        let name = c_string(name)?;
        // SAFETY: the module is loaded.
        let (pointer, bytes) = unsafe { result::module::get_global(self.module, &name) }?;
        Ok(HipViewMut::new(pointer, bytes, &Uses::UNTRACKED, stream))
    }
}

/// A kernel.
#[derive(Clone, Debug)]
pub struct HipFunction {
    function: sys::hipFunction_t,
    module: Arc<HipModule>,
}

// SAFETY: HIP's functions on kernels can be called from any thread.
unsafe impl Send for HipFunction {}
// SAFETY: as above.
unsafe impl Sync for HipFunction {}

impl HipFunction {
    /// The handle, which is valid as long as this value.
    pub fn hip_function(&self) -> sys::hipFunction_t {
        self.function
    }

    pub(super) fn context(&self) -> &Arc<HipContext> {
        &self.module.context
    }

    /// The value of an attribute.
    pub fn get_attribute(&self, attribute: sys::hipFunction_attribute) -> Result<i32, HipError> {
        self.module.context.bind_to_thread()?;
        // SAFETY: the module is loaded.
        unsafe { result::function::get_function_attribute(self.function, attribute) }
    }

    /// Sets an attribute; see [`result::function::set_function_attribute`].
    pub fn set_attribute(
        &self,
        attribute: sys::hipFunction_attribute,
        value: i32,
    ) -> Result<(), HipError> {
        self.module.context.bind_to_thread()?;
        // SAFETY: the module is loaded.
        unsafe { result::function::set_function_attribute(self.function, attribute, value) }
    }

    /// Sets the balance of cache and shared memory.
    pub fn set_function_cache_config(&self, config: sys::hipFuncCache_t) -> Result<(), HipError> {
        self.module.context.bind_to_thread()?;
        // SAFETY: the module is loaded.
        unsafe { result::function::set_function_cache_config(self.function, config) }
    }

    /// The number of registers of a thread.
    pub fn num_regs(&self) -> Result<i32, HipError> {
        self.get_attribute(sys::hipFunction_attribute::HIP_FUNC_ATTRIBUTE_NUM_REGS)
    }

    /// The bytes of shared memory of a block, without what a launch adds.
    pub fn shared_size_bytes(&self) -> Result<i32, HipError> {
        self.get_attribute(sys::hipFunction_attribute::HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
    }

    /// The bytes of constant memory.
    pub fn const_size_bytes(&self) -> Result<i32, HipError> {
        self.get_attribute(sys::hipFunction_attribute::HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)
    }

    /// The bytes of private memory of a thread.
    pub fn local_size_bytes(&self) -> Result<i32, HipError> {
        self.get_attribute(sys::hipFunction_attribute::HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
    }

    /// The largest block that the kernel can be launched with.
    pub fn max_threads_per_block(&self) -> Result<i32, HipError> {
        self.get_attribute(sys::hipFunction_attribute::HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
    }

    /// The number of blocks that a compute unit can hold.
    pub fn occupancy_max_active_blocks_per_multiprocessor(
        &self,
        block_size: u32,
        dynamic_smem_size: usize,
        flags: Option<sys::hipOccupancyFlags>,
    ) -> Result<u32, HipError> {
        self.module.context.bind_to_thread()?;
        // SAFETY: the module is loaded.
        let blocks = unsafe {
            result::occupancy::max_active_block_per_multiprocessor_with_flags(
                self.function,
                block_size as i32,
                dynamic_smem_size,
                flags.unwrap_or(sys::hipOccupancyFlags::hipOccupancyDefault),
            )
        }?;
        Ok(blocks as u32)
    }
}

fn c_string(text: &str) -> Result<CString, HipError> {
    CString::new(text).map_err(|_| HipError(sys::hipError_t::hipErrorInvalidValue))
}

/// Whether HIP can read an image to its end, which it finds from what the image says of itself.
///
/// An ELF file has to hold its tables of segments and sections; a bundle of them is known by its
/// first bytes only.
pub(crate) fn is_code_object(image: &[u8]) -> bool {
    const BUNDLES: [&[u8]; 2] = [b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"];
    if BUNDLES.iter().any(|magic| image.starts_with(magic)) {
        return true;
    }
    // Offsets in the header of a 64-bit little-endian ELF file.
    let (segments, sections) = ((0x20, 0x36, 0x38), (0x28, 0x3a, 0x3c));
    image.starts_with(b"\x7fELF\x02\x01")
        && [segments, sections]
            .into_iter()
            .all(|(offset, size, count)| {
                let end = || {
                    let table = u64::from(number::<2>(image, size)? as u32)
                        * u64::from(number::<2>(image, count)? as u32);
                    number::<8>(image, offset)?.checked_add(table)
                };
                end().is_some_and(|end| end <= image.len() as u64)
            })
}

/// A little-endian number of `N` bytes.
fn number<const N: usize>(image: &[u8], at: usize) -> Option<u64> {
    let mut bytes = [0; 8];
    bytes[..N].copy_from_slice(image.get(at..at + N)?);
    Some(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::is_code_object;

    /// A header with one segment and one section after it.
    fn elf() -> Vec<u8> {
        let mut image = vec![0u8; 0x40 + 56 + 64];
        image[..6].copy_from_slice(b"\x7fELF\x02\x01");
        image[0x20] = 0x40;
        image[0x28] = 0x40 + 56;
        image[0x36] = 56;
        image[0x38] = 1;
        image[0x3a] = 64;
        image[0x3c] = 1;
        image
    }

    #[test]
    fn whole_code_objects() {
        assert!(is_code_object(&elf()));
        assert!(is_code_object(b"__CLANG_OFFLOAD_BUNDLE__\x01"));
        assert!(is_code_object(b"CCOB\x02"));
    }

    #[test]
    fn everything_else() {
        assert!(!is_code_object(b""));
        assert!(!is_code_object(b"\x7fELF\x02\x01"));
        assert!(!is_code_object(b".version 7.0"));
        let mut image = elf();
        image.pop();
        assert!(!is_code_object(&image));
        let mut image = elf();
        image[0x20..0x28].fill(0xff);
        assert!(!is_code_object(&image));
    }
}
