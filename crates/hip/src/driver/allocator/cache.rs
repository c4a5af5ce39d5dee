//! The allocator itself.

use super::blocks::{Blocks, List, Owner};
use super::sizes::{self, Class};
use super::{Address, Backend, MemoryStats, Pool, SHARED};
use std::collections::BTreeMap;

/// The memory of a device. It is guarded by a lock of whoever has it.
pub(in crate::driver) struct Cache<B: Backend> {
    backend: B,
    blocks: Blocks<B::Stream>,
    fences: BTreeMap<Address, B::Event>,
    /// The most bytes to be held.
    limit: usize,
    stats: MemoryStats,
}

impl<B: Backend> Cache<B> {
    pub(in crate::driver) fn new(backend: B, limit: usize) -> Self {
        Self {
            backend,
            blocks: Blocks::new(),
            fences: BTreeMap::new(),
            limit,
            stats: MemoryStats::default(),
        }
    }

    pub(in crate::driver) fn stats(&self) -> MemoryStats {
        self.stats
    }

    /// The pool of a block; `None` for memory that is not from here.
    pub(in crate::driver) fn pool(&self, address: Address) -> Option<Pool> {
        self.blocks.pool(address)
    }

    /// A block for work of a stream.
    ///
    /// # Errors
    ///
    /// The backend's, with that for too little memory where even giving back what is unused does
    /// not help.
    pub(in crate::driver) fn allocate(
        &mut self,
        stream: B::Stream,
        pool: Pool,
        bytes: usize,
    ) -> Result<Address, B::Error> {
        let Some(bytes) = sizes::rounded(bytes) else {
            return Err(self.backend.out_of_memory());
        };
        let class = Class::of(bytes);
        let own = [Owner::Stream(stream), Owner::Fenced(stream), Owner::Anyone];
        let mut found = None;
        for owner in own {
            found = found.or_else(|| self.take((pool, class, owner), bytes));
        }
        if found.is_none() && self.poll() {
            found = self.take((pool, class, Owner::Anyone), bytes);
        }
        let address = match found {
            Some(address) => address,
            None => self.grow(stream, pool, bytes)?,
        };
        self.stats.took(self.blocks.in_use(address).unwrap_or(0));
        Ok(address)
    }

    /// Frees a block after the work that its stream has been given so far. Where another thread
    /// cannot record events on the stream, there is one for that moment.
    ///
    /// False for memory that is not from here, or is not in use.
    pub(in crate::driver) fn free(
        &mut self,
        address: Address,
        stream: B::Stream,
        fence: Option<B::Event>,
    ) -> bool {
        let Some(bytes) = self.blocks.in_use(address) else {
            return false;
        };
        self.stats.in_use -= bytes;
        let owner = match fence {
            Some(fence) => {
                self.fences.insert(address, fence);
                Owner::Fenced(stream)
            }
            None => Owner::Stream(stream),
        };
        self.blocks.put(address, owner);
        true
    }

    /// Forgets a stream whose work is done.
    pub(in crate::driver) fn retire(&mut self, stream: B::Stream) {
        let owner = Owner::Stream(stream);
        self.blocks.free_for_all(SHARED, |of| of == owner);
    }

    /// Lets the memory of a pool be as all other, once the graph that it was for is done.
    pub(in crate::driver) fn dissolve(&mut self, pool: Pool) {
        self.blocks.rename(pool, SHARED);
    }

    /// Waits for the device, and gives segments with no block in use back until at most `keep`
    /// bytes are held.
    ///
    /// # Errors
    ///
    /// The backend's; while a stream is captured nothing is given back, without an error.
    pub(in crate::driver) fn trim(&mut self, keep: usize) -> Result<(), B::Error> {
        let quiet = self.backend.quiet();
        if quiet.is_none() || self.stats.held <= keep {
            return Ok(());
        }
        self.settle()?;
        self.give_back(keep)
    }

    fn take(&mut self, list: List<B::Stream>, bytes: usize) -> Option<Address> {
        let (address, rest) = self.blocks.take(list, bytes)?;
        // What is left of a fenced block stays behind its event.
        if let (Some(fence), Some(rest)) = (self.fences.remove(&address), rest) {
            self.fences.insert(rest, fence);
        }
        Some(address)
    }

    /// A block of a new segment, or of what can be had where there is no memory for one.
    fn grow(&mut self, stream: B::Stream, pool: Pool, bytes: usize) -> Result<Address, B::Error> {
        let class = Class::of(bytes);
        let [size, least] = sizes::segments(bytes);
        let mut grown = self.segment(size, class, pool)?;
        if !grown {
            self.stats.out_of_memory += 1;
            let quiet = self.backend.quiet();
            if pool == SHARED && quiet.is_some() {
                for other in self.blocks.holders(pool, class, bytes) {
                    if self.backend.order(other, stream)? {
                        let owner = Owner::Stream(other);
                        if let Some(address) = self.take((pool, class, owner), bytes) {
                            self.stats.taken_over += 1;
                            return Ok(address);
                        }
                    }
                }
                self.settle()?;
                if let Some(address) = self.take((pool, class, Owner::Anyone), bytes) {
                    return Ok(address);
                }
                self.give_back(0)?;
                grown = self.segment(size, class, pool)?;
            }
        }
        if !grown && least < size {
            grown = self.segment(least, class, pool)?;
        }
        match self.take((pool, class, Owner::Anyone), bytes) {
            Some(address) if grown => Ok(address),
            _ => Err(self.backend.out_of_memory()),
        }
    }

    /// Takes a segment; false where there is no memory for it.
    fn segment(&mut self, bytes: usize, class: Class, pool: Pool) -> Result<bool, B::Error> {
        if self.stats.held.saturating_add(bytes) > self.limit {
            return Ok(false);
        }
        let Some(address) = self.backend.allocate(bytes)? else {
            return Ok(false);
        };
        self.blocks.add(address, bytes, class, pool);
        self.stats.grew(bytes);
        Ok(true)
    }

    /// Frees for all what fences have been reached of; true if there is any.
    fn poll(&mut self) -> bool {
        if self.fences.is_empty() {
            return false;
        }
        let Some(_quiet) = self.backend.quiet() else {
            return false;
        };
        let fences = self.fences.iter();
        let done: Vec<Address> = fences
            .filter(|(_, fence)| self.backend.is_done(fence))
            .map(|(&address, _)| address)
            .collect();
        for address in &done {
            self.fences.remove(address);
            self.blocks.pull(*address);
            self.blocks.put(*address, Owner::Anyone);
        }
        !done.is_empty()
    }

    /// Waits for the device, so that every free block is for all.
    fn settle(&mut self) -> Result<(), B::Error> {
        self.backend.wait()?;
        self.fences.clear();
        self.blocks.free_for_all(SHARED, |_| true);
        Ok(())
    }

    fn give_back(&mut self, keep: usize) -> Result<(), B::Error> {
        for (address, bytes) in self.blocks.unused(SHARED) {
            if self.stats.held <= keep {
                break;
            }
            self.blocks.remove(address);
            self.stats.shrank(bytes);
            self.backend.free(address)?;
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn check(&self) {
        self.blocks.check();
        let totals = (self.stats.in_use, self.stats.held);
        assert_eq!(self.blocks.totals(), totals);
    }
}
