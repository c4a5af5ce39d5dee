//! The static library of the launchers.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::files::write;
use super::jobs::Job;

/// Puts the host objects into the static library and tells cargo what to link.
pub(super) fn link(jobs: &[Job], out_dir: &Path, prefix: &str) -> Result<(), String> {
    let name = format!("{prefix}launchers");
    let file = &format!("lib{name}.a");
    let library = out_dir.join(file);
    if library.exists() {
        fs::remove_file(&library).map_err(|e| format!("{}: {e}", library.display()))?;
    }
    // The tools run in its folder, so that no path stands in what nm prints.
    let objects = jobs.iter().map(|job| fs::canonicalize(&job.output));
    let objects: Vec<PathBuf> = objects
        .collect::<Result<_, _>>()
        .map_err(|e| e.to_string())?;
    let mut archive = tool("AR", "ar", out_dir);
    printed(archive.args(["crs", file]).args(objects))?;
    set_apart(file, out_dir, prefix)?;
    println!("cargo::rustc-link-search=native={}", out_dir.display());
    println!("cargo::rustc-link-lib=static={name}");
    Ok(())
}

/// Sees that the tools of binutils run, which are needed last.
pub(super) fn check_tools(folder: &Path) -> Result<(), String> {
    for (variable, name) in [("AR", "ar"), ("NM", "nm"), ("OBJCOPY", "objcopy")] {
        printed(tool(variable, name, folder).arg("--version"))?;
    }
    Ok(())
}

/// Gives each name that a static library defines a prefix.
///
/// The sources stand for others of the same names, and a program for both vendors has the library of
/// those too. The linker would take one side's functions for both, and refuse two kernels of one
/// name: of a kernel the host has a function on the other side, and a variable here. The objects
/// tell what the sources do not: templates, and what a compiler adds. On the device every kernel
/// keeps its name.
fn set_apart(library: &str, folder: &Path, prefix: &str) -> Result<(), String> {
    let mut list = tool("NM", "nm", folder);
    let list = printed(list.args(["--defined-only", "--extern-only", "--format=posix", library]))?;
    // A name and its type, or a member of the library alone, or nothing.
    let names: BTreeSet<&str> = list
        .lines()
        .filter_map(|line| Some(line.split_once(' ')?.0))
        .collect();
    let renamed: String = names
        .iter()
        .map(|name| format!("{name} {prefix}{name}\n"))
        .collect();
    let map = folder.join("names.txt");
    write(&map, renamed.as_bytes())?;
    let mut rename = tool("OBJCOPY", "objcopy", folder);
    printed(rename.args(["--redefine-syms=names.txt", library]))?;
    Ok(())
}

/// A tool of binutils, or what a variable names in its place, to be run in a folder.
fn tool(variable: &str, name: &str, folder: &Path) -> Command {
    let mut command = Command::new(env::var_os(variable).unwrap_or_else(|| name.into()));
    command.current_dir(folder).stderr(Stdio::inherit());
    command
}

/// Runs a tool of binutils, and returns what it prints.
fn printed(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command
        .output()
        .map_err(|e| format!("{name}: {e}; install binutils, or set AR, NM and OBJCOPY"))?;
    if !done.status.success() {
        return Err(format!("{name} failed: {}", done.status));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}
