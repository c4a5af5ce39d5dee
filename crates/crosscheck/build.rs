//! Tells the sources how old the candle beside this crate is.

use std::fs;

const MANIFEST: &str = "../candle/Cargo.toml";

fn main() {
    println!("cargo::rerun-if-changed={MANIFEST}");
    println!("cargo::rustc-check-cfg=cfg(candle_0_11)");
    let manifest = fs::read_to_string(MANIFEST)
        .unwrap_or_else(|e| panic!("{MANIFEST}: {e}; put the ported tree, or a link to it, there"));
    let version = manifest
        .lines()
        .find_map(|line| line.strip_prefix("version = \""))
        .and_then(|rest| rest.split('"').next())
        .unwrap_or_else(|| panic!("{MANIFEST} names no version of the workspace"));
    let mut numbers = version.split('.').map(|n| n.parse::<u32>().unwrap_or(0));
    let (major, minor) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if (major, minor) >= (0, 11) {
        println!("cargo::rustc-cfg=candle_0_11");
    }
    println!("cargo::rustc-env=CANDLE_VERSION={version}");
}
