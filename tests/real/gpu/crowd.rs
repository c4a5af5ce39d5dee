//! Eight threads that make, compute with, copy, write, read and drop the same tensors on four
//! streams of each of three GPUs. Nothing waits for anything but by the port.
#![cfg(feature = "rocm")]

use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{DType, Device, Module, Result, Tensor};
use std::sync::Mutex;

const THREADS: usize = 8;
const GPUS: usize = 3;
const STREAMS: usize = 4;
const ROUNDS: usize = 60;
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

/// A tensor that has one value throughout, a small whole number, once its work is done.
struct Slot {
    tensor: Tensor,
    value: f32,
    device: usize,
}

/// A device with a matrix of ones.
struct Place {
    device: Device,
    ones: QMatMul,
}

fn place(stream: usize, gpu: usize) -> Result<Place> {
    let device = match stream {
        0 => Device::new_rocm(gpu)?,
        _ => Device::new_rocm_with_stream(gpu)?,
    };
    let ones = Tensor::ones((32, 32), DType::F32, &device)?;
    let ones = QMatMul::from_qtensor(QTensor::quantize(&ones, GgmlDType::Q8_0)?)?;
    Ok(Place { device, ones })
}

fn wrong(slot: &Slot) -> Result<usize> {
    let values = slot.tensor.flatten_all()?.to_vec1::<f32>()?;
    Ok(values.iter().filter(|&&value| value != slot.value).count())
}

fn work(thread: usize, places: &[Place], slots: &[Mutex<Option<Slot>>]) -> Result<usize> {
    let mut numbers = Numbers(thread as u64);
    let mut found = 0;
    for round in 0..ROUNDS {
        let mut slot = slots[numbers.below(SLOTS)].lock().unwrap();
        let device = numbers.below(places.len());
        let chosen = numbers.below(6);
        *slot = Some(match (chosen, slot.take()) {
            // What was there is dropped.
            (0, _) | (_, None) => {
                let value = ((thread * ROUNDS + round) % 100) as f32;
                let rows = 1 << numbers.below(6);
                let tensor = Tensor::full(value, (rows, 32), &places[device].device)?;
                Slot {
                    tensor,
                    value,
                    device,
                }
            }
            (1, Some(there)) => {
                let tensor = there.tensor.to_device(&places[device].device)?;
                Slot {
                    tensor,
                    device,
                    ..there
                }
            }
            (2, Some(there)) if there.value < 100. => {
                let tensor = there.tensor.affine(2., 1.)?;
                Slot {
                    tensor,
                    value: 2. * there.value + 1.,
                    ..there
                }
            }
            (3, Some(there)) => {
                let source = Tensor::full(3f32, there.tensor.dims(), there.tensor.device())?;
                there.tensor.slice_set(&source, 0, 0)?;
                Slot { value: 3., ..there }
            }
            (4, Some(there)) => {
                // Scratch memory of one thread's product is no other's.
                let product = places[there.device].ones.forward(&there.tensor)?;
                let sums = product.flatten_all()?.to_vec1::<f32>()?;
                let far = |&&sum: &&f32| !((sum - 32. * there.value).abs() <= 0.5 + there.value);
                found += sums.iter().filter(far).count();
                there
            }
            (_, Some(there)) => {
                found += wrong(&there)?;
                there
            }
        });
    }
    Ok(found)
}

#[test]
fn a_crowd_reads_what_it_has_written() -> Result<()> {
    let every = (0..GPUS).flat_map(|gpu| (0..STREAMS).map(move |stream| (stream, gpu)));
    let places: Vec<_> = every
        .map(|(stream, gpu)| place(stream, gpu))
        .collect::<Result<_>>()?;
    let slots: Vec<_> = (0..SLOTS).map(|_| Mutex::new(None)).collect();
    let found = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (places, slots) = (&places, &slots);
                scope.spawn(move || work(thread, places, slots))
            })
            .collect();
        let each = threads.into_iter().map(|thread| thread.join().unwrap());
        each.sum::<Result<usize>>()
    });
    assert_eq!(found?, 0);
    let left: Vec<_> = slots
        .into_iter()
        .filter_map(|slot| slot.into_inner().unwrap())
        .collect();
    for slot in left {
        assert_eq!(wrong(&slot)?, 0);
    }
    for place in &places {
        place.device.synchronize()?;
    }
    Ok(())
}
