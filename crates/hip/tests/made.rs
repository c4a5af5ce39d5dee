//! What was made a moment ago, on a HIP device: `cargo test -- --include-ignored` where there is
//! one. Nothing else may be in this file: it counts what one device does in one process.

use hiprc::driver::{sys, DevicePtr, HipContext, HipError, HipSlice, HipStream};
use std::error::Error;
use std::sync::Arc;

type Outcome = Result<(), Box<dyn Error>>;

/// Asks as an operation does: memory for what is made is allocated, handed out and freed.
fn asks(stream: &Arc<HipStream>, of: &HipSlice<u8>, how: usize) -> Result<bool, HipError> {
    let before = stream.uses();
    // SAFETY: nobody reads it.
    let made = unsafe { stream.alloc::<u8>(1000) }?;
    let addresses = [of.device_ptr(stream).0, made.device_ptr(stream).0];
    let [of, made] = addresses.map(|address| address as *const _);
    Ok(stream.is_to_make(before, of, made, &[how]))
}

#[test]
#[ignore = "needs a HIP device"]
fn one_test_of_all() -> Outcome {
    let context = HipContext::new(0)?;
    let stream = context.shared_stream()?;
    let other = context.new_stream()?;
    let mut memory = stream.alloc_zeros::<u8>(10)?;
    let unused = stream.alloc_zeros::<u8>(1 << 24)?;

    assert!(asks(&stream, &memory, 1)?);
    assert!(!asks(&stream, &memory, 1)?);
    assert!(!asks(&stream, &memory, 1)?);
    // What is given up is no longer used.
    drop(unused);
    assert!(!asks(&stream, &memory, 1)?);

    // Anything else that is made takes its place.
    assert!(asks(&stream, &memory, 2)?);
    assert!(asks(&stream, &memory, 1)?);
    let twin = stream.alloc_zeros::<u8>(10)?;
    assert!(asks(&stream, &twin, 1)?);
    assert!(asks(&stream, &memory, 1)?);
    assert!(!asks(&stream, &memory, 1)?);

    // Other work may have made it in passing.
    let at = memory.device_ptr(&stream).0 as *const _;
    stream.has_made(at, at, &[3]);
    assert!(!stream.is_to_make(stream.uses(), at, at, &[3]));
    assert!(asks(&stream, &memory, 1)?);

    // Streams make for themselves, and each use of memory counts for all of them.
    assert!(asks(&other, &memory, 1)?);
    assert!(asks(&stream, &memory, 1)?);
    for writer in [&stream, &other] {
        assert!(!asks(&stream, &memory, 1)?);
        writer.memset_zeros(&mut memory)?;
        assert!(asks(&stream, &memory, 1)?);
    }

    // So does an error that an operation tells, which may be of what was to be made.
    assert!(!asks(&stream, &memory, 1)?);
    context.record_err::<()>(Err(HipError(sys::hipError_t::hipErrorUnknown)));
    assert!(context.check_err().is_err());
    assert!(asks(&stream, &memory, 1)?);

    // What is captured is not done then, wherever it is made.
    assert!(!asks(&stream, &memory, 1)?);
    stream.has_made(at, at, &[3]);
    stream.begin_capture(sys::hipStreamCaptureMode::hipStreamCaptureModeRelaxed)?;
    assert!(stream.is_to_make(stream.uses(), at, at, &[3]));
    assert!(asks(&stream, &memory, 1)?);
    assert!(!asks(&stream, &memory, 1)?);
    stream.has_made(at, at, &[3]);
    let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
    let graph = stream.end_capture(flags)?;
    assert!(stream.is_to_make(stream.uses(), at, at, &[3]));
    assert!(asks(&stream, &memory, 1)?);

    // A graph writes again what it wrote.
    assert!(!asks(&stream, &memory, 1)?);
    if let Some(graph) = &graph {
        graph.launch()?;
        assert!(asks(&stream, &memory, 1)?);
    }

    // Memory that went back to HIP is not what it was.
    assert!(!asks(&stream, &memory, 1)?);
    drop((memory, twin, graph));
    context.empty_cache()?;
    let before = stream.uses();
    // SAFETY: nobody reads it.
    let memory = unsafe { stream.alloc::<u8>(10) }?;
    assert!(stream.uses() > before);
    assert!(asks(&stream, &memory, 1)?);
    Ok(())
}
