//! Compiles HIP kernels with hipcc: the modules that are loaded by name become bundles of code
//! objects that a library embeds, the launchers become a static library.

mod bundle;
mod compiler;
mod files;
mod jobs;
mod library;

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use bundle::Bundler;
use compiler::{Compiler, FLAGS};
use files::{file_name, files_in, includes, read, write};
use jobs::{run, Job};

/// The launchers' way to the HIP runtime.
const RUNTIME: &str = "hip_runtime.cpp";

/// The kernels of a crate, for its build script.
pub struct Kernels<'a> {
    /// How the environment variables begin that a user sets, such as `TOY_ROCM`. In lower case and
    /// with a `_` behind it each name in the static library begins so.
    pub variables: &'a str,
    /// Sources whose kernels are loaded by name, below `folder`, without their suffix `.hip`.
    pub modules: &'a [&'a str],
    /// Sources whose launchers are linked.
    pub launchers: &'a [&'a str],
    /// What `include_str!` finds `folder` by: a variable of cargo's, and the folder below that.
    pub root: (&'a str, &'a str),
    /// The sources.
    pub folder: &'a Path,
}

impl Kernels<'_> {
    /// Compiles the kernels, writes `built.rs` with them into cargo's `OUT_DIR`, and tells cargo what
    /// to link.
    ///
    /// # Errors
    ///
    /// A sentence for whoever builds the crate: hipcc is missing or fails, or a variable has a value
    /// that it cannot have.
    pub fn build(&self) -> Result<(), String> {
        let variables = self.variables;
        println!("cargo::rustc-check-cfg=cfg(no_kernels)");
        println!("cargo::rerun-if-changed=build.rs");
        println!("cargo::rerun-if-changed=src");
        for name in ["KERNELS", "ARCHS", "CACHE", "COMPRESS"] {
            println!("cargo::rerun-if-env-changed={variables}_{name}");
        }
        let gfx = "HSA_OVERRIDE_GFX_VERSION";
        for name in ["HIPCC", "ROCM_PATH", "HIP_PATH", gfx] {
            println!("cargo::rerun-if-env-changed={name}");
        }
        let out_dir = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
        match env::var(format!("{variables}_KERNELS")).as_deref() {
            Ok("none") => {
                println!("cargo::rustc-cfg=no_kernels");
                let advice = format!(
                    "{variables}_KERNELS=none was set; build it again without that, with hipcc \
                     installed"
                );
                let built = self.built(&[], &advice, |_| ("&[]".into(), String::new()))?;
                return write(&out_dir.join("built.rs"), built.as_bytes());
            }
            Ok("all" | "") | Err(_) => {}
            Ok(other) => {
                return Err(format!(
                    "{variables}_KERNELS is {other:?}: set it to \"all\" or leave it out to \
                     compile the kernels, or to \"none\" to build without them"
                ));
            }
        }
        let system = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
        if system != "linux" {
            return Err(format!(
                "the ROCm kernels are built for Linux only, not for {system}: build in WSL 2 on \
                 Windows, or set {variables}_KERNELS=none to build without kernels"
            ));
        }
        self.compile(&out_dir)
    }

    fn compile(&self, out_dir: &Path) -> Result<(), String> {
        let (variables, folder) = (self.variables, self.folder);
        let compiler = Compiler::find(variables)?;
        let archs = compiler.archs()?;
        let cache = match env::var_os(format!("{variables}_CACHE")) {
            Some(folder) => PathBuf::from(folder),
            None => out_dir.join("objects"),
        };
        fs::create_dir_all(&cache).map_err(|e| format!("{}: {e}", cache.display()))?;
        let bundler = Bundler::find(&compiler, variables, &cache)?;

        // What fails on a machine at all fails here, before the minutes of the device compilers.
        let mut host_jobs = Vec::new();
        if !self.launchers.is_empty() {
            library::check_tools(out_dir)?;
            let runtime = ["-x", "hip", "--offload-host-only"];
            host_jobs.push(compiler.host_job(folder, RUNTIME, &runtime, &cache)?);
            run(&host_jobs)?;
        }

        let device_jobs: Vec<Job> = self
            .modules
            .iter()
            .chain(self.launchers)
            .flat_map(|source| archs.iter().map(move |arch| (source, arch)))
            .map(|(source, arch)| {
                let target = format!("--offload-arch={arch}");
                let extra = ["--offload-device-only", "--no-gpu-bundle-output", &target];
                compiler.job(folder, &kernel_source(source), &extra, &cache)
            })
            .collect::<Result<_, _>>()?;
        run(&device_jobs)?;

        let bundle_of = |index: usize| -> Result<PathBuf, String> {
            let jobs = &device_jobs[index * archs.len()..(index + 1) * archs.len()];
            bundler.bundle(&archs, jobs, &cache)
        };
        for (index, module) in self.modules.iter().enumerate() {
            let to = out_dir.join(format!("{module}.hsaco"));
            fs::copy(bundle_of(index)?, &to).map_err(|e| format!("{}: {e}", to.display()))?;
        }
        let advice = format!("build it again with the device's architecture in {variables}_ARCHS");
        let mut names = Vec::new();
        for index in 0..self.modules.len() {
            names.push(bundle::kernel_of(&read(
                &device_jobs[index * archs.len()].output,
            )?));
        }
        let built = self.built(&archs, &advice, |index| {
            let place = format!(
                "concat!(env!(\"OUT_DIR\"), \"/{}.hsaco\")",
                self.modules[index]
            );
            (format!("include_bytes!({place})"), names[index].clone())
        })?;
        write(&out_dir.join("built.rs"), built.as_bytes())?;
        if self.launchers.is_empty() {
            return Ok(());
        }

        for (index, source) in self.launchers.iter().enumerate() {
            let embedded = bundle_of(self.modules.len() + index)?;
            let embedded = embedded.to_string_lossy().into_owned();
            let extra = [
                "--offload-host-only",
                "-Xclang",
                "-fcuda-include-gpubinary",
                "-Xclang",
                &embedded,
            ];
            host_jobs.push(compiler.host_job(folder, &kernel_source(source), &extra, &cache)?);
        }
        run(&host_jobs)?;
        library::link(
            &host_jobs,
            out_dir,
            &format!("{}_", variables.to_lowercase()),
        )
    }

    /// The constants that `lib.rs` includes: of each module its bundle and the name of a kernel in it.
    fn built(
        &self,
        archs: &[String],
        advice: &str,
        compiled: impl Fn(usize) -> (String, String),
    ) -> Result<String, String> {
        let mut text = format!(
            "pub const ARCHS: &[&str] = &{archs:?};\n\
             pub const FLAGS: &[&str] = &{FLAGS:?};\n\
             pub const ADVICE: &str = {advice:?};\n\
             pub const HEADERS: &[(&str, &str)] = &[\n"
        );
        let (variable, below) = self.root;
        let mut of_the_system = BTreeSet::new();
        for path in files_in(self.folder)? {
            let (name, extension) = (file_name(&path), path.extension().unwrap_or_default());
            if extension == "h" || extension == "cuh" {
                let place = format!("concat!(env!({variable:?}), \"/{below}/{name}\")");
                text += &format!("    ({name:?}, include_str!({place})),\n");
            }
            if ["h", "cuh", "hip"].iter().any(|each| extension == *each) {
                let source = String::from_utf8_lossy(&read(&path)?).into_owned();
                let others = includes(&source, '<', '>').filter(|name| !name.starts_with("hip/"));
                of_the_system.extend(others.map(str::to_string));
            }
        }
        // hipRTC has no C and C++ library; hipx_rtc.h has what is used of it.
        for name in of_the_system {
            text += &format!("    ({name:?}, \"#pragma once\\n\"),\n");
        }
        text += "];\n";
        for (index, module) in self.modules.iter().enumerate() {
            let constant = module.to_uppercase();
            let (bytes, kernel) = compiled(index);
            text += &format!("pub const {constant}: (&[u8], &str) = ({bytes}, {kernel:?});\n");
        }
        Ok(text)
    }
}

fn kernel_source(name: &str) -> String {
    format!("{name}.hip")
}
