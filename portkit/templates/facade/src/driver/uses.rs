//! What memory was last read and written by, so that streams can wait for each other.

use super::{HipContext, HipError, HipEvent, HipStream, SyncOnDrop};
use std::sync::Arc;

/// The last uses of memory, for other streams to wait for.
#[derive(Debug)]
pub(super) struct Uses {
    read: Option<HipEvent>,
    write: Option<HipEvent>,
}

/// The uses of memory that nothing waits for.
pub(super) static UNTRACKED: Uses = Uses {
    read: None,
    write: None,
};

impl Uses {
    pub(super) fn new(context: &Arc<HipContext>) -> Result<Self, HipError> {
        let event = || {
            context
                .is_event_tracking()
                .then(|| context.new_event(None))
                .transpose()
        };
        Ok(Self {
            read: event()?,
            write: event()?,
        })
    }

    /// What a read has to wait for.
    pub(super) fn before_read(&self) -> impl Iterator<Item = &HipEvent> {
        self.write.iter()
    }

    /// What a write has to wait for.
    pub(super) fn before_write(&self) -> impl Iterator<Item = &HipEvent> {
        self.read.iter().chain(&self.write)
    }

    /// What a read records.
    pub(super) fn after_read(&self) -> Option<&HipEvent> {
        self.read.as_ref()
    }

    /// What a write records.
    pub(super) fn after_write(&self) -> Option<&HipEvent> {
        self.write.as_ref()
    }

    /// Lets `stream` wait where it has to, and gives the guard that ends a read on it.
    pub(super) fn read_on<'a>(
        &'a self,
        owner: &HipStream,
        stream: &'a HipStream,
    ) -> SyncOnDrop<'a> {
        wait(owner, stream, self.before_read());
        SyncOnDrop::Record(self.after_read().map(|event| (event, stream)))
    }

    /// Lets `stream` wait where it has to, and gives the guard that ends a write on it.
    pub(super) fn write_on<'a>(
        &'a self,
        owner: &HipStream,
        stream: &'a HipStream,
    ) -> SyncOnDrop<'a> {
        wait(owner, stream, self.before_write());
        SyncOnDrop::Record(self.after_write().map(|event| (event, stream)))
    }
}

/// Lets `stream` wait for events, if streams of the device of `owner` are kept in order.
pub(super) fn wait<'a>(
    owner: &HipStream,
    stream: &HipStream,
    events: impl Iterator<Item = &'a HipEvent>,
) {
    if owner.context().is_managing_stream_synchronization() {
        for event in events {
            stream.context().record_err(stream.wait(event));
        }
    }
}
