//! Finds and opens the shared libraries of ROCm.
//!
//! A run-time installation often has versioned files only (`libamdhip64.so.6`, `librocblas.so.4`),
//! and the libraries do not share their version numbers. So each [`Library`] lists the names that
//! its releases have had. They are looked for
//!
//! 1. in the `lib` (`bin` on Windows) folder of `ROCM_PATH` and of `HIP_PATH`,
//! 2. as the dynamic loader finds them (`LD_LIBRARY_PATH`, `ldconfig`; `PATH` on Windows),
//! 3. in `/opt/rocm/lib`.
//!
//! Build scripts look for hipcc in the same order (`hiprc-build`, `compiler.rs`).
//!
//! Libraries of two releases are never mixed: after the HIP runtime was opened, the others come from
//! its folder, or from another place if their names say the same release. Releases before ROCm 6 are
//! passed over, since they lay out the properties of a device in another way.
//!
//! | library | ROCm 6 | ROCm 7 | Windows |
//! | --- | --- | --- | --- |
//! | [`HIP`] | `libamdhip64.so.6` | `.so.7` | `amdhip64_6.dll`, `amdhip64_7.dll` |
//! | [`ROCBLAS`] | `librocblas.so.4` | `.so.5` | `rocblas.dll` |
//! | [`HIPBLASLT`] | `libhipblaslt.so.0` | `.so.1` | `libhipblaslt.dll` |
//! | [`HIPRAND`] | `libhiprand.so.1` | `.so.1` | `hiprand.dll` |
//! | [`MIOPEN`] | `libMIOpen.so.1` | `.so.1` | |
//! | [`RCCL`] | `librccl.so.1` | `.so.1` | |
//! | [`HIPRTC`] | `libhiprtc.so.6` | `.so.7` | `hiprtc0600.dll`, …, `hiprtc0702.dll` |
//!
//! The numbers are the `SOVERSION`s in the CMake files of the libraries' releases: the major
//! version of HIP for HIP and hipRTC (`hipamd/src/CMakeLists.txt`), `rocblas_SOVERSION`
//! (`library/CMakeLists.txt`), `hiprand_SOVERSION`, hipBLASLt's, MIOpen's and RCCL's (`CMakeLists.txt` of
//! each).

mod search;

use search::{Candidate, Release, Search};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The HIP runtime.
pub static HIP: Library = Library::new(Names {
    title: "the HIP runtime",
    packages: &["hip-runtime-amd", "libamdhip64-dev", "rocm-hip"],
    stem: "amdhip64",
    versions: &[(7, 7), (6, 6)],
    windows: &["amdhip64_7", "amdhip64_6", "amdhip64"],
});

/// Dense linear algebra.
pub static ROCBLAS: Library = Library::new(Names {
    title: "rocBLAS",
    packages: &["rocblas", "librocblas-dev", "rocblas"],
    stem: "rocblas",
    versions: &[(5, 7), (4, 6)],
    windows: &["rocblas"],
});

/// Products of matrices, beside rocBLAS.
pub static HIPBLASLT: Library = Library::new(Names {
    title: "hipBLASLt",
    packages: &["hipblaslt", "libhipblaslt-dev", "hipblaslt"],
    stem: "hipblaslt",
    versions: &[(1, 7), (0, 6)],
    windows: &["libhipblaslt", "hipblaslt"],
});

/// Random numbers.
pub static HIPRAND: Library = Library::new(Names {
    title: "hipRAND",
    packages: &["hiprand", "libhiprand-dev", "hiprand"],
    stem: "hiprand",
    versions: &[(1, 0)],
    windows: &["hiprand"],
});

/// Convolutions.
pub static MIOPEN: Library = Library::new(Names {
    title: "MIOpen",
    packages: &["miopen-hip", "libmiopen-dev", "miopen"],
    stem: "MIOpen",
    versions: &[(1, 0)],
    windows: &["MIOpen"],
});

/// Collective operations of several devices.
pub static RCCL: Library = Library::new(Names {
    title: "RCCL",
    packages: &["rccl", "librccl-dev", "rccl"],
    stem: "rccl",
    versions: &[(1, 0)],
    windows: &["rccl"],
});

/// The compiler for kernels in source form.
pub static HIPRTC: Library = Library::new(Names {
    title: "hipRTC",
    packages: &["hip-runtime-amd", "libhiprtc6", "rocm-hip"],
    stem: "hiprtc",
    versions: &[(7, 7), (6, 6)],
    windows: &[
        "hiprtc0702",
        "hiprtc0701",
        "hiprtc0700",
        "hiprtc0604",
        "hiprtc0603",
        "hiprtc0602",
        "hiprtc0601",
        "hiprtc0600",
        "hiprtc",
    ],
});

/// What a library is called.
struct Names {
    /// In a message.
    title: &'static str,
    /// The package that holds it: AMD's for Linux, that of Debian and Ubuntu, Fedora's.
    packages: &'static [&'static str; 3],
    /// The file name without prefix, suffix and version.
    stem: &'static str,
    /// The versions that follow `.so`, newest first, each with the release of ROCm that has it; 0 for
    /// one that all releases have.
    versions: &'static [(u32, u32)],
    /// The stems on Windows, newest first.
    windows: &'static [&'static str],
}

/// A shared library that is opened when it is first needed and never closed.
pub struct Library {
    names: Names,
    opened: OnceLock<Result<Opened, LoadError>>,
    missing: Mutex<Vec<&'static str>>,
}

struct Opened {
    library: libloading::Library,
    path: PathBuf,
    release: Release,
}

impl Library {
    const fn new(names: Names) -> Self {
        Self {
            names,
            opened: OnceLock::new(),
            missing: Mutex::new(Vec::new()),
        }
    }

    /// Opens the library, if that was not done before.
    ///
    /// # Errors
    ///
    /// [`LoadError`], when there is none or none can be opened. The outcome is kept: a second call
    /// does not search again.
    pub fn load(&self) -> Result<&Path, LoadError> {
        match self.open() {
            Ok(opened) => Ok(&opened.path),
            Err(error) => Err(error.clone()),
        }
    }

    /// Whether there is no file of the library; one that cannot be opened is there.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self.open(), Err(LoadError { broken: None, .. }))
    }

    /// What kept a function of this library from being called, if something did.
    pub fn problem(&self) -> Option<String> {
        match self.opened.get()? {
            Err(error) => Some(error.to_string()),
            Ok(opened) => {
                let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
                (!missing.is_empty()).then(|| {
                    format!(
                        "{} ({}) lacks {}: a newer ROCm is needed",
                        self.names.title,
                        opened.path.display(),
                        missing.join(", "),
                    )
                })
            }
        }
    }

    /// The text of an error that stands for this library or a function of it.
    pub(crate) fn not_loaded(&self) -> String {
        self.problem()
            .unwrap_or_else(|| format!("{} is not loaded", self.names.title))
    }

    /// Looks up a function; remembers its name when there is none.
    ///
    /// # Safety
    ///
    /// `F` has to be the type of a function pointer with the C signature of `name`.
    pub(crate) unsafe fn function<F: Copy>(&self, name: &'static str) -> Option<F> {
        let opened = self.open().as_ref().ok()?;
        // SAFETY: the caller vouches for the signature.
        match unsafe { opened.library.get::<F>(name.as_bytes()) } {
            Ok(symbol) => Some(*symbol),
            Err(_) => {
                let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
                missing.push(name);
                None
            }
        }
    }

    fn open(&self) -> &Result<Opened, LoadError> {
        self.opened.get_or_init(|| {
            // Whoever has a library of one release must not get another of a second one.
            let runtime = match std::ptr::eq(self, &HIP) {
                true => None,
                false => HIP.open().as_ref().ok(),
            };
            let search = Search::new(&self.names, |name| std::env::var_os(name));
            let (mut broken, mut unlike) = (None, None);
            for Candidate { path, release } in search.candidates(runtime.map(|hip| &*hip.path)) {
                if let Some(hip) = runtime.filter(|hip| !hip.release.goes_with(release)) {
                    // Of a bare name it is not known whether the loader would find it.
                    if unlike.is_none() && path.is_absolute() {
                        let (path, hip) = (path.display(), hip.path.display());
                        unlike = Some(format!(
                            "{path} is of another release of ROCm than {hip}, which is in use"
                        ));
                    }
                    continue;
                }
                // SAFETY: ROCm's libraries may be opened at any time and from any thread.
                match unsafe { libloading::Library::new(&path) } {
                    Ok(library) => {
                        return Ok(Opened {
                            library,
                            path,
                            release,
                        })
                    }
                    Err(error) if broken.is_none() => {
                        let text = error.to_string();
                        if !is_absent(&path, &text) {
                            broken = Some(text);
                        }
                    }
                    Err(_) => {}
                }
            }
            Err(LoadError {
                title: self.names.title,
                packages: self.names.packages,
                files: search.files,
                folders: search.folders,
                broken,
                unlike: unlike.map(String::into_boxed_str),
            })
        })
    }
}

impl Names {
    /// The file names on this platform, in the order in which they are tried.
    ///
    /// The name without a version goes first: where there is one, it is what the person who
    /// installed ROCm chose.
    fn files(&self) -> Vec<String> {
        if cfg!(windows) {
            let suffix = std::env::consts::DLL_SUFFIX;
            return self
                .windows
                .iter()
                .map(|stem| format!("{stem}{suffix}"))
                .collect();
        }
        let plain = self.plain();
        let versioned = self
            .versions
            .iter()
            .map(|(version, _)| format!("{plain}.{version}"));
        std::iter::once(plain.clone()).chain(versioned).collect()
    }

    /// The file name without a version.
    fn plain(&self) -> String {
        use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
        format!("{DLL_PREFIX}{}{DLL_SUFFIX}", self.stem)
    }

    /// The release that a file's name tells. `None` for one that is older than all that are known.
    fn release(&self, file: &str) -> Option<Release> {
        let plain = self.plain();
        let version = file
            .strip_prefix(&plain)
            .and_then(|rest| rest.strip_prefix('.'));
        let Some(version) = version.filter(|_| !cfg!(windows)) else {
            return Some(Release::default());
        };
        let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
        let Some(major) = numbers.next().flatten() else {
            return Some(Release::default());
        };
        let oldest = self.versions.last().map_or(0, |(version, _)| *version);
        let known = self.versions.iter().find(|(version, _)| *version == major);
        let release = known.map_or(0, |(_, release)| *release);
        let last = numbers.nth(1).flatten().unwrap_or(0);
        (major >= oldest).then(|| Release::new(release, last))
    }
}

/// The folders of ROCm's headers that are there.
pub(crate) fn include_folders() -> Vec<PathBuf> {
    let mut folders = search::installations(|name| std::env::var_os(name), "include");
    folders.retain(|folder| folder.is_dir());
    folders
}

/// Whether the loader's `text` says that `path` itself does not exist, and not that something is
/// wrong with it or with a library that it needs.
fn is_absent(path: &Path, text: &str) -> bool {
    if path.is_absolute() || cfg!(windows) {
        return !path.exists();
    }
    text.contains(&*path.to_string_lossy()) && text.contains("No such file")
}

/// The variable that the dynamic loader takes its path from.
const PATH: &str = if cfg!(windows) {
    "PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// Why a library could not be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    title: &'static str,
    packages: &'static [&'static str; 3],
    files: Vec<String>,
    folders: Vec<PathBuf>,
    broken: Option<String>,
    /// That there is one of another release than the HIP runtime's.
    unlike: Option<Box<str>>,
}

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} could not be loaded: ", self.title)?;
        if let Some(broken) = &self.broken {
            return write!(
                f,
                "{broken}; reinstall ROCm, or set {PATH} to where its libraries are"
            );
        }
        if let Some(unlike) = &self.unlike {
            return write!(
                f,
                "{unlike}; set ROCM_PATH to the one release that you mean"
            );
        }
        write!(f, "no {} on the loader's path", self.files.join(", "))?;
        for folder in &self.folders {
            write!(f, " or in {}", folder.display())?;
        }
        if cfg!(windows) {
            write!(f, "; install AMD's HIP SDK")?;
        } else {
            let [amd, debian, fedora] = self.packages;
            write!(
                f,
                "; install ROCm 6.2 or newer (AMD's package {amd}; Debian's and Ubuntu's {debian}, \
                 Fedora's {fedora})"
            )?;
        }
        write!(f, ", or set {PATH} or ROCM_PATH to where it is")
    }
}

impl std::error::Error for LoadError {}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Names = Names {
        title: "the library",
        packages: &["a-package", "liba-package-dev", "package-a"],
        stem: "no_such_library",
        versions: &[(2, 7), (1, 6)],
        windows: &["no_such_library_2", "no_such_library"],
    };

    #[test]
    #[cfg(target_os = "linux")]
    fn the_plain_name_goes_first_then_the_newest_version() {
        assert_eq!(
            HIP.names.files(),
            ["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"]
        );
        assert_eq!(
            ROCBLAS.names.files(),
            ["librocblas.so", "librocblas.so.5", "librocblas.so.4"]
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_missing_is_named_as_each_distribution_has_it() {
        let text = Library::new(NONE).load().unwrap_err().to_string();
        assert!(
            text.contains(
                "(AMD's package a-package; Debian's and Ubuntu's liba-package-dev, Fedora's \
                 package-a), or set"
            ),
            "{text}"
        );
    }

    #[test]
    #[cfg(windows)]
    fn windows_names_carry_the_version_in_the_stem() {
        assert_eq!(
            HIP.names.files(),
            ["amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"]
        );
    }

    #[test]
    fn a_missing_dependency_is_not_an_absent_library() {
        let path = Path::new("libamdhip64.so.6");
        let absent = "libamdhip64.so.6: cannot open shared object file: No such file or directory";
        let broken = "libhsa-runtime64.so.1: cannot open shared object file: No such file or \
                      directory";
        if !cfg!(windows) {
            assert!(is_absent(path, absent));
            assert!(!is_absent(path, broken));
        }
    }

    #[test]
    fn a_missing_library_is_named_with_what_to_do() {
        let library = Library::new(NONE);
        assert_eq!(library.problem(), None);
        let text = library.load().unwrap_err().to_string();
        assert!(
            text.starts_with("the library could not be loaded: no "),
            "{text}"
        );
        for file in NONE.files() {
            assert!(text.contains(&file), "{text}");
        }
        assert!(text.contains("install"), "{text}");
        assert_eq!(library.problem(), Some(text));
        // SAFETY: there is no library, so no function pointer is made.
        let function = unsafe { library.function::<extern "C" fn()>("f") };
        assert!(function.is_none());
    }
}
