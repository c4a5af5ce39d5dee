//! The first things that have to work on an AMD GPU. Without one, only the last test passes.
#![cfg(feature = "rocm")]

use candle_core::{DType, Device, DeviceLocation, Result, Tensor};

#[test]
fn creates_a_device() -> Result<()> {
    let device = Device::new_rocm(0)?;
    assert!(device.is_rocm());
    assert!(!device.is_cuda());
    assert!(!device.is_cpu());
    assert_eq!(device.location(), DeviceLocation::Rocm { gpu_id: 0 });
    assert!(device.as_rocm_device().is_ok());
    assert!(device.as_cuda_device().is_err());
    Ok(())
}

#[test]
fn copies_to_the_device_and_back() -> Result<()> {
    let device = Device::new_rocm(0)?;
    let values: Vec<f32> = (0..1000).map(|i| i as f32 * 0.5).collect();
    let there = Tensor::from_slice(&values, (10, 100), &device)?;
    assert!(there.device().is_rocm());
    let back = there.to_device(&Device::Cpu)?;
    assert!(back.device().is_cpu());
    assert_eq!(back.flatten_all()?.to_vec1::<f32>()?, values);
    let again = back.to_device(&device)?;
    assert_eq!(again.flatten_all()?.to_vec1::<f32>()?, values);
    Ok(())
}

#[test]
fn computes_elementwise() -> Result<()> {
    let device = Device::new_rocm(0)?;
    let a = Tensor::new(&[1f32, 2., 3., 4.], &device)?;
    let b = Tensor::new(&[10f32, 20., 30., 40.], &device)?;
    assert_eq!((&a + &b)?.to_vec1::<f32>()?, [11., 22., 33., 44.]);
    assert_eq!((&b - &a)?.to_vec1::<f32>()?, [9., 18., 27., 36.]);
    assert_eq!((&a * &b)?.to_vec1::<f32>()?, [10., 40., 90., 160.]);
    assert_eq!((&b / &a)?.to_vec1::<f32>()?, [10., 10., 10., 10.]);
    assert_eq!(a.affine(2., 1.)?.to_vec1::<f32>()?, [3., 5., 7., 9.]);
    assert_eq!(a.sum_all()?.to_scalar::<f32>()?, 10.);
    Ok(())
}

#[test]
fn multiplies_matrices() -> Result<()> {
    let device = Device::new_rocm(0)?;
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let a = Tensor::new(&[[1f32, 2.], [3., 4.]], &device)?.to_dtype(dtype)?;
        let b = Tensor::new(&[[5f32, 6.], [7., 8.]], &device)?.to_dtype(dtype)?;
        let product = a.matmul(&b)?.to_dtype(DType::F32)?;
        assert_eq!(product.to_vec2::<f32>()?, [[19., 22.], [43., 50.]]);
        let transposed = a.t()?.matmul(&b)?.to_dtype(DType::F32)?;
        assert_eq!(transposed.to_vec2::<f32>()?, [[26., 30.], [38., 44.]]);
    }
    Ok(())
}

#[test]
fn waits_until_work_is_done() -> Result<()> {
    let device = Device::new_rocm(0)?;
    Tensor::ones((256, 256), DType::F32, &device)?.sum_all()?;
    let stream = device.as_rocm_device()?.rocm_stream();
    let done = stream
        .record_event(None)
        .map_err(candle_core::Error::wrap)?;
    device.synchronize()?;
    assert!(done.is_complete());
    Ok(())
}

#[test]
fn streams_wait_for_each_other() -> Result<()> {
    let first = Device::new_rocm_with_stream(0)?;
    let second = Device::new_rocm_with_stream(0)?;
    let there = Tensor::arange(0f32, 64., &first)?.affine(2., 1.)?;
    let moved = there.to_device(&second)?;
    let odd: Vec<f32> = (0..64).map(|i| (2 * i + 1) as f32).collect();
    assert_eq!(moved.to_vec1::<f32>()?, odd);
    // What one device of the GPU has written, another thread and another device read.
    let shared = Device::new_rocm(0)?;
    let there = Tensor::arange(0f32, 64., &shared)?.affine(2., 1.)?;
    let read = std::thread::scope(|scope| {
        let reader = scope.spawn(|| there.to_vec1::<f32>());
        reader.join().unwrap()
    });
    assert_eq!(read?, odd);
    let there = there.affine(2., 0.)?;
    let twice: Vec<f32> = odd.iter().map(|value| 2. * value).collect();
    assert_eq!(there.to_device(&second)?.to_vec1::<f32>()?, twice);
    Ok(())
}

#[test]
fn a_missing_device_is_an_error() -> Result<()> {
    assert!(Device::new_rocm(1_000).is_err());
    // Where there is none at all, the CPU is what is available.
    let there_is_one = Device::new_rocm(0).is_ok();
    assert_eq!(Device::rocm_if_available(0)?.is_rocm(), there_is_one);
    assert_eq!(Device::rocm_if_available(1_000).is_err(), there_is_one);
    Ok(())
}
