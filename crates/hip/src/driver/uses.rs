//! What memory was last used by, so that streams can wait for each other.

use super::{HipContext, HipError, HipEvent, HipStream, SyncOnDrop};
use std::sync::Arc;

/// The last use of memory, for other streams to wait for.
///
/// Reads and writes are not told apart: a kernel may write to what it is handed by a shared
/// reference, as most outputs are. Each use waits for the one before it, so that whoever waits for
/// the last has waited for all.
#[derive(Debug)]
pub(super) struct Uses(Option<HipEvent>);

/// The uses of memory that nothing waits for.
pub(super) static UNTRACKED: Uses = Uses(None);

impl Uses {
    pub(super) fn new(context: &Arc<HipContext>) -> Result<Self, HipError> {
        let tracked = context.is_event_tracking();
        Ok(Self(tracked.then(|| context.new_event(None)).transpose()?))
    }

    /// What a use waits for before it, and records after it.
    pub(super) fn last(&self) -> Option<&HipEvent> {
        self.0.as_ref()
    }

    /// Lets `stream` wait for the last use, if streams of the device of `owner` are kept in order.
    pub(super) fn wait(&self, owner: &HipStream, stream: &HipStream) {
        if owner.context().is_managing_stream_synchronization() {
            if let Some(event) = self.last() {
                stream.context().record_err(stream.wait(event));
            }
        }
    }

    /// Lets `stream` wait where it has to, and gives the guard that ends a use on it.
    pub(super) fn on<'a>(&'a self, owner: &HipStream, stream: &'a HipStream) -> SyncOnDrop<'a> {
        self.wait(owner, stream);
        SyncOnDrop::Record(self.last().map(|event| (event, stream)))
    }
}
