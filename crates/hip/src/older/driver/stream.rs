use super::{sys, HipDevice, HipError};
use crate::driver;
use std::sync::Arc;

/// A second queue of work on a device.
///
/// It begins behind what the device's own stream has been given, and the device's stream waits for
/// it when it is dropped, or by [`HipDevice::wait_for`].
#[derive(Debug)]
pub struct HipStream {
    pub(in crate::older) stream: Arc<driver::HipStream>,
    device: Arc<HipDevice>,
}

impl HipDevice {
    /// Makes a stream that begins behind the work of the device's own.
    pub fn fork_default_stream(self: &Arc<Self>) -> Result<HipStream, HipError> {
        Ok(HipStream {
            stream: self.default_stream().fork()?,
            device: self.clone(),
        })
    }

    /// Has the device's stream wait for the work of another.
    pub fn wait_for(&self, stream: &HipStream) -> Result<(), HipError> {
        self.default_stream().join(&stream.stream)
    }
}

impl HipStream {
    /// Has the stream wait for the work of the device's own.
    pub fn wait_for_default(&self) -> Result<(), HipError> {
        self.stream.join(self.device.default_stream())
    }

    /// HIP's handle.
    pub fn hip_stream(&self) -> sys::hipStream_t {
        self.stream.hip_stream()
    }
}

impl Drop for HipStream {
    fn drop(&mut self) {
        // There is nobody to tell an error to.
        let _ = self.device.wait_for(self);
    }
}
