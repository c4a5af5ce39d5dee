//! A second stream while the first one is captured, on a HIP device: nothing else may be in this
//! file, since it begins with a process that has had no stream.

use hiprc::driver::{sys, HipContext, HipError};

#[test]
#[ignore = "needs a HIP device"]
fn a_second_stream_while_the_first_is_captured() -> Result<(), Box<dyn std::error::Error>> {
    const N: usize = 1 << 14;
    let context = HipContext::new(0)?;
    let first = context.shared_stream()?;
    let ones = first.clone_htod(&vec![1u32; N])?;
    let (mut before, mut graphs) = (first.alloc_zeros::<u32>(N)?, first.alloc_zeros::<u32>(N)?);
    first.synchronize()?;
    first.memcpy_dtod(&ones, &mut before)?;
    first.begin_capture(sys::hipStreamCaptureMode::hipStreamCaptureModeRelaxed)?;
    first.memcpy_dtod(&before, &mut graphs)?;
    assert!(!context.is_in_multi_stream_mode());

    // What was put in before the capture is done, and what was put in since is in the graph.
    let second = context.new_stream()?;
    assert!(context.is_in_multi_stream_mode());
    let right = |values: Vec<u32>, expected| values.iter().filter(|&&v| v == expected).count();
    assert_eq!(right(second.clone_dtoh(&before)?, 1), N);
    assert_eq!(right(second.clone_dtoh(&graphs)?, 0), N);
    let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
    let graph = first.end_capture(flags)?.unwrap();

    // The launches have an order with the second stream, though there was none when they were
    // captured.
    let twos = second.clone_htod(&vec![2u32; N])?;
    second.synchronize()?;
    second.memcpy_dtod(&twos, &mut before)?;
    graph.launch()?;
    assert_eq!(right(second.clone_dtoh(&graphs)?, 2), N);
    drop(graph);

    // A capture that nobody ends goes with its stream, with or without memory that knows it.
    for uses in [false, true] {
        let gone = context.new_stream()?;
        let mut kept = uses.then(|| gone.alloc_zeros::<u32>(N)).transpose()?;
        gone.begin_capture(sys::hipStreamCaptureMode::hipStreamCaptureModeRelaxed)?;
        if let Some(kept) = &mut kept {
            gone.memcpy_dtod(&before, kept)?;
        }
        drop((kept, gone));
        context.synchronize()?;
    }

    // The device is not waited for beside a capture, which goes on.
    second.begin_capture(sys::hipStreamCaptureMode::hipStreamCaptureModeRelaxed)?;
    let refused = HipError(sys::hipError_t::hipErrorStreamCaptureUnsupported);
    assert_eq!(context.synchronize(), Err(refused));
    assert!(second.end_capture(flags)?.is_some());
    Ok(context.check_err()?)
}
