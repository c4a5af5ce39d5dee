//! The order of work on several streams, on a HIP device: `cargo test -- --include-ignored` where
//! there is one.
//!
//! On a device that does the work of streams as late as HIP allows, each of these fails where
//! something does not wait. None waits for the whole device, which ends the captures of others.

use hiprc::driver::{
    record_launch, result, sys, DevicePtr, DevicePtrMut, HipContext, HipError, HipSlice, HipStream,
};
use hiprc::rocblas::RocBlas;
use std::error::Error;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

type Outcome = Result<(), Box<dyn Error>>;

const N: usize = 1 << 14;

static CAPTURES: RwLock<()> = RwLock::new(());

/// For a test that captures.
fn captures() -> RwLockReadGuard<'static, ()> {
    CAPTURES.read().unwrap_or_else(PoisonError::into_inner)
}

/// For a test of what may end the captures of others: work on the default stream, that of a stream
/// which waits for it, and the end of a handle of cuBLAS, which waits for the device.
fn without_captures() -> RwLockWriteGuard<'static, ()> {
    CAPTURES.write().unwrap_or_else(PoisonError::into_inner)
}

/// Ones that a stream has yet to write, where zeros are.
fn being_written(stream: &Arc<HipStream>) -> Result<HipSlice<u32>, Box<dyn Error>> {
    let ones = stream.clone_htod(&vec![1u32; N])?;
    let mut there = stream.alloc_zeros::<u32>(N)?;
    stream.synchronize()?;
    stream.memcpy_dtod(&ones, &mut there)?;
    Ok(there)
}

/// How many values are the one that is expected.
fn right(values: &[u32], expected: u32) -> usize {
    values.iter().filter(|&&value| value == expected).count()
}

#[test]
#[ignore = "needs a HIP device"]
fn another_context_reads_what_was_written() -> Outcome {
    let _alone = without_captures();
    let (one, other) = (HipContext::new(0)?, HipContext::new(0)?);
    for (writer, reader) in [
        (one.default_stream(), other.new_stream()?),
        (other.new_stream()?, one.default_stream()),
        (one.per_thread_stream(), other.new_stream()?),
    ] {
        let there = being_written(&writer)?;
        assert_eq!(
            right(&reader.clone_dtoh(&reader.clone_dtod(&there)?)?, 1),
            N
        );
    }
    one.check_err()?;
    Ok(other.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn another_thread_reads_what_was_written_on_its_stream() -> Outcome {
    let context = HipContext::new(0)?;
    let stream = context.per_thread_stream();
    let there = being_written(&stream)?;
    let read = std::thread::scope(|scope| {
        let reader = scope.spawn(|| stream.clone_dtoh(&there));
        reader.join().unwrap()
    });
    assert_eq!(right(&read?, 1), N);
    // The memory goes back on the stream of a thread that has ended since.
    let threads = (0..8).map(|_| {
        let stream = stream.clone();
        std::thread::spawn(move || being_written(&stream).map_err(|error| error.to_string()))
    });
    for thread in threads.collect::<Vec<_>>() {
        let there = thread.join().unwrap()?;
        assert_eq!(right(&stream.clone_dtoh(&there)?, 1), N);
    }
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn a_writer_waits_for_every_reader() -> Outcome {
    let _alone = without_captures();
    let context = HipContext::new(0)?;
    let (writer, one, two) = (
        context.default_stream(),
        context.new_stream()?,
        context.new_stream()?,
    );
    let mut there = writer.clone_htod(&vec![1u32; N])?;
    let mut copies = [one.alloc_zeros::<u32>(N)?, two.alloc_zeros::<u32>(N)?];
    for stream in [&writer, &one, &two] {
        stream.synchronize()?;
    }
    {
        // Both reads are put in before either is over.
        let [first, second] = &mut copies;
        let (from_one, guard_one) = there.device_ptr(&one);
        let (from_two, guard_two) = there.device_ptr(&two);
        let (to_one, _first) = first.device_ptr_mut(&one);
        let (to_two, _second) = second.device_ptr_mut(&two);
        // SAFETY: the memory holds N values, and the guards outlive the calls.
        unsafe {
            result::memcpy_dtod_async(to_one, from_one, 4 * N, one.hip_stream())?;
            result::memcpy_dtod_async(to_two, from_two, 4 * N, two.hip_stream())?;
        }
        drop(guard_one);
        drop(guard_two);
    }
    writer.memcpy_htod(&vec![2u32; N], &mut there)?;
    writer.synchronize()?;
    for (copy, stream) in copies.iter().zip([&one, &two]) {
        assert_eq!(right(&stream.clone_dtoh(copy)?, 1), N);
    }
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn work_counts_that_is_put_in_after_its_guard() -> Outcome {
    let context = HipContext::new(0)?;
    let (writer, reader) = (context.new_stream()?, context.new_stream()?);
    let ones = writer.clone_htod(&vec![1u32; N])?;
    let mut there = writer.alloc_zeros::<u32>(N)?;
    writer.synchronize()?;
    // As callers do that keep the address alone.
    let from = ones.device_ptr(&writer).0;
    let to = there.device_ptr_mut(&writer).0;
    // SAFETY: the memory holds N values.
    unsafe { result::memcpy_dtod_async(to, from, 4 * N, writer.hip_stream()) }?;
    assert_eq!(right(&reader.clone_dtoh(&there)?, 1), N);
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn fresh_memory_is_used_behind_what_its_stream_did_with_it() -> Outcome {
    let context = HipContext::new(0)?;
    let (one, two) = (context.new_stream()?, context.new_stream()?);
    let written = being_written(&one)?;
    let sources = [
        two.clone_htod(&vec![7u32; N])?,
        two.clone_htod(&vec![8; N])?,
    ];
    two.synchronize()?;
    drop(written);
    // What was written is among it, and what it is written from.
    // SAFETY: the memory is written before it is read.
    let mut fresh = unsafe { [one.alloc::<u32>(N)?, one.alloc(N)?] };
    for (source, fresh) in sources.iter().zip(&mut fresh) {
        two.memcpy_dtod(source, fresh)?;
    }
    two.synchronize()?;
    one.synchronize()?;
    for (value, fresh) in [7, 8].into_iter().zip(&fresh) {
        assert_eq!(right(&two.clone_dtoh(fresh)?, value), N);
    }
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn a_use_counts_from_when_it_begins() -> Outcome {
    let context = HipContext::new(0)?;
    let (writer, reader) = (context.new_stream()?, context.new_stream()?);
    let ones = writer.clone_htod(&vec![1u32; N])?;
    let there = writer.alloc_zeros::<u32>(N)?;
    writer.synchronize()?;
    let (from, _from) = ones.device_ptr(&writer);
    let (to, _to) = there.device_ptr(&writer);
    // SAFETY: the memory holds N values, and nothing else writes it.
    unsafe { result::memcpy_dtod_async(to, from, 4 * N, writer.hip_stream()) }?;
    // Both guards are there yet.
    assert_eq!(right(&reader.clone_dtoh(&there)?, 1), N);
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn what_a_launcher_met_is_told_by_the_next_call() -> Outcome {
    let context = HipContext::new(0)?;
    let met = sys::hipError_t::hipErrorLaunchFailure;
    record_launch(met);
    assert_eq!(context.new_stream().unwrap_err(), HipError(met));
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn memory_of_a_graph_is_nobody_else_s_after_the_capture() -> Outcome {
    let _captures = captures();
    let context = HipContext::new(0)?;
    if context.has_async_alloc() {
        return Ok(()); // HIP's pool makes it part of the graph
    }
    let stream = context.new_stream()?;
    let source = stream.clone_htod(&vec![9u32; N])?;
    stream.synchronize()?;
    stream.begin_capture(sys::hipStreamCaptureMode::hipStreamCaptureModeRelaxed)?;
    let between = stream.clone_dtod(&source)?;
    let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
    let graph = stream.end_capture(flags)?.unwrap();
    drop(between);
    let others: Vec<_> = (0..100)
        .map(|_| stream.clone_htod(&vec![4u32; N]))
        .collect::<Result<_, _>>()?;
    graph.launch()?;
    for other in &others {
        assert_eq!(right(&stream.clone_dtoh(other)?, 4), N);
    }
    drop(graph);
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn a_graph_waits_when_it_is_launched() -> Outcome {
    let _captures = captures();
    let context = HipContext::new(0)?;
    let (stream, other) = (context.new_stream()?, context.new_stream()?);
    let mut source = other.clone_htod(&vec![1u32; N])?;
    let mut target = stream.alloc_zeros::<u32>(N)?;
    let sources = [2u32, 3].map(|value| other.clone_htod(&vec![value; N]));
    // What the other stream did before is no part of the capture.
    stream.begin_capture(sys::hipStreamCaptureMode::hipStreamCaptureModeRelaxed)?;
    stream.memcpy_dtod(&source, &mut target)?;
    let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
    let graph = stream.end_capture(flags)?.unwrap();
    graph.launch()?;
    assert_eq!(
        other.clone_dtoh(&target)?,
        [1; N],
        "a reader waits for the launch"
    );
    for ((value, from), reader) in [2u32, 3].into_iter().zip(sources).zip([&other, &stream]) {
        other.memcpy_dtod(&from?, &mut source)?;
        graph.launch()?;
        let read = reader.clone_dtoh(&target)?;
        assert_eq!(right(&read, value), N, "the launch waits for a writer");
    }
    drop(graph);
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn what_a_graph_of_a_thread_s_stream_writes_is_waited_for() -> Outcome {
    let _captures = captures();
    let context = HipContext::new(0)?;
    let (stream, other) = (context.per_thread_stream(), context.new_stream()?);
    let source = stream.clone_htod(&vec![1u32; N])?;
    let mut target = stream.alloc_zeros::<u32>(N)?;
    stream.synchronize()?;
    stream.begin_capture(sys::hipStreamCaptureMode::hipStreamCaptureModeThreadLocal)?;
    stream.memcpy_dtod(&source, &mut target)?;
    let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
    let graph = stream.end_capture(flags)?.unwrap();
    graph.launch()?;
    assert_eq!(right(&other.clone_dtoh(&target)?, 1), N);
    drop(graph);
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn a_capture_of_two_streams_keeps_their_order() -> Outcome {
    let _captures = captures();
    let context = HipContext::new(0)?;
    let (stream, other) = (context.new_stream()?, context.new_stream()?);
    let source = stream.clone_htod(&vec![5u32; N])?;
    let mut between = stream.alloc_zeros::<u32>(N)?;
    let mut target = other.alloc_zeros::<u32>(N)?;
    stream.begin_capture(sys::hipStreamCaptureMode::hipStreamCaptureModeRelaxed)?;
    other.join(&stream)?;
    stream.memcpy_dtod(&source, &mut between)?;
    other.memcpy_dtod(&between, &mut target)?;
    stream.join(&other)?;
    let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
    let graph = stream.end_capture(flags)?.unwrap();
    assert_eq!(
        right(&other.clone_dtoh(&target)?, 0),
        N,
        "nothing was done yet"
    );
    graph.launch()?;
    assert_eq!(right(&other.clone_dtoh(&target)?, 5), N);
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn each_thread_has_a_handle_of_rocblas() -> Outcome {
    let _alone = without_captures();
    let context = HipContext::new(0)?;
    for stream in [context.per_thread_stream(), context.new_stream()?] {
        let blas = RocBlas::new(stream)?;
        let handle = || *blas.handle() as usize;
        let own = handle();
        let other = std::thread::scope(|scope| scope.spawn(handle).join().unwrap());
        assert_eq!(own, handle());
        assert_ne!(own, other);
    }
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn what_a_stream_did_before_its_capture_is_waited_for() -> Outcome {
    let _captures = captures();
    let context = HipContext::new(0)?;
    let reader = context.new_stream()?;
    for writer in [context.new_stream()?, context.per_thread_stream()] {
        // SAFETY: the memory is written in the next line.
        let mut host = unsafe { context.alloc_pinned::<u32>(N) }?;
        host.as_mut_slice()?.fill(6);
        let there = being_written(&writer)?;
        let from_host = writer.clone_htod(&host)?;
        writer.begin_capture(sys::hipStreamCaptureMode::hipStreamCaptureModeThreadLocal)?;
        // Neither another stream nor the host may ask for it by an event.
        let read = std::thread::scope(|scope| {
            let values = scope.spawn(|| {
                let first = reader.clone_dtoh(&there)?;
                reader.memcpy_htod(&host, &mut reader.alloc_zeros::<u32>(N)?)?;
                Ok::<_, HipError>((first, reader.clone_dtoh(&from_host)?))
            });
            values.join().unwrap()
        });
        host.as_mut_slice()?.fill(7);
        drop((host, context.new_stream()?));
        let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
        writer.end_capture(flags)?;
        let (ones, sixes) = read?;
        assert_eq!((right(&ones, 1), right(&sixes, 6)), (N, N));
    }
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn a_stream_is_as_before_when_its_capture_was_broken() -> Outcome {
    let _captures = captures();
    let context = HipContext::new(0)?;
    let stream = context.new_stream()?;
    let there = being_written(&stream)?;
    let mut copy = stream.alloc_zeros::<u32>(N)?;
    stream.begin_capture(sys::hipStreamCaptureMode::hipStreamCaptureModeThreadLocal)?;
    stream.memcpy_dtod(&there, &mut copy)?;
    // SAFETY: the stream is alive.
    let refused = unsafe { result::stream::synchronize(stream.hip_stream()) };
    let unsupported = HipError(sys::hipError_t::hipErrorStreamCaptureUnsupported);
    assert_eq!(refused, Err(unsupported));
    let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
    let broken = HipError(sys::hipError_t::hipErrorStreamCaptureInvalidated);
    assert_eq!(stream.end_capture(flags).unwrap_err(), broken);
    drop(copy);
    assert_eq!(right(&stream.clone_dtoh(&there)?, 1), N);
    stream.begin_capture(sys::hipStreamCaptureMode::hipStreamCaptureModeRelaxed)?;
    assert!(stream.end_capture(flags)?.is_some());
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn a_stream_that_joins_a_capture_is_waited_for() -> Outcome {
    let _captures = captures();
    let context = HipContext::new(0)?;
    let [origin, joined, reader] = [0; 3].map(|_| context.new_stream());
    let (origin, joined, reader) = (origin?, joined?, reader?);
    let there = being_written(&joined)?;
    let mode = sys::hipStreamCaptureMode::hipStreamCaptureModeThreadLocal;
    origin.begin_capture(mode)?;
    let again = Err(HipError(sys::hipError_t::hipErrorIllegalState));
    assert_eq!(origin.begin_capture(mode), again, "it goes on");
    joined.join(&origin)?;
    let read = std::thread::scope(|scope| scope.spawn(|| reader.clone_dtoh(&there)).join());
    origin.join(&joined)?;
    let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
    origin.end_capture(flags)?;
    assert_eq!(right(&read.unwrap()?, 1), N);
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn a_stream_that_joined_a_capture_may_end_before_it() -> Outcome {
    let _captures = captures();
    let context = HipContext::new(0)?;
    let stream = context.new_stream()?;
    let source = stream.clone_htod(&vec![5u32; N])?;
    let mut between = stream.alloc_zeros::<u32>(N)?;
    let mut target = stream.alloc_zeros::<u32>(N)?;
    stream.begin_capture(sys::hipStreamCaptureMode::hipStreamCaptureModeRelaxed)?;
    stream.memcpy_dtod(&source, &mut between)?;
    let joined = context.new_stream()?;
    joined.join(&stream)?;
    joined.memcpy_dtod(&between, &mut target)?;
    stream.join(&joined)?;
    drop(joined);
    // Another stream has no part in the capture, whichever handle HIP gives it.
    for _ in 0..8 {
        let other = context.new_stream()?;
        let there = being_written(&other)?;
        assert_eq!(right(&other.clone_dtoh(&there)?, 1), N);
    }
    let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
    let graph = stream.end_capture(flags)?.unwrap();
    graph.launch()?;
    assert_eq!(right(&stream.clone_dtoh(&target)?, 5), N);
    Ok(context.check_err()?)
}
