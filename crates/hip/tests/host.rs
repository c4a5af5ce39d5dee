//! Page-locked memory on one stream alone, on a HIP device: nothing else may be in this file, since
//! the process must have no second stream.

use hiprc::driver::HipContext;

#[test]
#[ignore = "needs a HIP device"]
fn the_host_waits_for_a_copy_of_its_memory() -> Result<(), Box<dyn std::error::Error>> {
    let context = HipContext::new(0)?;
    let stream = context.default_stream();
    // SAFETY: the memory is written in the next line.
    let mut host = unsafe { context.alloc_pinned::<u32>(4096) }?;
    host.as_mut_slice()?.fill(1);
    let there = stream.clone_htod(&host)?;
    host.as_mut_slice()?.fill(2);
    let read = stream.clone_dtoh(&there)?;
    assert_eq!(read.iter().filter(|&&value| value == 1).count(), 4096);
    assert!(!context.is_in_multi_stream_mode());
    Ok(context.check_err()?)
}
