use super::{result, DeviceRepr, HipDevice, HipError, HipStream, LaunchConfig};
use crate::driver;
use std::sync::Arc;

/// A kernel of a device.
#[derive(Debug, Clone)]
pub struct HipFunction {
    pub(super) function: driver::HipFunction,
    pub(super) device: Arc<HipDevice>,
}

/// Launches a kernel with a tuple of arguments.
///
/// # Safety
///
/// Each member of the tuple has to become one argument.
pub unsafe trait LaunchAsync<Params> {
    /// Launches the kernel on the device's stream.
    ///
    /// # Safety
    ///
    /// The arguments have to be those of the kernel, in number, order and type, and the kernel must
    /// not read or write beyond them.
    unsafe fn launch(self, cfg: LaunchConfig, params: Params) -> Result<(), HipError>;

    /// Launches the kernel on another stream.
    ///
    /// # Safety
    ///
    /// As for [`launch`](Self::launch); other streams must not use the same memory meanwhile.
    unsafe fn launch_on_stream(
        self,
        stream: &HipStream,
        cfg: LaunchConfig,
        params: Params,
    ) -> Result<(), HipError>;
}

impl HipFunction {
    /// Launches the kernel with the addresses of its arguments.
    unsafe fn launch_at(
        &self,
        stream: &driver::HipStream,
        cfg: LaunchConfig,
        parameters: &mut [*mut std::ffi::c_void],
    ) -> Result<(), HipError> {
        self.device.bind_to_thread()?;
        result::launch_kernel(
            self.function.hip_function(),
            cfg.grid_dim,
            cfg.block_dim,
            cfg.shared_mem_bytes,
            stream.hip_stream(),
            parameters,
        )
    }
}

// SAFETY: each address is that of one argument.
unsafe impl LaunchAsync<&mut [*mut std::ffi::c_void]> for HipFunction {
    unsafe fn launch(
        self,
        cfg: LaunchConfig,
        params: &mut [*mut std::ffi::c_void],
    ) -> Result<(), HipError> {
        self.launch_at(self.device.default_stream(), cfg, params)
    }

    unsafe fn launch_on_stream(
        self,
        stream: &HipStream,
        cfg: LaunchConfig,
        params: &mut [*mut std::ffi::c_void],
    ) -> Result<(), HipError> {
        self.launch_at(&stream.stream, cfg, params)
    }
}

// SAFETY: as above.
unsafe impl LaunchAsync<&mut Vec<*mut std::ffi::c_void>> for HipFunction {
    unsafe fn launch(
        self,
        cfg: LaunchConfig,
        params: &mut Vec<*mut std::ffi::c_void>,
    ) -> Result<(), HipError> {
        self.launch_at(self.device.default_stream(), cfg, params)
    }

    unsafe fn launch_on_stream(
        self,
        stream: &HipStream,
        cfg: LaunchConfig,
        params: &mut Vec<*mut std::ffi::c_void>,
    ) -> Result<(), HipError> {
        self.launch_at(&stream.stream, cfg, params)
    }
}

macro_rules! tuples {
    ($first:ident $(, $rest:ident)*) => {
        // SAFETY: each member is one argument, in order.
        unsafe impl<$first: DeviceRepr, $($rest: DeviceRepr),*> LaunchAsync<($first, $($rest,)*)>
            for HipFunction
        {
            #[allow(non_snake_case)]
            unsafe fn launch(
                self,
                cfg: LaunchConfig,
                params: ($first, $($rest,)*),
            ) -> Result<(), HipError> {
                let ($first, $($rest,)*) = &params;
                let mut given = [$first.as_kernel_param(), $($rest.as_kernel_param(),)*];
                self.launch_at(self.device.default_stream(), cfg, &mut given)
            }

            #[allow(non_snake_case)]
            unsafe fn launch_on_stream(
                self,
                stream: &HipStream,
                cfg: LaunchConfig,
                params: ($first, $($rest,)*),
            ) -> Result<(), HipError> {
                let ($first, $($rest,)*) = &params;
                let mut given = [$first.as_kernel_param(), $($rest.as_kernel_param(),)*];
                self.launch_at(&stream.stream, cfg, &mut given)
            }
        }
        tuples!($($rest),*);
    };
    () => {};
}

tuples!(A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T, U, V, W, X, Y, Z);
