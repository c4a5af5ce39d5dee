//! A communicator of RCCL's, and who ends it where it would wait for ever.

use super::result::{self, RcclError, RcclStatus};
use super::sys::{ncclComm_t, ncclResult_t};
use crate::driver::{HipError, HipEvent, HipStream};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often a communicator is asked whether something went wrong.
const TICK: Duration = Duration::from_millis(50);

/// How long one rank waits for the others: ten minutes, as PyTorch does, or the seconds that
/// `HIPRC_RCCL_TIMEOUT` gives; none where that is 0.
///
/// A rank that does not come is an error then: of the call, where that waits, else of the next call that
/// can give one. It ends the communicator. Work of a captured graph has no limit.
///
/// # Errors
///
/// [`NO_LIMIT`](ncclResult_t::NO_LIMIT), when the variable is no number.
pub fn time_limit() -> Result<Option<Duration>, RcclError> {
    static LIMIT: OnceLock<Option<u64>> = OnceLock::new();
    let seconds = LIMIT.get_or_init(|| match std::env::var("HIPRC_RCCL_TIMEOUT") {
        Ok(said) => said.trim().parse().ok(),
        Err(_) => Some(600),
    });
    let seconds = seconds.ok_or(RcclError(ncclResult_t::NO_LIMIT))?;
    Ok((seconds > 0).then(|| Duration::from_secs(seconds)))
}

/// A communicator, and what is under way on its stream.
#[derive(Debug)]
pub(super) struct Link {
    comm: ncclComm_t,
    stream: Arc<HipStream>,
    state: Mutex<State>,
    changed: Condvar,
}

// SAFETY: RCCL's communicators can be used from any thread, by one at a time; to ask for an error, or to
// abort, another may (NCCL, "Error handling and communicator abort").
unsafe impl Send for Link {}
// SAFETY: as above; `Comm` lets one thread at a time use it.
unsafe impl Sync for Link {}

#[derive(Debug, Default)]
struct State {
    /// Why the communicator is no more.
    ended: Option<ncclResult_t>,
    /// Since when a thread is in RCCL.
    calling: Option<Instant>,
    /// Work was put in that no event lies behind yet.
    unmarked: bool,
    /// Events behind work, and when they were put in, the oldest first.
    marks: VecDeque<(HipEvent, Instant)>,
    leaving: bool,
}

thread_local! {
    /// How many groups of the thread are open, and what was put into them.
    static GROUP: RefCell<(usize, Vec<Arc<Link>>)> = const { RefCell::new((0, Vec::new())) };
}

impl Link {
    /// Watches over a communicator from now on.
    pub(super) fn new(
        comm: ncclComm_t,
        stream: Arc<HipStream>,
        limit: Option<Duration>,
    ) -> Arc<Self> {
        let link = Arc::new(Self {
            comm,
            stream,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let watched = link.clone();
        std::thread::spawn(move || watched.watch(limit));
        link
    }

    pub(super) fn stream(&self) -> &Arc<HipStream> {
        &self.stream
    }

    /// Calls RCCL. In a group it only takes note of the work.
    pub(super) fn call(
        self: &Arc<Self>,
        work: impl FnOnce(ncclComm_t) -> Result<RcclStatus, RcclError>,
    ) -> Result<RcclStatus, RcclError> {
        self.begin()?;
        let done = work(self.comm);
        GROUP.with_borrow_mut(|(open, links)| {
            if *open > 0 {
                links.push(self.clone());
            }
        });
        self.end()?;
        done
    }

    fn begin(&self) -> Result<(), RcclError> {
        let _ = self.stream.context().bind_to_thread();
        let mut state = self.lock();
        state.calling = Some(Instant::now());
        state.ended.map_or(Ok(()), |status| Err(RcclError(status)))
    }

    fn end(&self) -> Result<(), RcclError> {
        let mut state = self.lock();
        state.calling = None;
        state.unmarked = true;
        // On the stream of a thread no other thread can put an event.
        if state.ended.is_none() && self.stream.is_of_thread() {
            state.mark(&self.stream);
        }
        state.ended.map_or(Ok(()), |status| Err(RcclError(status)))
    }

    fn watch(self: Arc<Self>, limit: Option<Duration>) {
        let mut state = self.lock();
        while !state.leaving {
            let waited = self.changed.wait_timeout(state, TICK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.leaving {
                return;
            }
            if let Some(status) = self.trouble(&mut state, limit) {
                state.ended = Some(status);
                drop(state);
                // Whoever waits for the stream gets on by the abort, and has to find the error.
                let told = HipError::own(RcclError(status).to_string());
                self.stream.context().record_err::<()>(Err(told));
                let _bound = self.stream.context().bound();
                // SAFETY: it is alive, and nobody uses it from now on.
                let _ = unsafe { result::comm_abort(self.comm) };
                return;
            }
        }
    }

    /// What there is to end the communicator for.
    fn trouble(&self, state: &mut State, limit: Option<Duration>) -> Option<ncclResult_t> {
        // SAFETY: it is alive until `ended` or `leaving` is set.
        if let Err(RcclError(status)) = unsafe { result::comm_get_async_error(self.comm) } {
            return Some(status);
        }
        let limit = limit?;
        if state.calling.is_some_and(|since| since.elapsed() > limit) {
            return Some(ncclResult_t::TIMED_OUT);
        }
        if self.stream.is_captured() {
            // It has been waited for, and to ask its events would end the capture.
            state.marks.clear();
        }
        while let Some((event, since)) = state.marks.front() {
            if since.elapsed() <= limit {
                break;
            }
            match event.try_is_complete() {
                Ok(true) => state.marks.pop_front(),
                Ok(false) => return Some(ncclResult_t::TIMED_OUT),
                // While a stream is captured it cannot be known.
                Err(_) => break,
            };
        }
        let newest = state.marks.back().map(|(_, since)| since.elapsed());
        let due = match newest {
            Some(age) => age > limit / 8,
            None => true,
        };
        if state.unmarked && state.calling.is_none() && due && !self.stream.is_of_thread() {
            state.mark(&self.stream);
        }
        None
    }

    /// Waits for what was put in, and destroys the communicator, unless that was done.
    pub(super) fn leave(&self) {
        let _bound = self.stream.context().bound();
        if let Ok(last) = self.stream.record_event(None) {
            let underway = || !self.stream.is_captured() && !last.is_complete();
            while self.lock().ended.is_none() && underway() {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        let mut state = self.lock();
        if state.ended.is_none() {
            state.leaving = true;
            state.ended = Some(ncclResult_t::ncclInvalidUsage);
            self.changed.notify_all();
            drop(state);
            // SAFETY: it is alive, and nobody uses it from now on. There is nobody to tell an error to.
            let _ = unsafe { result::comm_destroy(self.comm) };
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn mark(&mut self, stream: &HipStream) {
        if stream.is_captured() {
            return;
        }
        if let Ok(event) = stream.record_event(None) {
            self.marks.push_back((event, Instant::now()));
            self.unmarked = false;
        }
    }
}

/// Begins a group of the thread: what is put in is put in when the group ends.
///
/// Nothing keeps the memory of what is put in until then, as nothing does in cudarc: it has to be kept,
/// and left alone. [`Comm::group`](super::Comm::group) keeps it, unless it is in another group.
pub fn group_start() -> Result<RcclStatus, RcclError> {
    let done = result::group_start()?;
    GROUP.with_borrow_mut(|(open, _)| *open += 1);
    Ok(done)
}

/// Ends a group. With the outermost, all that was put in since goes into the streams.
pub fn group_end() -> Result<RcclStatus, RcclError> {
    let links = GROUP.with_borrow_mut(|(open, links)| {
        *open = open.saturating_sub(1);
        if *open > 0 {
            return Vec::new();
        }
        std::mem::take(links)
    });
    let begun: Vec<_> = links.iter().map(|link| link.begin()).collect();
    let done = result::group_end();
    let ended: Vec<_> = links.iter().map(|link| link.end()).collect();
    for each in begun.into_iter().chain(ended) {
        each?;
    }
    done
}
