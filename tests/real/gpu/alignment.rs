//! Blocks that are read from bytes, where bytes begin at odd addresses.

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DType, Device, Result, Tensor};
use std::alloc::{GlobalAlloc, Layout, System};

/// What needs no alignment has none.
struct Odd;

const MORE: usize = 16;

fn with_room(layout: Layout) -> Layout {
    Layout::from_size_align(layout.size() + MORE, MORE).unwrap()
}

// SAFETY: a byte behind the beginning of memory that has room for it is memory for bytes.
unsafe impl GlobalAlloc for Odd {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match layout.align() {
            1 => match System.alloc(with_room(layout)) {
                memory if memory.is_null() => memory,
                memory => memory.add(1),
            },
            _ => System.alloc(layout),
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        match layout.align() {
            1 => System.dealloc(memory.sub(1), with_room(layout)),
            _ => System.dealloc(memory, layout),
        }
    }
}

#[global_allocator]
static ODD: Odd = Odd;

#[test]
fn bytes_need_not_be_aligned() -> Result<()> {
    assert_eq!(vec![0u8; 64].as_ptr() as usize % 2, 1);
    let device = Device::new_rocm(0)?;
    let values: Vec<f32> = (0..256).map(|i| i as f32).collect();
    let there = Tensor::new(values.as_slice(), &device)?;
    for dtype in [GgmlDType::F32, GgmlDType::F16, GgmlDType::BF16] {
        let back = QTensor::quantize(&there, dtype)?.dequantize(&device)?;
        assert_eq!(back.to_dtype(DType::F32)?.to_vec1::<f32>()?, values);
    }
    Ok(())
}
