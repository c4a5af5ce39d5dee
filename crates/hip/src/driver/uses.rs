//! Which streams use memory, so that they can wait for each other.

use super::gpu::{lock, Moment, StreamKey};
use super::stream::Queue;
use super::{HipError, HipStream};
use std::sync::{Arc, Mutex};

/// The streams whose uses of some memory no other stream has waited for yet.
///
/// Reads and writes are not told apart: a kernel may write to what it is handed by a shared
/// reference, as most outputs are. A stream that begins a use waits for every other stream in the
/// list, and then stands there alone: whoever waits for it has waited for all. Streams that begin
/// uses at the same time stand there beside each other.
///
/// An event is recorded when another stream has to wait, not with each use, and lies behind what
/// the stream has been given until then. So one stream alone costs nothing, and a use counts from
/// when its memory was asked for, even if the work is put in after the guard of the use is gone.
/// On the stream of a thread another one cannot record events, so there it is done with each use.
#[derive(Clone, Debug)]
pub(super) struct Uses(Option<Arc<Mutex<Vec<Use>>>>);

#[derive(Debug)]
struct Use {
    by: StreamKey,
    /// Keeps the stream alive.
    queue: Arc<Queue>,
    /// On the stream of a thread: the moment after the use.
    over: Option<Moment>,
}

impl Uses {
    /// Those of memory that nothing waits for.
    pub(super) const UNTRACKED: Self = Self(None);

    /// Those of memory that was just allocated for a stream: it may have been freed on the same
    /// one, which may not be done with it.
    pub(super) fn new(stream: &HipStream) -> Result<Self, HipError> {
        let gpu = stream.gpu();
        if !gpu.is_tracking() {
            return Ok(Self::UNTRACKED);
        }
        let uses = Self(Some(Arc::default()));
        if gpu.has_many_streams() {
            end(&[&uses], stream)?;
        }
        Ok(uses)
    }

    /// A number that no other uses have while these are alive.
    pub(super) fn number(&self) -> usize {
        self.0.as_ref().map_or(0, |list| Arc::as_ptr(list) as usize)
    }
}

/// Lets a stream wait for uses of memory by others, before work that uses it is put in or the
/// memory is given up.
pub(super) fn begin(uses: &[&Uses], stream: &HipStream) -> Result<(), HipError> {
    let gpu = stream.gpu();
    if !gpu.orders() {
        return Ok(());
    }
    // A handle may mean a stream of the thread's device.
    gpu.bind()?;
    let by = stream.key();
    if let Some(done) = gpu.captures.begin_uses(gpu, uses, by) {
        return done;
    }
    let mut waited = Vec::new();
    for list in uses.iter().filter_map(|uses| uses.0.as_ref()) {
        let mut list = lock(list);
        for other in list.iter().filter(|other| other.by != by) {
            let gpu = other.queue.gpu();
            match &other.over {
                Some(moment) => gpu.captures.unless(other.by, || moment.before(by))?,
                None if waited.contains(&other.by) => {}
                None => {
                    gpu.order(other.by, by)?;
                    waited.push(other.by);
                }
            }
        }
        // From here on whoever waits for this stream has waited for the others.
        list.clear();
        list.push(Use::now(stream)?);
    }
    Ok(())
}

/// Records uses of memory, after the work was put in.
pub(super) fn end(uses: &[&Uses], stream: &HipStream) -> Result<(), HipError> {
    let gpu = stream.gpu();
    let by = stream.key();
    if !gpu.orders() || gpu.captures.end_uses(uses, by) {
        return Ok(());
    }
    for list in uses.iter().filter_map(|uses| uses.0.as_ref()) {
        let mut list = lock(list);
        match list.iter_mut().find(|used| used.by == by) {
            Some(_) if !by.is_of_thread() => {}
            Some(used) => *used = Use::now(stream)?,
            None => list.push(Use::now(stream)?),
        }
    }
    Ok(())
}

impl Use {
    /// A use that ends with what the stream has been given so far.
    fn now(stream: &HipStream) -> Result<Self, HipError> {
        let by = stream.key();
        let over = by.is_of_thread().then(|| stream.gpu().record(by));
        Ok(Self {
            by,
            queue: stream.queue().clone(),
            over: over.transpose()?,
        })
    }
}
