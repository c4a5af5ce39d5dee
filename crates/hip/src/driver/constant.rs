//! Small values that kernels read, such as sizes and strides, and that a stream uploads once.

use super::gpu::{lock, Gpu, StreamKey};
use super::{sys, DeviceRepr, HipError, HipStream, LaunchArgs, PushKernelArg};
use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

/// So many of them are kept; then all are given up, and those that are needed uploaded again.
const MOST: usize = 1024;

/// Values on a device that do not change; see [`HipStream::constant`].
#[derive(Debug)]
pub struct HipConstant<T> {
    pointer: sys::hipDeviceptr_t,
    /// Not the stream itself, which keeps this.
    gpu: &'static Gpu,
    stream: StreamKey,
    marker: PhantomData<fn() -> T>,
}

/// Those of a stream, by what they are.
#[derive(Debug)]
struct Constants<T>(Mutex<HashMap<Vec<T>, Arc<HipConstant<T>>>>);

impl<T> Drop for HipConstant<T> {
    fn drop(&mut self) {
        // There is nobody to tell an error to.
        let _bound = self.gpu.bound();
        // SAFETY: the memory is this value's alone, and what uses it has been put into the stream.
        let _ = unsafe { self.gpu.memory.free(self.gpu, self.pointer, self.stream) };
    }
}

impl HipStream {
    /// Values for work of this stream alone, which reads them: what it was asked for lately is not
    /// uploaded again. `None` for the stream of a thread, for no values, and while the stream is
    /// captured for those that it was not asked for before.
    pub fn constant<T: DeviceRepr + Clone + Eq + Hash + Send + Sync + 'static>(
        self: &Arc<Self>,
        values: &[T],
    ) -> Result<Option<Arc<HipConstant<T>>>, HipError> {
        if self.is_of_thread() || values.is_empty() {
            return Ok(None);
        }
        let constants = self
            .kept(|| Ok::<_, Infallible>(Constants(Mutex::new(HashMap::new()))))
            .unwrap_or_else(|never| match never {});
        let mut constants = lock(&constants.0);
        let known = constants.get(values);
        if self.is_captured() {
            let captures = &self.gpu().captures;
            let kept = known.filter(|&known| captures.reads(self.key(), known.clone()));
            return Ok(kept.cloned());
        }
        if let Some(constant) = known {
            return Ok(Some(constant.clone()));
        }
        let constant = Arc::new(HipConstant {
            pointer: self.clone_htod(values)?.leak(),
            gpu: self.gpu(),
            stream: self.key(),
            marker: PhantomData,
        });
        if constants.len() >= MOST {
            constants.clear();
        }
        constants.insert(values.to_vec(), constant.clone());
        Ok(Some(constant))
    }
}

// SAFETY: the argument is the address of the memory.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b HipConstant<T>> for LaunchArgs<'a> {
    fn arg(&mut self, arg: &'b HipConstant<T>) -> &mut Self {
        self.address(&arg.pointer)
    }
}

impl<T> HipConstant<T> {
    /// The address, for work that is put into the stream while this value is there.
    pub fn device_ptr(&self) -> sys::hipDeviceptr_t {
        self.pointer
    }
}
