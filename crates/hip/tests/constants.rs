//! Values that are uploaded once, on a HIP device: `cargo test -- --include-ignored` where there is one. Nothing
//! else may be in this file: it counts what one device does in one process.

use hiprc::driver::{sys, HipConstant, HipContext, HipError, HipStream};
use std::error::Error;
use std::sync::Arc;

type Outcome = Result<(), Box<dyn Error>>;

/// What lies there, by a copy of it.
fn read(
    stream: &Arc<HipStream>,
    constant: &HipConstant<usize>,
    len: usize,
) -> Result<Vec<usize>, HipError> {
    // SAFETY: the memory holds as many values, and is not freed by the slice.
    let slice = unsafe { stream.upgrade_device_ptr::<usize>(constant.device_ptr(), len) };
    let values = stream.clone_dtoh(&slice);
    slice.leak();
    values
}

#[test]
#[ignore = "needs a HIP device"]
fn one_test_of_all() -> Outcome {
    // In MiB.
    std::env::set_var("HIPRC_MEMORY_LIMIT", "128");
    let context = HipContext::new(0)?;
    let stream = context.shared_stream()?;
    let allocations = || context.memory_stats().allocations;
    let asked = |values: &[usize]| {
        stream
            .constant(values)?
            .ok_or(HipError(sys::hipError_t::hipErrorUnknown))
    };

    // The same values are the same memory, others are not.
    let first = asked(&[1, 2, 3])?;
    let before = allocations();
    assert!(Arc::ptr_eq(&first, &asked(&[1, 2, 3])?));
    assert_eq!(allocations(), before);
    let other = asked(&[1, 2])?;
    assert_ne!(other.device_ptr(), first.device_ptr());
    assert_eq!(read(&stream, &first, 3)?, [1, 2, 3]);
    assert_eq!(read(&stream, &other, 2)?, [1, 2]);
    assert!(stream.constant::<usize>(&[])?.is_none());

    // Each stream has its own; that of a thread has none.
    let own = context.new_stream()?;
    let there = own.constant(&[1usize, 2, 3])?.ok_or("none")?;
    assert_ne!(there.device_ptr(), first.device_ptr());
    assert!(context.per_thread_stream().constant(&[1usize])?.is_none());

    // A graph keeps what it reads. Nothing is uploaded for it, nor for a stream that joins it.
    let mut target = stream.alloc_zeros::<usize>(3)?;
    stream.begin_capture(sys::hipStreamCaptureMode::hipStreamCaptureModeRelaxed)?;
    assert!(Arc::ptr_eq(&first, &asked(&[1, 2, 3])?));
    assert!(stream.constant(&[4usize])?.is_none());
    own.join(&stream)?;
    assert!(own.constant(&[1usize, 2, 3])?.is_none());
    stream.join(&own)?;
    // SAFETY: the memory holds as many values, and is not freed by the slice.
    let source = unsafe { stream.upgrade_device_ptr::<usize>(first.device_ptr(), 3) };
    stream.memcpy_dtod(&source, &mut target)?;
    source.leak();
    let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
    let graph = stream.end_capture(flags)?.ok_or("no graph")?;

    // With many they are given up, but for those in use.
    let in_use = context.memory_stats().in_use;
    for n in 0..5000usize {
        let constant = asked(&[n, n + 1])?;
        if n % 997 == 0 {
            assert_eq!(read(&stream, &constant, 2)?, [n, n + 1]);
        }
    }
    assert!(context.memory_stats().in_use < in_use + 1030 * 512);
    assert_eq!(read(&stream, &first, 3)?, [1, 2, 3]);
    assert!(!Arc::ptr_eq(&first, &asked(&[1, 2, 3])?));
    drop(first);
    let others: Vec<_> = (0..100)
        .map(|_| stream.clone_htod(&[7usize; 3]))
        .collect::<Result<_, _>>()?;
    graph.launch()?;
    assert_eq!(stream.clone_dtoh(&target)?, [1, 2, 3]);
    drop((graph, others, target));

    // They go with their stream.
    drop(there);
    let in_use = context.memory_stats().in_use;
    drop(own);
    assert!(context.memory_stats().in_use < in_use);

    // Values that outlive their stream leave their memory to others when there is no more.
    const LARGE: usize = 30 << 20;
    let other = context.new_stream()?;
    let values = other.constant(&vec![1u8; LARGE])?;
    drop(other);
    drop(values);
    let mut blocks = Vec::new();
    while context.memory_stats().out_of_memory == 0 {
        // SAFETY: nobody reads it.
        blocks.push(unsafe { stream.alloc::<u8>(LARGE) }?);
    }
    Ok(context.check_err()?)
}
