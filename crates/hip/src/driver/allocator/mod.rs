//! A caching allocator: memory of a device is taken from HIP in segments, and cut into blocks that
//! are handed out again and again.
//!
//! What is here knows nothing of HIP: a [`Backend`] has the memory, the streams and the events, so
//! that the allocator is tested without a device.
//!
//! A free block belongs to the stream that freed it, and that stream may have it again at once:
//! whatever it does with the block comes after what it did before. Another stream gets a block only
//! behind an event. The memory of a graph is apart from all other as long as the graph may run.

mod blocks;
mod cache;
mod sizes;
mod stats;

#[cfg(test)]
mod tests;

pub(super) use cache::Cache;
pub use stats::MemoryStats;

/// An address on a device.
pub(super) type Address = u64;

/// The memory that some work shares: that of a graph has a number of its own.
pub(super) type Pool = u64;

/// The pool of all work that is not captured.
pub(super) const SHARED: Pool = 0;

/// Where memory comes from, and what orders work.
pub(super) trait Backend {
    /// A queue of work.
    type Stream: Copy + Ord + std::fmt::Debug;
    /// A moment in a stream.
    type Event;
    /// What [`quiet`](Self::quiet) gives.
    type Quiet;
    /// What goes wrong.
    type Error;

    /// Allocates memory; `None` if there is not enough.
    fn allocate(&self, bytes: usize) -> Result<Option<Address>, Self::Error>;
    /// Gives memory back, after all work of the device that was put in so far.
    fn free(&self, address: Address) -> Result<(), Self::Error>;
    /// Waits for all work of the device that was put in so far.
    fn wait(&self) -> Result<(), Self::Error>;
    /// Lets what `then` is given from now on wait for what `first` has been given so far; false if
    /// that cannot be said of `first`.
    fn order(&self, first: Self::Stream, then: Self::Stream) -> Result<bool, Self::Error>;
    /// Whether an event has been reached.
    fn is_done(&self, event: &Self::Event) -> bool;
    /// What keeps streams from being captured as long as it is there; `None` while one is: no event
    /// may be asked then, no work waited for and no memory freed.
    fn quiet(&self) -> Option<Self::Quiet>;
    /// What is said where there is not enough memory.
    fn out_of_memory(&self) -> Self::Error;
}
