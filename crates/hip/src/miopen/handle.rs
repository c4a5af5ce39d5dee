use super::chosen::Chosen;
use super::result::{self, MiopenError};
use super::sys::miopenHandle_t;
use crate::driver::{HipContext, HipStream};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// MIOpen for a stream.
///
/// All who ask for one of a stream share a handle, and with it the kernels that it has loaded. One
/// thread at a time uses it, as MIOpen asks for; work is put in meanwhile and not waited for.
#[derive(Clone, Debug)]
pub struct Miopen {
    stream: Arc<HipStream>,
    handle: Arc<Handle>,
}

/// A handle, with the solutions that were chosen for what it was asked for.
pub(super) struct Handle {
    own: Mutex<Own>,
    context: Arc<HipContext>,
}

/// What one thread at a time uses.
pub(super) struct Own {
    pub(super) at: miopenHandle_t,
    pub(super) chosen: Chosen,
}

// SAFETY: MIOpen's handles may be used from any thread, by one at a time.
unsafe impl Send for Own {}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let own = self.own.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _bound = self.context.bound();
        let _relaxed = self.context.relaxed();
        // SAFETY: the handle is alive and not used again. There is nobody to tell an error to.
        let _ = unsafe { result::destroy_handle(own.at) };
    }
}

impl Handle {
    fn new(stream: &HipStream) -> Result<Self, MiopenError> {
        let context = stream.context().clone();
        let bound = context.bound();
        let _relaxed = context.relaxed(); // it allocates memory by itself
                                          // SAFETY: the stream is of the device, and keeps the handle.
        let at = unsafe { result::create_handle(stream.hip_stream()) }?;
        drop(bound);
        let chosen = Chosen::default();
        Ok(Self {
            own: Mutex::new(Own { at, chosen }),
            context,
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Miopen {
    /// MIOpen for a stream; its handle is made when the first asks for it, and goes with the stream.
    pub fn new(stream: Arc<HipStream>) -> Result<Arc<Self>, MiopenError> {
        let handle = stream.kept(|| Handle::new(&stream))?;
        Ok(Arc::new(Self { stream, handle }))
    }

    /// The stream that work is put into.
    pub fn stream(&self) -> &Arc<HipStream> {
        &self.stream
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }
}
