//! The allocator, on a HIP device: `cargo test -- --include-ignored` where there is one. Nothing
//! else may be in this file: it counts what one device does in one process.

use hiprc::driver::{sys, HipContext, HipError, HipSlice};
use hiprc::rocblas::RocBlas;
use std::error::Error;

type Outcome = Result<(), Box<dyn Error>>;

/// What a step of decoding does: memory of many sizes, some of which lives on.
fn step(
    stream: &std::sync::Arc<hiprc::driver::HipStream>,
    kept: &mut Vec<HipSlice<f32>>,
    length: usize,
) -> Outcome {
    for layer in 0..4 {
        let cache = stream.alloc_zeros::<f32>(64 * (512 + length))?;
        for width in [64, 4096, 300_000] {
            drop(stream.alloc_zeros::<f32>(width)?);
        }
        match kept.get_mut(layer) {
            Some(before) => *before = cache,
            None => kept.push(cache),
        }
    }
    Ok(())
}

#[test]
#[ignore = "needs a HIP device"]
fn one_test_of_all() -> Outcome {
    let context = HipContext::new(0)?;
    let stream = context.shared_stream()?;
    assert_eq!(stream, context.shared_stream()?);
    assert_eq!(stream, HipContext::new(0)?.shared_stream()?);
    assert!(!context.is_in_multi_stream_mode());

    // After the first steps memory is used again.
    let mut kept = Vec::new();
    step(&stream, &mut kept, 0)?;
    let first = context.memory_stats();
    for length in 1..100 {
        step(&stream, &mut kept, length)?;
    }
    let later = context.memory_stats();
    assert_eq!(later.segments_taken, first.segments_taken);
    assert_eq!(later.allocations, 100 * first.allocations);
    assert_eq!((later.taken_over, later.out_of_memory), (0, 0));

    // It goes back when nobody has it.
    let (free, _) = context.mem_get_info()?;
    drop(kept);
    context.empty_cache()?;
    let stats = context.memory_stats();
    assert_eq!((stats.held, stats.in_use), (0, 0), "{stats:?}");
    assert!(context.mem_get_info()?.0 >= free + later.held);

    // Memory that was leaked is still known.
    let pointer = stream.clone_htod(&[1u8, 2, 3])?.leak();
    let in_use = context.memory_stats().in_use;
    // SAFETY: the memory was just leaked, with three values in it.
    let again = unsafe { stream.upgrade_device_ptr::<u8>(pointer, 3) };
    assert_eq!(stream.clone_dtoh(&again)?, [1, 2, 3]);
    drop(again);
    assert!(context.memory_stats().in_use < in_use);
    // So is memory that HIP gave to somebody else.
    // SAFETY: the memory is written before it is read.
    let pointer = unsafe { hiprc::driver::result::malloc_sync(4) }?;
    // SAFETY: it is of this device, holds a value and belongs to nobody else.
    let mut foreign = unsafe { stream.upgrade_device_ptr::<u32>(pointer, 1) };
    stream.memcpy_htod(&[7u32], &mut foreign)?;
    assert_eq!(stream.clone_dtoh(&foreign)?, [7]);
    drop(foreign);
    context.check_err()?;

    // Too much is an error, and the next is none.
    let out_of_memory = HipError(sys::hipError_t::hipErrorOutOfMemory);
    let total = context.total_mem()?;
    // SAFETY: there is none.
    let error = unsafe { stream.alloc::<u8>(total + 1) }.unwrap_err();
    assert_eq!(error, out_of_memory);
    // SAFETY: as above.
    let error = unsafe { stream.alloc::<u64>(usize::MAX) }.unwrap_err();
    assert_eq!(error, out_of_memory);
    drop(stream.alloc_zeros::<u8>(1000)?);

    // What a graph works on is nobody else's until it is gone.
    let mode = sys::hipStreamCaptureMode::hipStreamCaptureModeGlobal;
    let before = stream.alloc_zeros::<u32>(5000)?;
    let source = stream.clone_htod(&[9u32; 5000])?;
    let mut target = stream.alloc_zeros::<u32>(5000)?;
    stream.synchronize()?;
    stream.begin_capture(mode)?;
    let between = stream.clone_dtod(&source)?;
    stream.memcpy_dtod(&between, &mut target)?;
    drop((between, before));
    // Memory of the host, and what rocBLAS allocates for a handle, are none of the capture's business.
    // SAFETY: nobody reads it.
    drop(unsafe { context.alloc_pinned::<u8>(64) }?);
    let blas = RocBlas::new(stream.clone())?;
    let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
    let graph = stream.end_capture(flags)?.unwrap();
    let others: Vec<_> = (0..200)
        .map(|_| stream.clone_htod(&[4u32; 5000]))
        .collect::<Result<_, _>>()?;
    graph.launch()?;
    let read = stream.clone_dtoh(&target)?;
    assert!(read.iter().all(|&value| value == 9));
    for other in &others {
        let read = stream.clone_dtoh(other)?;
        assert!(read.iter().all(|&value| value == 4));
    }
    let in_use = context.memory_stats().in_use;
    drop(graph);
    assert!(
        context.memory_stats().in_use < in_use,
        "what was given up meanwhile"
    );
    drop((others, source, target, blas));
    // A capture that comes to nothing leaves nothing behind.
    stream.begin_capture(mode)?;
    let lost = stream.alloc_zeros::<u32>(5000)?;
    assert!(stream.synchronize().is_err());
    drop(lost);
    let ended = stream.end_capture(flags);
    assert!(!matches!(ended, Ok(Some(_))), "{ended:?}");
    context.empty_cache()?;
    let stats = context.memory_stats();
    assert_eq!((stats.held, stats.in_use), (0, 0), "{stats:?}");
    assert!(!context.is_in_multi_stream_mode());

    // What a thread freed on its own stream, and left, is for others once it is over.
    const LARGE: usize = 30 << 20;
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let own = context.per_thread_stream();
            drop(own.alloc_zeros::<u8>(LARGE)?);
            own.synchronize()
        });
        thread.join().unwrap()
    })?;
    let before = context.memory_stats().segments_taken;
    drop(stream.alloc_zeros::<u8>(LARGE)?);
    assert_eq!(context.memory_stats().segments_taken, before);
    Ok(context.check_err()?)
}
