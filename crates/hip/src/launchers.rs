//! Functions that launch kernels by themselves and are linked into a program, as a static library.
//!
//! [`launchers!`](crate::launchers!) declares those of a library that
//! `hiprc-build` has made.

use crate::driver::sys::{hipError_t, hipStream_t};
use crate::driver::{allocate, free, record_launch, HipContext};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a library asks for memory in the order of a stream.
pub type Allocate = unsafe extern "C" fn(*mut *mut c_void, usize, hipStream_t) -> hipError_t;

/// What it gives that memory back by, and whether the device is waited for.
pub type Free = unsafe extern "C" fn(*mut c_void, hipStream_t, bool) -> hipError_t;

/// What a static library of launchers has besides them.
#[derive(Clone, Copy)]
pub struct Library {
    /// Whether the HIP runtime finds code for the calling thread's device.
    pub present: unsafe extern "C" fn() -> bool,
    /// The first failure that launchers met in the calling thread since this was asked last.
    pub failure: unsafe extern "C" fn() -> u32,
    /// Takes what launchers have memory by from now on. Where that gives `hipErrorNotSupported`
    /// they ask HIP.
    pub memory: unsafe extern "C" fn(Allocate, Free),
}

/// The launchers of one static library.
pub struct Launchers {
    archs: &'static [&'static str],
    advice: &'static str,
    library: Option<Library>,
    /// Whether they run, by the ordinal of the device.
    known: Mutex<Vec<(usize, bool)>>,
    supplied: AtomicBool,
}

impl Launchers {
    /// Launchers that have code for some architectures, and what to do where a device is another.
    ///
    /// # Safety
    ///
    /// The functions of the library are what [`Library`] says.
    pub const unsafe fn new(
        archs: &'static [&'static str],
        advice: &'static str,
        library: Option<Library>,
    ) -> Self {
        Self {
            archs,
            advice,
            library,
            known: Mutex::new(Vec::new()),
            supplied: AtomicBool::new(false),
        }
    }

    /// Whether they have code for a device. They have it for the architectures of the build only:
    /// where this is not so, take a path that does without them.
    pub fn run_on(&self, context: &HipContext) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let ordinal = context.ordinal();
        if let Some(&(_, answer)) = known.iter().find(|(device, _)| *device == ordinal) {
            return answer;
        }
        // Releases of HIP have ended the program over code for other architectures only, so the
        // names are asked first; the runtime has the last word, since an older one knows no generic
        // targets.
        let built = context
            .arch()
            .is_ok_and(|arch| self.archs.iter().any(|target| arch.runs(target)));
        let present = |library: Library| {
            // SAFETY: the function has no arguments and asks the runtime only.
            unsafe { (library.present)() }
        };
        let answer = built && context.bind_to_thread().is_ok() && self.library.is_some_and(present);
        known.push((ordinal, answer));
        answer
    }

    /// What is to be said where they do not run.
    pub fn are_for_others(&self, context: &HipContext) -> String {
        let advice = self.advice;
        let device = match context.arch() {
            Ok(arch) if self.archs.iter().any(|target| arch.runs(target)) => {
                return format!(
                    "HIP does not load the launchers that this program has for {}: {advice}, or install \
                     another release of ROCm",
                    arch.name()
                );
            }
            Ok(arch) => format!("the device is {}", arch.name()),
            Err(error) => error.to_string(),
        };
        let archs = match self.archs {
            [] => "no architecture".to_string(),
            archs => archs.join(", "),
        };
        format!("this program has launchers for {archs}, {device}: {advice}")
    }

    /// Lets launchers have the memory of this crate where they ask HIP's pool for some.
    pub fn supply(&self) {
        if self.supplied.load(Ordering::Relaxed) {
            return;
        }
        if let Some(library) = self.library {
            // SAFETY: the functions are what the library asks for.
            unsafe { (library.memory)(allocate, free) };
        }
        self.supplied.store(true, Ordering::Relaxed);
    }

    /// Lets [`HipContext::check_err`] and the next call that the thread makes tell what a launcher
    /// met, once it has returned: most launchers return nothing.
    pub fn look(&self) {
        if let Some(library) = self.library {
            // SAFETY: the function has no arguments, and reads and clears a number of the thread.
            record_launch(hipError_t(unsafe { (library.failure)() }));
        }
    }
}

/// Declares the launchers of a static library, each as a function that [looks](Launchers::look) at
/// what it met, and `LAUNCHERS` for all of them.
///
/// What every name in the library begins with comes first, then its architectures and what to do
/// where a device is another. Under `cfg(no_kernels)` there is no library, and the functions panic.
#[macro_export]
macro_rules! launchers {
    (
        $prefix:literal, $archs:expr, $advice:expr;
        $(pub fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?;)*
    ) => {
        /// The launchers, and which devices they have code for.
        pub static LAUNCHERS: $crate::launchers::Launchers = {
            #[cfg(no_kernels)]
            const LIBRARY: Option<$crate::launchers::Library> = None;
            #[cfg(not(no_kernels))]
            const LIBRARY: Option<$crate::launchers::Library> = {
                extern "C" {
                    #[link_name = concat!($prefix, "launchers_present")]
                    fn present() -> bool;
                    #[link_name = concat!($prefix, "launchers_failure")]
                    fn failure() -> u32;
                    #[link_name = concat!($prefix, "launchers_memory")]
                    fn memory(
                        allocate: $crate::launchers::Allocate,
                        free: $crate::launchers::Free,
                    );
                }
                Some($crate::launchers::Library { present, failure, memory })
            };
            // SAFETY: those three are in the library for this.
            unsafe { $crate::launchers::Launchers::new($archs, $advice, LIBRARY) }
        };
        $(
            #[allow(
                improper_ctypes,
                improper_ctypes_definitions,
                non_snake_case,
                clippy::let_unit_value,
                clippy::missing_safety_doc,
                clippy::too_many_arguments
            )]
            #[cfg_attr(no_kernels, allow(unused_variables))]
            pub unsafe extern "C" fn $name($($arg: $ty),*) $(-> $ret)? {
                #[cfg(no_kernels)]
                panic!("{}: this build has no ROCm kernels: {}", stringify!($name), $advice);
                #[cfg(not(no_kernels))]
                {
                    extern "C" {
                        // Another vendor's launcher of that name may be in the program too.
                        #[link_name = concat!($prefix, stringify!($name))]
                        fn $name($($arg: $ty),*) $(-> $ret)?;
                    }
                    LAUNCHERS.supply();
                    let given = $name($($arg),*);
                    LAUNCHERS.look();
                    given
                }
            }
        )*
    };
}

#[cfg(test)]
mod tests {
    use crate::driver::HipContext;

    #[test]
    fn without_a_library_there_is_nothing_to_look_at() {
        // SAFETY: there is no library.
        let none = unsafe { super::Launchers::new(&[], "build it", None) };
        none.supply();
        none.look();
        if let Ok(context) = HipContext::new(0) {
            assert!(!none.run_on(&context));
            assert!(context.check_err().is_ok());
        }
    }
}
