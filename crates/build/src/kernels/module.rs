//! One source whose kernels are loaded by name, such as an example's.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::bundle::Bundler;
use super::compiler::Compiler;
use super::files::{file_name, write};
use super::jobs::{run, Job};
use crate::device::headers;

/// Compiles a source whose kernels are loaded by name, and returns the bundle of its code objects, in
/// cargo's `OUT_DIR`. The headers of [`DEVICE`](crate::DEVICE) are found. The bundle is empty where no
/// kernels are wanted: loading it is then an error.
///
/// # Errors
///
/// A sentence for whoever builds: hipcc is missing or fails, or a variable has a value that it cannot
/// have.
pub fn module(variables: &str, source: &Path) -> Result<PathBuf, String> {
    let folder = source.parent().unwrap_or(Path::new("."));
    println!("cargo::rerun-if-changed={}", folder.display());
    for name in ["KERNELS", "ARCHS", "COMPRESS"] {
        println!("cargo::rerun-if-env-changed={variables}_{name}");
    }
    for name in ["HIPCC", "ROCM_PATH"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let out_dir = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let stem = source.file_stem().unwrap_or_default();
    let to = out_dir.join(stem).with_extension("hsaco");
    if env::var(format!("{variables}_KERNELS")).as_deref() == Ok("none") {
        write(&to, &[])?;
        return Ok(to);
    }
    let compiler = Compiler::find(variables)?;
    let archs = compiler.archs()?;
    let cache = out_dir.join("objects");
    fs::create_dir_all(&cache).map_err(|e| format!("{}: {e}", cache.display()))?;
    let bundler = Bundler::find(&compiler, variables, &cache)?;
    let include = format!("-I{}", headers(&out_dir)?.display());
    let jobs: Vec<Job> = archs
        .iter()
        .map(|arch| {
            let target = format!("--offload-arch={arch}");
            let extra = [
                "--offload-device-only",
                "--no-gpu-bundle-output",
                &target,
                &include,
            ];
            compiler.job(folder, &file_name(source), &extra, &cache)
        })
        .collect::<Result<_, _>>()?;
    run(&jobs)?;
    let bundle = bundler.bundle(&archs, &jobs, &cache)?;
    fs::copy(bundle, &to).map_err(|e| format!("{}: {e}", to.display()))?;
    Ok(to)
}
