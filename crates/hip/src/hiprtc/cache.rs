//! Code objects that were compiled on this machine before.

use crate::driver::is_code_object;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of code objects. Where there is none, or where it cannot be written, everything is
/// compiled anew and nothing fails.
///
/// A file is written beside its place and renamed: several programs may do so at once, and one
/// that is killed leaves nothing that another takes for a code object. All of it may be deleted at
/// any time.
pub(super) struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// The user's.
    pub(super) fn of_user() -> Self {
        Self {
            folder: folder(|name| std::env::var_os(name)),
        }
    }

    /// The code object with a name, if there is one.
    pub(super) fn get(&self, name: &str) -> Option<Vec<u8>> {
        let image = fs::read(self.folder.as_ref()?.join(name)).ok()?;
        is_code_object(&image).then_some(image)
    }

    /// Keeps a code object, if it can be kept.
    pub(super) fn put(&self, name: &str, image: &[u8]) {
        if let Some(folder) = &self.folder {
            // The program has what it wanted; only the next one has to compile again.
            let _ = store(folder, name, image);
        }
    }
}

fn store(folder: &Path, name: &str, image: &[u8]) -> io::Result<()> {
    static WRITTEN: AtomicU32 = AtomicU32::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    fs::create_dir_all(folder)?;
    let part = folder.join(format!("{name}.{}.{number}.part", std::process::id()));
    let written = fs::File::create(&part)
        .and_then(|mut file| file.write_all(image))
        .and_then(|()| fs::rename(&part, folder.join(name)));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

/// This crate's folder among the user's caches, as each platform has them (on Linux: "XDG Base
/// Directory Specification", by which a path that is not absolute does not count).
fn folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path = |name| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let caches = if cfg!(windows) {
        path("LOCALAPPDATA")?
    } else {
        path("XDG_CACHE_HOME").or_else(|| Some(path("HOME")?.join(".cache")))?
    };
    Some(caches.join(env!("CARGO_PKG_NAME")))
}

/// A number for texts: those that differ have different ones, as far as chance goes, on every
/// machine and with every compiler of this crate. FNV-1a of 128 bits, each text with its length
/// before it (<http://www.isthe.com/chongo/tech/comp/fnv/>).
pub(super) fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> u128 {
    const BASIS: u128 = 0x6c62272e07bb014262b821756295c58d;
    const PRIME: u128 = 0x0000000001000000000000000000013b;
    let mut hash = BASIS;
    let mut take = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u128::from(byte)).wrapping_mul(PRIME);
        }
    };
    for text in texts {
        take(&(text.len() as u64).to_le_bytes());
        take(text.as_bytes());
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_apart() {
        let all = [
            digest([]),
            digest([""]),
            digest(["ab", "c"]),
            digest(["a", "bc"]),
            digest(["abc"]),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(!all[..index].contains(one), "{index}");
        }
        assert_eq!(digest(["ab", "c"]), all[2]);
        // The published value for no bytes at all is the basis.
        assert_eq!(all[0], 0x6c62272e07bb014262b821756295c58d);
    }

    #[test]
    #[cfg(unix)]
    fn the_folder_is_the_users() {
        let set = |name: &'static str, value: &'static str| {
            move |asked: &str| (asked == name).then(|| OsString::from(value))
        };
        let own = env!("CARGO_PKG_NAME");
        assert_eq!(
            folder(set("XDG_CACHE_HOME", "/caches")),
            Some(Path::new("/caches").join(own))
        );
        assert_eq!(
            folder(set("HOME", "/home/me")),
            Some(Path::new("/home/me/.cache").join(own))
        );
        assert_eq!(folder(set("XDG_CACHE_HOME", "caches")), None);
        assert_eq!(folder(|_| None), None);
    }

    #[test]
    fn what_is_no_code_object_is_not_taken() {
        let folder = std::env::temp_dir().join(format!("{}-cache", std::process::id()));
        let cache = Cache {
            folder: Some(folder.clone()),
        };
        assert_eq!(cache.get("k.hsaco"), None);
        cache.put("k.hsaco", b"not an image");
        assert_eq!(cache.get("k.hsaco"), None);
        cache.put("k.hsaco", b"__CLANG_OFFLOAD_BUNDLE__");
        assert_eq!(
            cache.get("k.hsaco").as_deref(),
            Some(&b"__CLANG_OFFLOAD_BUNDLE__"[..])
        );
        let files: Vec<_> = fs::read_dir(&folder).unwrap().flatten().collect();
        assert_eq!(files.len(), 1, "{files:?}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_failure() {
        let file = std::env::temp_dir().join(format!("{}-no-folder", std::process::id()));
        fs::write(&file, b"").unwrap();
        for folder in [None, Some(file.join("inside"))] {
            let cache = Cache { folder };
            cache.put("k.hsaco", b"CCOB");
            assert_eq!(cache.get("k.hsaco"), None);
        }
        fs::remove_file(file).unwrap();
    }
}
