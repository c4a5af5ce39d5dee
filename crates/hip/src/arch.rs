//! Names of GPU architectures.

use std::fmt;
use std::str::FromStr;

/// An architecture as ROCm's tools and libraries write it, such as `gfx90a`.
///
/// The name is one of LLVM's processor names: `gfx`, the major version in decimal, the minor
/// version and the stepping as one hexadecimal digit each; or a generic target that stands for a
/// family, such as `gfx11-generic` or `gfx9-4-generic`. Names that are not known yet are taken
/// apart by the same rule. HIP appends target features (`gfx90a:sramecc+:xnack-`), which are not
/// part of the name.
///
/// <https://llvm.org/docs/AMDGPUUsage.html#processors>
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GfxArch {
    name: String,
    major: u32,
    minor: Option<u32>,
    stepping: Option<u32>,
}

impl GfxArch {
    /// The name without target features: `gfx90a`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The major version: 9 for `gfx90a`, 11 for `gfx1100`.
    pub fn major(&self) -> u32 {
        self.major
    }

    /// The minor version: 0 for `gfx90a`, 4 for `gfx942`; `None` for a target that stands for
    /// several.
    pub fn minor(&self) -> Option<u32> {
        self.minor
    }

    /// The stepping: 10 for `gfx90a`, 1 for `gfx1151`; `None` for a generic target.
    pub fn stepping(&self) -> Option<u32> {
        self.stepping
    }

    /// The lanes of a wavefront in a kernel that is compiled without further options: 64 up to
    /// gfx9 (GCN and CDNA), 32 from gfx10 on (RDNA).
    pub fn wavefront_size(&self) -> u32 {
        if self.major < 10 {
            64
        } else {
            32
        }
    }

    /// Whether code that was compiled for a target runs on this architecture: for the architecture
    /// itself, with whatever target features, or for a generic target that covers it.
    pub fn runs(&self, target: &str) -> bool {
        let target = target.split(':').next().unwrap_or_default();
        target == self.name
            || GENERIC
                .iter()
                .any(|(generic, covered)| *generic == target && covered.contains(&&*self.name))
    }

    /// Whether code for the generic target of its family must not run on this architecture, though
    /// HIP loads it.
    ///
    /// gfx950 needs one wait state more than gfx942 between a matrix instruction and what reads its
    /// result. LLVM adds it for gfx950 and not for `gfx9-4-generic` (LLVM 21,
    /// `GCNHazardRecognizer.cpp`; pull requests 126132, 126727 and 126732).
    pub(crate) fn needs_its_own(&self) -> bool {
        self.name == "gfx950"
    }
}

/// LLVM's generic targets and the processors that they cover (LLVM 21, "User Guide for AMDGPU
/// Backend", table "AMDGPU Generic Processors"). It has gfx950 under `gfx9-4-generic`, whose code
/// waits too short there: see [`GfxArch::needs_its_own`].
const GENERIC: [(&str, &[&str]); 6] = [
    (
        "gfx9-generic",
        &["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"],
    ),
    ("gfx9-4-generic", &["gfx940", "gfx941", "gfx942"]),
    (
        "gfx10-1-generic",
        &["gfx1010", "gfx1011", "gfx1012", "gfx1013"],
    ),
    (
        "gfx10-3-generic",
        &[
            "gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036",
        ],
    ),
    (
        "gfx11-generic",
        &[
            "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153",
        ],
    ),
    ("gfx12-generic", &["gfx1200", "gfx1201"]),
];

impl fmt::Display for GfxArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl FromStr for GfxArch {
    type Err = ParseArchError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.split(':').next().unwrap_or_default();
        let (major, minor, stepping) =
            numbers(name).ok_or_else(|| ParseArchError(text.to_string()))?;
        Ok(Self {
            name: name.to_string(),
            major,
            minor,
            stepping,
        })
    }
}

/// Major version, minor version and stepping of a name.
fn numbers(name: &str) -> Option<(u32, Option<u32>, Option<u32>)> {
    let version = name.strip_prefix("gfx")?;
    if let Some(family) = version.strip_suffix("-generic") {
        let (major, minor) = match family.split_once('-') {
            Some((major, minor)) => (major, Some(decimal(minor)?)),
            None => (family, None),
        };
        return Some((decimal(major)?, minor, None));
    }
    let mut digits = version.chars();
    let stepping = digits.next_back()?.to_digit(16)?;
    let minor = digits.next_back()?.to_digit(16)?;
    Some((decimal(digits.as_str())?, Some(minor), Some(stepping)))
}

/// The value of decimal digits and nothing else; `str::parse` takes a sign as well.
fn decimal(digits: &str) -> Option<u32> {
    let only_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    only_digits.then(|| digits.parse().ok()).flatten()
}

/// A text that is not the name of an architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseArchError(String);

impl fmt::Display for ParseArchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'{}' is not a GPU architecture such as gfx90a or gfx1100",
            self.0
        )
    }
}

impl std::error::Error for ParseArchError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Versions as LLVM's table of processors lists them.
    #[test]
    fn processors() {
        for (name, major, minor, stepping, lanes) in [
            ("gfx803", 8, 0, 3, 64),
            ("gfx906", 9, 0, 6, 64),
            ("gfx908", 9, 0, 8, 64),
            ("gfx90a", 9, 0, 10, 64),
            ("gfx90c", 9, 0, 12, 64),
            ("gfx942", 9, 4, 2, 64),
            ("gfx950", 9, 5, 0, 64),
            ("gfx1010", 10, 1, 0, 32),
            ("gfx1030", 10, 3, 0, 32),
            ("gfx1100", 11, 0, 0, 32),
            ("gfx1151", 11, 5, 1, 32),
            ("gfx1200", 12, 0, 0, 32),
            ("gfx1201", 12, 0, 1, 32),
            ("gfx1250", 12, 5, 0, 32),
        ] {
            let arch: GfxArch = name.parse().unwrap();
            assert_eq!(arch.to_string(), name);
            assert_eq!(
                (arch.major(), arch.minor(), arch.stepping()),
                (major, Some(minor), Some(stepping)),
                "{name}"
            );
            assert_eq!(arch.wavefront_size(), lanes, "{name}");
        }
    }

    #[test]
    fn target_features_are_dropped() {
        let arch: GfxArch = "gfx90a:sramecc+:xnack-".parse().unwrap();
        assert_eq!(arch.name(), "gfx90a");
        assert_eq!(arch, "gfx90a".parse().unwrap());
    }

    #[test]
    fn generic_targets() {
        for (name, major, minor, lanes) in [
            ("gfx9-generic", 9, None, 64),
            ("gfx9-4-generic", 9, Some(4), 64),
            ("gfx10-3-generic", 10, Some(3), 32),
            ("gfx11-generic", 11, None, 32),
            ("gfx12-generic", 12, None, 32),
        ] {
            let arch: GfxArch = name.parse().unwrap();
            assert_eq!(
                (arch.major(), arch.minor(), arch.stepping()),
                (major, minor, None)
            );
            assert_eq!(arch.wavefront_size(), lanes);
        }
    }

    #[test]
    fn code_runs_on_its_own_architecture_and_on_what_a_generic_target_covers() {
        let arch = |name: &str| name.parse::<GfxArch>().unwrap();
        assert!(arch("gfx90a").runs("gfx90a"));
        assert!(arch("gfx90a:sramecc+:xnack-").runs("gfx90a:xnack-"));
        assert!(arch("gfx942").runs("gfx9-4-generic"));
        assert!(arch("gfx1036").runs("gfx10-3-generic"));
        assert!(arch("gfx1151").runs("gfx11-generic"));
        assert!(arch("gfx1201").runs("gfx12-generic"));
        assert!(arch("gfx950").needs_its_own() && !arch("gfx942").needs_its_own());
        for (name, target) in [
            ("gfx90a", "gfx9-generic"),
            ("gfx90a", "gfx9-4-generic"),
            ("gfx950", "gfx9-4-generic"),
            ("gfx1030", "gfx1031"),
            ("gfx1030", "gfx10-1-generic"),
            ("gfx1250", "gfx12-generic"),
            ("gfx1100", ""),
        ] {
            assert!(!arch(name).runs(target), "{name} {target}");
        }
    }

    #[test]
    fn other_texts_are_errors() {
        for text in [
            "",
            "gfx",
            "gfx9",
            "gfx90",
            "sm_80",
            "gfx90x",
            "gfx+900",
            "gfx-generic",
            "gfx+9-generic",
        ] {
            let error = text.parse::<GfxArch>().unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("'{text}' is not a GPU architecture such as gfx90a or gfx1100")
            );
        }
    }
}
