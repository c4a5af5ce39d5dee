//! hipcc: where it is, and what it compiles for.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::files::{hash, seen_by};
use super::jobs::Job;

/// What a build is for wherever it is made: CDNA2 and, by LLVM's generic targets, the families
/// CDNA3, RDNA2, RDNA3 and RDNA4 with one code object each.
const DEFAULT_ARCHS: [&str; 5] = [
    "gfx90a",
    "gfx9-4-generic",
    "gfx10-3-generic",
    "gfx11-generic",
    "gfx12-generic",
];

/// The same where hipcc is older than the generic targets.
const DEFAULT_EXACT_ARCHS: [&str; 7] = [
    "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1201",
];

/// CDNA4, with the first HIP whose libraries know it: rocPRIM of 6.4 does not compile for it. The generic
/// target of its family has too few wait states after a matrix instruction for it (LLVM 20, pull
/// requests 126132, 126727 and 126732).
const CDNA4: (&str, (u32, u32)) = ("gfx950", (7, 0));

pub(super) const FLAGS: [&str; 4] = ["-O3", "-std=c++17", "-Wno-unused-value", "-Wno-deprecated"];
const HOST_FLAGS: [&str; 3] = ["-fPIC", "-fno-exceptions", "-fno-rtti"];

/// The first HIP whose `__hip_bfloat16` is made of a float and becomes one (`amd_hip_bf16.h` of clr).
const OLDEST: (u32, u32) = (6, 2);

/// hipcc, and how the variables begin that the build reads.
pub(super) struct Compiler<'a> {
    pub(super) program: PathBuf,
    version: String,
    variables: &'a str,
}

impl<'a> Compiler<'a> {
    /// Finds hipcc and asks for its version.
    pub(super) fn find(variables: &'a str) -> Result<Self, String> {
        let program = hipcc(|name| env::var_os(name), Path::new("/opt/rocm"));
        let output = Command::new(&program)
            .arg("--version")
            .output()
            .map_err(|e| {
                format!(
                    "cannot run {}: {e}. The ROCm kernels need hipcc 6.2 or later: install it \
                     (package `hipcc` or AMD's `rocm-hip-sdk`) and put it on PATH or set HIPCC or \
                     ROCM_PATH; to build without kernels, set {variables}_KERNELS=none",
                    program.display()
                )
            })?;
        let version = String::from_utf8_lossy(&output.stdout).into_owned();
        if let Some((major, minor)) = hip_of(&version).filter(|release| *release < OLDEST) {
            return Err(format!(
                "{} is of HIP {major}.{minor}, whose __hip_bfloat16 has no conversions: the kernels \
                 need ROCm 6.2 or later; to build without kernels, set {variables}_KERNELS=none",
                program.display()
            ));
        }
        Ok(Self {
            program,
            version,
            variables,
        })
    }

    /// The architectures to compile for: those asked for, of which `native` stands for this
    /// machine's GPUs. Else the default list, with what this machine's GPUs are as well: what is
    /// built here also runs elsewhere.
    pub(super) fn archs(&self) -> Result<Vec<String>, String> {
        const NATIVE: &str = "native";
        let variable = format!("{}_ARCHS", self.variables);
        let asked = env::var(&variable).unwrap_or_default();
        let split = |c: char| c == ',' || c == ';' || c.is_whitespace();
        let mut archs: Vec<String> = asked
            .split(split)
            .filter(|arch| !arch.is_empty())
            .map(str::to_string)
            .collect();
        let wrong = |arch: &&String| !arch.starts_with("gfx") && *arch != NATIVE;
        if let Some(wrong) = archs.iter().find(wrong) {
            return Err(format!(
                "{variable} names {wrong:?}: expected architectures such as gfx90a, \
                 gfx1100 or gfx11-generic, or native, with commas between"
            ));
        }
        let known = |name: &str| env::var(name).ok();
        let of_gpus = archs_of_gpus(Path::new("/sys/class/kfd/kfd/topology/nodes"), known)?;
        if archs.is_empty() {
            let generic = DEFAULT_ARCHS.iter().all(|arch| self.knows(arch));
            let list: &[&str] = if generic {
                &DEFAULT_ARCHS
            } else {
                &DEFAULT_EXACT_ARCHS
            };
            archs = list.iter().map(|arch| arch.to_string()).collect();
            archs.extend(of_gpus.into_iter().filter(|arch| self.knows(arch)));
            let (cdna4, since) = CDNA4;
            if hip_of(&self.version).is_some_and(|release| release >= since) {
                archs.push(cdna4.to_string());
            }
        } else if archs.iter().any(|arch| arch == NATIVE) {
            if of_gpus.is_empty() {
                return Err(format!(
                    "{variable} names native, and Linux knows no AMD GPU in this machine: \
                     name architectures, or leave the variable out"
                ));
            }
            archs.retain(|arch| arch != NATIVE);
            archs.extend(of_gpus);
        }
        archs.sort();
        archs.dedup();
        Ok(archs)
    }

    /// Whether hipcc can compile for the architecture.
    fn knows(&self, arch: &str) -> bool {
        Command::new(&self.program)
            .args(["-x", "hip", "--offload-device-only", "-E", "/dev/null"])
            .arg(format!("--offload-arch={arch}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    pub(super) fn host_job(
        &self,
        sources: &Path,
        name: &str,
        extra: &[&str],
        cache: &Path,
    ) -> Result<Job, String> {
        self.job(sources, name, &[&HOST_FLAGS, extra].concat(), cache)
    }

    pub(super) fn job(
        &self,
        sources: &Path,
        name: &str,
        extra: &[&str],
        cache: &Path,
    ) -> Result<Job, String> {
        let path = sources.join(name);
        let mut arguments: Vec<String> = vec!["-c".into()];
        arguments.extend(FLAGS.iter().chain(extra).map(|flag| flag.to_string()));
        let texts: Vec<Vec<u8>> = seen_by(&path)?.into_iter().map(|(_, text)| text).collect();
        let key = hash(&(&self.version, &arguments, &path, texts));
        let name = name.replace(['/', '.'], "_");
        Ok(Job {
            program: self.program.clone(),
            output: cache.join(format!("{name}-{key:016x}.o")),
            arguments,
            source: path.to_string_lossy().into_owned(),
        })
    }
}

/// The release of HIP that hipcc says it is of, in the line `HIP version: 6.4.43484-0`.
fn hip_of(version: &str) -> Option<(u32, u32)> {
    let said = version
        .lines()
        .find_map(|line| line.strip_prefix("HIP version: "))?;
    let mut numbers = said.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// hipcc: `HIPCC`, else in `bin` of `ROCM_PATH` and of `HIP_PATH`, else on `PATH`, else in `bin` of
/// the default installation. Programs look for ROCm's libraries in the same order (`hiprc`, `loader.rs`).
fn hipcc(variable: impl Fn(&str) -> Option<OsString>, default: &Path) -> PathBuf {
    if let Some(hipcc) = variable("HIPCC").filter(|hipcc| !hipcc.is_empty()) {
        return PathBuf::from(hipcc);
    }
    let below = |root: PathBuf| root.join("bin/hipcc");
    let configured = ["ROCM_PATH", "HIP_PATH"]
        .into_iter()
        .filter_map(|name| variable(name).filter(|root| !root.is_empty()))
        .map(|root| below(PathBuf::from(root)));
    let path = variable("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|folder| folder.join("hipcc"));
    configured
        .chain(on_path)
        .chain([below(default.to_path_buf())])
        .find(|program| program.is_file())
        .unwrap_or_else(|| PathBuf::from("hipcc"))
}

/// The architectures of the GPUs that the kernel's driver knows, from the nodes of its KFD
/// topology, processors among them: the decimal digits of `gfx_target_version` are major, minor
/// (two) and stepping (two).
///
/// ROCm's runtime takes a GPU for another if `HSA_OVERRIDE_GFX_VERSION` says so, or this name with
/// `_` and the number of the GPU's node (`libhsakmt/src/topology.c` of ROCr). So programs load code
/// for that architecture.
fn archs_of_gpus(
    nodes: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<String>, String> {
    const OVERRIDE: &str = "HSA_OVERRIDE_GFX_VERSION";
    let Ok(nodes) = fs::read_dir(nodes) else {
        return Ok(Vec::new());
    };
    let mut archs = Vec::new();
    for node in nodes.flatten() {
        let properties = fs::read_to_string(node.path().join("properties")).unwrap_or_default();
        let version: Option<u32> = properties
            .lines()
            .find_map(|line| line.strip_prefix("gfx_target_version "))
            .and_then(|version| version.trim().parse().ok());
        let Some(version) = version.filter(|version| *version >= 10000) else {
            continue;
        };
        let own = format!("{OVERRIDE}_{}", node.file_name().to_string_lossy());
        let overridden = [own.as_str(), OVERRIDE]
            .into_iter()
            .find_map(|name| Some((name, variable(name).filter(|text| !text.is_empty())?)));
        let [major, minor, step] = match overridden {
            None => [version / 10000, version / 100 % 100, version % 100],
            Some((name, value)) => gfx_version(&value).ok_or_else(|| {
                format!(
                    "{name} is {value:?}: expected major, minor and stepping of an architecture, \
                     such as 10.3.0 for gfx1030"
                )
            })?,
        };
        archs.push(format!("gfx{major}{minor:x}{step:x}"));
    }
    Ok(archs)
}

/// Major, minor and stepping of a version such as `10.3.0`. Of an architecture's name the last two are
/// one hexadecimal digit each.
fn gfx_version(text: &str) -> Option<[u32; 3]> {
    let numbers: Vec<u32> = text
        .split('.')
        .map(|number| number.parse().ok())
        .collect::<Option<_>>()?;
    let version: [u32; 3] = numbers.try_into().ok()?;
    (version[0] > 0 && version[0] < 64 && version[1] < 16 && version[2] < 16).then_some(version)
}
