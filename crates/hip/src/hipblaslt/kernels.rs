//! Whether hipBLASLt has kernels for an architecture.
//!
//! Up to ROCm 6.2 it does not say so: where it has none, the search for a solution reads through a
//! null pointer (`getBestSolutions` in `tensile_host.cpp`). For gfx1100 it has kernels since 6.2.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Whether there are any; also where the folder of its kernels is not found, as on Windows.
pub(super) fn are_there_for(arch: &str) -> bool {
    match folder() {
        Some(folder) => lists(&folder, arch),
        None => true,
    }
}

/// Where hipBLASLt looks for its kernels (`tensile_host.cpp`), when it is loaded.
fn folder() -> Option<PathBuf> {
    if let Some(told) = env::var_os("HIPBLASLT_TENSILE_LIBPATH") {
        return Some(told.into());
    }
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let beside = library(&maps)?.parent()?;
    ["../Tensile/library", "library", "hipblaslt/library"]
        .iter()
        .map(|place| beside.join(place))
        .find(|folder| folder.is_dir())
}

/// Its file among what a process has mapped (the manual, `proc_pid_maps(5)`).
fn library(maps: &str) -> Option<&Path> {
    let files = maps
        .lines()
        .filter_map(|line| line.find('/').map(|at| &line[at..]));
    files.map(Path::new).find(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libhipblaslt.so")
    })
}

/// Whether a file or a folder of kernels is for an architecture, which its name says; a folder that
/// cannot be read says nothing.
fn lists(folder: &Path, arch: &str) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return true;
    };
    entries
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().contains(arch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_among_what_is_mapped() {
        let maps = "\
7f00-7f10 r-xp 00000000 08:01 12 /opt/rocm/lib/librocblas.so.4.2
7f20-7f30 rw-p 00000000 00:00 0
7f40-7f50 r-xp 00000000 08:01 13                         /opt/my rocm/lib/libhipblaslt.so.0.8
";
        let file = library(maps).unwrap();
        assert_eq!(file, Path::new("/opt/my rocm/lib/libhipblaslt.so.0.8"));
        assert_eq!(library("7f20-7f30 rw-p 00000000 00:00 0\n"), None);
    }

    #[test]
    fn a_file_or_a_folder_is_named_after_its_architecture() {
        let folder = env::temp_dir().join(format!("kernels-of-hipblaslt-{}", std::process::id()));
        fs::create_dir_all(folder.join("gfx950")).unwrap();
        fs::write(folder.join("TensileLibrary_lazy_gfx90a.dat"), "").unwrap();
        assert!(lists(&folder, "gfx90a"));
        assert!(lists(&folder, "gfx950"));
        assert!(!lists(&folder, "gfx1100"));
        fs::remove_dir_all(&folder).unwrap();
        assert!(lists(&folder, "gfx1100"), "nothing is known");
    }
}
