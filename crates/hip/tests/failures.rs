//! A short program of all that is here, on a HIP device of which any one call may fail. Nothing else
//! may be in this file: who runs it chooses the call (`tests/real/test_hip_crate.py`, on portkit's
//! device that runs on the CPU), and reads what is printed.

use hiprc::driver::{sys, HipContext, PinnedHostSlice};
use hiprc::miopen::Convolution;
use hiprc::rocblas::result::RocblasError;
use hiprc::rocblas::sys::{rocblas_get_stream, rocblas_handle};
use hiprc::rocblas::RocBlas;
use std::error::Error;

type Outcome = Result<(), Box<dyn Error>>;

const N: usize = 1 << 12;

/// Uses streams, threads, graphs, page-locked memory and events. What it computes is compared, so
/// that no failure passes for a result.
fn program() -> Outcome {
    let context = HipContext::new(0)?;
    let (stream, other) = (context.shared_stream()?, context.new_stream()?);
    let source = stream.clone_htod(&vec![3u32; N])?;
    let mut target = other.alloc_zeros::<u32>(N)?;
    other.memcpy_dtod(&source, &mut target)?;
    assert!(stream.clone_dtoh(&target)? == [3; N]);

    // SAFETY: the memory is written in the next line.
    let mut host: PinnedHostSlice<u32> = unsafe { context.alloc_pinned(N) }?;
    host.as_mut_slice()?.fill(4);
    stream.memcpy_htod(&host, &mut target)?;
    let moment = stream.record_event(None)?;
    other.wait(&moment)?;
    assert!(other.clone_dtoh(&target)? == [4; N]);

    let own = context.per_thread_stream();
    let read = std::thread::scope(|scope| {
        let reader = scope.spawn(|| own.clone_dtoh(&own.clone_dtod(&source)?));
        reader.join().unwrap()
    });
    assert!(read? == [3; N]);

    other.begin_capture(sys::hipStreamCaptureMode::hipStreamCaptureModeThreadLocal)?;
    let within = other
        .clone_dtod(&source)
        .and_then(|between| other.memcpy_dtod(&between, &mut target));
    let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
    let graph = other.end_capture(flags)?;
    within?;
    graph.ok_or("no graph")?.launch()?;
    assert!(stream.clone_dtoh(&target)? == [3; N]);

    let blas = RocBlas::new(stream.clone())?;
    assert!(!blas.handle().is_null());
    // A thread gets a handle of its own, that of another stream never, also when it asks again.
    let streams = std::thread::scope(|scope| {
        let two = scope.spawn(|| [stream_of(*blas.handle()), stream_of(*blas.handle())]);
        two.join().unwrap()
    });
    for of_handle in streams {
        assert!(of_handle.is_err() || of_handle == Ok(stream.hip_stream() as usize));
    }
    streams.into_iter().collect::<Result<Vec<_>, _>>()?;

    let plain = Convolution {
        input: [1, 1, 3, 3],
        filter: [1, 1, 2, 2],
        padding: [0; 2],
        stride: [1; 2],
        dilation: [1; 2],
    };
    let (image, filter) = (
        stream.clone_htod(&[1f32; 9])?,
        other.clone_htod(&[2f32; 4])?,
    );
    let mut sums = other.alloc_zeros::<f32>(4)?;
    let done = plain.forward::<f32, _, _, _>(&other, None, &image, &filter, &mut sums)?;
    assert!(done && stream.clone_dtoh(&sums)? == [8.; 4]);
    context.synchronize()?;
    drop((source, target, host, blas, image, filter, sums, other, own));
    Ok(context.check_err()?)
}

/// The stream of a handle of rocBLAS, as a number.
fn stream_of(handle: rocblas_handle) -> Result<usize, RocblasError> {
    let mut stream = std::ptr::null_mut();
    // SAFETY: the pointer is valid for a write, and rocBLAS refuses a null handle.
    unsafe { rocblas_get_stream(handle, &mut stream) }.result()?;
    Ok(stream as usize)
}

#[test]
#[ignore = "needs a HIP device"]
fn what_fails_once_is_told_and_leaves_nothing_behind() -> Outcome {
    // One call fails, so the same succeeds before or after.
    let outcomes = [program(), program()];
    let told: Vec<_> = outcomes
        .iter()
        .filter_map(|each| each.as_ref().err())
        .collect();
    assert!(told.len() <= 1, "{told:?}");
    println!("told: {told:?}");
    let context = HipContext::new(0).or_else(|_| HipContext::new(0))?;
    context.empty_cache().or_else(|_| context.empty_cache())?;
    let stats = context.memory_stats();
    assert_eq!((stats.in_use, stats.held), (0, 0), "{stats:?}");
    Ok(())
}
