//! A stream of somebody else that has two values, on a HIP device: nothing else may be in this
//! file, since it begins with a process that has had no stream.

use hiprc::driver::{result, HipContext};

#[test]
#[ignore = "needs a HIP device"]
fn a_stream_is_alive_as_long_as_any_of_its_values() -> Result<(), Box<dyn std::error::Error>> {
    const N: usize = 1 << 14;
    let context = HipContext::new(0)?;
    let borrowed = result::stream::create(result::stream::StreamKind::NonBlocking)?;
    // SAFETY: the stream is destroyed at the end.
    let [one, other] = [0; 2].map(|_| unsafe { context.wrap_borrowed_stream(borrowed) });
    drop(one);
    let ones = other.clone_htod(&vec![1u32; N])?;
    let mut there = other.alloc_zeros::<u32>(N)?;
    other.synchronize()?;
    other.memcpy_dtod(&ones, &mut there)?;
    // What the first stream was given is waited for when there is a second.
    let second = context.new_stream()?;
    let read = second.clone_dtoh(&there)?;
    assert_eq!(read.iter().filter(|&&value| value == 1).count(), N);
    drop((ones, there, other));
    // SAFETY: the stream is alive and not used again.
    unsafe { result::stream::destroy(borrowed) }?;
    Ok(context.check_err()?)
}
