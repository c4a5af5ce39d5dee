//! What needs a HIP device: `cargo test -- --include-ignored` where there is one.
//!
//! Expected values are arithmetic that a reader can do; none was taken from a run.

use half::{bf16, f16};
use hiprc::driver::{sys, HipContext, HipError, HipStream, LaunchConfig, PushKernelArg};
use hiprc::hiprand::HipRng;
use hiprc::hiprtc::{compile_hsaco_with_opts, CompileError, CompileOptions, Kernels};
use hiprc::rocblas::sys::rocblas_operation;
use hiprc::rocblas::{Gemm, GemmConfig, RocBlas, StridedBatchedConfig};
use std::error::Error;
use std::sync::Arc;

type Outcome = Result<(), Box<dyn Error>>;

fn device() -> Result<(Arc<HipContext>, Arc<HipStream>), HipError> {
    let context = HipContext::new(0)?;
    let stream = context.new_stream()?;
    Ok((context, stream))
}

#[test]
#[ignore = "needs a HIP device"]
fn a_device_that_is_not_there_is_an_error() {
    let there = HipContext::device_count().unwrap() as usize;
    let error = HipContext::new(there).unwrap_err();
    assert_eq!(
        error,
        HipError(sys::hipError_t::hipErrorInvalidDevice),
        "{error}"
    );
}

#[test]
#[ignore = "needs a HIP device"]
fn the_architecture_is_one_of_amd_s() -> Outcome {
    let (context, _) = device()?;
    assert!(context.arch()?.to_string().starts_with("gfx"));
    let warp = context.attribute(sys::hipDeviceAttribute_t::hipDeviceAttributeWarpSize)?;
    assert!([32, 64].contains(&warp), "{warp}");
    assert!(context.mem_get_info()?.0 <= context.total_mem()?);
    Ok(())
}

#[test]
#[ignore = "needs a HIP device"]
fn what_is_copied_to_the_device_comes_back() -> Outcome {
    let (context, stream) = device()?;
    let values: Vec<u64> = (0..1000).map(|i| i * i).collect();
    let mut there = stream.clone_htod(&values)?;
    assert_eq!(stream.clone_dtoh(&there)?, values);
    let (mut low, mut high) = there.split_at_mut(10);
    stream.memset_zeros(&mut low)?;
    stream.memcpy_htod(&[7u64, 8], &mut high.slice_mut(..2))?;
    let back = stream.clone_dtoh(&there)?;
    assert_eq!(back[..12], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 8]);
    assert_eq!(back[12..], values[12..]);
    let halves = stream.clone_htod(&[f16::ONE, f16::NEG_ONE])?;
    assert_eq!(
        stream.clone_dtoh(&halves.clone())?,
        [f16::ONE, f16::NEG_ONE]
    );
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn work_on_two_streams_stays_in_order() -> Outcome {
    let (context, one) = device()?;
    let two = context.new_stream()?;
    let mut slice = one.clone_htod(&[1u8; 4096])?;
    for round in 2..20u8 {
        let copy = two.clone_dtod(&slice)?;
        one.memcpy_htod(&[round; 4096], &mut slice)?;
        assert_eq!(two.clone_dtoh(&copy)?, [round - 1; 4096]);
    }
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn memory_outlives_the_value_that_was_leaked() -> Outcome {
    let (context, stream) = device()?;
    let pointer = stream.clone_htod(&[1f32, 2., 3.])?.leak();
    // SAFETY: the memory was just leaked, with three values in it.
    let again = unsafe { stream.upgrade_device_ptr::<f32>(pointer, 3) };
    assert_eq!(stream.clone_dtoh(&again)?, [1., 2., 3.]);
    drop(again);
    Ok(context.check_err()?)
}

const SOURCE: &str = r#"
extern "C" __global__ void axpy(float *y, const float *x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
__device__ int counter;
extern "C" __global__ void count() { atomicAdd(&counter, 1); }
extern "C" __global__ void backwards(int *x) {
    __shared__ int held[64];
    held[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = held[63 - threadIdx.x];
}
"#;

fn options(context: &HipContext) -> Result<CompileOptions, HipError> {
    let arch = Some(&*context.arch()?.to_string().leak());
    Ok(CompileOptions {
        arch,
        ..Default::default()
    })
}

#[test]
#[ignore = "needs a HIP device"]
fn a_kernel_is_compiled_and_launched() -> Outcome {
    let (context, stream) = device()?;
    let module = context.load_module(compile_hsaco_with_opts(SOURCE, options(&context)?)?)?;
    let n = 1000i32;
    let x = stream.clone_htod(&(0..n).map(|i| i as f32).collect::<Vec<_>>())?;
    let mut y = stream.clone_htod(&vec![1f32; n as usize])?;
    let axpy = module.load_function("axpy")?;
    let mut launch = stream.launch_builder(&axpy);
    launch.arg(&mut y).arg(&x).arg(&0.5f32).arg(&n);
    // SAFETY: the arguments are those of `axpy`, which stays within `n` elements.
    unsafe { launch.launch(LaunchConfig::for_num_elems(n as u32)) }?;
    let expected: Vec<f32> = (0..n).map(|i| 1. + 0.5 * i as f32).collect();
    assert_eq!(stream.clone_dtoh(&y)?, expected);

    let mut x = stream.clone_htod(&(0..64).collect::<Vec<i32>>())?;
    let backwards = module.load_function("backwards")?;
    let mut launch = stream.launch_builder(&backwards);
    launch.arg(&mut x);
    let config = LaunchConfig {
        grid_dim: (1, 1, 1),
        block_dim: (64, 1, 1),
        shared_mem_bytes: 0,
    };
    // SAFETY: the kernel takes 64 values, with a thread for each.
    unsafe { launch.launch(config) }?;
    assert_eq!(stream.clone_dtoh(&x)?, (0..64).rev().collect::<Vec<i32>>());
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn a_variable_of_a_module_is_read_and_written() -> Outcome {
    let (context, stream) = device()?;
    let module = context.load_module(compile_hsaco_with_opts(SOURCE, options(&context)?)?)?;
    let mut counter = module.get_global("counter", &stream)?;
    stream.memcpy_htod(&40i32.to_ne_bytes(), &mut counter)?;
    let count = module.load_function("count")?;
    let config = LaunchConfig {
        grid_dim: (2, 1, 1),
        block_dim: (1, 1, 1),
        shared_mem_bytes: 0,
    };
    // SAFETY: the kernel takes no arguments.
    unsafe { stream.launch_builder(&count).launch(config) }?;
    let bytes: [u8; 4] = stream.clone_dtoh(&counter)?.try_into().unwrap();
    assert_eq!(i32::from_ne_bytes(bytes), 42);
    let missing = module.load_function("no_such_kernel").unwrap_err();
    assert_eq!(missing, HipError(sys::hipError_t::hipErrorNotFound));
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn a_source_with_an_error_gives_the_compiler_s_words() -> Outcome {
    let (context, _) = device()?;
    let source = "extern \"C\" __global__ void f() { no_such_function(); }";
    let error = compile_hsaco_with_opts(source, options(&context)?).unwrap_err();
    let CompileError::CompileError { log, .. } = &error else {
        panic!("{error}");
    };
    assert!(
        log.to_string_lossy().contains("no_such_function"),
        "{error}"
    );
    Ok(())
}

/// Kernels of a build for an architecture that no device has.
static ELSEWHERE: Kernels = Kernels {
    name: "axpy.hip",
    // HIP reads a page of a bundle.
    compiled: &page(*b"__CLANG_OFFLOAD_BUNDLE__"),
    kernel: "axpy",
    archs: &[],
    source: SOURCE,
    headers: &[],
    options: &[],
    advice: "nothing",
};

const fn page(begin: [u8; 24]) -> [u8; 4096] {
    let mut bytes = [0; 4096];
    let mut index = 0;
    while index < begin.len() {
        bytes[index] = begin[index];
        index += 1;
    }
    bytes
}

#[test]
#[ignore = "needs a HIP device"]
fn kernels_for_no_device_are_compiled_from_their_source() -> Outcome {
    let (context, stream) = device()?;
    let axpy = context
        .load_module((&ELSEWHERE).into())?
        .load_function("axpy")?;
    let x = stream.clone_htod(&[3f32])?;
    let mut y = stream.clone_htod(&[4f32])?;
    let mut launch = stream.launch_builder(&axpy);
    launch.arg(&mut y).arg(&x).arg(&2f32).arg(&1i32);
    // SAFETY: the arguments are those of `axpy`.
    unsafe { launch.launch(LaunchConfig::for_num_elems(1)) }?;
    assert_eq!(stream.clone_dtoh(&y)?, [10.]);
    Ok(context.check_err()?)
}

/// Two products of a matrix of 2 rows and 3 columns with one of 3 rows and 1 column.
fn products<T>(alpha: T, beta: T) -> StridedBatchedConfig<T> {
    let gemm = GemmConfig {
        transa: rocblas_operation::rocblas_operation_transpose,
        transb: rocblas_operation::rocblas_operation_none,
        m: 2,
        n: 1,
        k: 3,
        alpha,
        lda: 3,
        ldb: 3,
        beta,
        ldc: 2,
    };
    StridedBatchedConfig {
        gemm,
        batch_size: 2,
        stride_a: 6,
        stride_b: 3,
        stride_c: 2,
    }
}

const A: [f32; 12] = [1., 2., 3., 4., 5., 6., 1., 0., 0., 0., 1., 0.];
const B: [f32; 6] = [1., 1., 1., 7., 8., 9.];

#[test]
#[ignore = "needs a HIP device"]
fn products_of_matrices() -> Outcome {
    let (context, stream) = device()?;
    let blas = RocBlas::new(stream.clone())?;
    let (a, b) = (stream.clone_htod(&A)?, stream.clone_htod(&B)?);
    let mut c = stream.clone_htod(&[1f32; 4])?;
    // SAFETY: the matrices are as large as the configuration says.
    unsafe { blas.gemm_strided_batched(products(2., 10.), &a, &b, &mut c) }?;
    assert_eq!(stream.clone_dtoh(&c)?, [22., 40., 24., 26.]);
    let halves = |values: &[f32]| values.iter().map(|&v| f16::from_f32(v)).collect::<Vec<_>>();
    let (a, b) = (
        stream.clone_htod(&halves(&A))?,
        stream.clone_htod(&halves(&B))?,
    );
    let mut c = stream.alloc_zeros::<f16>(4)?;
    // SAFETY: as above.
    unsafe { blas.gemm_strided_batched(products(f16::ONE, f16::ZERO), &a, &b, &mut c) }?;
    assert_eq!(stream.clone_dtoh(&c)?, halves(&[6., 15., 7., 8.]));
    let brain = |values: &[f32]| {
        values
            .iter()
            .map(|&v| bf16::from_f32(v))
            .collect::<Vec<_>>()
    };
    let (a, b) = (
        stream.clone_htod(&brain(&A))?,
        stream.clone_htod(&brain(&B))?,
    );
    let mut c = stream.alloc_zeros::<bf16>(4)?;
    // SAFETY: as above.
    unsafe { blas.gemm_strided_batched(products(bf16::ONE, bf16::ZERO), &a, &b, &mut c) }?;
    assert_eq!(stream.clone_dtoh(&c)?, brain(&[6., 15., 7., 8.]));
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn random_numbers_follow_their_seed_and_their_distribution() -> Outcome {
    let (context, stream) = device()?;
    let uniform = |seed| -> Result<Vec<f32>, Box<dyn Error>> {
        let mut values = stream.alloc_zeros::<f32>(10_000)?;
        HipRng::new(seed, stream.clone())?.fill_with_uniform(&mut values)?;
        Ok(stream.clone_dtoh(&values)?)
    };
    let values = uniform(7)?;
    assert_eq!(values, uniform(7)?);
    assert_ne!(values, uniform(8)?);
    assert!(values.iter().all(|&v| (0. ..=1.).contains(&v)));
    // The mean of n uniform numbers has a standard deviation of sqrt(1 / 12n): 0.003.
    let mean = values.iter().sum::<f32>() / values.len() as f32;
    assert!((mean - 0.5).abs() < 0.02, "{mean}");
    let mut normal = stream.alloc_zeros::<f64>(10_000)?;
    HipRng::new(7, stream.clone())?.fill_with_normal(&mut normal, 3., 2.)?;
    let normal = stream.clone_dtoh(&normal)?;
    let mean = normal.iter().sum::<f64>() / normal.len() as f64;
    let variance = normal.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / normal.len() as f64;
    // Their standard deviations are 0.02, and sqrt(2 / n) * 4: 0.06.
    assert!((mean - 3.).abs() < 0.12, "{mean}");
    assert!((variance - 4.).abs() < 0.35, "{variance}");
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn a_captured_graph_repeats_its_work() -> Outcome {
    let (context, stream) = device()?;
    let module = context.load_module(compile_hsaco_with_opts(SOURCE, options(&context)?)?)?;
    let axpy = module.load_function("axpy")?;
    let x = stream.clone_htod(&[1f32])?;
    let mut y = stream.clone_htod(&[0f32])?;
    stream.synchronize()?;
    stream.begin_capture(sys::hipStreamCaptureMode::hipStreamCaptureModeRelaxed)?;
    let mut launch = stream.launch_builder(&axpy);
    launch.arg(&mut y).arg(&x).arg(&1f32).arg(&1i32);
    // SAFETY: the arguments are those of `axpy`.
    unsafe { launch.launch(LaunchConfig::for_num_elems(1)) }?;
    let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
    let graph = stream.end_capture(flags)?.unwrap();
    for _ in 0..3 {
        graph.launch()?;
    }
    assert_eq!(stream.clone_dtoh(&y)?, [3.]);
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn a_graph_copies_from_the_host_what_was_there_when_it_was_captured() -> Outcome {
    let (context, stream) = device()?;
    let mut there = stream.alloc_zeros::<u16>(3)?;
    stream.begin_capture(sys::hipStreamCaptureMode::hipStreamCaptureModeThreadLocal)?;
    let mut values = vec![1u16, 2, 3];
    stream.memcpy_htod(&values, &mut there)?;
    values.fill(9);
    drop(values);
    // Memory that is not page-locked cannot wait for the launch.
    let refused = HipError(sys::hipError_t::hipErrorStreamCaptureUnsupported);
    assert_eq!(stream.clone_dtoh(&there).unwrap_err(), refused);
    assert_eq!(
        stream.memcpy_dtoh(&there, &mut [0; 3]).unwrap_err(),
        refused
    );
    let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
    let graph = stream.end_capture(flags)?.unwrap();
    for _ in 0..2 {
        stream.memset_zeros(&mut there)?;
        graph.launch()?;
        assert_eq!(stream.clone_dtoh(&there)?, [1, 2, 3]);
    }
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn pinned_memory_is_copied_both_ways() -> Outcome {
    let (context, stream) = device()?;
    // SAFETY: the memory is written in the next line.
    let mut host = unsafe { context.alloc_pinned::<u16>(2) }?;
    host.as_mut_slice()?.copy_from_slice(&[5, 6]);
    let mut there = stream.clone_htod(&host)?;
    stream.memset_zeros(&mut there.slice_mut(..1))?;
    stream.memcpy_dtoh(&there, &mut host)?;
    assert_eq!(host.as_slice()?, [0, 6]);
    drop((host, there));
    Ok(context.check_err()?)
}
