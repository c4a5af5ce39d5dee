//! The allocator over a device that is made up: its streams do nothing, but it knows what comes
//! before what.

use super::{sizes, Address, Backend, Cache, Pool, SHARED};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

type Stream = usize;

const STREAMS: usize = 6;

/// Streams of threads: others cannot record events on them.
const OF_THREADS: usize = 2;

/// How far each stream is known to have come.
type Clock = [u64; STREAMS];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Failed {
    OutOfMemory,
}

/// Bytes, and the work that used them last.
type Used = (usize, Stream, u64);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A device of so many bytes.
struct Device {
    bytes: usize,
    given: Mutex<BTreeMap<Address, usize>>,
    /// What comes before the next work of each stream; its own entry is its last work.
    clocks: Mutex<[Clock; STREAMS]>,
    /// What the host has waited for.
    done: Mutex<Clock>,
    /// The work that used each part of the memory last.
    users: Mutex<BTreeMap<Address, Used>>,
    capturing: AtomicBool,
    allocations: AtomicU64,
}

impl Device {
    fn new(bytes: usize) -> Self {
        Self {
            bytes,
            given: Mutex::default(),
            clocks: Mutex::default(),
            done: Mutex::default(),
            users: Mutex::default(),
            capturing: AtomicBool::default(),
            allocations: AtomicU64::default(),
        }
    }

    /// Puts work into a stream that uses memory.
    fn work(&self, stream: Stream, address: Address, bytes: usize) {
        let mut clocks = lock(&self.clocks);
        clocks[stream][stream] += 1;
        let now = clocks[stream][stream];
        let mut users = lock(&self.users);
        let overlapping: Vec<Address> = users
            .range(..address + bytes as Address)
            .rev()
            .take_while(|(&at, (size, ..))| at + *size as Address > address)
            .map(|(&at, _)| at)
            .collect();
        for at in overlapping {
            let (size, other, moment) = users.remove(&at).unwrap();
            assert!(
                clocks[stream][other].max(lock(&self.done)[other]) >= moment,
                "stream {stream} gets memory that stream {other} still uses"
            );
            // What lies beside the new block keeps its user.
            let (end, new_end) = (at + size as Address, address + bytes as Address);
            if at < address {
                users.insert(at, ((address - at) as usize, other, moment));
            }
            if end > new_end {
                users.insert(new_end, ((end - new_end) as usize, other, moment));
            }
        }
        users.insert(address, (bytes, stream, now));
    }

    /// Lets a stream wait for another, as the uses of memory do.
    fn join(&self, first: Stream, then: Stream) {
        let mut clocks = lock(&self.clocks);
        let known = clocks[first];
        for (mine, other) in clocks[then].iter_mut().zip(known) {
            *mine = (*mine).max(other);
        }
    }

    fn event(&self, stream: Stream) -> Clock {
        lock(&self.clocks)[stream]
    }

    fn held(&self) -> usize {
        lock(&self.given).values().sum()
    }
}

impl Backend for &Device {
    type Stream = Stream;
    type Event = Clock;
    type Quiet = ();
    type Error = Failed;

    fn allocate(&self, bytes: usize) -> Result<Option<Address>, Failed> {
        if self.held() + bytes > self.bytes {
            return Ok(None);
        }
        // The first gap, with room beside it, as two calls of hipMalloc need not be neighbours.
        let mut at = 0x10_0000;
        for (&start, &size) in lock(&self.given).iter() {
            if at + bytes as Address <= start {
                break;
            }
            at = start + size as Address;
        }
        lock(&self.given).insert(at, bytes);
        self.allocations.fetch_add(1, Ordering::Relaxed);
        Ok(Some(at))
    }

    fn free(&self, address: Address) -> Result<(), Failed> {
        assert!(!self.capturing.load(Ordering::Relaxed));
        let bytes = lock(&self.given).remove(&address).unwrap();
        lock(&self.users).retain(|&at, _| at < address || at >= address + bytes as Address);
        Ok(())
    }

    fn wait(&self) -> Result<(), Failed> {
        assert!(!self.capturing.load(Ordering::Relaxed));
        let clocks = lock(&self.clocks);
        for (stream, done) in lock(&self.done).iter_mut().enumerate() {
            *done = clocks[stream][stream];
        }
        Ok(())
    }

    fn order(&self, first: Stream, then: Stream) -> Result<bool, Failed> {
        assert!(
            first >= OF_THREADS,
            "no event can be recorded on stream {first}"
        );
        self.join(first, then);
        Ok(true)
    }

    fn is_done(&self, event: &Clock) -> bool {
        assert!(!self.capturing.load(Ordering::Relaxed));
        event
            .iter()
            .zip(lock(&self.done).iter())
            .all(|(e, d)| e <= d)
    }

    fn quiet(&self) -> Option<()> {
        (!self.capturing.load(Ordering::Relaxed)).then_some(())
    }

    fn out_of_memory(&self) -> Failed {
        Failed::OutOfMemory
    }
}

const MIB: usize = 1 << 20;

fn cache(device: &Device) -> Cache<&Device> {
    Cache::new(device, usize::MAX)
}

#[test]
fn a_block_is_reused_on_its_own_stream_at_once() {
    let device = Device::new(1 << 30);
    let mut cache = cache(&device);
    let first = cache.allocate(2, SHARED, 5000).unwrap();
    assert!(cache.free(first, 2, None));
    assert_eq!(cache.allocate(2, SHARED, 5100), Ok(first));
    assert_eq!(device.allocations.load(Ordering::Relaxed), 1);
    assert!(!cache.free(first + 512, 2, None));
    assert!(cache.free(first, 2, None));
    assert!(!cache.free(first, 2, None), "it was free");
}

#[test]
fn another_stream_has_a_block_of_its_own() {
    let device = Device::new(1 << 30);
    let mut cache = cache(&device);
    let first = cache.allocate(2, SHARED, 20 * MIB).unwrap();
    cache.free(first, 2, None);
    assert_ne!(cache.allocate(3, SHARED, 20 * MIB), Ok(first));
    cache.retire(2);
    assert_eq!(cache.allocate(4, SHARED, 20 * MIB), Ok(first));
}

#[test]
fn under_pressure_another_stream_takes_over_behind_an_event() {
    let device = Device::new(24 * MIB);
    let mut cache = cache(&device);
    let first = cache.allocate(2, SHARED, 20 * MIB).unwrap();
    device.work(2, first, 20 * MIB);
    cache.free(first, 2, None);
    assert_eq!(cache.allocate(3, SHARED, 20 * MIB), Ok(first));
    device.work(3, first, 20 * MIB);
    assert_eq!(cache.stats().taken_over, 1);
    assert_eq!(
        cache.allocate(3, SHARED, 20 * MIB),
        Err(Failed::OutOfMemory)
    );
}

#[test]
fn what_a_thread_s_stream_freed_waits_for_its_event() {
    let device = Device::new(1 << 30);
    let mut cache = cache(&device);
    let first = cache.allocate(0, SHARED, 20 * MIB).unwrap();
    device.work(0, first, 20 * MIB);
    cache.free(first, 0, Some(device.event(0)));
    let second = cache.allocate(3, SHARED, 20 * MIB).unwrap();
    assert_ne!(second, first);
    Backend::wait(&&device).unwrap();
    assert_eq!(cache.allocate(4, SHARED, 20 * MIB), Ok(first));
    // A part of it: the rest stays behind the event.
    device.work(4, first, 20 * MIB);
    let third = cache.allocate(0, SHARED, 40 * MIB).unwrap();
    device.work(0, third, 40 * MIB);
    cache.free(third, 0, Some(device.event(0)));
    assert_eq!(cache.allocate(0, SHARED, 20 * MIB), Ok(third));
    assert_ne!(
        cache.allocate(5, SHARED, 20 * MIB),
        Ok(third + 20 * MIB as Address)
    );
    Backend::wait(&&device).unwrap();
    assert_eq!(
        cache.allocate(4, SHARED, 20 * MIB),
        Ok(third + 20 * MIB as Address)
    );
    cache.check();
}

#[test]
fn what_was_split_grows_together() {
    let device = Device::new(1 << 30);
    let mut cache = cache(&device);
    let parts: Vec<_> = (0..4)
        .map(|_| cache.allocate(2, SHARED, 5 * MIB).unwrap())
        .collect();
    assert_eq!(
        device.allocations.load(Ordering::Relaxed),
        1,
        "all four of one segment"
    );
    for &part in [1, 3, 0, 2].map(|i| &parts[i]) {
        cache.free(part, 2, None);
        cache.check();
    }
    let whole = cache.allocate(2, SHARED, 9 * MIB).unwrap();
    assert_eq!(whole, parts[0]);
    assert_eq!(device.allocations.load(Ordering::Relaxed), 1);
}

#[test]
fn there_is_room_again_once_what_is_unused_was_given_back() {
    let device = Device::new(64 * MIB);
    let mut cache = cache(&device);
    let blocks: Vec<_> = (0..3)
        .map(|_| cache.allocate(2, SHARED, 20 * MIB).unwrap())
        .collect();
    for block in blocks {
        cache.free(block, 2, None);
    }
    cache.allocate(2, SHARED, 60 * MIB).unwrap();
    let stats = cache.stats();
    assert_eq!((stats.held, stats.segments_given_back), (60 * MIB, 3));
    assert_eq!(stats.out_of_memory, 1);
    assert_eq!(
        cache.allocate(3, SHARED, 10 * MIB),
        Err(Failed::OutOfMemory)
    );
    // Less than a segment of medium size is there, which is enough for the block.
    assert!(cache.allocate(3, SHARED, 3 * MIB).is_ok());
}

#[test]
fn a_limit_is_as_a_smaller_device() {
    let device = Device::new(1 << 30);
    let mut cache = Cache::new(&device, 40 * MIB);
    let first = cache.allocate(2, SHARED, 30 * MIB).unwrap();
    assert_eq!(
        cache.allocate(2, SHARED, 30 * MIB),
        Err(Failed::OutOfMemory)
    );
    cache.free(first, 2, None);
    cache.allocate(2, SHARED, 40 * MIB).unwrap();
    assert_eq!(device.held(), 40 * MIB);
    assert_eq!(
        cache.allocate(2, SHARED, usize::MAX),
        Err(Failed::OutOfMemory)
    );
}

#[test]
fn trimming_leaves_what_is_in_use() {
    let device = Device::new(1 << 30);
    let mut cache = cache(&device);
    let kept = cache.allocate(2, SHARED, 100).unwrap();
    let large = cache.allocate(3, SHARED, 50 * MIB).unwrap();
    cache.free(large, 3, None);
    device.capturing.store(true, Ordering::Relaxed);
    cache.trim(0).unwrap();
    assert_eq!(device.held(), 52 * MIB, "nothing is freed beside a capture");
    device.capturing.store(false, Ordering::Relaxed);
    cache.trim(52 * MIB).unwrap();
    assert_eq!(device.held(), 52 * MIB);
    cache.trim(0).unwrap();
    assert_eq!(
        (device.held(), cache.stats().cached()),
        (2 * MIB, 2 * MIB - 512)
    );
    assert!(cache.free(kept, 2, None));
    cache.trim(0).unwrap();
    assert_eq!(device.held(), 0);
}

#[test]
fn the_memory_of_a_graph_is_apart() {
    let device = Device::new(1 << 30);
    let mut cache = cache(&device);
    let graph: Pool = 7;
    let before = cache.allocate(2, SHARED, 5 * MIB).unwrap();
    cache.free(before, 2, None);
    device.capturing.store(true, Ordering::Relaxed);
    let first = cache.allocate(2, graph, 5 * MIB).unwrap();
    assert_ne!(first, before);
    assert_eq!(cache.pool(first), Some(graph));
    cache.free(first, 2, None);
    assert_eq!(
        cache.allocate(2, graph, 5 * MIB),
        Ok(first),
        "within the graph"
    );
    device.capturing.store(false, Ordering::Relaxed);
    cache.free(first, 2, None);
    assert_eq!(cache.allocate(2, SHARED, 5 * MIB), Ok(before));
    let other = cache.allocate(2, SHARED, 5 * MIB).unwrap();
    assert_eq!(cache.pool(other), Some(SHARED));
    cache.trim(0).unwrap();
    assert_eq!(cache.pool(first), Some(graph), "the graph may run again");
    cache.dissolve(graph);
    assert_eq!(cache.pool(first), Some(SHARED));
    cache.check();
}

/// Numbers that look random: xorshift of 64 bits (Marsaglia, "Xorshift RNGs", 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    /// A size as of tensors: many are small.
    fn bytes(&mut self) -> usize {
        let bits = 4 + self.below(21);
        1 + self.below(1 << bits)
    }
}

/// What threads share: the allocator, and blocks that any of them may use or free.
struct World<'a> {
    cache: Cache<&'a Device>,
    blocks: Vec<(Address, usize, Stream)>,
}

/// Allocates, uses on several streams, frees, retires streams and trims, in any order; the device
/// sees to it that nobody gets memory that another's work may still use.
fn anything(world: &Mutex<World>, device: &Device, seed: u64, operations: usize) {
    let mut random = Random(seed);
    for _ in 0..operations {
        let mut world = world.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = random.below(STREAMS);
        match random.below(64) {
            0..=29 => {
                let bytes = random.bytes();
                let Ok(address) = world.cache.allocate(stream, SHARED, bytes) else {
                    continue;
                };
                assert_eq!(address % sizes::ALIGN as Address, 0);
                let end = address + bytes as Address;
                let given = lock(&device.given);
                let (&start, &size) = given.range(..=address).next_back().unwrap();
                assert!(end <= start + size as Address, "a block leaves its segment");
                drop(given);
                device.work(stream, address, bytes);
                world.blocks.push((address, bytes, stream));
            }
            30..=33 if !world.blocks.is_empty() => {
                // Another stream uses a block: it waits for its owner, who waits before freeing.
                let at = random.below(world.blocks.len());
                let (address, bytes, owner) = world.blocks[at];
                device.join(owner, stream);
                device.work(stream, address, bytes);
                device.join(stream, owner);
            }
            34..=61 if !world.blocks.is_empty() => {
                let at = random.below(world.blocks.len());
                let (address, _, owner) = world.blocks.swap_remove(at);
                let fence = (owner < OF_THREADS).then(|| device.event(owner));
                assert!(world.cache.free(address, owner, fence));
            }
            62 if random.below(50) == 0 => {
                Backend::wait(&device).unwrap();
                world.cache.retire(stream);
            }
            63 if random.below(200) == 0 => {
                let keep = random.below(device.bytes);
                world.cache.trim(keep).unwrap();
            }
            _ => {}
        }
        if random.below(5000) == 0 {
            world.cache.check();
        }
    }
}

#[test]
fn a_million_operations_of_many_threads_overlap_nowhere_and_leak_nothing() {
    const THREADS: usize = 8;
    let operations = if cfg!(miri) { 400 } else { 125_000 };
    let device = Device::new(96 * MIB);
    let world = Mutex::new(World {
        cache: cache(&device),
        blocks: Vec::new(),
    });
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (world, device) = (&world, &device);
            scope.spawn(move || anything(world, device, 1 + thread as u64, operations));
        }
    });
    let mut world = world.into_inner().unwrap();
    world.cache.check();
    let stats = world.cache.stats();
    assert!(stats.taken_over > 0 && stats.out_of_memory > 0, "{stats:?}");
    for (address, _, owner) in std::mem::take(&mut world.blocks) {
        assert!(world.cache.free(address, owner, None));
    }
    assert_eq!(world.cache.stats().in_use, 0);
    world.cache.trim(0).unwrap();
    assert_eq!((world.cache.stats().held, device.held()), (0, 0));
}
