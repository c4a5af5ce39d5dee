//! One stream alone, and then a second, on a HIP device: nothing else may be in this file, since it
//! begins with a process that has had no stream.

use hiprc::driver::HipContext;

#[test]
#[ignore = "needs a HIP device"]
fn one_stream_alone_and_then_a_second() -> Result<(), Box<dyn std::error::Error>> {
    let context = HipContext::new(0)?;
    let stream = context.default_stream();
    let right = |values: Vec<u32>| values.iter().filter(|&&value| value == 1).count();

    // The host waits for a copy of its memory.
    // SAFETY: the memory is written in the next line.
    let mut host = unsafe { context.alloc_pinned::<u32>(4096) }?;
    host.as_mut_slice()?.fill(1);
    let there = stream.clone_htod(&host)?;
    host.as_mut_slice()?.fill(2);
    assert_eq!(right(stream.clone_dtoh(&there)?), 4096);
    assert!(!context.is_in_multi_stream_mode());

    // A second stream reads what was written when there was one.
    let mut copy = stream.alloc_zeros::<u32>(4096)?;
    stream.synchronize()?;
    stream.memcpy_dtod(&there, &mut copy)?;
    let second = HipContext::new(0)?.new_stream()?;
    assert_eq!(right(second.clone_dtoh(&copy)?), 4096);
    assert!(context.is_in_multi_stream_mode());

    // A stream that is gone leaves no work in memory that others have.
    const LARGE: usize = 5 << 20;
    let twos = vec![2u32; LARGE];
    let gone = context.new_stream()?;
    drop((gone.alloc_zeros::<u32>(LARGE)?, gone));
    // Nobody else has memory of this size, so it is the same unless memory is short.
    // SAFETY: the memory is written in the next line.
    let mut again = unsafe { second.alloc::<u32>(LARGE) }?;
    second.memcpy_htod(&twos, &mut again)?;
    context.synchronize()?;
    assert!(second.clone_dtoh(&again)? == twos);
    Ok(context.check_err()?)
}
