use super::region::Region;
use super::uses::{self, Uses};
use super::{
    result, sys, DeviceRepr, HipError, HipEvent, HipFunction, HipSlice, HipStream, HipView,
    HipViewMut,
};
use std::ffi::c_void;

/// The shape of a launch.
#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig {
    /// Blocks in x, y and z.
    pub grid_dim: (u32, u32, u32),
    /// Threads of a block in x, y and z.
    pub block_dim: (u32, u32, u32),
    /// Bytes of shared memory of a block, beside what the kernel declares.
    pub shared_mem_bytes: u32,
}

impl LaunchConfig {
    /// As many blocks of 1024 threads as it takes to have a thread for each of `n` elements, and at
    /// least one, since HIP refuses to launch none.
    ///
    /// A kernel that is launched so has to look whether there is an element for a thread in any case.
    /// For the last 1023 numbers there would be more threads than a launch may have.
    pub fn for_num_elems(n: u32) -> Self {
        const NUM_THREADS: u32 = 1024;
        Self {
            grid_dim: (n.div_ceil(NUM_THREADS).max(1), 1, 1),
            block_dim: (NUM_THREADS, 1, 1),
            shared_mem_bytes: 0,
        }
    }

    /// Whether HIP launches as many threads in x: fewer than 2^32 (`hipModuleLaunchKernel` in clr's
    /// `hip_module.cpp`). CUDA counts blocks alone, of which it takes fewer than 2^31.
    fn has_few_threads(&self) -> bool {
        self.grid_dim.0.checked_mul(self.block_dim.0).is_some()
    }
}

const TOO_MANY_THREADS: &str =
    "a launch on HIP has fewer than 2^32 threads in x: launch it in parts, \
                                or let each thread do more";

/// A launch of a kernel on a stream, to which arguments are added.
#[derive(Debug)]
pub struct LaunchArgs<'a> {
    stream: &'a HipStream,
    function: &'a HipFunction,
    uses: Vec<&'a Uses>,
    args: Vec<*mut c_void>,
    flags: Option<sys::hipEventFlags>,
}

impl HipStream {
    /// Begins a launch of a kernel on this stream.
    pub fn launch_builder<'a>(&'a self, function: &'a HipFunction) -> LaunchArgs<'a> {
        LaunchArgs {
            stream: self,
            function,
            uses: Vec::new(),
            args: Vec::new(),
            flags: None,
        }
    }
}

/// A type of arguments that a launch takes.
///
/// # Safety
///
/// What is added has to be one argument of a kernel, and valid until the launch.
pub unsafe trait PushKernelArg<T> {
    /// Adds an argument.
    fn arg(&mut self, arg: T) -> &mut Self;
}

// SAFETY: HIP copies the value from its address, which is valid longer than the launch.
unsafe impl<'a, 'b: 'a, T: DeviceRepr> PushKernelArg<&'b T> for LaunchArgs<'a> {
    fn arg(&mut self, arg: &'b T) -> &mut Self {
        self.args.push(arg as *const T as *mut c_void);
        self
    }
}

// SAFETY: the argument is the address of the memory.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b HipSlice<T>> for LaunchArgs<'a> {
    fn arg(&mut self, arg: &'b HipSlice<T>) -> &mut Self {
        self.memory(arg)
    }
}

// SAFETY: the argument is the address of the memory.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b mut HipSlice<T>> for LaunchArgs<'a> {
    fn arg(&mut self, arg: &'b mut HipSlice<T>) -> &mut Self {
        self.memory(arg)
    }
}

// SAFETY: the argument is the address of the memory.
unsafe impl<'a, 'b: 'a, 'c: 'b, T> PushKernelArg<&'b HipView<'c, T>> for LaunchArgs<'a> {
    fn arg(&mut self, arg: &'b HipView<'c, T>) -> &mut Self {
        self.memory(arg)
    }
}

// SAFETY: the argument is the address of the memory.
unsafe impl<'a, 'b: 'a, 'c: 'b, T> PushKernelArg<&'b mut HipViewMut<'c, T>> for LaunchArgs<'a> {
    fn arg(&mut self, arg: &'b mut HipViewMut<'c, T>) -> &mut Self {
        self.memory(arg)
    }
}

impl<'a> LaunchArgs<'a> {
    /// Lets the launch give an event before and one after the kernel.
    pub fn record_kernel_launch(&mut self, flags: sys::hipEventFlags) -> &mut Self {
        self.flags = Some(flags);
        self
    }

    /// Launches the kernel.
    ///
    /// # Safety
    ///
    /// The arguments have to be those of the kernel, in number, order and type, and the kernel
    /// must not read or write beyond them.
    pub unsafe fn launch(
        &mut self,
        cfg: LaunchConfig,
    ) -> Result<Option<(HipEvent, HipEvent)>, HipError> {
        self.launch_with(cfg, result::launch_kernel)
    }

    /// Launches the kernel such that its blocks can synchronize with each other.
    ///
    /// # Safety
    ///
    /// As for [`launch`](Self::launch).
    pub unsafe fn launch_cooperative(
        &mut self,
        cfg: LaunchConfig,
    ) -> Result<Option<(HipEvent, HipEvent)>, HipError> {
        self.launch_with(cfg, result::launch_cooperative_kernel)
    }

    unsafe fn launch_with(
        &mut self,
        cfg: LaunchConfig,
        launch: Launch,
    ) -> Result<Option<(HipEvent, HipEvent)>, HipError> {
        if !cfg.has_few_threads() {
            return Err(HipError::own(TOO_MANY_THREADS.to_string()));
        }
        let stream = self.stream;
        stream.context().bind_to_thread()?;
        uses::begin(&self.uses, stream)?;
        let event = || {
            self.flags
                .map(|flags| stream.record_event(Some(flags)))
                .transpose()
        };
        let before = event()?;
        launch(
            self.function.hip_function(),
            cfg.grid_dim,
            cfg.block_dim,
            cfg.shared_mem_bytes,
            stream.hip_stream(),
            &mut self.args,
        )?;
        let after = event()?;
        uses::end(&self.uses, stream)?;
        Ok(before.zip(after))
    }

    pub(super) fn memory<'b: 'a>(&mut self, memory: &'b impl Region) -> &mut Self {
        self.uses.push(memory.uses());
        self.address(memory.pointer())
    }

    /// Adds the address of memory whose order is known.
    pub(super) fn address<'b: 'a>(&mut self, pointer: &'b sys::hipDeviceptr_t) -> &mut Self {
        self.args
            .push(pointer as *const sys::hipDeviceptr_t as *mut c_void);
        self
    }
}

type Launch = unsafe fn(
    sys::hipFunction_t,
    (u32, u32, u32),
    (u32, u32, u32),
    u32,
    sys::hipStream_t,
    &mut [*mut c_void],
) -> Result<(), HipError>;

#[cfg(test)]
mod tests {
    use super::LaunchConfig;

    #[test]
    fn a_thread_for_each_element() {
        let most = u32::MAX - 1023;
        for (elements, blocks) in [(0, 1), (1, 1), (1024, 1), (1025, 2), (most, (1 << 22) - 1)] {
            let config = LaunchConfig::for_num_elems(elements);
            assert!(config.has_few_threads());
            assert_eq!(config.grid_dim, (blocks, 1, 1));
            assert_eq!(config.block_dim, (1024, 1, 1));
            assert_eq!(config.shared_mem_bytes, 0);
        }
        assert!(!LaunchConfig::for_num_elems(most + 1).has_few_threads());
    }
}
