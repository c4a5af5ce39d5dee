//! Memory that launchers of a linked library ask HIP's pool for, on a HIP device: `cargo test --
//! --include-ignored` where there is one. Nothing else may be in this file: it counts what one device
//! does in one process.

use hiprc::driver::{result, sys, HipContext};
use hiprc::launchers::{Allocate, Free, Launchers, Library};
use std::error::Error;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;
use sys::hipError_t;

type Outcome = Result<(), Box<dyn Error>>;

/// What the library was given.
static GIVEN: OnceLock<(Allocate, Free)> = OnceLock::new();

unsafe extern "C" fn present() -> bool {
    true
}

unsafe extern "C" fn failure() -> u32 {
    0
}

unsafe extern "C" fn memory(allocate: Allocate, free: Free) {
    assert!(GIVEN.set((allocate, free)).is_ok(), "it is told once");
}

fn allocate(bytes: usize, stream: sys::hipStream_t) -> Result<*mut c_void, hipError_t> {
    let mut pointer = null_mut();
    // SAFETY: the pointer is valid for a write.
    match unsafe { (GIVEN.get().unwrap().0)(&mut pointer, bytes, stream) } {
        hipError_t::hipSuccess => Ok(pointer),
        status => Err(status),
    }
}

fn free(pointer: *mut c_void, stream: sys::hipStream_t, waits: bool) -> hipError_t {
    // SAFETY: nobody uses the memory any more.
    unsafe { (GIVEN.get().unwrap().1)(pointer, stream, waits) }
}

#[test]
#[ignore = "needs a HIP device"]
fn one_test_of_all() -> Outcome {
    let library = Library {
        present,
        failure,
        memory,
    };
    // SAFETY: the functions are of the library.
    let launchers = unsafe { Launchers::new(&[], "", Some(library)) };
    launchers.supply();
    launchers.supply();

    let context = HipContext::new(0)?;
    let stream = context.new_stream()?;
    let other = context.new_stream()?;

    // It is that of the stream, which may have it again at once.
    let first = allocate(1000, stream.hip_stream()).unwrap();
    assert_eq!(context.memory_stats().in_use, 1024);
    let second = allocate(1000, stream.hip_stream()).unwrap();
    assert_ne!(first, second);
    assert_eq!(
        free(first, stream.hip_stream(), false),
        hipError_t::hipSuccess
    );
    let third = allocate(1000, stream.hip_stream()).unwrap();
    assert_eq!(third, first);
    assert_eq!(
        free(third, stream.hip_stream(), false),
        hipError_t::hipSuccess
    );

    // The other stream has its own.
    let theirs = allocate(1000, other.hip_stream()).unwrap();
    assert_ne!(theirs, first);
    // What `hipFree` frees has been waited for.
    assert_eq!(free(theirs, null_mut(), true), hipError_t::hipSuccess);
    assert_eq!(free(second, null_mut(), true), hipError_t::hipSuccess);
    assert_eq!(context.memory_stats().in_use, 0);

    // No bytes are nowhere, and that is not from here.
    assert_eq!(allocate(0, stream.hip_stream()), Ok(null_mut()));
    let nothing = free(null_mut(), stream.hip_stream(), false);
    assert_eq!(nothing, hipError_t::hipErrorNotSupported);

    // A stream that others have made, or that is no more, is HIP's business.
    let foreign = result::stream::create(result::stream::StreamKind::NonBlocking)?;
    assert_eq!(allocate(8, foreign), Err(hipError_t::hipErrorNotSupported));
    // What is from here is waited for then.
    let ours = allocate(1000, stream.hip_stream()).unwrap();
    assert_eq!(free(ours, foreign, false), hipError_t::hipSuccess);
    assert_eq!(context.memory_stats().in_use, 0);
    // SAFETY: nobody uses it.
    unsafe { result::stream::destroy(foreign) }?;
    let gone = other.hip_stream();
    drop(other);
    assert_eq!(allocate(8, gone), Err(hipError_t::hipErrorNotSupported));
    // SAFETY: the memory comes from HIP and nobody uses it.
    let foreign = unsafe { result::malloc_sync(8) }?;
    let status = free(foreign as *mut c_void, stream.hip_stream(), false);
    assert_eq!(status, hipError_t::hipErrorNotSupported);
    // SAFETY: as above.
    unsafe { result::free_sync(foreign) }?;

    // More than there is is an error, and no more than that.
    let too_much = allocate(1 << 50, stream.hip_stream());
    assert_eq!(too_much, Err(hipError_t::hipErrorOutOfMemory));
    assert!(allocate(8, stream.hip_stream()).is_ok());
    Ok(())
}
