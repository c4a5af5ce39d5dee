//! The HIP runtime: devices, streams, memory, modules and launches.
//!
//! [`HipContext`] stands for a device, [`HipStream`] for a queue of work on it, [`HipSlice`] for
//! memory on it. A slice knows which streams use it, so work on several streams of a device stays
//! in order without further care: a stream that uses it waits for what the others have been given by
//! then. See [`HipContext::disable_event_tracking`] for how to do without.
//!
//! Memory is taken from HIP in segments and used again; see [`HipContext::memory_stats`].

mod allocator;
mod capture;
mod constant;
mod context;
mod device;
mod device_memory;
mod event;
mod gpu;
mod graph;
mod kept;
mod launch;
mod launched;
mod launcher_memory;
mod memory;
mod module;
mod pinned;
mod pointer;
mod region;
mod repr;
pub mod result;
mod slice;
mod stream;
pub mod sys;
mod uses;
mod view;

pub use allocator::MemoryStats;
pub use constant::HipConstant;
pub use context::HipContext;
pub use device::{HipDevice, LaunchArg, LaunchAsync};
pub use event::HipEvent;
pub use graph::HipGraph;
pub(crate) use kept::this_thread;
pub use launch::{LaunchArgs, LaunchConfig, PushKernelArg};
pub use launched::record_launch;
pub(crate) use launcher_memory::{allocate, free};
pub(crate) use module::is_code_object;
pub use module::{HipFunction, HipModule};
pub use pinned::PinnedHostSlice;
pub use pointer::{DevicePtr, DevicePtrMut, DeviceSlice, HostSlice, SyncOnDrop};
pub use repr::{DeviceRepr, ValidAsZeroBits};
pub use result::HipError;
pub use slice::HipSlice;
pub use stream::HipStream;
pub use view::{HipView, HipViewMut};

/// The types that own their handles.
pub mod safe {
    pub use super::{
        DevicePtr, DevicePtrMut, DeviceRepr, DeviceSlice, HipContext, HipError, HipEvent,
        HipFunction, HipGraph, HipModule, HipSlice, HipStream, HipView, HipViewMut, HostSlice,
        LaunchArgs, LaunchConfig, PinnedHostSlice, PushKernelArg, SyncOnDrop, ValidAsZeroBits,
    };
}
