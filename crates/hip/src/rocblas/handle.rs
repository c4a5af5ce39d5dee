use super::result::{self, RocblasError};
use super::sys;
use crate::driver::{this_thread, HipStream};
use crate::hipblaslt::{attach, detach, taken, Choice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Handles of rocBLAS for a stream: each thread has one of its own.
///
/// A handle has memory that its kernels share, one after the other in its stream, and is not made for
/// two threads at once (rocBLAS, "Device memory allocation"; PyTorch has one for each thread and
/// stream as well). On the stream of a thread another thread means another stream.
///
/// Products of half and bf16 matrices may go to [hipBLASLt](crate::hipblaslt).
#[derive(Debug)]
pub struct RocBlas {
    choice: Choice,
    handles: Mutex<Handles>,
    stream: Arc<HipStream>,
}

#[derive(Debug)]
struct Handles {
    mode: sys::rocblas_pointer_mode,
    all: Vec<Handle>,
}

/// A handle, in memory that is given back with it, and the thread that has it.
#[derive(Debug)]
struct Handle {
    at: *mut sys::rocblas_handle,
    thread: Weak<()>,
}

// SAFETY: handles can be used from any thread, of which each has its own.
unsafe impl Send for RocBlas {}
// SAFETY: as above.
unsafe impl Sync for RocBlas {}

/// What is returned where no handle could be made: rocBLAS refuses it.
static NONE: Shared = Shared(std::ptr::null_mut());

struct Shared(sys::rocblas_handle);

// SAFETY: it is null.
unsafe impl Sync for Shared {}

impl Drop for RocBlas {
    fn drop(&mut self) {
        let _bound = self.stream.context().bound();
        let _relaxed = self.stream.context().relaxed();
        for handle in self.lock().all.drain(..) {
            // SAFETY: the memory comes from a box, and nobody uses it again.
            let handle = unsafe { Box::from_raw(handle.at) };
            detach(*handle);
            // SAFETY: the handle is alive and not used again. There is nobody to tell an error to.
            let _ = unsafe { result::destroy_handle(*handle) };
        }
    }
}

impl RocBlas {
    /// Creates a handle for a stream, that of the calling thread.
    ///
    /// # Errors
    ///
    /// Those of rocBLAS; [`NO_CHOICE`](sys::rocblas_status::NO_CHOICE), when `HIPRC_BLAS` is none of
    /// `auto`, `rocblas` and `hipblaslt`.
    pub fn new(stream: Arc<HipStream>) -> Result<Self, RocblasError> {
        let no_choice = RocblasError(sys::rocblas_status::NO_CHOICE);
        Self::with_choice(stream, Choice::of_environment().ok_or(no_choice)?)
    }

    /// The same, where `HIPRC_BLAS` says nothing.
    pub fn with_choice(stream: Arc<HipStream>, choice: Choice) -> Result<Self, RocblasError> {
        let mode = sys::rocblas_pointer_mode::rocblas_pointer_mode_host;
        let all = Vec::new();
        let blas = Self {
            choice,
            handles: Mutex::new(Handles { mode, all }),
            stream,
        };
        blas.own_handle()?;
        Ok(blas)
    }

    /// The handle of the calling thread, which no other may use. It must not be destroyed.
    ///
    /// Null if none can be made, which rocBLAS then says.
    pub fn handle(&self) -> &sys::rocblas_handle {
        match self.own_handle() {
            // SAFETY: the memory is there as long as `self`, and nobody writes it.
            Ok(handle) => unsafe { &*handle },
            Err(_) => &NONE.0,
        }
    }

    fn own_handle(&self) -> Result<*const sys::rocblas_handle, RocblasError> {
        let thread = this_thread();
        let mut handles = self.lock();
        if let Some(own) = handles.all.iter().find(|one| one.thread.ptr_eq(&thread)) {
            return Ok(own.at);
        }
        // A thread that has ended has left its handle. On its own stream its work may go on.
        if !self.stream.is_of_thread() {
            let mut all = handles.all.iter_mut();
            if let Some(left) = all.find(|one| one.thread.strong_count() == 0) {
                left.thread = thread;
                return Ok(left.at);
            }
        }
        let handle = self.create()?;
        if let Err(error) = self.prepare(handle, handles.mode) {
            // Of no stream it would put work into the null stream.
            // SAFETY: the handle is alive and not used again. There is an error to tell already.
            let _ = unsafe { result::destroy_handle(handle) };
            return Err(error);
        }
        attach(handle, &self.stream, self.choice);
        let at = Box::into_raw(Box::new(handle));
        handles.all.push(Handle { at, thread });
        Ok(at)
    }

    /// Creates a handle, which allocates memory by itself: up to 128 MiB (`handle.hpp` of rocBLAS,
    /// `DEFAULT_DEVICE_MEMORY_SIZE`), which this crate's allocator may hold.
    fn create(&self) -> Result<sys::rocblas_handle, RocblasError> {
        let context = self.stream.context();
        let _bound = context.bound();
        let _relaxed = self.stream.context().relaxed();
        result::create_handle().or_else(|error| match error {
            RocblasError(sys::rocblas_status::rocblas_status_memory_error) => {
                let emptied = context.empty_cache();
                context.record_err(emptied);
                result::create_handle()
            }
            _ => Err(error),
        })
    }

    /// Has a new handle put its work into the stream, find scalars where those of the others are, and
    /// give the same result for the same product.
    ///
    /// cuBLAS promises that for products in one stream (its manual, "Results reproducibility"). Up to
    /// rocBLAS 4, of ROCm 6, a product may add up its parts by atomic operations unless it is told not
    /// to; from 5 on it may not (rocBLAS's changelog, 5.0.0).
    fn prepare(
        &self,
        handle: sys::rocblas_handle,
        mode: sys::rocblas_pointer_mode,
    ) -> Result<(), RocblasError> {
        // SAFETY: handle and stream are alive and of one device.
        unsafe {
            result::set_stream(handle, self.stream.hip_stream())?;
            let atomics = sys::rocblas_atomics_mode::rocblas_atomics_not_allowed;
            sys::rocblas_set_atomics_mode(handle, atomics).result()?;
            if mode != sys::rocblas_pointer_mode::rocblas_pointer_mode_host {
                sys::rocblas_set_pointer_mode(handle, mode).result()?;
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Handles> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stream that work is put into.
    pub fn stream(&self) -> &Arc<HipStream> {
        &self.stream
    }

    /// Puts work into another stream from now on, which waits for that of the former one: the memory
    /// of a handle is for one stream at a time (rocBLAS, "Programmer's guide").
    ///
    /// # Safety
    ///
    /// The stream has to be of the same device, and work on the former one not to concern the same
    /// memory.
    pub unsafe fn set_stream(&mut self, stream: Arc<HipStream>) -> Result<(), RocblasError> {
        if self.stream.is_of_thread() || stream.is_of_thread() {
            // Those of other threads cannot be waited for from here.
            stream.context().synchronize()?;
        } else if stream != self.stream {
            stream.join(&self.stream)?;
        }
        for handle in &self.lock().all {
            result::set_stream(*handle.at, stream.hip_stream())?;
            attach(*handle.at, &stream, self.choice);
        }
        self.stream = stream;
        Ok(())
    }

    /// How many products hipBLASLt has taken, of all threads.
    pub fn taken_by_hipblaslt(&self) -> usize {
        let handles = self.lock();
        // SAFETY: the memory is there, and nobody writes it.
        let taken = handles
            .all
            .iter()
            .map(|handle| taken(unsafe { *handle.at }));
        taken.sum()
    }

    /// Sets where scalars are: on the host, as at the beginning, or on the device.
    pub fn set_pointer_mode(&self, mode: sys::rocblas_pointer_mode) -> Result<(), RocblasError> {
        let mut handles = self.lock();
        for handle in &handles.all {
            // SAFETY: the memory is there, and the handle alive.
            unsafe { sys::rocblas_set_pointer_mode(*handle.at, mode) }.result()?;
        }
        handles.mode = mode;
        Ok(())
    }

    /// Where scalars are.
    pub fn get_pointer_mode(&self) -> Result<sys::rocblas_pointer_mode, RocblasError> {
        let mut mode = sys::rocblas_pointer_mode::rocblas_pointer_mode_host;
        // SAFETY: the handle is alive, and the pointer valid for a write.
        unsafe { sys::rocblas_get_pointer_mode(*self.handle(), &mut mode) }.result()?;
        Ok(mode)
    }
}
