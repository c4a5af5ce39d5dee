//! Where the memory of a GPU comes from.

use super::allocator::{Address, Backend, Cache, MemoryStats, Pool};
use super::capture::{self, Quiet};
use super::gpu::{lock, Gpu, Moment, StreamKey};
use super::{result, sys, HipError};
use std::sync::{Arc, Mutex};

/// Says where memory comes from: `caching`, as it does by default, or `pool`.
const CHOICE: &str = "HIPRC_ALLOCATOR";

/// Says how many MiB of each GPU may be held at most.
const LIMIT: &str = "HIPRC_MEMORY_LIMIT";

/// The memory of a GPU.
pub(super) enum Memory {
    /// The caching allocator over `hipMalloc`.
    Caching(Mutex<Cache<Device>>),
    /// HIP's pool, in the order of streams.
    Pool,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Caching(_) => write!(f, "{:?}", self.stats()),
            Self::Pool => f.write_str("Pool"),
        }
    }
}

impl Memory {
    /// What the environment asks for.
    ///
    /// # Errors
    ///
    /// One that says what to do where that is not understood or the GPU has no pools.
    pub(super) fn new(device: sys::hipDevice_t) -> Result<Self, HipError> {
        let said = |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        match said(CHOICE).as_deref() {
            None | Some("" | "caching") => {
                let limit = limit(said(LIMIT).as_deref())?;
                Ok(Self::Caching(Mutex::new(Cache::new(Device(device), limit))))
            }
            Some("pool") => {
                let pools = sys::hipDeviceAttribute_t::hipDeviceAttributeMemoryPoolsSupported;
                // SAFETY: the device comes from HIP.
                match unsafe { result::device::get_attribute(device, pools) }? {
                    0 => Err(HipError::own(format!(
                        "{CHOICE} is pool, and HIP has no memory pools for GPU {device}: unset it"
                    ))),
                    _ => Ok(Self::Pool),
                }
            }
            Some(other) => Err(HipError::own(format!(
                "{CHOICE} is {other}: it can be caching or pool"
            ))),
        }
    }

    /// Whether HIP's pool is used.
    pub(super) fn is_pool(&self) -> bool {
        matches!(self, Self::Pool)
    }

    /// Allocates memory for work of a stream of the calling thread's device; no bytes are at null.
    pub(super) fn allocate(
        &self,
        stream: StreamKey,
        pool: Pool,
        bytes: usize,
    ) -> Result<Address, HipError> {
        match self {
            _ if bytes == 0 => Ok(0),
            Self::Caching(cache) => lock(cache).allocate(stream, pool, bytes),
            // SAFETY: the stream is one that its caller has, so it is alive.
            Self::Pool => unsafe { result::malloc_async(stream.handle(), bytes) },
        }
    }

    /// Frees memory after the work that a stream of the calling thread's device has been given.
    ///
    /// # Safety
    ///
    /// The memory has to come from HIP, here or elsewhere, and is not valid afterwards.
    pub(super) unsafe fn free(
        &self,
        gpu: &Gpu,
        address: Address,
        stream: StreamKey,
    ) -> Result<(), HipError> {
        match self {
            _ if address == 0 => Ok(()),
            Self::Caching(cache) => {
                let fence = if stream.is_of_thread() && !gpu.captures.are_underway() {
                    gpu.record(stream).map(|moment| Some(Arc::new(moment)))
                } else {
                    Ok(None)
                };
                // Without an event the block is the stream's until the device is waited for.
                let (fence, recorded) = match fence {
                    Ok(fence) => (fence, Ok(())),
                    Err(error) => (None, Err(error)),
                };
                if lock(cache).free(address, stream, fence) {
                    return recorded;
                }
                // It was allocated elsewhere.
                let _relaxed = capture::relaxed()?;
                result::stream::synchronize(stream.handle())?;
                result::free_sync(address)
            }
            Self::Pool => result::free_async(address, stream.handle()),
        }
    }

    /// The pool that memory belongs to; `None` if it was not allocated here.
    pub(super) fn pool(&self, address: Address) -> Option<Pool> {
        match self {
            Self::Caching(cache) => lock(cache).pool(address),
            Self::Pool => None,
        }
    }

    /// Forgets a stream whose work is done.
    pub(super) fn retire(&self, stream: StreamKey) {
        if let Self::Caching(cache) = self {
            lock(cache).retire(stream);
        }
    }

    /// Lets the memory of a graph that is done be as all other.
    pub(super) fn dissolve(&self, pool: Pool) {
        if let Self::Caching(cache) = self {
            lock(cache).dissolve(pool);
        }
    }

    /// Gives back what is not in use until at most `keep` bytes are held.
    pub(super) fn trim(&self, keep: usize) -> Result<(), HipError> {
        match self {
            Self::Caching(cache) => lock(cache).trim(keep),
            Self::Pool => Ok(()),
        }
    }

    pub(super) fn stats(&self) -> MemoryStats {
        match self {
            Self::Caching(cache) => lock(cache).stats(),
            Self::Pool => MemoryStats::default(),
        }
    }
}

/// The most bytes that may be held, by what is said of them in MiB.
fn limit(said: Option<&str>) -> Result<usize, HipError> {
    let Some(said) = said.filter(|said| !said.is_empty()) else {
        return Ok(usize::MAX);
    };
    let mebibytes = said.parse::<usize>().ok();
    mebibytes
        .and_then(|number| number.checked_mul(1 << 20))
        .ok_or_else(|| HipError::own(format!("{LIMIT} is {said}: it is a number of MiB")))
}

/// A GPU, as the allocator sees it.
pub(super) struct Device(sys::hipDevice_t);

impl Device {
    fn gpu(&self) -> Result<&'static Gpu, HipError> {
        Gpu::of(self.0)
    }
}

impl Backend for Device {
    type Stream = StreamKey;
    type Event = Arc<Moment>;
    type Quiet = Quiet<'static>;
    type Error = HipError;

    fn allocate(&self, bytes: usize) -> Result<Option<Address>, HipError> {
        let gpu = self.gpu()?;
        let _bound = gpu.bound()?;
        let _relaxed = capture::relaxed()?;
        // SAFETY: nobody reads a segment; whoever has a block of it says that it is not set.
        match unsafe { result::malloc_sync(bytes) } {
            Ok(address) => Ok(Some(address)),
            Err(HipError(sys::hipError_t::hipErrorOutOfMemory)) => {
                result::forget_last_error();
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn free(&self, address: Address) -> Result<(), HipError> {
        let _bound = self.gpu()?.bound()?;
        let _relaxed = capture::relaxed()?;
        // SAFETY: the allocator gives back segments of its own, of which nothing is in use.
        unsafe { result::free_sync(address) }
    }

    fn wait(&self) -> Result<(), HipError> {
        self.gpu()?.wait()
    }

    fn order(&self, first: StreamKey, then: StreamKey) -> Result<bool, HipError> {
        let gpu = self.gpu()?;
        // No event can be recorded on a stream that has ended.
        if first.is_of_thread() || !gpu.knows(first) {
            return Ok(false);
        }
        gpu.order(first, then).map(|()| true)
    }

    fn is_done(&self, event: &Arc<Moment>) -> bool {
        event.is_over()
    }

    fn quiet(&self) -> Option<Quiet<'static>> {
        self.gpu().ok()?.captures.quiet()
    }

    fn out_of_memory(&self) -> HipError {
        HipError(sys::hipError_t::hipErrorOutOfMemory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_said_in_mebibytes() {
        assert_eq!(limit(None), Ok(usize::MAX));
        assert_eq!(limit(Some("")), Ok(usize::MAX));
        assert_eq!(limit(Some("3")), Ok(3 << 20));
        for wrong in ["-1", "3M", "99999999999999999"] {
            let error = limit(Some(wrong)).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("HIPRC_MEMORY_LIMIT is {wrong}: it is a number of MiB")
            );
        }
    }
}
