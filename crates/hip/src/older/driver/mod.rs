//! Devices, memory, streams and launches.

mod copies;
mod device;
mod launch;
mod memory;
mod pointer;
mod stream;

pub use crate::driver::{result, sys, HipError, LaunchConfig, ValidAsZeroBits};
pub use device::HipDevice;
pub use launch::{HipFunction, LaunchAsync};
pub use memory::{HipSlice, HipView, HipViewMut};
pub use pointer::{DevicePtr, DevicePtrMut, DeviceRepr, DeviceSlice};
pub use stream::HipStream;
