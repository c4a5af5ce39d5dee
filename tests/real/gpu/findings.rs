//! What a GPU may do that a test of one tensor after the other does not see, through candle. Each
//! test has a process of its own, and a device that its caller sets up.
#![cfg(feature = "rocm")]

use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::rocm_backend::candle_hip::driver::{result, sys, HipError};
use candle_core::{DType, Device, Module, Result, Tensor};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const N: usize = 1 << 14;

/// Twos that a stream has yet to write.
fn being_written(device: &Device) -> Result<Tensor> {
    let ones = Tensor::ones(N, DType::F32, device)?;
    device.synchronize()?;
    ones.affine(1., 1.)
}

fn right(tensor: &Tensor, expected: f32) -> Result<usize> {
    let values = tensor.flatten_all()?.to_vec1::<f32>()?;
    Ok(values.iter().filter(|&&value| value == expected).count())
}

/// A matrix of ones, quantized.
fn quantized(device: &Device) -> Result<QMatMul> {
    let ones = Tensor::ones((256, 256), DType::F32, device)?;
    QMatMul::from_qtensor(QTensor::quantize(&ones, GgmlDType::Q8_0)?)
}

/// How many elements are wrong of the product of the matrix with rows of a value, a small whole
/// number.
fn wrong(matrix: &QMatMul, rows: usize, value: f32, device: &Device) -> Result<usize> {
    let rows = Tensor::full(value, (rows, 256), device)?;
    let sums = matrix.forward(&rows)?.flatten_all()?.to_vec1::<f32>()?;
    // The scale of a block is a half.
    let far = |&&sum: &&f32| !((sum - 256. * value).abs() <= value);
    Ok(sums.iter().filter(far).count())
}

fn asked(variable: &str) -> usize {
    std::env::var(variable).unwrap().parse().unwrap()
}

#[test]
fn steps_of_a_program() -> Result<()> {
    let device = Device::new_rocm(0)?;
    let matrix = quantized(&device)?;
    let weights = Tensor::ones((64, 64), DType::F32, &device)?;
    for _ in 0..asked("STEPS") {
        let x = Tensor::ones((64, 64), DType::F32, &device)?.affine(2., 1.)?;
        assert_eq!(right(&x.matmul(&weights)?, 192.)?, 64 * 64);
        assert_eq!(wrong(&matrix, 4, 1., &device)?, 0);
        assert_eq!(wrong(&matrix, 20, 1., &device)?, 0);
    }
    Ok(())
}

#[test]
fn another_thread_reads_what_one_has_written() -> Result<()> {
    let device = Device::new_rocm(0)?;
    let there = being_written(&device)?;
    let read = std::thread::scope(|scope| {
        let reader = scope.spawn(|| right(&there.affine(1., 1.)?, 3.));
        reader.join().unwrap()
    });
    assert_eq!(read?, N);
    Ok(())
}

#[test]
fn another_device_of_the_gpu_reads_what_one_has_written() -> Result<()> {
    let (one, two) = (Device::new_rocm(0)?, Device::new_rocm_with_stream(0)?);
    for (writer, reader) in [(&one, &two), (&two, &one)] {
        let there = being_written(writer)?;
        assert_eq!(right(&there.to_device(reader)?.affine(1., 1.)?, 3.)?, N);
    }
    Ok(())
}

#[test]
fn memory_is_used_again_behind_who_used_it_last() -> Result<()> {
    let device = Device::new_rocm(0)?;
    for _ in 0..20 {
        let there = being_written(&device)?;
        // The last reference goes in another thread, which then has the memory for itself.
        let other = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                drop(there);
                Tensor::full(7f32, N, &device)
            });
            other.join().unwrap()
        })?;
        device.synchronize()?;
        assert_eq!(right(&other, 7.)?, N);
    }
    Ok(())
}

#[test]
fn scratch_memory_is_given_up() -> Result<()> {
    for _ in 0..asked("DEVICES") {
        let device = Device::new_rocm(0)?;
        let matrix = quantized(&device)?;
        assert_eq!(wrong(&matrix, 4, 1., &device)?, 0);
        assert_eq!(wrong(&matrix, 20, 1., &device)?, 0);
    }
    Ok(())
}

#[test]
fn threads_multiply_quantized_matrices_at_once() -> Result<()> {
    let device = Device::new_rocm(0)?;
    let matrix = quantized(&device)?;
    device.synchronize()?;
    let wrong = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let (matrix, device) = (&matrix, &device);
                scope.spawn(move || {
                    let rows = [4, 20].into_iter().cycle().take(12);
                    rows.map(|rows| wrong(matrix, rows, (1 + thread) as f32, device))
                        .sum::<Result<usize>>()
                })
            })
            .collect();
        let each = threads.into_iter().map(|thread| thread.join().unwrap());
        each.sum::<Result<usize>>()
    });
    assert_eq!(wrong?, 0);
    Ok(())
}

#[test]
fn each_thread_has_a_handle_of_rocblas() -> Result<()> {
    let device = Device::new_rocm(0)?;
    let blas = device.as_rocm_device()?.rocblas_handle();
    let handle = || *blas.handle() as usize;
    let own = handle();
    let other = std::thread::scope(|scope| scope.spawn(handle).join().unwrap());
    assert_eq!(own, handle());
    assert_ne!(own, other);
    Ok(())
}

#[test]
fn an_error_that_waits_does_not_keep_a_device_from_being_bound() -> Result<()> {
    let one = Device::new_rocm(0)?;
    let there = being_written(&one)?;
    let two = Device::new_rocm(1)?;
    let stream = one.as_rocm_device()?.rocm_stream();
    let met = sys::hipError_t::hipErrorInvalidValue;
    stream.context().record_err::<()>(Err(HipError(met)));
    let bound = || result::device::get_current().unwrap();
    assert_eq!(bound(), 1);
    let said = there.affine(1., 1.).unwrap_err().to_string();
    assert!(
        said.contains("INVALID_VALUE") || said.contains("InvalidValue"),
        "{said}"
    );
    assert_eq!(bound(), 0);
    // It is told once, and both devices go on.
    assert_eq!(right(&there.affine(1., 1.)?, 3.)?, N);
    assert_eq!(right(&being_written(&two)?, 2.)?, N);
    Ok(())
}

#[test]
fn tensors_go_from_one_gpu_to_another() -> Result<()> {
    let (one, two) = (Device::new_rocm(0)?, Device::new_rocm(1)?);
    let there = being_written(&one)?.to_device(&two)?;
    let back = there.affine(2., 1.)?.to_device(&one)?;
    drop(there);
    assert_eq!(right(&back.affine(1., 1.)?, 6.)?, N);
    Ok(())
}

#[test]
fn kernels_are_launched_while_others_are_compiled() -> Result<()> {
    let device = Device::new_rocm(0)?;
    let ones = Tensor::ones(4, DType::F32, &device)?;
    ones.affine(1., 1.)?;
    device.synchronize()?;
    let done = AtomicBool::new(false);
    let (longest, compiled) = std::thread::scope(|scope| {
        let launching = scope.spawn(|| {
            let mut longest = Duration::ZERO;
            while !done.load(Ordering::SeqCst) {
                let begun = Instant::now();
                assert_eq!(right(&ones.affine(1., 1.)?, 2.)?, 4);
                longest = longest.max(begun.elapsed());
            }
            Ok::<_, candle_core::Error>(longest)
        });
        // Two threads need the same kernels, which are compiled for a second or more.
        let begun = Instant::now();
        let needing = [0, 1].map(|_| scope.spawn(|| ones.sum_all()?.to_scalar::<f32>()));
        let sums = needing.map(|thread| thread.join().unwrap());
        let compiled = begun.elapsed();
        done.store(true, Ordering::SeqCst);
        for sum in sums {
            assert_eq!(sum?, 4.);
        }
        Ok::<_, candle_core::Error>((launching.join().unwrap()?, compiled))
    })?;
    assert!(
        longest < compiled / 2,
        "no launch for {longest:?} of {compiled:?}"
    );
    Ok(())
}

#[test]
fn a_quantized_product_on_a_gpu_that_the_build_did_not_know() -> Result<()> {
    let device = Device::new_rocm(0)?;
    let matrix = quantized(&device)?;
    assert_eq!(wrong(&matrix, 4, 1., &device)?, 0);
    assert_eq!(wrong(&matrix, 20, 1., &device)?, 0);
    Ok(())
}

#[test]
fn a_launch_that_fails_is_told_and_the_next_is_right() -> Result<()> {
    let device = Device::new_rocm(0)?;
    let ones = Tensor::ones((20, 256), DType::F32, &device)?;
    let matrix = quantized(&device)?;
    let rows = ones.narrow(0, 0, asked("ROWS"))?;
    // The caller lets a launch of this product fail, whichever.
    let told = matrix.forward(&rows).is_err();
    assert!(told, "the product says nothing");
    assert_eq!(wrong(&matrix, asked("ROWS"), 1., &device)?, 0);
    Ok(())
}

#[test]
fn a_graph_waits_when_it_is_launched_and_not_when_it_is_captured() -> Result<()> {
    let (one, other) = (
        Device::new_rocm_with_stream(0)?,
        Device::new_rocm_with_stream(0)?,
    );
    let source = Tensor::ones(N, DType::F32, &one)?;
    let target = Tensor::zeros(N, DType::F32, &one)?;
    source.affine(2., 0.)?;
    let twos = Tensor::full(2f32, N, &one)?;
    // The other device reads what the graph will write, and nothing has waited for that yet.
    let before = target.to_device(&other)?;
    let stream = one.as_rocm_device()?.rocm_stream();
    let fault = candle_core::Error::wrap;
    let mode = sys::hipStreamCaptureMode::hipStreamCaptureModeThreadLocal;
    stream.begin_capture(mode).map_err(fault)?;
    target.slice_set(&source.affine(2., 0.)?, 0, 0)?;
    let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
    let graph = stream.end_capture(flags).map_err(fault)?.unwrap();
    graph.launch().map_err(fault)?;
    one.synchronize()?;
    assert_eq!(right(&before, 0.)?, N, "the launch waits for a reader");
    assert_eq!(right(&target.to_device(&other)?, 2.)?, N);
    source.slice_set(&twos, 0, 0)?;
    graph.launch().map_err(fault)?;
    assert_eq!(right(&target.to_device(&other)?, 4.)?, N);
    Ok(())
}

#[test]
fn the_cpu_is_what_is_available_where_there_is_no_gpu() -> Result<()> {
    assert!(Device::new_rocm(0).is_err());
    assert!(Device::rocm_if_available(0)?.is_cpu());
    Ok(())
}
