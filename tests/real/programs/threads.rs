//! Two threads on the stream that all threads of a device share. Memory that an operation of one
//! thread has freed may be the other thread's at once. This file has one test, since whatever else
//! a process does at the same time could hide the defect.

use candle::quantized::{GgmlDType, QMatMul, QTensor};
use candle::rocm_backend::candle_hip::driver::result;
use candle::rocm_backend::WrapErr;
use candle::{DType, Device, Module, Result, Tensor};

fn numbers(seed: u32, shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
    let mut state = seed.wrapping_mul(2654435761).wrapping_add(12345);
    let values: Vec<f32> = (0..shape.iter().product())
        .map(|_| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect();
    Tensor::from_vec(values, shape, device)?.to_dtype(dtype)
}

fn product(kind: GgmlDType, columns: usize, device: &Device) -> Result<QMatMul> {
    let weights = numbers(7, &[24, columns], DType::F32, device)?;
    QMatMul::from_qtensor(QTensor::quantize(&weights, kind)?)
}

fn bits(tensor: &Tensor) -> Result<Vec<u32>> {
    let values = tensor
        .to_dtype(DType::F32)?
        .flatten_all()?
        .to_vec1::<f32>()?;
    Ok(values.into_iter().map(f32::to_bits).collect())
}

/// The product of a copy.
fn apart(product: &QMatMul, x: &Tensor) -> Result<Vec<u32>> {
    bits(&product.forward(&x.copy()?)?)
}

/// Has another thread write to freed memory of the stream that all threads share, and give it back.
/// The blocks are as large as the scratch memory of a product of `rows` and `columns`.
fn write_to_freed_memory(rows: usize, columns: usize, device: &Device) -> Result<()> {
    let device = device.as_rocm_device()?;
    // In blocks of 32 values that have 36 bytes, and above 8 rows as `fast_mmq.rs` counts them.
    let more = if rows > 8 { 128 * 144 } else { 0 };
    let bytes = rows * columns.next_multiple_of(512) / 32 * 36 + more;
    let write = || -> Result<()> {
        let stream = device.rocm_stream();
        let mut blocks = Vec::new();
        for _ in 0..64 {
            // SAFETY: nobody reads it.
            let address = unsafe { device.alloc::<u8>(bytes) }?.leak();
            // SAFETY: the block holds as many bytes, and is this thread's.
            unsafe { result::memset_d8_async(address, 9, bytes, stream.hip_stream()) }.w()?;
            blocks.push(address);
        }
        for address in blocks {
            // SAFETY: the block was leaked, and is not used otherwise.
            drop(unsafe { stream.upgrade_device_ptr::<u8>(address, bytes) });
        }
        Ok(())
    };
    std::thread::scope(|scope| scope.spawn(write).join().unwrap())
}

#[test]
fn another_thread_may_write_to_what_a_product_or_a_norm_has_freed() -> Result<()> {
    let device = Device::new_rocm(0)?;
    for (columns, rows) in [(256, 1), (512, 8), (256, 9)] {
        for kind in [GgmlDType::Q8_0, GgmlDType::Q4_0] {
            let product = product(kind, columns, &device)?;
            let x = numbers(1, &[1, rows, columns], DType::F32, &device)?;
            let weights = numbers(2, &[columns], DType::F32, &device)?;
            let expected = apart(&product, &x)?;
            let mut found = Vec::new();
            for _ in 0..3 {
                found.push(product.forward(&x)?);
                write_to_freed_memory(rows, columns, &device)?;
            }
            for found in &found {
                assert_eq!(bits(found)?, expected, "{kind:?} {columns} {rows}");
            }
            let normed = candle_nn::ops::rms_norm(&x, &weights, 1e-5)?;
            write_to_freed_memory(rows, columns, &device)?;
            let found = product.forward(&normed)?;
            let expected = apart(&product, &normed)?;
            assert_eq!(bits(&found)?, expected, "{kind:?} {columns} {rows}: norm");
        }
    }
    Ok(())
}
