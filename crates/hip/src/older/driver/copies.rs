use super::{DevicePtr, DevicePtrMut, DeviceRepr, HipDevice, HipError, HipSlice};
use crate::driver::result;
use std::sync::Arc;

/// Copies. Those of the host wait, so that its memory may go at once.
impl HipDevice {
    /// Allocates memory and copies values of the host to it.
    pub fn htod_copy<T: Unpin + DeviceRepr>(
        self: &Arc<Self>,
        src: Vec<T>,
    ) -> Result<HipSlice<T>, HipError> {
        self.htod_sync_copy(&src)
    }

    /// Copies values of the host.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn htod_copy_into<T: Unpin + DeviceRepr>(
        self: &Arc<Self>,
        src: Vec<T>,
        dst: &mut HipSlice<T>,
    ) -> Result<(), HipError> {
        self.htod_sync_copy_into(&src, dst)
    }

    /// Allocates memory, copies values of the host to it and waits.
    pub fn htod_sync_copy<T: DeviceRepr>(
        self: &Arc<Self>,
        src: &[T],
    ) -> Result<HipSlice<T>, HipError> {
        // SAFETY: all of it is written before it is read.
        let mut dst = unsafe { self.alloc(src.len()) }?;
        self.htod_sync_copy_into(src, &mut dst)?;
        Ok(dst)
    }

    /// Copies values of the host and waits.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn htod_sync_copy_into<T: DeviceRepr, Dst: DevicePtrMut<T>>(
        &self,
        src: &[T],
        dst: &mut Dst,
    ) -> Result<(), HipError> {
        assert_eq!(src.len(), dst.len());
        self.bind_to_thread()?;
        // SAFETY: both hold as many values, and the host's are there until the copy is done.
        unsafe { result::memcpy_htod_async(*dst.device_ptr_mut(), src, self.hip_stream()) }?;
        self.synchronize()
    }

    /// Copies values to the host and waits.
    pub fn dtoh_sync_copy<T: DeviceRepr, Src: DevicePtr<T>>(
        &self,
        src: &Src,
    ) -> Result<Vec<T>, HipError> {
        let mut values = Vec::with_capacity(src.len());
        // SAFETY: the length is the capacity, and what a type of kernels holds needs no drop; the
        // values are written before anybody sees them, or are gone with the error.
        #[allow(clippy::uninit_vec)]
        unsafe {
            values.set_len(src.len());
        }
        self.dtoh_sync_copy_into(src, &mut values)?;
        Ok(values)
    }

    /// Copies values to a slice of the host and waits.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn dtoh_sync_copy_into<T: DeviceRepr, Src: DevicePtr<T>>(
        &self,
        src: &Src,
        dst: &mut [T],
    ) -> Result<(), HipError> {
        assert_eq!(src.len(), dst.len());
        self.bind_to_thread()?;
        // SAFETY: both hold as many values, and the host's are there until the copy is done.
        unsafe { result::memcpy_dtoh_async(dst, *src.device_ptr(), self.hip_stream()) }?;
        self.synchronize()
    }

    /// Copies values to the host, waits and frees the memory.
    pub fn sync_reclaim<T: Clone + Default + DeviceRepr + Unpin>(
        &self,
        src: HipSlice<T>,
    ) -> Result<Vec<T>, HipError> {
        self.dtoh_sync_copy(&src)
    }

    /// Copies values within the device.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn dtod_copy<T: DeviceRepr, Src: DevicePtr<T>, Dst: DevicePtrMut<T>>(
        &self,
        src: &Src,
        dst: &mut Dst,
    ) -> Result<(), HipError> {
        assert_eq!(src.len(), dst.len());
        self.bind_to_thread()?;
        let (from, bytes) = (*src.device_ptr(), src.num_bytes());
        // SAFETY: both have that many bytes.
        unsafe { result::memcpy_dtod_async(*dst.device_ptr_mut(), from, bytes, self.hip_stream()) }
    }
}
