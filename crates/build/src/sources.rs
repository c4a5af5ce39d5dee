//! Makes HIP sources of the CUDA sources of another crate, which stay as they are: what AMD needs
//! otherwise is a macro in `src/hipx_names.h`, or stands in `src/cuda.patch`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the sources are in a package of the crate that compiles them.
const PACKAGED: &str = "cuda";

const NAMES: &str = "hipx_names.h";
const PATCH: &str = "src/cuda.patch";

/// The CUDA sources, and what goes with them.
pub struct Sources<'a> {
    /// The folder of their crate in the workspace, seen from the crate that compiles them.
    pub workspace: &'a str,
    /// What is included for each header of CUDA's.
    pub headers: &'a [(&'a str, &'a str)],
    /// Files that are beside the sources, and in neither crate: name and text.
    pub device: &'a [(&'a str, &'a str)],
}

impl Sources<'_> {
    /// Writes what hipcc compiles into a folder of the build, and returns it.
    pub fn assemble(&self, out_dir: &Path) -> Result<PathBuf, String> {
        let cuda = self.find()?;
        println!("cargo::rerun-if-changed={}", cuda.display());
        let sources = out_dir.join("sources");
        if sources.exists() {
            fs::remove_dir_all(&sources).map_err(|e| format!("{}: {e}", sources.display()))?;
        }
        let mut changes = changes(&read(Path::new(PATCH))?);
        let names = read(&Path::new("src").join(NAMES))?;
        let bounds = bounds(&names);
        let of_cuda = |path: &String| path.ends_with(".cu") || path.ends_with(".cuh");
        let mut found = files_below(&cuda.join("src"), Path::new(""))?;
        found.retain(of_cuda);
        for path in found {
            let text = read(&cuda.join("src").join(&path))?;
            let text = patched(&path, text, changes.remove(&path).unwrap_or_default())?;
            let up = "../".repeat(path.matches('/').count());
            let text = self.with_headers_of_hip(&text, &up);
            let text = with_bounds(&text, &bounds);
            match path.strip_suffix(".cu") {
                Some(stem) => {
                    let place = cuda.join("src").join(&path);
                    let head = format!("#include \"{up}{NAMES}\"\n#line 1 {place:?}\n");
                    write(&sources.join(format!("{stem}.hip")), &(head + &text))?;
                }
                None => write(&sources.join(&path), &text)?,
            }
        }
        if let Some(path) = changes.keys().next() {
            return Err(format!(
                "{PATCH} changes src/{path}, which is not in {}",
                cuda.display()
            ));
        }
        for (name, text) in self.device {
            write(&sources.join(name), text)?;
        }
        let src = Path::new("src");
        for path in files_below(src, Path::new(""))? {
            if [".h", ".hip", ".cpp"]
                .iter()
                .any(|suffix| path.ends_with(suffix))
            {
                write(&sources.join(&path), &read(&src.join(&path))?)?;
            }
        }
        Ok(sources)
    }

    /// Writes `ffi.rs` into a folder of the build: the launchers that the CUDA side's declares, by the
    /// macro `launchers!` of the HIP bindings.
    ///
    /// `variables` is that of [`Kernels`](crate::Kernels). Where this is included, `crate::built` has
    /// what `built.rs` has.
    pub fn declare(&self, bindings: &str, variables: &str, out_dir: &Path) -> Result<(), String> {
        let place = self.find()?.join("src/ffi.rs");
        let text = read(&place)?;
        let block = text
            .split_once("extern \"C\" {\n")
            .and_then(|(_, block)| block.split_once("\n}"));
        let (block, _) =
            block.ok_or_else(|| format!("{} has no extern \"C\" block", place.display()))?;
        let lines = block
            .lines()
            .filter(|line| !line.trim_start().starts_with("#[cfg(feature"));
        let declared: String = lines.map(|line| format!("{line}\n")).collect();
        let prefix = format!("{}_", variables.to_lowercase());
        let head = format!("{prefix:?}, crate::built::ARCHS, crate::built::ADVICE;");
        let made = format!("{bindings}::launchers! {{\n{head}\n{declared}}}\n");
        write(&out_dir.join("ffi.rs"), &made)
    }

    /// The folder of the CUDA side's crate.
    fn find(&self) -> Result<PathBuf, String> {
        let mut places = [PACKAGED, self.workspace].map(PathBuf::from).into_iter();
        places
            .find(|folder| folder.join("src").is_dir())
            .ok_or_else(|| {
                format!(
            "the CUDA sources are neither in {} nor in {}: build in the workspace, or copy its \
             {} here before the crate is packaged",
            PACKAGED, self.workspace, self.workspace
        )
            })
    }

    /// A source that includes HIP's headers for CUDA's.
    fn with_headers_of_hip(&self, text: &str, up: &str) -> String {
        let lines = text.split_inclusive('\n').map(|line| {
            let Some((name, quoted)) = included(line) else {
                return line.to_string();
            };
            if let (Some(stem), true) = (name.strip_suffix(".cu"), quoted) {
                return line.replace(name, &format!("{stem}.hip"));
            }
            match self.headers.iter().find(|(cuda, _)| *cuda == name) {
                Some((_, own)) if own.starts_with("hipx") => format!("#include \"{up}{own}\"\n"),
                Some((_, hip)) => format!("#include <{hip}>\n"),
                None => line.to_string(),
            }
        });
        lines.collect()
    }
}

/// One part of the patch: the lines that stand in the source, those that take their place, and the
/// line of the patch that it begins at.
#[derive(Clone, Default)]
struct Change {
    old: Vec<String>,
    new: Vec<String>,
    line: usize,
}

/// The parts of a unified diff, by the file that they change.
fn changes(patch: &str) -> BTreeMap<String, Vec<Change>> {
    // Files that are changed alike share their parts.
    let mut found: Vec<(Vec<String>, Vec<Change>)> = Vec::new();
    let mut before = '@';
    for (number, line) in patch.split_inclusive('\n').enumerate() {
        if line.starts_with("--- a/src/") {
            found.push((Vec::new(), Vec::new()));
            continue;
        }
        let Some((paths, changes)) = found.last_mut() else {
            continue;
        };
        if let Some(name) = line.strip_prefix("+++ b/src/") {
            paths.push(name.trim_end().to_string());
            continue;
        }
        if line.starts_with("@@ ") {
            let line = number + 1;
            changes.push(Change {
                line,
                ..Change::default()
            });
        } else if let Some(change) = changes.last_mut() {
            let mut text = line.chars();
            let kind = text.next().unwrap_or(' ');
            // What the line is about: a line without an end is told of by one after it.
            let about = if kind == '\\' { before } else { kind };
            for (side, other) in [(&mut change.old, '+'), (&mut change.new, '-')] {
                match side.last_mut() {
                    _ if about == other => {}
                    Some(last) if kind == '\\' => last.truncate(last.trim_end().len()),
                    _ => side.push(text.as_str().to_string()),
                }
            }
            before = kind;
        }
    }
    let each = |(paths, changes): (Vec<String>, Vec<Change>)| {
        let paths = paths.into_iter();
        paths.map(move |path| (path, changes.clone()))
    };
    found.into_iter().flat_map(each).collect()
}

/// A source with its changes, each of which must meet what it was made for, and that once.
fn patched(path: &str, text: String, changes: Vec<Change>) -> Result<String, String> {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_string).collect();
    for change in changes {
        let old = change.old.len();
        let places = (0..(lines.len() + 1).saturating_sub(old))
            .filter(|&first| lines[first..first + old] == change.old[..]);
        let places: Vec<usize> = places.collect();
        let [first] = places[..] else {
            return Err(format!(
                "{PATCH}, line {}: {path} has {} places like this instead of one, so it was edited \
                 since: make the patch anew, or edit it",
                change.line,
                places.len()
            ));
        };
        lines.splice(first..first + old, change.new);
    }
    Ok(lines.concat())
}

/// The launch bounds that the header of names has for kernels: how many threads, and a name, in which
/// `*` stands for what there is up to the next `_`.
fn bounds(names: &str) -> Vec<(&str, &str)> {
    let said = names
        .lines()
        .filter_map(|line| line.strip_prefix("#pragma hipx bounds "));
    said.filter_map(|rest| rest.split_once(' ')).collect()
}

/// A source whose kernels have their launch bounds.
fn with_bounds(text: &str, bounds: &[(&str, &str)]) -> String {
    const KERNEL: &str = "__global__";
    let mut parts = text.split(KERNEL);
    let mut made = parts.next().unwrap_or_default().to_string();
    for part in parts {
        made += KERNEL;
        let found = kernel_named(part)
            .and_then(|name| bounds.iter().find(|(_, pattern)| is_like(name, pattern)));
        if let Some((threads, _)) = found {
            made += &format!(" __launch_bounds__({threads})");
        }
        made += part;
    }
    made
}

/// The name of a kernel without launch bounds, from what stands behind `__global__`.
fn kernel_named(text: &str) -> Option<&str> {
    let rest = text.trim_start().strip_prefix("void")?;
    let name = rest.trim_start();
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    (name.len() < rest.len() && name[end..].starts_with('(')).then_some(&name[..end])
}

/// Whether a name is like a pattern, word by word; a `*` is at the end of a word.
fn is_like(name: &str, pattern: &str) -> bool {
    let (names, patterns) = (name.split('_'), pattern.split('_'));
    names.clone().count() == patterns.clone().count()
        && names
            .zip(patterns)
            .all(|(word, said)| match said.strip_suffix('*') {
                Some(beginning) => word.starts_with(beginning),
                None => word == said,
            })
}

/// The header that a line includes, and whether its name stands in quotes.
fn included(line: &str) -> Option<(&str, bool)> {
    let directive = line.trim_start().strip_prefix('#')?.trim_start();
    let name = directive.strip_prefix("include")?.trim_start();
    let quoted = name.starts_with('"');
    let name = name.strip_prefix(['"', '<'])?;
    let end = name.find(['"', '>'])?;
    Some((&name[..end], quoted))
}

/// The files below a folder, by their path there, sorted.
fn files_below(root: &Path, below: &Path) -> Result<Vec<String>, String> {
    let folder = root.join(below);
    let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| e.to_string())?;
        let path = below.join(entry.file_name());
        if entry.path().is_dir() {
            found.extend(files_below(root, &path)?);
        } else {
            found.push(path.to_string_lossy().replace('\\', "/"));
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, text))
        .map_err(|e| format!("{}: {e}", path.display()))
}
