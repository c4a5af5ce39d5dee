use super::uses::Uses;
use super::{
    result, sys, DevicePtr, DevicePtrMut, DeviceRepr, HipError, HipSlice, HipStream, HostSlice,
    ValidAsZeroBits,
};
use std::mem::size_of;
use std::slice;
use std::sync::Arc;

impl HipStream {
    /// A slice of no values.
    pub fn null<T>(self: &Arc<Self>) -> Result<HipSlice<T>, HipError> {
        Ok(HipSlice::new(0, 0, Uses::UNTRACKED, self))
    }

    /// Allocates memory for `len` values. Work of other streams that uses it waits for what this
    /// one has now.
    ///
    /// # Safety
    ///
    /// The memory is not set.
    pub unsafe fn alloc<T: DeviceRepr>(
        self: &Arc<Self>,
        len: usize,
    ) -> Result<HipSlice<T>, HipError> {
        self.context().bind_to_thread()?;
        let (gpu, stream) = (self.gpu(), self.key());
        let too_many = HipError(sys::hipError_t::hipErrorOutOfMemory);
        let bytes = len.checked_mul(size_of::<T>()).ok_or(too_many)?;
        let pool = gpu.captures.pool(stream);
        let pointer = gpu.memory.allocate(stream, pool, bytes)?;
        match Uses::new(self) {
            Ok(uses) => Ok(HipSlice::new(pointer, len, uses, self)),
            Err(error) => {
                gpu.memory.free(gpu, pointer, stream)?;
                Err(error)
            }
        }
    }

    /// Allocates memory for `len` values and sets all bits to zero.
    pub fn alloc_zeros<T: DeviceRepr + ValidAsZeroBits>(
        self: &Arc<Self>,
        len: usize,
    ) -> Result<HipSlice<T>, HipError> {
        // SAFETY: the memory is set in the next line.
        let mut slice = unsafe { self.alloc(len) }?;
        self.memset_zeros(&mut slice)?;
        Ok(slice)
    }

    /// Sets all bits to zero.
    pub fn memset_zeros<T: DeviceRepr + ValidAsZeroBits, Dst: DevicePtrMut<T>>(
        self: &Arc<Self>,
        dst: &mut Dst,
    ) -> Result<(), HipError> {
        self.context().bind_to_thread()?;
        let num_bytes = dst.num_bytes();
        let (dst, mut guard) = dst.device_ptr_mut(self);
        guard.begun()?;
        // SAFETY: memory and stream are alive.
        unsafe { result::memset_d8_async(dst, 0, num_bytes, self.hip_stream()) }
    }

    /// Allocates memory and copies values of the host to it.
    pub fn clone_htod<T: DeviceRepr, Src: HostSlice<T> + ?Sized>(
        self: &Arc<Self>,
        src: &Src,
    ) -> Result<HipSlice<T>, HipError> {
        // SAFETY: the memory is set in the next line.
        let mut dst = unsafe { self.alloc(src.len()) }?;
        self.memcpy_htod(src, &mut dst)?;
        Ok(dst)
    }

    /// Another name of [`clone_htod`](Self::clone_htod).
    pub fn memcpy_stod<T: DeviceRepr, Src: HostSlice<T> + ?Sized>(
        self: &Arc<Self>,
        src: &Src,
    ) -> Result<HipSlice<T>, HipError> {
        self.clone_htod(src)
    }

    /// Copies values of the host. A graph copies them as they were when it was captured, but for
    /// page-locked memory, which it reads when it is launched.
    ///
    /// # Panics
    ///
    /// If `dst` is shorter than `src`.
    pub fn memcpy_htod<T: DeviceRepr, Src: HostSlice<T> + ?Sized, Dst: DevicePtrMut<T>>(
        self: &Arc<Self>,
        src: &Src,
        dst: &mut Dst,
    ) -> Result<(), HipError> {
        assert!(dst.len() >= src.len());
        self.context().bind_to_thread()?;
        // SAFETY: the guard outlives the copy.
        let (src, mut src_guard) = unsafe { src.stream_synced_slice(self) };
        src_guard.begun()?;
        let (dst, mut dst_guard) = dst.device_ptr_mut(self);
        dst_guard.begun()?;
        let copied = match src_guard.is_nothing() {
            true => self.gpu().captures.copied(self.key(), src),
            false => None,
        };
        // SAFETY: the copy has as many values, and is there as long as the capture is, or its graph.
        let src = copied.map_or(src, |at| unsafe { slice::from_raw_parts(at, src.len()) });
        // SAFETY: memory and stream are alive.
        unsafe { result::memcpy_htod_async(dst, src, self.hip_stream()) }
    }

    /// Copies values to a new vector on the host; an error while the stream is captured, when there
    /// are none yet.
    pub fn clone_dtoh<T: DeviceRepr, Src: DevicePtr<T>>(
        self: &Arc<Self>,
        src: &Src,
    ) -> Result<Vec<T>, HipError> {
        let len = src.len();
        let mut dst = Vec::with_capacity(len);
        self.context().bind_to_thread()?;
        self.is_to_be_read()?;
        let (src, mut guard) = src.device_ptr(self);
        guard.begun()?;
        let room = &mut dst.spare_capacity_mut()[..len];
        // SAFETY: memory and stream are alive; the vector holds `len` values once this returns.
        unsafe {
            result::memcpy_dtoh_async(room, src, self.hip_stream())?;
            dst.set_len(len);
        }
        // What ended the work that the values come from may have been found meanwhile.
        drop(guard);
        self.context().check_err()?;
        Ok(dst)
    }

    /// Another name of [`clone_dtoh`](Self::clone_dtoh).
    pub fn memcpy_dtov<T: DeviceRepr, Src: DevicePtr<T>>(
        self: &Arc<Self>,
        src: &Src,
    ) -> Result<Vec<T>, HipError> {
        self.clone_dtoh(src)
    }

    /// Copies values to the host; while the stream is captured to page-locked memory alone, else it
    /// is an error.
    ///
    /// # Panics
    ///
    /// If `dst` is shorter than `src`.
    pub fn memcpy_dtoh<T: DeviceRepr, Src: DevicePtr<T>, Dst: HostSlice<T> + ?Sized>(
        self: &Arc<Self>,
        src: &Src,
        dst: &mut Dst,
    ) -> Result<(), HipError> {
        assert!(dst.len() >= src.len());
        self.context().bind_to_thread()?;
        let len = src.len();
        let (src, mut src_guard) = src.device_ptr(self);
        src_guard.begun()?;
        // SAFETY: the guard outlives the copy.
        let (dst, mut dst_guard) = unsafe { dst.stream_synced_mut_slice(self) };
        dst_guard.begun()?;
        if dst_guard.is_nothing() {
            self.is_to_be_read()?;
        }
        // SAFETY: memory and stream are alive.
        unsafe { result::memcpy_dtoh_async(&mut dst[..len], src, self.hip_stream()) }?;
        self.context().check_err()
    }

    /// An error while the stream is captured: a graph would write to the host when that reads
    /// elsewhere.
    fn is_to_be_read(&self) -> Result<(), HipError> {
        match self.is_captured() {
            true => Err(HipError(sys::hipError_t::hipErrorStreamCaptureUnsupported)),
            false => Ok(()),
        }
    }

    /// Copies values within a device, or from another.
    ///
    /// # Panics
    ///
    /// If `dst` is shorter than `src`.
    pub fn memcpy_dtod<T, Src: DevicePtr<T>, Dst: DevicePtrMut<T>>(
        self: &Arc<Self>,
        src: &Src,
        dst: &mut Dst,
    ) -> Result<(), HipError> {
        assert!(dst.len() >= src.len());
        self.context().bind_to_thread()?;
        let num_bytes = src.num_bytes();
        let from = src.stream();
        if from.context() == self.context() {
            let (src, mut src_guard) = src.device_ptr(self);
            src_guard.begun()?;
            let (dst, mut dst_guard) = dst.device_ptr_mut(self);
            dst_guard.begun()?;
            // SAFETY: memory and stream are alive.
            return unsafe { result::memcpy_dtod_async(dst, src, num_bytes, self.hip_stream()) };
        }
        if self.context().has_async_alloc() {
            return self.memcpy_through_host(src, dst, num_bytes);
        }
        // Uses are kept for each device apart. So this stream waits for what the other one did, and
        // the other one for this copy.
        let (src_ptr, mut src_guard) = src.device_ptr(from);
        src_guard.begun()?;
        self.join(from)?;
        self.context().bind_to_thread()?;
        let (dst, mut dst_guard) = dst.device_ptr_mut(self);
        dst_guard.begun()?;
        // SAFETY: memory and stream are alive.
        unsafe {
            result::memcpy_peer_async(
                self.context().hip_device(),
                dst,
                from.context().hip_device(),
                src_ptr,
                num_bytes,
                self.hip_stream(),
            )
        }?;
        from.join(self)?;
        drop(src_guard);
        self.context().bind_to_thread()
    }

    /// Copies memory of another device's pool, which this device cannot reach unless the pool was
    /// told so, also where it has access to the device as a peer.
    fn memcpy_through_host<T, Src: DevicePtr<T>, Dst: DevicePtrMut<T>>(
        self: &Arc<Self>,
        src: &Src,
        dst: &mut Dst,
        num_bytes: usize,
    ) -> Result<(), HipError> {
        let from = src.stream();
        let mut host = vec![0u8; num_bytes];
        {
            let (src, mut guard) = src.device_ptr(from);
            guard.begun()?;
            from.context().bind_to_thread()?;
            // SAFETY: memory and stream are alive, and any byte is a value of the vector.
            unsafe { result::memcpy_dtoh_async(&mut host, src, from.hip_stream()) }?;
        }
        from.synchronize()?;
        self.context().bind_to_thread()?;
        let (dst, mut guard) = dst.device_ptr_mut(self);
        guard.begun()?;
        // SAFETY: memory and stream are alive; HIP has read the vector when it returns.
        unsafe { result::memcpy_htod_async(dst, &host, self.hip_stream()) }
    }

    /// Allocates memory and copies values of a device to it.
    pub fn clone_dtod<T: DeviceRepr, Src: DevicePtr<T>>(
        self: &Arc<Self>,
        src: &Src,
    ) -> Result<HipSlice<T>, HipError> {
        // SAFETY: the memory is set in the next line.
        let mut dst = unsafe { self.alloc(src.len()) }?;
        self.memcpy_dtod(src, &mut dst)?;
        Ok(dst)
    }
}
