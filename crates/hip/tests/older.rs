//! The shape that `cudarc` had before 0.14 whole, on a HIP device: `cargo test -- --include-ignored`
//! where there is one.
//!
//! Expected values are arithmetic that a reader can do; none was taken from a run.

use hiprc::hiprtc::compile_hsaco;
use hiprc::older::driver::{
    sys, DevicePtr, DevicePtrMut, DeviceRepr, DeviceSlice, HipDevice, HipSlice, LaunchAsync,
    LaunchConfig,
};
use hiprc::older::hiprand::HipRng;
use hiprc::older::rocblas::sys::{rocblas_get_stream, rocblas_handle, rocblas_operation};
use hiprc::older::rocblas::StridedBatchedConfig;
use hiprc::older::rocblas::{Gemm, GemmConfig, RocBlas};
use hiprc::older::types::HipTypeName;
use std::error::Error;
use std::ffi::c_void;
use std::sync::Arc;

type Outcome = Result<(), Box<dyn Error>>;

const SOURCE: &str = r#"
extern "C" __global__ void axpy(const float *x, float *y, const float a, const unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
struct Line { float slope; float start; };
extern "C" __global__ void line(float *y, const Line of, const unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = of.slope * i + of.start;
}
"#;

/// A value of two numbers, which a kernel takes as it is.
#[repr(C)]
struct Line {
    slope: f32,
    start: f32,
}

// SAFETY: two numbers, as the kernel has them.
unsafe impl DeviceRepr for Line {}

/// Memory that knows where it came from, as a codebase may have it.
struct Kept(HipSlice<f32>);

impl DeviceSlice<f32> for Kept {
    fn len(&self) -> usize {
        self.0.len()
    }
}

impl DevicePtr<f32> for Kept {
    fn device_ptr(&self) -> &sys::hipDeviceptr_t {
        self.0.device_ptr()
    }
}

impl DevicePtrMut<f32> for Kept {
    fn device_ptr_mut(&mut self) -> &mut sys::hipDeviceptr_t {
        self.0.device_ptr_mut()
    }
}

// SAFETY: the address lies in the memory's owner.
unsafe impl DeviceRepr for &mut Kept {
    fn as_kernel_param(&self) -> *mut c_void {
        std::ptr::from_ref(self.0.device_ptr()).cast_mut().cast()
    }
}

fn device() -> Result<Arc<HipDevice>, Box<dyn Error>> {
    let device = HipDevice::new(0)?;
    device.load_hsaco(compile_hsaco(SOURCE)?, "lines", &["axpy", "line"])?;
    Ok(device)
}

#[test]
#[ignore = "needs a HIP device"]
fn own_types_are_arguments_and_memory() -> Outcome {
    let device = device()?;
    let warp = device.attribute(sys::hipDeviceAttribute_t::hipDeviceAttributeWarpSize)?;
    assert!([32, 64].contains(&warp));
    let mut y = Kept(device.alloc_zeros(4)?);
    let (slope, start) = (2., 1.);
    let line = device.get_func("lines", "line").unwrap();
    let shape = LaunchConfig::for_num_elems(4);
    // SAFETY: the arguments are those of the kernel, which stays within 4 values.
    unsafe { line.launch(shape, (&mut y, Line { slope, start }, 4u32)) }?;
    assert_eq!(device.dtoh_sync_copy(&y)?, [1., 3., 5., 7.]);
    device.memset_zeros(&mut y)?;
    assert_eq!(device.dtoh_sync_copy(&y)?, [0.; 4]);
    device.htod_sync_copy_into(&[1., 2., 3., 4.], &mut y)?;
    let mut copy = device.alloc_zeros::<f32>(2)?;
    device.dtod_copy(&y.0.slice(1..3), &mut copy)?;
    assert_eq!(device.sync_reclaim(copy.clone())?, [2., 3.]);
    assert!(!device.has_func("lines", "none") && !device.has_func("none", "line"));
    Ok(())
}

#[test]
#[ignore = "needs a HIP device"]
fn a_forked_stream_is_waited_for() -> Outcome {
    let device = device()?;
    let axpy = device.get_func("lines", "axpy").unwrap();
    let x = device.htod_copy(vec![1f32, 2., 3., 4.])?;
    let mut y = device.alloc_zeros::<f32>(4)?;
    let stream = device.fork_default_stream()?;
    let shape = LaunchConfig::for_num_elems(2);
    let (from, mut to) = (x.slice(2..), y.slice_mut(..2));
    // SAFETY: the arguments are those of the kernel, which stays within 2 values.
    unsafe {
        let own = axpy.clone();
        own.launch_on_stream(&stream, shape, (&from, &mut to, 10f32, 2u32))
    }?;
    device.wait_for(&stream)?;
    // SAFETY: as above.
    unsafe { axpy.clone().launch(shape, (&from, &mut to, 1f32, 2u32)) }?;
    stream.wait_for_default()?;
    // SAFETY: as above.
    unsafe { axpy.launch_on_stream(&stream, shape, (&from, &mut to, 100f32, 2u32)) }?;
    drop(stream);
    assert_eq!(device.dtoh_sync_copy(&y)?, [333., 444., 0., 0.]);
    Ok(())
}

#[test]
#[ignore = "needs a HIP device"]
fn memory_that_was_given_up_is_taken_back() -> Outcome {
    let device = HipDevice::new(0)?;
    let x = device.htod_copy(vec![1u32, 2, 3])?;
    let pointer = x.leak();
    // SAFETY: it is the memory that was given up, and nobody else has it.
    let mut x = unsafe { device.upgrade_device_ptr::<u32>(pointer, 3) };
    device.htod_copy_into(vec![4, 5, 6], &mut x)?;
    let none = std::mem::replace(&mut x, device.null()?);
    assert_eq!((x.len(), none.num_bytes()), (0, 12));
    assert_eq!(Vec::try_from(none)?, [4, 5, 6]);
    assert_eq!(device.dtoh_sync_copy(&x)?, []);
    Ok(())
}

#[test]
#[ignore = "needs a HIP device"]
fn products_in_each_type() -> Outcome {
    let device = HipDevice::new(0)?;
    let blas = RocBlas::new(device.clone())?;
    macro_rules! products {
        ($($type:ty, $of:expr;)*) => {
            $({
                let of: fn(f32) -> $type = $of;
                let gemm = GemmConfig {
                    transa: rocblas_operation::rocblas_operation_none,
                    transb: rocblas_operation::rocblas_operation_none,
                    m: 2,
                    n: 1,
                    k: 2,
                    alpha: of(2.),
                    lda: 2,
                    ldb: 2,
                    beta: of(1.),
                    ldc: 2,
                };
                // By columns: a is [[1, 3], [2, 4]], and b is [5, 6]; a * b is [23, 34].
                let a = device.htod_copy([1., 2., 3., 4.].map(of).to_vec())?;
                let b = device.htod_copy([5., 6., 1., 0.].map(of).to_vec())?;
                let mut c = device.htod_copy([1., 1., 0., 0.].map(of).to_vec())?;
                // SAFETY: the matrices have these sizes.
                unsafe { blas.gemm(gemm, &a, &b, &mut c) }?;
                assert_eq!(device.dtoh_sync_copy(&c)?, [47., 69., 0., 0.].map(of));
                let gemm = GemmConfig { beta: of(0.), ..gemm };
                let batch = StridedBatchedConfig {
                    gemm,
                    batch_size: 2,
                    stride_a: 0,
                    stride_b: 2,
                    stride_c: 2,
                };
                // SAFETY: as above, of which there are two b and two c.
                unsafe { blas.gemm_strided_batched(batch, &a, &b, &mut c) }?;
                assert_eq!(device.dtoh_sync_copy(&c)?, [46., 68., 2., 4.].map(of));
            })*
        };
    }
    products! {
        f32, |x| x;
        f64, f64::from;
        half::f16, half::f16::from_f32;
        half::bf16, half::bf16::from_f32;
    }
    Ok(())
}

#[test]
#[ignore = "needs a HIP device"]
fn each_stream_and_thread_has_a_handle_of_its_own() -> Outcome {
    let device = HipDevice::new(0)?;
    let blas = RocBlas::new(device.clone())?;
    let first = *blas.handle();
    assert!(!first.is_null());
    let of_another = std::thread::scope(|all| all.spawn(|| *blas.handle() as usize).join());
    assert_ne!(of_another.unwrap(), first as usize);
    let stream = device.fork_default_stream()?;
    // SAFETY: the stream is there until work goes to the device's own again.
    unsafe { blas.set_stream(Some(&stream)) }?;
    let second = *blas.handle();
    assert_ne!(second, first);
    assert_eq!(stream_of(second), stream.hip_stream());
    // SAFETY: as above.
    unsafe { blas.set_stream(None) }?;
    assert_eq!(*blas.handle(), first);
    assert_eq!(stream_of(first), device.hip_stream());
    // That of a stream which is gone is taken for the next one, and that of one which is not is not.
    drop(stream);
    let streams = [device.fork_default_stream()?, device.fork_default_stream()?];
    let mut handles = vec![first];
    for stream in &streams {
        // SAFETY: as above.
        unsafe { blas.set_stream(Some(stream)) }?;
        assert_eq!(stream_of(*blas.handle()), stream.hip_stream());
        handles.push(*blas.handle());
    }
    assert_eq!(handles[1], second);
    assert!(![first, second].contains(&handles[2]));
    Ok(())
}

/// The stream of a handle.
fn stream_of(handle: rocblas_handle) -> sys::hipStream_t {
    let mut stream = std::ptr::null_mut();
    // SAFETY: the handle is alive, and the pointer valid for a write.
    let status = unsafe { rocblas_get_stream(handle, &mut stream) };
    assert_eq!(status.result(), Ok(()));
    stream
}

#[test]
#[ignore = "needs a HIP device"]
fn a_list_of_addresses_is_arguments_as_a_tuple_is() -> Outcome {
    let device = device()?;
    let line = device.get_func("lines", "line").unwrap();
    let mut y = device.alloc_zeros::<f32>(3)?;
    let of = Line {
        slope: 10.,
        start: 1.,
    };
    let (written, count) = (&mut y, 3u32);
    let mut given = vec![
        written.as_kernel_param(),
        of.as_kernel_param(),
        count.as_kernel_param(),
    ];
    let shape = LaunchConfig::for_num_elems(3);
    // SAFETY: the arguments are those of the kernel, which stays within 3 values.
    unsafe { line.clone().launch(shape, &mut given) }?;
    assert_eq!(device.dtoh_sync_copy(&y)?, [1., 11., 21.]);
    device.memset_zeros(&mut y)?;
    // SAFETY: as above.
    unsafe { line.launch(shape, given.as_mut_slice()) }?;
    assert_eq!(device.dtoh_sync_copy(&y)?, [1., 11., 21.]);
    Ok(())
}

#[test]
#[ignore = "needs a HIP device"]
fn random_numbers_are_those_of_their_seed() -> Outcome {
    let device = HipDevice::new_with_stream(0)?;
    let mut rng = HipRng::new(7, device.clone())?;
    let mut first = device.alloc_zeros::<f32>(1000)?;
    rng.fill_with_uniform(&mut first)?;
    let first = device.dtoh_sync_copy(&first)?;
    assert!(first.iter().all(|&x| 0. < x && x <= 1.));
    rng.set_seed(7)?;
    rng.set_offset(0)?;
    let mut again = device.alloc_zeros::<f32>(1000)?;
    rng.fill_with_uniform(&mut again)?;
    assert_eq!(device.dtoh_sync_copy(&again)?, first);
    let mut normal = device.alloc_zeros::<f64>(1000)?;
    rng.fill_with_normal(&mut normal, 3., 0.)?;
    assert_eq!(device.dtoh_sync_copy(&normal)?, [3.; 1000]);
    rng.fill_with_log_normal(&mut normal, 0., 0.)?;
    assert_eq!(device.dtoh_sync_copy(&normal)?, [1.; 1000]);
    Ok(())
}

#[test]
#[ignore = "needs a HIP device"]
fn a_stream_of_its_own_waits_for_the_default_one() -> Outcome {
    let (default, own) = (device()?, HipDevice::new_with_stream(0)?);
    own.load_hsaco(compile_hsaco(SOURCE)?, "lines", &["axpy"])?;
    let line = default.get_func("lines", "line").unwrap();
    let axpy = own.get_func("lines", "axpy").unwrap();
    let mut x = default.alloc_zeros::<f32>(4)?;
    let mut y = own.alloc_zeros::<f32>(4)?;
    let shape = LaunchConfig::for_num_elems(4);
    let (slope, start) = (1., 1.);
    // SAFETY: the arguments are those of the kernels, which stay within 4 values.
    unsafe {
        line.launch(shape, (&mut x, Line { slope, start }, 4u32))?;
        axpy.launch(shape, (&x, &mut y, 2f32, 4u32))?;
    }
    // The default stream waits in its turn.
    assert_eq!(default.dtoh_sync_copy(&y)?, [2., 4., 6., 8.]);
    Ok(())
}

#[test]
fn types_have_the_names_of_kernels() {
    // The C++ standard, [basic.fundamental]; a plain `char` may have either sign.
    assert_eq!((u64::NAME, i8::NAME), ("unsigned long", "signed char"));
    assert_eq!((usize::NAME, half::f16::NAME), ("size_t", "__half"));
    assert_eq!(isize::NAME, i64::NAME);
}
