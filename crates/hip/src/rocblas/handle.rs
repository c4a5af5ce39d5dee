use super::result::{self, RocblasError};
use super::sys;
use crate::driver::HipStream;
use std::sync::Arc;

/// A handle of rocBLAS, which puts its work into one stream.
#[derive(Debug)]
pub struct RocBlas {
    handle: sys::rocblas_handle,
    stream: Arc<HipStream>,
}

// SAFETY: a handle can be used from any thread.
unsafe impl Send for RocBlas {}
// SAFETY: rocBLAS guards what calls on one handle share.
unsafe impl Sync for RocBlas {}

impl Drop for RocBlas {
    fn drop(&mut self) {
        let context = self.stream.context();
        let _bound = context.bound();
        // SAFETY: the handle is alive and not used again. There is nobody to tell an error to.
        let _ = unsafe { result::destroy_handle(self.handle) };
    }
}

impl RocBlas {
    /// Creates a handle for a stream.
    pub fn new(stream: Arc<HipStream>) -> Result<Self, RocblasError> {
        let context = stream.context();
        let _bound = context.bound();
        let blas = Self {
            handle: result::create_handle()?,
            stream,
        };
        // SAFETY: both are alive and of one device.
        unsafe { result::set_stream(blas.handle, blas.stream.hip_stream()) }?;
        Ok(blas)
    }

    /// The handle. It must not be destroyed.
    pub fn handle(&self) -> &sys::rocblas_handle {
        &self.handle
    }

    /// The stream that work is put into.
    pub fn stream(&self) -> &Arc<HipStream> {
        &self.stream
    }

    /// Puts work into another stream from now on.
    ///
    /// # Safety
    ///
    /// The stream has to be of the same device, and work on the former one not to concern the same
    /// memory.
    pub unsafe fn set_stream(&mut self, stream: Arc<HipStream>) -> Result<(), RocblasError> {
        result::set_stream(self.handle, stream.hip_stream())?;
        self.stream = stream;
        Ok(())
    }

    /// Sets where scalars are: on the host, as at the beginning, or on the device.
    pub fn set_pointer_mode(&self, mode: sys::rocblas_pointer_mode) -> Result<(), RocblasError> {
        // SAFETY: the handle is alive.
        unsafe { sys::rocblas_set_pointer_mode(self.handle, mode) }.result()
    }

    /// Where scalars are.
    pub fn get_pointer_mode(&self) -> Result<sys::rocblas_pointer_mode, RocblasError> {
        let mut mode = sys::rocblas_pointer_mode::rocblas_pointer_mode_host;
        // SAFETY: the handle is alive, and the pointer valid for a write.
        unsafe { sys::rocblas_get_pointer_mode(self.handle, &mut mode) }.result()?;
        Ok(mode)
    }
}
