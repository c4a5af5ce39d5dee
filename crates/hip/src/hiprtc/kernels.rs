//! Kernels that a program carries.

use super::cache::{digest, Cache};
use super::compile::compile_with_headers;
use super::once::Once;
use super::{CompileError, Hsaco};
use crate::driver::sys::hipError_t;
use crate::driver::{result, HipContext, HipError, HipModule};
use crate::loader;
use std::borrow::Cow;
use std::sync::Arc;

/// What threads compile: a compiler takes seconds, in which others may want the same.
static COMPILING: Once<Result<Vec<u8>, HipError>> = Once::new();

/// Kernels that a program carries: compiled for the architectures of its build, and as the source
/// for every other.
///
/// A crate of kernels has one of these for each of its sources. They become an
/// [`Hsaco`](super::Hsaco), so they are loaded with
/// [`HipContext::load_module`](crate::driver::HipContext::load_module). On a device that no
/// compiled kernel is for, hipRTC compiles the source; the outcome is kept among the user's caches
/// (`$XDG_CACHE_HOME` or `~/.cache`), by source, architecture and release of ROCm, so that this
/// happens once. Threads that load the same kernels meanwhile wait for it, others do not.
#[derive(Debug)]
pub struct Kernels {
    /// The name of the source, such as `affine.hip`.
    pub name: &'static str,
    /// The code objects of the build, bundled; empty if the build has none.
    pub compiled: &'static [u8],
    /// The name of one of the kernels; empty if none is known. HIP has loaded compressed bundles and
    /// found no kernel in them (Debian's HIP 6.4.3): such a module is known by that this one is missing.
    pub kernel: &'static str,
    /// The architectures that the code objects are for.
    pub archs: &'static [&'static str],
    /// The source.
    pub source: &'static str,
    /// The headers that the source includes, by name, with their texts.
    pub headers: &'static [(&'static str, &'static str)],
    /// What the compiler is told besides the architecture.
    pub options: &'static [&'static str],
    /// How to build a program that has the kernels compiled; the end of a message.
    pub advice: &'static str,
}

impl Kernels {
    /// Compiles the source for an architecture, such as `gfx1030`, on which no device is needed.
    ///
    /// # Errors
    ///
    /// [`CompileError`]; that of the compiler has its log.
    pub fn compile(&self, arch: &str) -> Result<Hsaco, CompileError> {
        self.image(arch).map(Hsaco::from_binary)
    }

    /// Loads the kernels on the calling thread's device, which has to be that of the context.
    pub(crate) fn load(
        &'static self,
        context: &Arc<HipContext>,
    ) -> Result<Arc<HipModule>, HipError> {
        if self.compiled.is_empty() {
            return Err(HipError::own(self.absent()));
        }
        let arch = context.arch()?;
        let mut refused = None;
        if !arch.needs_its_own() || self.archs.contains(&arch.name()) {
            match context.load_image(Cow::Borrowed(self.compiled)) {
                Ok(module) if self.is_whole(&module)? => return Ok(module),
                Ok(_) => refused = Some(format!("no kernel {}", self.kernel)),
                Err(HipError(status)) if is_for_others(status) => {
                    refused = Some(format!("{status:?}"));
                }
                outcome => return outcome,
            }
            result::forget_last_error();
        }
        let refused = refused.filter(|_| self.archs.iter().any(|target| arch.runs(target)));
        let cache = Cache::of_user();
        let name = self.file_name(arch.name(), result::runtime_version()?);
        let image = COMPILING.get(&name, || {
            if let Some(image) = cache.get(&name) {
                return Ok(image);
            }
            let image = self.image(arch.name()).map_err(|error| {
                let why = self.uncovered(arch.name(), refused.as_deref());
                HipError::own(format!("{why}: {}; or {}", reason(&error), self.advice))
            })?;
            cache.put(&name, &image);
            Ok(image)
        })?;
        let module = context.load_image(Cow::Owned(image))?;
        match self.is_whole(&module)? {
            true => Ok(module),
            false => Err(HipError::own(format!(
                "{}: HIP loads what hipRTC made of this source for {} and finds no kernel {} in it: \
                 reinstall ROCm, of one release, or {}",
                self.name,
                arch.name(),
                self.kernel,
                self.advice
            ))),
        }
    }

    /// Whether a module has the kernel whose name is known.
    fn is_whole(&self, module: &Arc<HipModule>) -> Result<bool, HipError> {
        if self.kernel.is_empty() {
            return Ok(true);
        }
        match module.load_function(self.kernel) {
            Ok(_) => Ok(true),
            Err(HipError(hipError_t::hipErrorNotFound)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The code object that hipRTC makes of the source.
    fn image(&self, arch: &str) -> Result<Vec<u8>, CompileError> {
        let mut options = vec![format!("--offload-arch={arch}")];
        options.extend(self.options.iter().map(|option| option.to_string()));
        options.extend(
            loader::include_folders()
                .iter()
                .map(|folder| format!("-I{}", folder.display())),
        );
        compile_with_headers(self.source, self.name, self.headers, options)
    }

    /// The name of the kernels among those that were compiled before. The version of ROCm is in
    /// it: a release may bring a better compiler, and loads what its own compiler made.
    fn file_name(&self, arch: &str, version: i32) -> String {
        let version = version.to_string();
        let headers = self.headers.iter().flat_map(|&(name, text)| [name, text]);
        let texts = [self.name, self.source, arch, &version].into_iter();
        let key = digest(texts.chain(headers).chain(self.options.iter().copied()));
        let stem = self.name.rsplit('/').next().unwrap_or(self.name);
        format!("{stem}-{arch}-{key:032x}.hsaco")
    }

    /// What is said where the build has no kernels.
    fn absent(&self) -> String {
        format!(
            "{}: this program was built without kernels: {}",
            self.name, self.advice
        )
    }

    /// What is said where neither the build nor hipRTC has kernels for the device; what HIP said of
    /// those of the build, if it should have taken them.
    fn uncovered(&self, arch: &str, refused: Option<&str>) -> String {
        let name = self.name;
        let compiled = "they could not be compiled for it";
        if let Some(said) = refused {
            return format!(
                "{name}: HIP does not load the kernels that this program has for {arch} ({said}), and \
                 {compiled}"
            );
        }
        let built_for = match self.archs.split_last() {
            None => "no architecture that is known".to_string(),
            Some((last, [])) => last.to_string(),
            Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        };
        format!("{name}: this program has kernels for {built_for}, the device is {arch}, and {compiled}")
    }
}

/// The first error of a compiler's log, with the error itself; the log of a kernel that does not
/// compile has hundreds of lines.
fn reason(error: &CompileError) -> String {
    let CompileError::CompileError { hiprtc, log, .. } = error else {
        return error.to_string();
    };
    let log = log.to_string_lossy();
    match log.lines().find(|line| line.contains("error:")) {
        Some(line) => format!("{hiprtc}, {}", line.trim()),
        None => hiprtc.to_string(),
    }
}

/// Whether HIP's status says that an image has nothing for the device, or that this release cannot
/// read it. All are answers of `hipModuleLoadData` to a whole image, by the sources of clr
/// (`hip_fatbin.cpp`, `hip_code_object.cpp`):
///
/// - `hipErrorInvalidValue`: "No compatible code objects found" in a bundle without generic targets
///   (6.4), and a bundle that comgr cannot take apart.
/// - `hipErrorNoBinaryForGpu`: the same up to 6.3, in a bundle with generic targets (6.4), and code that
///   does not load.
/// - `hipErrorInvalidImage`: the same from 7.0 on.
/// - `hipErrorInvalidKernelFile`: code for another device outside of a bundle.
/// - `hipErrorSharedObjectInitFailed`: code that does not load (6.0).
/// - `hipErrorSharedObjectSymbolNotFound`: code whose kernels cannot be listed.
/// - `hipErrorNotSupported`: a compressed bundle, and a comgr that cannot take it apart.
/// - `hipErrorFileNotFound`: HIP opens the file that the image is mapped from, which may be gone (6.2).
fn is_for_others(status: hipError_t) -> bool {
    [
        hipError_t::hipErrorInvalidValue,
        hipError_t::hipErrorNoBinaryForGpu,
        hipError_t::hipErrorInvalidImage,
        hipError_t::hipErrorInvalidKernelFile,
        hipError_t::hipErrorSharedObjectInitFailed,
        hipError_t::hipErrorSharedObjectSymbolNotFound,
        hipError_t::hipErrorNotSupported,
        hipError_t::hipErrorFileNotFound,
    ]
    .contains(&status)
}

#[cfg(test)]
mod tests {
    use super::super::result::HiprtcError;
    use super::super::sys::hiprtcResult;
    use super::*;
    use std::ffi::CString;

    const KERNELS: Kernels = Kernels {
        name: "nn/affine.hip",
        compiled: b"",
        kernel: "f",
        archs: &["gfx90a", "gfx942", "gfx1100"],
        source: "extern \"C\" __global__ void f() {}",
        headers: &[("a.h", "1"), ("b.h", "2")],
        options: &["-O3"],
        advice: "name it in ROCM_ARCHS",
    };

    #[test]
    fn each_thing_that_matters_has_a_file_of_its_own() {
        let file = |kernels: &Kernels| kernels.file_name("gfx1030", 60443484);
        let name = file(&KERNELS);
        assert!(name.starts_with("affine.hip-gfx1030-"), "{name}");
        assert_eq!(name, file(&KERNELS));
        let others = [
            KERNELS.file_name("gfx1031", 60443484),
            KERNELS.file_name("gfx1030", 70000000),
            file(&Kernels {
                source: "",
                ..KERNELS
            }),
            file(&Kernels {
                headers: &[("a.h", "1"), ("b.h", "3")],
                ..KERNELS
            }),
            file(&Kernels {
                options: &["-O2"],
                ..KERNELS
            }),
        ];
        for other in others {
            assert_ne!(name, other);
        }
        let same = file(&Kernels {
            compiled: b"CCOB",
            archs: &[],
            advice: "",
            ..KERNELS
        });
        assert_eq!(name, same);
    }

    #[test]
    fn a_build_without_kernels_says_so() {
        let kernels = Kernels {
            advice: "ROCM_KERNELS=none was set",
            ..KERNELS
        };
        assert_eq!(
            kernels.absent(),
            "nn/affine.hip: this program was built without kernels: \
             ROCM_KERNELS=none was set"
        );
    }

    #[test]
    fn of_a_compiler_s_log_the_first_error_is_told() {
        let error = CompileError::CompileError {
            hiprtc: HiprtcError(hiprtcResult::HIPRTC_ERROR_COMPILATION),
            options: vec![],
            log: CString::from(c"in a.h:\n a.h:1:2: error: no such type\n b.h: error: nor this"),
        };
        assert_eq!(
            reason(&error),
            "hipRTC: HIPRTC_ERROR_COMPILATION, a.h:1:2: error: no such type"
        );
    }

    #[test]
    fn a_device_that_nothing_is_for_is_named() {
        assert_eq!(
            KERNELS.uncovered("gfx1030", None),
            "nn/affine.hip: this program has kernels for gfx90a, gfx942 and gfx1100, the device \
             is gfx1030, and they could not be compiled for it"
        );
        let one = Kernels {
            archs: &["gfx90a"],
            ..KERNELS
        };
        assert!(one
            .uncovered("gfx1030", None)
            .contains("has kernels for gfx90a, the device is gfx1030"));
        assert_eq!(
            one.uncovered("gfx90a", Some("no kernel f")),
            "nn/affine.hip: HIP does not load the kernels that this program has for gfx90a (no \
             kernel f), and they could not be compiled for it"
        );
    }

    #[test]
    fn statuses_that_another_image_mends() {
        for status in [1, 200, 209, 218, 301, 302, 303, 801] {
            assert!(is_for_others(hipError_t(status)), "{status}");
        }
        assert!(!is_for_others(hipError_t::hipErrorOutOfMemory));
        assert!(!is_for_others(hipError_t::NOT_LOADED));
    }
}
