//! Memory of bytes that begins at an odd address, as an allocator may give it.
#![cfg(feature = "rocm")]

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Result, Tensor};
use std::alloc::{GlobalAlloc, Layout, System};

/// Gives bytes at odd addresses, and all else as the system does.
struct Odd;

const SHIFT: usize = 16;

/// What the system is asked for in place of bytes.
fn wider(bytes: Layout) -> Layout {
    Layout::from_size_align(bytes.size() + SHIFT, SHIFT).unwrap()
}

// SAFETY: one byte behind the beginning of memory of the system's, there are the bytes that were
// asked for.
unsafe impl GlobalAlloc for Odd {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > 1 {
            return System.alloc(layout);
        }
        match System.alloc(wider(layout)) {
            none if none.is_null() => none,
            memory => memory.add(1),
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if layout.align() > 1 {
            return System.dealloc(memory, layout);
        }
        System.dealloc(memory.sub(1), wider(layout))
    }
}

#[global_allocator]
static ODD: Odd = Odd;

#[test]
fn blocks_are_read_from_bytes_that_begin_anywhere() -> Result<()> {
    assert_eq!(vec![0u8; 4].as_ptr() as usize % 2, 1);
    let device = Device::new_rocm(0)?;
    let values: Vec<f32> = (0..256).map(|i| i as f32 - 128.).collect();
    let there = Tensor::new(values.as_slice(), &device)?;
    for dtype in [GgmlDType::F32, GgmlDType::F16] {
        let back = QTensor::quantize(&there, dtype)?.dequantize(&device)?;
        assert_eq!(back.to_vec1::<f32>()?, values, "{dtype:?}");
    }
    Ok(())
}
