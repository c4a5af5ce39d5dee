//! The shape that `cudarc` had before 0.14, on a HIP device: `cargo test -- --include-ignored` where
//! there is one.
//!
//! Expected values are arithmetic that a reader can do; none was taken from a run.

use hiprc::driver::{HipDevice, LaunchAsync, LaunchConfig};
use hiprc::hiprtc::compile_hsaco;
use std::error::Error;

type Outcome = Result<(), Box<dyn Error>>;

const SOURCE: &str = r#"
extern "C" __global__ void axpy(const float *x, float *y, const float a, const unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
extern "C" __global__ void wide(unsigned long long *out, const unsigned char a, const short b,
                                const int c, const long long d, const double e, const bool f) {
    out[0] = a + b + c + d + (unsigned long long)e + (f ? 1 : 0);
}
"#;

#[test]
#[ignore = "needs a HIP device"]
fn a_tuple_becomes_the_arguments() -> Outcome {
    let device = HipDevice::new(0)?;
    device.load_hsaco(compile_hsaco(SOURCE)?, "vectors", &["axpy", "wide"])?;
    let axpy = device.get_func("vectors", "axpy").unwrap();
    let x = device.htod_copy(vec![1f32, 2., 3., 4.])?;
    let mut y = device.alloc_zeros::<f32>(4)?;
    // SAFETY: the arguments are those of the kernel, which stays within 4 values.
    unsafe {
        axpy.clone()
            .launch(LaunchConfig::for_num_elems(4), (&x, &mut y, 2f32, 4u32))
    }?;
    assert_eq!(device.dtoh_sync_copy(&y)?, [2., 4., 6., 8.]);
    // Parts of memory, and another stream.
    let (from, mut to) = (x.slice(2..), y.slice_mut(..2));
    let stream = device.stream().fork()?;
    let shape = LaunchConfig::for_num_elems(2);
    // SAFETY: as above, with 2 values.
    unsafe { axpy.launch_on_stream(&stream, shape, (&from, &mut to, 10f32, 2u32)) }?;
    stream.synchronize()?;
    assert_eq!(device.sync_reclaim(y)?, [32., 44., 6., 8.]);

    let wide = device.get_func("vectors", "wide").unwrap();
    let mut out = device.alloc_zeros::<u64>(1)?;
    let arguments = (&mut out, 1u8, 20i16, 300i32, 4000i64, 50_000f64, true);
    // SAFETY: the arguments are those of the kernel, which writes one value.
    unsafe { wide.launch(LaunchConfig::for_num_elems(1), arguments) }?;
    assert_eq!(device.dtoh_sync_copy(&out)?, [54_322]);
    Ok(())
}

#[test]
#[ignore = "needs a HIP device"]
fn a_module_of_the_same_name_takes_the_place_of_the_first() -> Outcome {
    let device = HipDevice::new(0)?;
    assert!(!device.has_func("vectors", "axpy"));
    device.load_hsaco(compile_hsaco(SOURCE)?, "vectors", &["axpy"])?;
    assert!(device.has_func("vectors", "axpy"));
    assert!(device.get_func("vectors", "wide").is_none());
    device.load_hsaco(compile_hsaco(SOURCE)?, "vectors", &["wide"])?;
    assert!(!device.has_func("vectors", "axpy"));
    let missing = device.load_hsaco(compile_hsaco(SOURCE)?, "others", &["none"]);
    assert!(missing.is_err());
    assert!(!device.has_func("others", "none"));
    Ok(())
}

#[test]
#[ignore = "needs a HIP device"]
fn what_is_copied_comes_back() -> Outcome {
    let device = HipDevice::new(0)?;
    let mut there = device.htod_sync_copy(&[1u16, 2, 3])?;
    device.htod_copy_into(vec![4, 5, 6], &mut there)?;
    let mut other = device.alloc_zeros::<u16>(3)?;
    device.dtod_copy(&there, &mut other)?;
    device.htod_sync_copy_into(&[7, 8, 9], &mut there)?;
    let mut back = [0; 3];
    device.dtoh_sync_copy_into(&other, &mut back)?;
    assert_eq!(back, [4, 5, 6]);
    assert_eq!(device.sync_reclaim(there)?, [7, 8, 9]);
    device.memset_zeros(&mut other)?;
    assert_eq!(device.dtoh_sync_copy(&other)?, [0; 3]);
    Ok(())
}

#[test]
#[ignore = "needs a HIP device"]
#[should_panic(expected = "left == right")]
fn lengths_that_differ_are_a_mistake() {
    let device = HipDevice::new(0).unwrap();
    let mut there = device.alloc_zeros::<u8>(3).unwrap();
    let _ = device.htod_copy_into(vec![1, 2], &mut there);
}
