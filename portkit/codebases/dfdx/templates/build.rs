#[cfg(feature = "rocm")]
mod rocm {
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, Stdio};

    /// Kernels that hipRTC compiles when they are needed include these headers, which include
    /// others by their place in the tree; HIP's own it has itself.
    pub fn set_include_dir() {
        let root = std::env::var("CARGO_MANIFEST_DIR").unwrap();
        println!("cargo:rustc-env=ROCM_INCLUDE_DIR={root}/src/tensor_ops/utilities");
    }

    /// Has hipcc make a bundle of code objects of each kernel, one for each architecture. Those are
    /// the ones of `DFDX_ROCM_ARCHS`, else those of this machine's GPUs; hipRTC compiles for the
    /// device that a program finds. With `ci-check` or `DFDX_ROCM_ARCHS=none` they are empty.
    pub fn build_hsaco() {
        let out_dir = PathBuf::from(std::env::var("OUT_DIR").unwrap());
        let kernels: Vec<PathBuf> = glob::glob("src/**/*.hip")
            .unwrap()
            .map(Result::unwrap)
            .collect();
        for watched in ["src/**/*.hip", "src/**/*.h"] {
            for path in glob::glob(watched).unwrap().map(Result::unwrap) {
                println!("cargo:rerun-if-changed={}", path.display());
            }
        }
        let hsaco = |kernel: &Path| {
            let name = Path::new(kernel.file_name().unwrap()).with_extension("hsaco");
            out_dir.join(name)
        };
        println!("cargo:rustc-env=ROCM_COMPUTE_CAP=");
        println!("cargo:rerun-if-env-changed=DFDX_ROCM_ARCHS");
        let said = std::env::var("DFDX_ROCM_ARCHS").unwrap_or_default();
        if cfg!(feature = "ci-check") || said == "none" {
            for kernel in &kernels {
                std::fs::write(hsaco(kernel), "").unwrap();
            }
            return;
        }
        let archs = archs(said);
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        for together in kernels.chunks(workers) {
            let started: Vec<(&PathBuf, Child)> = together
                .iter()
                .map(|kernel| (kernel, compile(kernel, &hsaco(kernel), &archs)))
                .collect();
            for (kernel, child) in started {
                let done = child.wait_with_output().expect("hipcc can be waited for");
                let said = String::from_utf8_lossy(&done.stderr);
                let path = kernel.display();
                assert!(done.status.success(), "hipcc did not compile {path}:\n{said}");
            }
        }
    }

    fn compile(kernel: &Path, hsaco: &Path, archs: &[String]) -> Child {
        println!("cargo:rerun-if-env-changed=HIPCC");
        let hipcc = std::env::var("HIPCC").unwrap_or_else(|_| program("hipcc"));
        Command::new(&hipcc)
            .args(["--genco", "-O3", "-Isrc/tensor_ops/utilities", "-o"])
            .arg(hsaco)
            .args(archs.iter().map(|arch| format!("--offload-arch={arch}")))
            .arg(kernel)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{hipcc}: {error}; install ROCm, or set HIPCC"))
    }

    fn archs(mut said: String) -> Vec<String> {
        if said.is_empty() {
            if let Ok(done) = Command::new(program("amdgpu-arch")).output() {
                said = String::from_utf8_lossy(&done.stdout).into();
            }
        }
        let mut archs: Vec<String> = Vec::new();
        for arch in said.split([',', '\n']).map(str::trim).filter(|arch| !arch.is_empty()) {
            if !archs.iter().any(|known| known == arch) {
                archs.push(arch.to_string());
            }
        }
        let missing = "there is no AMD GPU here: set DFDX_ROCM_ARCHS, such as gfx1100,gfx90a";
        assert!(!archs.is_empty(), "{missing}");
        archs
    }

    /// A program of ROCm's: below `ROCM_PATH` where that is set, else by the search path.
    fn program(name: &str) -> String {
        println!("cargo:rerun-if-env-changed=ROCM_PATH");
        let folder = if name == "hipcc" { "bin" } else { "llvm/bin" };
        std::env::var("ROCM_PATH").map_or(name.into(), |rocm| format!("{rocm}/{folder}/{name}"))
    }
}
