/// What the caching allocator of a device has done; see
/// [`HipContext::memory_stats`](crate::driver::HipContext::memory_stats).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStats {
    /// Bytes that HIP has given.
    pub held: usize,
    /// The most that it ever was.
    pub held_peak: usize,
    /// Bytes of blocks that are in use, each as large as it was rounded to.
    pub in_use: usize,
    /// The most that it ever was.
    pub in_use_peak: usize,
    /// Blocks that were handed out.
    pub allocations: u64,
    /// Those of them that had belonged to another stream, which was waited for in its order.
    pub taken_over: u64,
    /// Calls of `hipMalloc` that gave memory.
    pub segments_taken: u64,
    /// Calls of `hipFree`.
    pub segments_given_back: u64,
    /// How often there was not enough memory, whatever came of it.
    pub out_of_memory: u64,
}

impl MemoryStats {
    /// Bytes that are held for what comes.
    pub fn cached(&self) -> usize {
        self.held - self.in_use
    }

    pub(super) fn took(&mut self, bytes: usize) {
        self.allocations += 1;
        self.in_use += bytes;
        self.in_use_peak = self.in_use_peak.max(self.in_use);
    }

    pub(super) fn grew(&mut self, bytes: usize) {
        self.segments_taken += 1;
        self.held += bytes;
        self.held_peak = self.held_peak.max(self.held);
    }

    pub(super) fn shrank(&mut self, bytes: usize) {
        self.segments_given_back += 1;
        self.held -= bytes;
    }
}
