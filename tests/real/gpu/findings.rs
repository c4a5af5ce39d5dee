//! What once went wrong with a port on a GPU that is not perfect, by the interface of candle and of its
//! bindings. `test_real_gpu.py` says what the device does in each.

use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::rocm_backend::candle_hip::driver::{result, sys, HipContext, HipError};
use candle_core::{DType, Device, Module, Result, Tensor};
use std::error::Error;
use std::time::{Duration, Instant};

type Outcome = std::result::Result<(), Box<dyn Error>>;

/// Rows and columns of a quantized matrix.
const N: usize = 256;

/// Few rows take the kernels for vectors, many those for matrices.
const ROWS: [usize; 2] = [1, 20];

fn matrix(device: &Device) -> Result<QMatMul> {
    let ones = Tensor::ones((N, N), DType::F32, device)?;
    QMatMul::from_qtensor(QTensor::quantize(&ones, GgmlDType::Q8_0)?)
}

/// Whether all are what as many factors of one value add up to, as far as 8 bits can tell.
fn is_sum(found: &[f32], value: f32) -> bool {
    let sum = value * N as f32;
    found.iter().all(|each| (each - sum).abs() < sum / 50.)
}

fn product(matrix: &QMatMul, rows: usize, value: f32, device: &Device) -> Result<Vec<f32>> {
    let factor = Tensor::full(value, (rows, N), device)?;
    matrix.forward(&factor)?.flatten_all()?.to_vec1()
}

#[test]
fn another_thread_reads() -> Outcome {
    let device = Device::new_rocm(0)?;
    let mut there = Tensor::ones(4096, DType::F32, &device)?;
    for _ in 0..20 {
        there = there.affine(1., 1.)?;
    }
    let read = std::thread::scope(|scope| {
        let reader = scope.spawn(|| there.affine(1., 0.)?.to_vec1::<f32>());
        reader.join().unwrap()
    });
    assert!(read? == [21.; 4096]);
    Ok(())
}

#[test]
fn another_device_reads() -> Outcome {
    let (shared, own) = (Device::new_rocm(0)?, Device::new_rocm_with_stream(0)?);
    let there = Tensor::ones(4096, DType::F32, &shared)?.affine(2., 1.)?;
    assert!(there.to_device(&own)?.to_vec1::<f32>()? == [3.; 4096]);
    let there = Tensor::ones(4096, DType::F32, &own)?.affine(2., 2.)?;
    assert!(there.to_device(&shared)?.to_vec1::<f32>()? == [4.; 4096]);
    Ok(())
}

#[test]
fn threads_share_a_quantized_matrix() -> Outcome {
    let device = Device::new_rocm(0)?;
    let matrix = matrix(&device)?;
    std::thread::scope(|scope| {
        let work = |thread: usize| {
            let (matrix, device) = (&matrix, &device);
            scope.spawn(move || -> Result<bool> {
                let value = 1. + thread as f32;
                let mut right = true;
                for rows in ROWS.repeat(4) {
                    right &= is_sum(&product(matrix, rows, value, device)?, value);
                }
                Ok(right)
            })
        };
        for thread in (0..8).map(work).collect::<Vec<_>>() {
            assert!(thread.join().unwrap()?);
        }
        Ok(())
    })
}

#[test]
fn what_a_device_used_is_given_back() -> Outcome {
    let free = || -> std::result::Result<usize, HipError> {
        let context = HipContext::new(0)?;
        context.synchronize()?;
        Ok(context.mem_get_info()?.0)
    };
    let before = free()?;
    for _ in 0..3 {
        let device = Device::new_rocm(0)?;
        let matrix = matrix(&device)?;
        for rows in ROWS {
            assert!(is_sum(&product(&matrix, rows, 1., &device)?, 1.));
        }
    }
    assert_eq!(free()?, before);
    Ok(())
}

/// As many steps as are asked for, as when tokens are decoded.
#[test]
fn steps() -> Outcome {
    let device = Device::new_rocm(0)?;
    let matrix = matrix(&device)?;
    let mut state = Tensor::ones((1, N), DType::F32, &device)?;
    for _ in 0..std::env::var("STEPS")?.parse()? {
        state = (matrix.forward(&state)?.affine(1. / N as f64, 0.)?.sqr()? + 0.)?;
        let sum = state.sum_all()?.to_scalar::<f32>()?;
        assert!((sum - N as f32).abs() < N as f32);
        state = (state.ones_like()? + state.zeros_like()?)?;
    }
    Ok(())
}

#[test]
fn an_error_that_waits_leaves_the_right_device() -> Outcome {
    const INVALID: HipError = HipError(sys::hipError_t::hipErrorInvalidValue);
    let first = HipContext::new(0)?;
    let stream = first.new_stream()?;
    let kept = stream.clone_htod(&[1u8; 4])?;
    let second = HipContext::new(1)?;
    second.bind_to_thread()?;
    first.record_err::<()>(Err(INVALID));
    let _told = first.bind_to_thread();
    assert_eq!(result::device::get_current()?, 0);
    second.bind_to_thread()?;
    first.record_err::<()>(Err(INVALID));
    drop((kept, stream));
    assert_eq!(result::device::get_current()?, 1);
    Ok(())
}

#[test]
fn devices_copy_to_each_other() -> Outcome {
    let (first, second) = (Device::new_rocm(0)?, Device::new_rocm(1)?);
    let here = Tensor::arange(0f32, 4096., &first)?.affine(2., 1.)?;
    let back = here.to_device(&second)?.affine(1., 1.)?.to_device(&first)?;
    let right: Vec<f32> = (0..4096).map(|i| (2 * i + 2) as f32).collect();
    assert!(back.to_vec1::<f32>()? == right);
    let driver = |device: &Device| Ok::<_, Box<dyn Error>>(device.as_rocm_device()?.rocm_stream());
    let here = driver(&first)?.clone_htod(&right)?;
    let there = driver(&second)?.clone_dtod(&here)?;
    assert!(driver(&second)?.clone_dtoh(&there)? == right);
    Ok(())
}

/// hipRTC has to compile each module here.
#[test]
fn others_launch_while_one_compiles() -> Outcome {
    let device = Device::new_rocm(0)?;
    let ones = Tensor::ones(4, DType::F32, &device)?.affine(1., 0.)?;
    device.synchronize()?;
    let begun = Instant::now();
    let (launched, compiled) = std::thread::scope(|scope| {
        let compiling = scope.spawn(|| ones.sqrt()?.to_vec1::<f32>().map(|_| begun.elapsed()));
        std::thread::sleep(Duration::from_millis(200));
        let launched = ones
            .affine(1., 1.)?
            .to_vec1::<f32>()
            .map(|_| begun.elapsed());
        Ok::<_, candle_core::Error>((launched?, compiling.join().unwrap()?))
    })?;
    assert!(launched < compiled / 2, "{launched:?} of {compiled:?}");
    Ok(())
}

/// It may be refused.
#[test]
fn no_product_is_wrong() -> Outcome {
    let device = Device::new_rocm(0)?;
    for rows in ROWS {
        let told = matrix(&device).and_then(|matrix| product(&matrix, rows, 1., &device));
        match told {
            Ok(found) => assert!(is_sum(&found, 1.), "{rows} rows: {:?}", &found[..4]),
            Err(error) => println!("told: {error}"),
        }
    }
    let expert = Tensor::ones((1, N, N), DType::F32, &device)
        .and_then(|ones| QTensor::quantize(&ones, GgmlDType::Q8_0));
    let of = [0u32; 4];
    let told = expert.and_then(|expert| {
        candle_nn::moe::moe_gemm_gguf(
            &Tensor::ones((4, N), DType::F32, &device)?,
            &expert,
            &None,
            &Tensor::arange(0u32, 4, &device)?,
            &Tensor::new(&of, &device)?,
            1,
            false,
            DType::F16,
        )?
        .flatten_all()?
        .to_vec1()
    });
    match told {
        Ok(found) => assert!(is_sum(&found, 1.), "experts: {:?}", &found[..4]),
        Err(error) => println!("told: {error}"),
    }
    Ok(())
}

#[test]
fn a_graph_takes_what_another_stream_wrote_before() -> Outcome {
    let context = HipContext::new(0)?;
    let (one, other) = (context.new_stream()?, context.new_stream()?);
    let source = other.clone_htod(&vec![3u32; N])?;
    let mut target = one.alloc_zeros::<u32>(N)?;
    one.begin_capture(sys::hipStreamCaptureMode::hipStreamCaptureModeThreadLocal)?;
    let within = one.memcpy_dtod(&source, &mut target);
    let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
    let graph = one.end_capture(flags)?;
    within?;
    graph.ok_or("no graph")?.launch()?;
    assert!(one.clone_dtoh(&target)? == [3; N]);
    Ok(())
}

#[test]
fn without_a_gpu_there_is_the_cpu() -> Outcome {
    assert!(Device::rocm_if_available(0)?.is_cpu());
    assert!(Device::new_rocm(0).is_err());
    Ok(())
}
