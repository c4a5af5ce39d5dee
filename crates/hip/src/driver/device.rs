//! A device that keeps its modules by name, and kernels that are launched with a tuple: the shape
//! that `cudarc` had from 0.10 to 0.13.
//!
//! All work goes through the default stream of the device, whose order it keeps.

use super::{
    DevicePtr, DevicePtrMut, DeviceRepr, HipContext, HipError, HipFunction, HipModule, HipSlice,
    HipStream, HipView, HipViewMut, LaunchArgs, LaunchConfig, PushKernelArg, ValidAsZeroBits,
};
use crate::hiprtc::{Hsaco, HsacoKind};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

type Functions = HashMap<&'static str, HipFunction>;

/// A device with its default stream and the modules that were loaded on it.
#[derive(Debug)]
pub struct HipDevice {
    stream: Arc<HipStream>,
    modules: RwLock<HashMap<String, Functions>>,
    /// What was loaded of kernels that the program carries, by their address: code from before
    /// 0.14 loads the same ones under many names.
    kernels: RwLock<HashMap<usize, Arc<HipModule>>>,
}

impl HipDevice {
    /// The device with an ordinal.
    pub fn new(ordinal: usize) -> Result<Arc<Self>, HipError> {
        Ok(Self::of(HipContext::new(ordinal)?.default_stream()))
    }

    /// The device of a stream, for what goes through that.
    pub(crate) fn of(stream: Arc<HipStream>) -> Arc<Self> {
        Arc::new(Self {
            stream,
            modules: RwLock::default(),
            kernels: RwLock::default(),
        })
    }

    /// The number of devices.
    pub fn count() -> Result<i32, HipError> {
        HipContext::device_count()
    }

    /// The ordinal of the device.
    pub fn ordinal(&self) -> usize {
        self.stream.context().ordinal()
    }

    /// The name of the device.
    pub fn name(&self) -> Result<String, HipError> {
        self.stream.context().name()
    }

    /// The stream that all work goes through.
    pub fn stream(&self) -> &Arc<HipStream> {
        &self.stream
    }

    /// Makes the device the one of the calling thread.
    pub fn bind_to_thread(&self) -> Result<(), HipError> {
        self.stream.context().bind_to_thread()
    }

    /// Waits until all work is done.
    pub fn synchronize(&self) -> Result<(), HipError> {
        self.stream.synchronize()
    }

    /// Allocates memory for `len` values.
    ///
    /// # Safety
    ///
    /// The memory is not set.
    pub unsafe fn alloc<T: DeviceRepr>(&self, len: usize) -> Result<HipSlice<T>, HipError> {
        self.stream.alloc(len)
    }

    /// Allocates memory for `len` values and sets all bits to zero.
    pub fn alloc_zeros<T: ValidAsZeroBits + DeviceRepr>(
        &self,
        len: usize,
    ) -> Result<HipSlice<T>, HipError> {
        self.stream.alloc_zeros(len)
    }

    /// Sets all bits to zero.
    pub fn memset_zeros<T: ValidAsZeroBits + DeviceRepr, Dst: DevicePtrMut<T>>(
        &self,
        dst: &mut Dst,
    ) -> Result<(), HipError> {
        self.stream.memset_zeros(dst)
    }

    /// Allocates memory and copies values of the host to it.
    pub fn htod_copy<T: Unpin + DeviceRepr>(&self, src: Vec<T>) -> Result<HipSlice<T>, HipError> {
        self.stream.clone_htod(&src)
    }

    /// Copies values of the host.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn htod_copy_into<T: Unpin + DeviceRepr>(
        &self,
        src: Vec<T>,
        dst: &mut HipSlice<T>,
    ) -> Result<(), HipError> {
        assert_eq!(src.len(), dst.len());
        self.stream.memcpy_htod(&src, dst)
    }

    /// Allocates memory, copies values of the host to it and waits.
    pub fn htod_sync_copy<T: DeviceRepr>(&self, src: &[T]) -> Result<HipSlice<T>, HipError> {
        let slice = self.stream.clone_htod(src)?;
        self.synchronize()?;
        Ok(slice)
    }

    /// Copies values of the host and waits.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn htod_sync_copy_into<T: DeviceRepr, Dst: DevicePtrMut<T>>(
        &self,
        src: &[T],
        dst: &mut Dst,
    ) -> Result<(), HipError> {
        assert_eq!(src.len(), dst.len());
        self.stream.memcpy_htod(src, dst)?;
        self.synchronize()
    }

    /// Copies values to the host and waits.
    pub fn dtoh_sync_copy<T: DeviceRepr, Src: DevicePtr<T>>(
        &self,
        src: &Src,
    ) -> Result<Vec<T>, HipError> {
        let values = self.stream.clone_dtoh(src)?;
        self.synchronize()?;
        Ok(values)
    }

    /// Copies values to a slice of the host and waits.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn dtoh_sync_copy_into<T: DeviceRepr, Src: DevicePtr<T>>(
        &self,
        src: &Src,
        dst: &mut [T],
    ) -> Result<(), HipError> {
        assert_eq!(src.len(), dst.len());
        self.stream.memcpy_dtoh(src, dst)?;
        self.synchronize()
    }

    /// Copies values to the host, waits and frees the memory.
    pub fn sync_reclaim<T: Clone + Default + DeviceRepr + Unpin>(
        &self,
        src: HipSlice<T>,
    ) -> Result<Vec<T>, HipError> {
        self.dtoh_sync_copy(&src)
    }

    /// Copies values within the device.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn dtod_copy<T: DeviceRepr, Src: DevicePtr<T>, Dst: DevicePtrMut<T>>(
        &self,
        src: &Src,
        dst: &mut Dst,
    ) -> Result<(), HipError> {
        assert_eq!(src.len(), dst.len());
        self.stream.memcpy_dtod(src, dst)
    }

    /// Loads a code object under a name, and finds kernels in it. A module of the same name is
    /// forgotten.
    pub fn load_hsaco(
        &self,
        hsaco: Hsaco,
        module_name: &str,
        func_names: &[&'static str],
    ) -> Result<(), HipError> {
        let module = self.loaded(hsaco)?;
        let functions = func_names
            .iter()
            .map(|name| Ok((*name, module.load_function(name)?)))
            .collect::<Result<Functions, HipError>>()?;
        let mut modules = self.modules.write().unwrap_or_else(PoisonError::into_inner);
        modules.insert(module_name.to_string(), functions);
        Ok(())
    }

    fn loaded(&self, hsaco: Hsaco) -> Result<Arc<HipModule>, HipError> {
        let HsacoKind::Kernels(kernels) = hsaco.0 else {
            return self.stream.context().load_module(hsaco);
        };
        let address = std::ptr::from_ref(kernels) as usize;
        let known = self.kernels.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = known.get(&address) {
            return Ok(module.clone());
        }
        drop(known);
        let module = self.stream.context().load_module(hsaco)?;
        let mut known = self.kernels.write().unwrap_or_else(PoisonError::into_inner);
        Ok(known.entry(address).or_insert(module).clone())
    }

    /// Whether a kernel was found in a module.
    pub fn has_func(&self, module_name: &str, func_name: &str) -> bool {
        self.get_func(module_name, func_name).is_some()
    }

    /// A kernel that was found in a module.
    pub fn get_func(&self, module_name: &str, func_name: &str) -> Option<HipFunction> {
        let modules = self.modules.read().unwrap_or_else(PoisonError::into_inner);
        modules.get(module_name)?.get(func_name).cloned()
    }
}

/// An argument of a kernel, as a member of a tuple.
pub trait LaunchArg {
    /// Adds the argument to a launch.
    fn add_to<'a>(&'a self, launch: &mut LaunchArgs<'a>);
}

impl<T: DeviceRepr> LaunchArg for T {
    fn add_to<'a>(&'a self, launch: &mut LaunchArgs<'a>) {
        launch.arg(self);
    }
}

macro_rules! memory {
    ($($type:ty),*) => {
        $(
            impl<T> LaunchArg for &$type {
                fn add_to<'a>(&'a self, launch: &mut LaunchArgs<'a>) {
                    launch.memory(&**self);
                }
            }

            impl<T> LaunchArg for &mut $type {
                fn add_to<'a>(&'a self, launch: &mut LaunchArgs<'a>) {
                    launch.memory(&**self);
                }
            }
        )*
    };
}

memory!(HipSlice<T>, HipView<'_, T>);

impl<T> LaunchArg for &mut HipViewMut<'_, T> {
    fn add_to<'a>(&'a self, launch: &mut LaunchArgs<'a>) {
        launch.memory(&**self);
    }
}

/// Launches a kernel with a tuple of arguments, on the default stream of its device.
///
/// # Safety
///
/// Each member of the tuple has to become one argument.
pub unsafe trait LaunchAsync<Params> {
    /// Launches the kernel.
    ///
    /// # Safety
    ///
    /// The arguments have to be those of the kernel, in number, order and type, and the kernel
    /// must not read or write beyond them.
    unsafe fn launch(self, cfg: LaunchConfig, params: Params) -> Result<(), HipError>;

    /// Launches the kernel on another stream.
    ///
    /// # Safety
    ///
    /// As for [`launch`](Self::launch).
    unsafe fn launch_on_stream(
        self,
        stream: &HipStream,
        cfg: LaunchConfig,
        params: Params,
    ) -> Result<(), HipError>;
}

macro_rules! tuples {
    ($($name:ident),*) => {
        // SAFETY: each member adds itself, in order.
        unsafe impl<$($name: LaunchArg),*> LaunchAsync<($($name,)*)> for HipFunction {
            unsafe fn launch(self, cfg: LaunchConfig, params: ($($name,)*)) -> Result<(), HipError> {
                let stream = self.context().default_stream();
                self.launch_on_stream(&stream, cfg, params)
            }

            #[allow(non_snake_case)]
            unsafe fn launch_on_stream(
                self,
                stream: &HipStream,
                cfg: LaunchConfig,
                params: ($($name,)*),
            ) -> Result<(), HipError> {
                let ($($name,)*) = params;
                let mut launch = stream.launch_builder(&self);
                $($name.add_to(&mut launch);)*
                launch.launch(cfg).map(|_| ())
            }
        }
    };
}

tuples!(A);
tuples!(A, B);
tuples!(A, B, C);
tuples!(A, B, C, D);
tuples!(A, B, C, D, E);
tuples!(A, B, C, D, E, F);
tuples!(A, B, C, D, E, F, G);
tuples!(A, B, C, D, E, F, G, H);
tuples!(A, B, C, D, E, F, G, H, I);
tuples!(A, B, C, D, E, F, G, H, I, J);
tuples!(A, B, C, D, E, F, G, H, I, J, K);
tuples!(A, B, C, D, E, F, G, H, I, J, K, L);
