//! One source whose kernels are loaded by name, such as an example's.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::device::headers;
use crate::kernels::Kernels;

/// Compiles a source whose kernels are loaded by name, and returns the bundle of its code objects, in
/// cargo's `OUT_DIR`. Headers beside it are found, and those of [`DEVICE`](crate::DEVICE). The bundle
/// is empty where no kernels are wanted: loading it is then an error.
///
/// # Errors
///
/// A sentence for whoever builds: hipcc is missing or fails, a variable has a value that it cannot
/// have, or a file cannot be read or written.
pub fn module(variables: &str, source: &Path) -> Result<PathBuf, String> {
    let failed = |path: &Path, error| format!("{}: {error}", path.display());
    let beside = source.parent().unwrap_or(Path::new("."));
    println!("cargo::rerun-if-changed={}", beside.display());
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let out_dir = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let folder = headers(&out_dir.join(stem.as_ref()))?;
    for entry in fs::read_dir(beside).map_err(|e| failed(beside, e))? {
        let path = entry.map_err(|e| failed(beside, e))?.path();
        if path.is_file() {
            let to = folder.join(path.file_name().unwrap_or_default());
            fs::copy(&path, to).map_err(|e| failed(&path, e))?;
        }
    }
    let bundle = out_dir.join(format!("{stem}.hsaco"));
    fs::write(&bundle, []).map_err(|e| failed(&bundle, e))?;
    Kernels {
        variables,
        modules: &[&stem],
        launchers: &[],
        root: ("OUT_DIR", &format!("{stem}/hipx")),
        folder: &folder,
    }
    .build()?;
    Ok(bundle)
}
