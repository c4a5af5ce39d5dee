use super::uses::Uses;
use super::{sys, HipStream, SyncOnDrop};
use std::sync::Arc;

/// What slices and views have in common, for the traits and for launches.
pub(super) trait Region {
    fn pointer(&self) -> &sys::hipDeviceptr_t;
    fn len(&self) -> usize;
    fn uses(&self) -> &Uses;
    fn stream(&self) -> &Arc<HipStream>;

    fn used_on<'a>(&'a self, stream: &'a HipStream) -> (sys::hipDeviceptr_t, SyncOnDrop<'a>) {
        (*self.pointer(), SyncOnDrop::use_of(self.uses(), stream))
    }
}
