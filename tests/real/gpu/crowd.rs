//! Eight threads that make, compute with, move, read and drop the same tensors on four candle devices
//! of each of three GPUs, two of which share a stream.

use candle_core::{DType, Device, Result, Tensor};
use std::sync::Mutex;

const THREADS: u64 = 8;
const GPUS: usize = 3;
const ROUNDS: usize = 40;
const SLOTS: usize = 16;
const LENGTH: usize = 512;

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

/// A tensor that holds one value throughout, once its work is done.
struct Filled {
    tensor: Tensor,
    value: f32,
}

fn work(thread: u64, devices: &[Device], slots: &[Mutex<Option<Filled>>]) -> Result<usize> {
    let mut numbers = Numbers(thread);
    let mut wrong = 0;
    for round in 0..ROUNDS {
        let mut slot = slots[numbers.below(SLOTS)].lock().unwrap();
        let device = &devices[numbers.below(devices.len())];
        match (numbers.below(4), slot.take()) {
            // What was there is dropped.
            (0, _) | (_, None) => {
                let value = (thread as usize * ROUNDS + round) as f32;
                let tensor = Tensor::full(value, LENGTH, device)?;
                *slot = Some(Filled { tensor, value });
            }
            (1, Some(there)) => {
                let tensor = there.tensor.to_device(device)?;
                *slot = Some(Filled { tensor, ..there });
            }
            (2, Some(there)) => {
                let square = Tensor::full(1f32, (16, 16), there.tensor.device())?;
                let sums = there.tensor.reshape((LENGTH / 16, 16))?.matmul(&square)?;
                let tensor = sums.affine(1. / 16., 1.)?.flatten_all()?;
                let value = there.value + 1.;
                *slot = Some(Filled { tensor, value });
            }
            (_, Some(there)) => {
                let values = there.tensor.to_dtype(DType::F32)?.to_vec1::<f32>()?;
                wrong += values.iter().filter(|&&v| v != there.value).count();
                *slot = Some(there);
            }
        }
    }
    Ok(wrong)
}

#[test]
fn a_crowd_computes_with_what_it_shares() -> Result<()> {
    let mut devices = Vec::new();
    for gpu in 0..GPUS {
        for _ in 0..2 {
            devices.push(Device::new_rocm(gpu)?);
            devices.push(Device::new_rocm_with_stream(gpu)?);
        }
    }
    let slots: Vec<_> = (0..SLOTS).map(|_| Mutex::new(None)).collect();
    let wrong = std::thread::scope(|scope| {
        let start = |thread| {
            let (devices, slots) = (&devices, &slots);
            scope.spawn(move || work(thread, devices, slots))
        };
        let threads: Vec<_> = (0..THREADS).map(start).collect();
        let each = threads.into_iter().map(|thread| thread.join().unwrap());
        each.sum::<Result<usize>>()
    });
    assert_eq!(wrong?, 0);
    drop(slots);
    devices.iter().try_for_each(Device::synchronize)
}
