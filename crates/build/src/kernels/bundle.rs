//! Code objects of several architectures in one file.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::compiler::Compiler;
use super::files::{file_name, hash, read, write};
use super::jobs::Job;

/// Bundles code objects so that the HIP driver finds the one for its device.
pub(super) struct Bundler {
    /// Clang's own program, if bundles are to be compressed.
    program: Option<PathBuf>,
}

impl Bundler {
    /// Bundles are compressed only if somebody asks for it: not every release of HIP loads them.
    /// Debian's 6.4.3 accepts one and finds no kernel in it.
    ///
    /// The program is the one that hipcc names: there, beside hipcc or on PATH.
    pub(super) fn find(compiler: &Compiler, variables: &str, cache: &Path) -> Result<Self, String> {
        const NAME: &str = "clang-offload-bundler";
        match env::var(format!("{variables}_COMPRESS")).as_deref() {
            Ok("0" | "") | Err(_) => return Ok(Self { program: None }),
            Ok("1") => {}
            Ok(other) => {
                return Err(format!(
                "{variables}_COMPRESS is {other:?}: set it to \"1\" for compressed bundles, or to \
                     \"0\" or leave it out for bundles that every HIP runtime reads"
            ))
            }
        }
        let named = Command::new(&compiler.program)
            .arg(format!("--print-prog-name={NAME}"))
            .output();
        let named = named.map_or_else(
            |_| PathBuf::new(),
            |output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()),
        );
        let program = [named, compiler.program.with_file_name(NAME)]
            .into_iter()
            .find(|program| program.is_absolute() && program.is_file())
            .unwrap_or_else(|| PathBuf::from(NAME));
        let probe = cache.join(format!("probe.{}.hipfb", std::process::id()));
        let compresses = compress(&program, &[], &probe).is_some();
        let _ = fs::remove_file(probe);
        if !compresses {
            return Err(format!(
                "{variables}_COMPRESS is \"1\", and {} has no {NAME} that compresses as HIP reads it: \
                 leave the variable out",
                compiler.program.display()
            ));
        }
        Ok(Self {
            program: Some(program),
        })
    }

    /// The bundle of the jobs' outputs, in a file of the cache.
    pub(super) fn bundle(
        &self,
        archs: &[String],
        jobs: &[Job],
        cache: &Path,
    ) -> Result<PathBuf, String> {
        let outputs: Vec<&Path> = jobs.iter().map(|job| job.output.as_path()).collect();
        let names: Vec<String> = outputs.iter().map(|path| file_name(path)).collect();
        let kind = self.program.as_ref().map_or("plain", |_| "compressed");
        let to = cache.join(format!("{:016x}-{kind}.hipfb", hash(&(names, archs))));
        if to.exists() {
            return Ok(to);
        }
        // Renamed when it is whole: another build may share the cache.
        let part = to.with_extension(format!("{}.part", std::process::id()));
        let entries: Vec<(&str, &Path)> = archs.iter().map(String::as_str).zip(outputs).collect();
        match &self.program {
            None => write(&part, &plain_bundle(&entries)?)?,
            Some(program) => compress(program, &entries, &part)
                .ok_or_else(|| format!("{} writes no bundle", program.display()))?,
        }
        fs::rename(&part, &to).map_err(|e| format!("{}: {e}", to.display()))?;
        Ok(to)
    }
}

/// Writes a compressed bundle, if the program writes a kind that says how long it is (Clang
/// documentation, "Clang Offload Bundler", "Compression and Decompression": version 2 of the header,
/// which is the first that HIP reads).
fn compress(program: &Path, entries: &[(&str, &Path)], to: &Path) -> Option<()> {
    let mut targets = vec![HOST_ENTRY.to_string()];
    let mut inputs = vec!["-input=/dev/null".to_string()];
    for (arch, path) in entries {
        targets.push(entry_id(arch));
        inputs.push(format!("-input={}", path.display()));
    }
    let status = Command::new(program)
        .args(["-type=o", "-bundle-align=4096", "-compress"])
        .arg(format!("-targets={}", targets.join(",")))
        .args(inputs)
        .arg(format!("-output={}", to.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let written = status.is_ok_and(|status| status.success());
    let bundle = written.then(|| fs::read(to).ok()).flatten()?;
    let version = u16::from_le_bytes(bundle.get(4..6)?.try_into().ok()?);
    (bundle.starts_with(b"CCOB") && version >= 2).then_some(())
}

const HOST_ENTRY: &str = "host-x86_64-unknown-linux-gnu-";

fn entry_id(arch: &str) -> String {
    format!("hipv4-amdgcn-amd-amdhsa--{arch}")
}

/// Clang's offload bundle, uncompressed (Clang documentation, "Clang Offload Bundler", "Bundled
/// Binary File Layout").
fn plain_bundle(entries: &[(&str, &Path)]) -> Result<Vec<u8>, String> {
    const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
    const ALIGN: usize = 4096;
    let mut all = vec![(HOST_ENTRY.to_string(), Vec::new())];
    for (arch, path) in entries {
        all.push((entry_id(arch), read(path)?));
    }
    let header: usize = MAGIC.len() + 8 + all.iter().map(|(id, _)| 24 + id.len()).sum::<usize>();
    let mut offset = header.next_multiple_of(ALIGN);
    let mut head = MAGIC.to_vec();
    let mut body = Vec::new();
    head.extend((all.len() as u64).to_le_bytes());
    for (id, code) in &all {
        for number in [offset, code.len(), id.len()] {
            head.extend((number as u64).to_le_bytes());
        }
        head.extend(id.as_bytes());
        body.extend(code);
        let end = (offset + code.len()).next_multiple_of(ALIGN);
        body.resize(body.len() + end - offset - code.len(), 0);
        offset = end;
    }
    head.resize(header.next_multiple_of(ALIGN), 0);
    head.extend(body);
    Ok(head)
}

/// The name of a kernel of a code object; empty if it has none. Each has a descriptor, whose symbol is
/// the kernel's name with `.kd` behind it (LLVM, "User Guide for AMDGPU Backend", "Symbols").
pub(super) fn kernel_of(object: &[u8]) -> String {
    const END: &[u8] = b".kd\0";
    let at = object.windows(END.len()).position(|bytes| bytes == END);
    let before = &object[..at.unwrap_or(0)];
    let begin = before
        .iter()
        .rposition(|&byte| byte == 0)
        .map_or(0, |end| end + 1);
    let name = String::from_utf8_lossy(&before[begin..]).into_owned();
    let is_name = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "_.$".contains(c));
    if is_name {
        name
    } else {
        String::new()
    }
}
