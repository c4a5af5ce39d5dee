//! The blocks of all segments: which are free, and for whom.

use super::sizes::Class;
use super::{Address, Pool};
use std::collections::{BTreeMap, BTreeSet};

/// Who may have a free block without waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner<S> {
    /// Whoever asks: no work uses it.
    Anyone,
    /// The stream that freed it.
    Stream(S),
    /// The same, where nothing but the event that was recorded then can order another behind it.
    Fenced(S),
}

#[derive(Debug)]
struct Block<S> {
    bytes: usize,
    segment: Address,
    /// `None` while it is in use.
    free: Option<Owner<S>>,
}

#[derive(Debug)]
struct Segment {
    bytes: usize,
    class: Class,
    pool: Pool,
}

/// The list that a free block stands in.
pub(super) type List<S> = (Pool, Class, Owner<S>);

/// Blocks that fill their segments without a gap. Of two free neighbours that the same stream may
/// have there is only one.
#[derive(Debug)]
pub(super) struct Blocks<S> {
    segments: BTreeMap<Address, Segment>,
    blocks: BTreeMap<Address, Block<S>>,
    free: BTreeMap<List<S>, BTreeSet<(usize, Address)>>,
}

impl<S: Copy + Ord> Blocks<S> {
    pub(super) fn new() -> Self {
        Self {
            segments: BTreeMap::new(),
            blocks: BTreeMap::new(),
            free: BTreeMap::new(),
        }
    }

    /// Adds a segment, as one free block.
    pub(super) fn add(&mut self, address: Address, bytes: usize, class: Class, pool: Pool) {
        let segment = Segment { bytes, class, pool };
        self.segments.insert(address, segment);
        let block = Block {
            bytes,
            segment: address,
            free: None,
        };
        self.blocks.insert(address, block);
        self.put(address, Owner::Anyone);
    }

    /// Takes the smallest free block of a list that is large enough, and leaves what is too much of
    /// it there, as a block that is given as well.
    pub(super) fn take(
        &mut self,
        (pool, class, owner): List<S>,
        bytes: usize,
    ) -> Option<(Address, Option<Address>)> {
        let list = self.free.get(&(pool, class, owner))?;
        let &(whole, address) = list.range((bytes, 0)..).next()?;
        self.pull(address);
        let rest = whole - bytes;
        if !class.splits(rest) {
            return Some((address, None));
        }
        let block = self.blocks.get_mut(&address)?;
        block.bytes = bytes;
        let segment = block.segment;
        let after = address + bytes as Address;
        let block = Block {
            bytes: rest,
            segment,
            free: None,
        };
        self.blocks.insert(after, block);
        self.put(after, owner);
        Some((address, Some(after)))
    }

    /// Makes a block that is in no list free, together with its neighbours.
    pub(super) fn put(&mut self, address: Address, owner: Owner<S>) {
        let (mut address, mut owner) = (address, owner);
        if !matches!(owner, Owner::Fenced(_)) {
            for neighbour in [self.before(address), self.after(address)] {
                let Some((neighbour, common)) = neighbour.and_then(|n| self.common(n, owner))
                else {
                    continue;
                };
                self.pull(neighbour);
                let (first, second) = (address.min(neighbour), address.max(neighbour));
                let bytes = self.blocks.remove(&second).map_or(0, |block| block.bytes);
                if let Some(block) = self.blocks.get_mut(&first) {
                    block.bytes += bytes;
                }
                (address, owner) = (first, common);
            }
        }
        let Some(block) = self.blocks.get_mut(&address) else {
            return;
        };
        block.free = Some(owner);
        let entry = (block.bytes, address);
        let list = self.list(address, owner);
        self.free.entry(list).or_default().insert(entry);
    }

    /// Takes a free block out of its list.
    pub(super) fn pull(&mut self, address: Address) {
        let Some(block) = self.blocks.get_mut(&address) else {
            return;
        };
        let entry = (block.bytes, address);
        let Some(owner) = block.free.take() else {
            return;
        };
        let list = self.list(address, owner);
        if let Some(free) = self.free.get_mut(&list) {
            free.remove(&entry);
            if free.is_empty() {
                self.free.remove(&list);
            }
        }
    }

    /// Moves the free blocks of a pool that `of` says to where everyone may have them.
    pub(super) fn free_for_all(&mut self, pool: Pool, of: impl Fn(Owner<S>) -> bool) {
        let lists = self.free.iter();
        let moved: Vec<Address> = lists
            .filter(|((of_pool, _, owner), _)| {
                *of_pool == pool && *owner != Owner::Anyone && of(*owner)
            })
            .flat_map(|(_, list)| list.iter().map(|&(_, address)| address))
            .collect();
        for &address in &moved {
            self.pull(address);
        }
        for address in moved {
            self.put(address, Owner::Anyone);
        }
    }

    /// Lets a pool become part of another.
    pub(super) fn rename(&mut self, from: Pool, to: Pool) {
        for segment in self.segments.values_mut() {
            if segment.pool == from {
                segment.pool = to;
            }
        }
        let lists: Vec<List<S>> = self.free.keys().copied().collect();
        for list in lists.into_iter().filter(|list| list.0 == from) {
            let moved = self.free.remove(&list).unwrap_or_default();
            let target = (to, list.1, list.2);
            self.free.entry(target).or_default().extend(moved);
        }
    }

    /// The streams that have free blocks in a pool which are large enough.
    pub(super) fn holders(&self, pool: Pool, class: Class, bytes: usize) -> Vec<S> {
        let lists = self.free.iter();
        lists
            .filter_map(|(list, free)| match list {
                (p, c, Owner::Stream(stream)) if (*p, *c) == (pool, class) => {
                    free.range((bytes, 0)..).next().map(|_| *stream)
                }
                _ => None,
            })
            .collect()
    }

    /// The segments of a pool with no block in use, the largest first.
    pub(super) fn unused(&self, pool: Pool) -> Vec<(Address, usize)> {
        let mut found: Vec<(Address, usize)> = self
            .segments
            .iter()
            .filter(|(address, segment)| {
                segment.pool == pool
                    && self
                        .blocks
                        .get(address)
                        .is_some_and(|b| b.free.is_some() && b.bytes == segment.bytes)
            })
            .map(|(&address, segment)| (address, segment.bytes))
            .collect();
        found.sort_by_key(|&(address, bytes)| (std::cmp::Reverse(bytes), address));
        found
    }

    /// Forgets a segment with no block in use.
    pub(super) fn remove(&mut self, address: Address) {
        self.pull(address);
        self.blocks.remove(&address);
        self.segments.remove(&address);
    }

    /// The size of a block in use; `None` for every other address.
    pub(super) fn in_use(&self, address: Address) -> Option<usize> {
        let block = self.blocks.get(&address)?;
        block.free.is_none().then_some(block.bytes)
    }

    /// The pool of the segment of a block.
    pub(super) fn pool(&self, address: Address) -> Option<Pool> {
        let block = self.blocks.get(&address)?;
        Some(self.segments.get(&block.segment)?.pool)
    }

    fn list(&self, address: Address, owner: Owner<S>) -> List<S> {
        let segment = &self.segments[&self.blocks[&address].segment];
        (segment.pool, segment.class, owner)
    }

    fn before(&self, address: Address) -> Option<Address> {
        let segment = self.blocks.get(&address)?.segment;
        let (&before, block) = self.blocks.range(..address).next_back()?;
        (block.segment == segment).then_some(before)
    }

    fn after(&self, address: Address) -> Option<Address> {
        let block = self.blocks.get(&address)?;
        let after = address + block.bytes as Address;
        let next = self.blocks.get(&after)?;
        (next.segment == block.segment).then_some(after)
    }

    /// Who may have a free block and one of an owner's together, if anyone.
    fn common(&self, address: Address, owner: Owner<S>) -> Option<(Address, Owner<S>)> {
        let other = self.blocks.get(&address)?.free?;
        let common = match (owner, other) {
            (Owner::Fenced(_), _) | (_, Owner::Fenced(_)) => return None,
            (Owner::Anyone, one) | (one, Owner::Anyone) => one,
            (one, same) if one == same => one,
            _ => return None,
        };
        Some((address, common))
    }
}

#[cfg(test)]
impl<S: Copy + Ord + std::fmt::Debug> Blocks<S> {
    /// Bytes in use, and of all segments.
    pub(super) fn totals(&self) -> (usize, usize) {
        let used = self.blocks.values().filter(|block| block.free.is_none());
        (
            used.map(|block| block.bytes).sum(),
            self.segments.values().map(|segment| segment.bytes).sum(),
        )
    }

    /// Looks whether segments are filled, lists complete, and free neighbours grown together.
    pub(super) fn check(&self) {
        let mut listed = 0;
        for (list, free) in &self.free {
            assert!(!free.is_empty(), "{list:?}");
            for &(bytes, address) in free {
                let block = &self.blocks[&address];
                assert_eq!((block.bytes, block.free), (bytes, Some(list.2)));
                assert_eq!(self.list(address, list.2), *list);
                listed += 1;
            }
        }
        assert_eq!(
            listed,
            self.blocks.values().filter(|b| b.free.is_some()).count()
        );
        for (&start, segment) in &self.segments {
            let mut at = start;
            let mut last = None;
            while at < start + segment.bytes as Address {
                let block = &self.blocks[&at];
                assert_eq!(block.segment, start);
                if let (Some(owner), Some(_)) = (block.free, last) {
                    let before = self.before(at).unwrap();
                    assert!(self.common(before, owner).is_none(), "{before:#x} {at:#x}");
                }
                last = block.free;
                at += block.bytes as Address;
            }
            assert_eq!(at, start + segment.bytes as Address);
        }
    }
}
