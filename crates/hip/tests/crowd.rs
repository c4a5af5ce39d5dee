//! Eight threads that make, copy, read and drop the same tensors on four streams of each of up to
//! three devices: `cargo test -- --include-ignored` where there are two. Nothing waits for anything
//! but by the bindings.

use hiprc::driver::{HipContext, HipError, HipSlice, HipStream};
use std::error::Error;
use std::sync::{Arc, Mutex};

const THREADS: u32 = 8;
const DEVICES: usize = 3;
const ROUNDS: u32 = 150;
const SLOTS: usize = 24;

/// Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014: SplitMix.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

/// Memory that holds one value throughout, once its work is done.
struct Tensor {
    slice: HipSlice<u32>,
    value: u32,
    device: usize,
}

/// The streams of a device: two that all contexts share, one of this context's, one of another's.
fn streams_of(device: usize) -> Result<Vec<Arc<HipStream>>, HipError> {
    let (one, other) = (HipContext::new(device)?, HipContext::new(device)?);
    Ok(vec![
        one.shared_stream()?,
        one.default_stream(),
        one.new_stream()?,
        other.new_stream()?,
    ])
}

fn work(
    thread: u32,
    streams: &[Vec<Arc<HipStream>>],
    slots: &[Mutex<Option<Tensor>>],
) -> Result<usize, HipError> {
    let mut numbers = Numbers(u64::from(thread));
    let mut wrong = 0;
    for round in 0..ROUNDS {
        let mut slot = slots[numbers.below(SLOTS)].lock().unwrap();
        let device = numbers.below(streams.len());
        let stream = &streams[device][numbers.below(4)];
        match (numbers.below(4), slot.take()) {
            // What was there is dropped.
            (0, _) | (_, None) => {
                let value = thread * ROUNDS + round;
                let length = 1 << (4 + numbers.below(9));
                let slice = stream.clone_htod(&vec![value; length])?;
                *slot = Some(Tensor {
                    slice,
                    value,
                    device,
                });
            }
            (1, Some(there)) => {
                *slot = Some(Tensor {
                    slice: stream.clone_dtod(&there.slice)?,
                    device,
                    ..there
                });
            }
            (2, Some(mut there)) => {
                let near = &streams[there.device][numbers.below(4)];
                near.memset_zeros(&mut there.slice)?;
                *slot = Some(Tensor { value: 0, ..there });
            }
            (_, Some(there)) => {
                let near = &streams[there.device][numbers.below(4)];
                let values = near.clone_dtoh(&there.slice)?;
                wrong += values.iter().filter(|&&value| value != there.value).count();
                *slot = Some(there);
            }
        }
    }
    Ok(wrong)
}

#[test]
#[ignore = "needs two HIP devices"]
fn a_crowd_reads_what_it_has_written() -> Result<(), Box<dyn Error>> {
    let devices = DEVICES.min(usize::try_from(HipContext::device_count()?)?);
    assert!(devices > 1, "one device alone");
    let contexts: Vec<_> = (0..devices)
        .map(HipContext::new)
        .collect::<Result<_, _>>()?;
    let streams: Vec<_> = (0..devices).map(streams_of).collect::<Result<_, _>>()?;
    let slots: Vec<_> = (0..SLOTS).map(|_| Mutex::new(None)).collect();
    let wrong = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn({
                    let (streams, slots) = (&streams, &slots);
                    move || work(thread, streams, slots)
                })
            })
            .collect();
        let each = threads.into_iter().map(|thread| thread.join().unwrap());
        each.sum::<Result<usize, _>>()
    });
    assert_eq!(wrong?, 0);
    drop((slots, streams));
    for context in contexts {
        context.synchronize()?;
        context.empty_cache()?;
        assert_eq!(context.memory_stats().in_use, 0);
        context.check_err()?;
    }
    Ok(())
}
