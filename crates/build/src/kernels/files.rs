//! Files, and what of them an object was made from.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// The files of a folder, sorted.
pub(super) fn files_in(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    Ok(files)
}

pub(super) fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The names that a source includes between two characters.
pub(super) fn includes(source: &str, open: char, close: char) -> impl Iterator<Item = &str> {
    source.lines().filter_map(move |line| {
        let directive = line.trim_start().strip_prefix('#')?.trim_start();
        let name = directive.strip_prefix("include")?.trim_start();
        Some(name.strip_prefix(open)?.split_once(close)?.0)
    })
}

/// A source and every header that it can see, to tell whether an object still stands for them.
pub(super) fn seen_by(source: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
    let mut seen: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    let mut pending = vec![source.to_path_buf()];
    while let Some(path) = pending.pop() {
        let place = path
            .canonicalize()
            .map_err(|e| format!("{}: {e}", path.display()))?;
        if seen.iter().any(|(known, _)| *known == place) {
            continue;
        }
        let text = read(&place)?;
        let source = String::from_utf8_lossy(&text).into_owned();
        let folder = path.parent().unwrap_or(Path::new(""));
        pending.extend(
            includes(&source, '"', '"')
                .map(|name| folder.join(name))
                .filter(|path| path.exists()),
        );
        seen.push((place, text));
    }
    Ok(seen)
}

pub(super) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

pub(super) fn write(path: &Path, content: &[u8]) -> Result<(), String> {
    fs::write(path, content).map_err(|e| format!("{}: {e}", path.display()))
}
