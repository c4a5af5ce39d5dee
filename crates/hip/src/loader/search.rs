//! Where the files of a library may be, in the order in which they are tried.

use super::{Names, PATH};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The release of ROCm that the name of a file tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Release {
    /// The major version; 0 if it is not known.
    major: u32,
    /// The minor version, if it is known.
    minor: Option<u32>,
}

impl Release {
    /// From the major version that the library's own version stands for, 0 for any, and the last number
    /// of the file's name. AMD's packages append their release to each library, such as 60204 in
    /// `librocblas.so.4.2.60204` of ROCm 6.2.4; whoever else builds one appends other numbers.
    pub(super) fn new(major: u32, last: u32) -> Self {
        let packaged = last / 10000;
        if packaged >= 6 && (major == 0 || major == packaged) {
            let minor = Some(last / 100 % 100);
            return Self {
                major: packaged,
                minor,
            };
        }
        Self { major, minor: None }
    }

    /// Whether a library of this release may be used with one of another, as far as their names tell.
    pub(super) fn goes_with(self, other: Self) -> bool {
        let minors = self.minor.is_none() || other.minor.is_none() || self.minor == other.minor;
        let unknown = self.major == 0 || other.major == 0;
        unknown || (self.major == other.major && minors)
    }
}

/// A file that may be the library.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    pub(super) release: Release,
}

/// The search for a library.
pub(super) struct Search<'a> {
    names: &'a Names,
    pub(super) files: Vec<String>,
    /// The folders of installations that somebody configured.
    configured: Vec<PathBuf>,
    /// Those of the variable that the loader reads.
    loader: Vec<PathBuf>,
    /// The folders besides the loader's.
    pub(super) folders: Vec<PathBuf>,
}

impl<'a> Search<'a> {
    pub(super) fn new(names: &'a Names, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let leaf = if cfg!(windows) { "bin" } else { "lib" };
        let loader = variable(PATH).filter(|_| cfg!(unix)).unwrap_or_default();
        Self {
            names,
            files: names.files(),
            configured: configured(&variable, leaf),
            loader: std::env::split_paths(&loader)
                .filter(|folder| folder.is_absolute())
                .collect(),
            folders: installations(&variable, leaf),
        }
    }

    /// The files that may be the library, those in the folder of a runtime first.
    ///
    /// A file in a folder is looked at before it is opened: an old library that is opened brings
    /// others, by whose names the loader would serve the new ones. That cannot be done for what
    /// `ldconfig` knows, so the names with versions go first there and the plain one last of all.
    pub(super) fn candidates(&self, runtime: Option<&Path>) -> Vec<Candidate> {
        let beside = runtime.and_then(Path::parent).map(Path::to_path_buf);
        let first = beside.filter(|folder| folder.is_absolute());
        let before = first.iter().chain(&self.configured).chain(&self.loader);
        let mut all: Vec<Candidate> = before.flat_map(|folder| self.files_in(folder)).collect();
        let plain = self.names.plain();
        let named = self.files.iter().filter(|file| **file != plain);
        all.extend(named.filter_map(|file| self.candidate(PathBuf::from(file), file)));
        all.extend(self.folders.iter().flat_map(|folder| self.files_in(folder)));
        if cfg!(unix) {
            all.extend(self.candidate(PathBuf::from(&plain), &plain));
        }
        all
    }

    fn files_in<'b>(&'b self, folder: &'b Path) -> impl Iterator<Item = Candidate> + 'b {
        self.files.iter().filter_map(move |file| {
            let path = folder.join(file);
            // Often a link to a file whose name has the whole version.
            let real = path.canonicalize().ok()?;
            let name = real.file_name().unwrap_or_default().to_string_lossy();
            self.candidate(path, &name)
        })
    }

    fn candidate(&self, path: PathBuf, name: &str) -> Option<Candidate> {
        let release = self.names.release(name)?;
        Some(Candidate { path, release })
    }
}

/// A folder of each installation that somebody configured.
fn configured(variable: &impl Fn(&str) -> Option<OsString>, leaf: &str) -> Vec<PathBuf> {
    ["ROCM_PATH", "HIP_PATH"]
        .into_iter()
        .filter_map(variable)
        .filter(|root| !root.is_empty())
        .map(|root| PathBuf::from(root).join(leaf))
        .collect()
}

/// A folder of each place where ROCm may be installed.
pub(super) fn installations(
    variable: impl Fn(&str) -> Option<OsString>,
    leaf: &str,
) -> Vec<PathBuf> {
    let mut folders = configured(&variable, leaf);
    folders.extend(cfg!(unix).then(|| Path::new("/opt/rocm").join(leaf)));
    folders.dedup();
    folders
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::{HIP, HIPRAND, MIOPEN, ROCBLAS};
    use super::*;
    use std::fs;

    fn release(names: &Names, file: &str) -> Release {
        names.release(file).unwrap()
    }

    #[test]
    fn names_tell_the_release() {
        let hip = |file| release(&HIP.names, file);
        let blas = |file| release(&ROCBLAS.names, file);
        // AMD's packages, Debian's, and builds by hand.
        assert!(hip("libamdhip64.so.6.2.60204").goes_with(blas("librocblas.so.4.2.60204")));
        assert!(!hip("libamdhip64.so.6.2.60204").goes_with(blas("librocblas.so.4.4.60400")));
        assert!(hip("libamdhip64.so.6.4.43484").goes_with(blas("librocblas.so.4.4")));
        assert!(hip("libamdhip64.so.7.0.51831").goes_with(blas("librocblas.so.5.0.70002")));
        assert!(!hip("libamdhip64.so.7").goes_with(blas("librocblas.so.4")));
        assert!(hip("libamdhip64.so").goes_with(blas("librocblas.so.4")));
        let random = |file| release(&HIPRAND.names, file);
        assert!(hip("libamdhip64.so.6.4.43484").goes_with(random("libhiprand.so.1.1")));
        assert!(!hip("libamdhip64.so.6.4.43484").goes_with(random("libhiprand.so.1.1.70002")));
        // One that is newer than all that are known is what somebody chose.
        assert_eq!(hip("libamdhip64.so.8"), Release::default());
    }

    #[test]
    fn releases_before_6_are_passed_over() {
        assert_eq!(HIP.names.release("libamdhip64.so.5.7.31921"), None);
        assert_eq!(ROCBLAS.names.release("librocblas.so.3"), None);
        assert!(MIOPEN.names.release("libMIOpen.so.1").is_some());
    }

    fn paths(search: &Search, runtime: Option<&Path>) -> Vec<PathBuf> {
        let all = search.candidates(runtime).into_iter();
        all.map(|candidate| candidate.path).collect()
    }

    #[test]
    fn what_is_configured_goes_before_the_loader_and_the_default_last() {
        let root = std::env::temp_dir().join(format!("{}-search", std::process::id()));
        let [rocm, loader] = ["rocm", "loader"].map(|name| root.join(name));
        for file in [
            rocm.join("lib/libamdhip64.so.6"),
            loader.join("libamdhip64.so.7"),
            loader.join("libamdhip64.so.5.7.31921"),
        ] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        // What Debian's package for development has beside an old release.
        let old = loader.join("libamdhip64.so");
        std::os::unix::fs::symlink("libamdhip64.so.5.7.31921", old).unwrap();
        let variable = |name: &str| match name {
            "ROCM_PATH" => Some(rocm.clone().into_os_string()),
            "LD_LIBRARY_PATH" => Some(loader.clone().into_os_string()),
            _ => None,
        };
        let search = Search::new(&HIP.names, variable);
        let expected = [
            rocm.join("lib/libamdhip64.so.6"),
            loader.join("libamdhip64.so.7"),
            PathBuf::from("libamdhip64.so.7"),
            PathBuf::from("libamdhip64.so.6"),
        ];
        assert_eq!(paths(&search, None)[..4], expected);
        assert_eq!(
            paths(&search, None).last(),
            Some(&PathBuf::from("libamdhip64.so"))
        );
        let beside = loader.join("libhip.so");
        assert_eq!(
            paths(&search, Some(&beside))[0],
            loader.join("libamdhip64.so.7")
        );
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn installations_are_the_configured_ones_and_the_default() {
        let variable = |name: &str| (name == "ROCM_PATH").then(|| OsString::from("/somewhere"));
        let default = PathBuf::from("/opt/rocm/lib");
        assert_eq!(
            installations(variable, "lib"),
            [PathBuf::from("/somewhere/lib"), default.clone()]
        );
        assert_eq!(
            installations(|_| None, "lib"),
            std::slice::from_ref(&default)
        );
        assert_eq!(installations(|_| Some(OsString::new()), "lib"), [default]);
    }
}
