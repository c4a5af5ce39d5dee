//! What needs two HIP devices: `cargo test -- --include-ignored` where there are.

use hiprc::driver::{result, sys, HipContext, HipError};
use std::error::Error;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

type Outcome = Result<(), Box<dyn Error>>;

/// A capture that forbids in each thread what it does not see.
static GLOBAL: RwLock<()> = RwLock::new(());

fn without_capture() -> RwLockReadGuard<'static, ()> {
    GLOBAL.read().unwrap_or_else(PoisonError::into_inner)
}

const INVALID: HipError = HipError(sys::hipError_t::hipErrorInvalidValue);

#[test]
#[ignore = "needs two HIP devices"]
fn an_error_that_waits_does_not_keep_a_device_from_being_bound() -> Outcome {
    let _no_capture = without_capture();
    let first = HipContext::new(0)?;
    let _second = HipContext::new(1)?;
    assert_eq!(result::device::get_current(), Ok(1));
    first.record_err::<()>(Err(INVALID));
    assert_eq!(first.bind_to_thread(), Err(INVALID));
    assert_eq!(result::device::get_current(), Ok(0));
    Ok(first.bind_to_thread()?)
}

#[test]
#[ignore = "needs two HIP devices"]
fn what_is_dropped_leaves_the_device_of_the_thread() -> Outcome {
    let _no_capture = without_capture();
    let first = HipContext::new(0)?;
    let stream = first.new_stream()?;
    let slice = stream.clone_htod(&[1u8; 4])?;
    let kept = stream.clone_htod(&[1u8; 4])?;
    let event = stream.record_event(None)?;
    // SAFETY: nothing reads it.
    let host = unsafe { first.alloc_pinned::<u8>(4) }?;
    let second = HipContext::new(1)?;
    drop((slice, event));
    assert_eq!(result::device::get_current(), Ok(1));
    first.record_err::<()>(Err(INVALID));
    drop((kept, host, stream));
    assert_eq!(result::device::get_current(), Ok(1));
    assert_eq!(first.check_err(), Err(INVALID), "nothing else went wrong");
    Ok(second.check_err()?)
}

#[test]
#[ignore = "needs two HIP devices"]
fn values_are_copied_from_one_device_to_another() -> Outcome {
    let _no_capture = without_capture();
    let (first, second) = (HipContext::new(0)?, HipContext::new(1)?);
    let (one, two) = (first.new_stream()?, second.new_stream()?);
    let values: Vec<u32> = (0..10_000).collect();
    let here = one.clone_htod(&values)?;
    let there = two.clone_dtod(&here)?;
    drop(here);
    let back = one.clone_dtod(&there.slice(1..))?;
    drop(there);
    assert!(one.clone_dtoh(&back)? == values[1..]);
    first.check_err()?;
    Ok(second.check_err()?)
}

#[test]
#[ignore = "needs two HIP devices"]
fn work_of_one_device_leaves_a_capture_of_another() -> Outcome {
    const N: usize = 5 << 20;
    let _alone = GLOBAL.write().unwrap_or_else(PoisonError::into_inner);
    let first = HipContext::new(0)?;
    let stream = first.new_stream()?;
    let ones = stream.clone_htod(&[1u32; 4])?;
    let mut copy = stream.alloc_zeros::<u32>(4)?;
    let mode = sys::hipStreamCaptureMode::hipStreamCaptureModeGlobal;
    stream.begin_capture(mode)?;
    stream.memcpy_dtod(&ones, &mut copy)?;
    // The first that anybody asks of the second device: memory, streams, and memory given back.
    let other = std::thread::spawn(|| {
        let second = HipContext::new(1)?;
        let (one, own) = (second.new_stream()?, second.per_thread_stream());
        let twos = one.clone_htod(&vec![2u32; N])?;
        let two = second.new_stream()?;
        let read = two.clone_dtoh(&own.clone_dtod(&twos)?)?;
        drop((one, two, own.clone_htod(&[3u32; 4])?));
        drop(own.clone_htod(&vec![4u32; N])?);
        second.empty_cache()?;
        second.check_err()?;
        Ok::<_, HipError>(read == vec![2; N])
    });
    let other = other.join().unwrap();
    let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
    let graph = stream.end_capture(flags)?.unwrap();
    assert!(other?);
    graph.launch()?;
    assert_eq!(stream.clone_dtoh(&copy)?, [1; 4]);
    drop(graph);
    Ok(first.check_err()?)
}
