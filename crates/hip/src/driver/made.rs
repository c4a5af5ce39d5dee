//! What was made of memory a moment ago, such as a copy in another form, and need not be made again.

use super::gpu::lock;
use super::HipStream;
use std::convert::Infallible;
use std::ffi::c_void;
use std::sync::Mutex;

/// What was made, and how often memory had been used by then.
type Made = (u64, [usize; 2], Vec<usize>);

/// What was made last on a stream.
#[derive(Debug, Default)]
struct Last(Mutex<Option<Made>>);

impl HipStream {
    /// How often memory of the device was handed to work so far, on whichever stream.
    pub fn uses(&self) -> u64 {
        self.gpu().uses()
    }

    /// Whether work has to be put in that makes what is at `to` of what is at `from`; `how` is all
    /// else that it depends on. It need not be if that was made last, and no memory was handed to
    /// work between that and `before`, which is what [`uses`](Self::uses) gave before `from` and
    /// `to` were handed out. Memory may have been freed meanwhile, and allocated again where it was.
    /// From here on it counts as made.
    ///
    /// What writes to memory by an address that it was handed earlier has to hand it out again.
    pub fn is_to_make(
        &self,
        before: u64,
        from: *const c_void,
        to: *const c_void,
        how: &[usize],
    ) -> bool {
        let last = self.replaced(from, to, how);
        // HIP's pool may give memory back to the system when it is freed.
        let stays = !self.context().has_async_alloc();
        !stays || last != Some((before, [from as usize, to as usize], how.to_vec()))
    }

    /// Says that other work, which was put in just now, has made the same.
    pub fn has_made(&self, from: *const c_void, to: *const c_void, how: &[usize]) {
        self.replaced(from, to, how);
    }

    fn replaced(&self, from: *const c_void, to: *const c_void, how: &[usize]) -> Option<Made> {
        let last = self
            .kept(|| Ok::<_, Infallible>(Last::default()))
            .unwrap_or_else(|never| match never {});
        let mut last = lock(&last.0);
        last.replace((self.uses(), [from as usize, to as usize], how.to_vec()))
    }
}
