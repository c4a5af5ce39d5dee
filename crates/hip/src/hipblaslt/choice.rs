//! Which of the two libraries takes a product.

use super::shape::Shape;

/// The variable that says it.
pub(super) const CHOICE: &str = "HIPRC_BLAS";

/// Which library takes products of half and bf16 matrices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Choice {
    /// hipBLASLt where it is the better one:
    ///
    /// - on gfx90a, gfx942, gfx950, gfx1200 and gfx1201 all products. PyTorch prefers hipBLASLt there
    ///   (`CUDAHooks::getHipblasltPreferredArchs`);
    /// - on gfx1100, gfx1101 and gfx1151 those of a transposed `a` and a plain `b`. With these rocBLAS does 6
    ///   to 45 TFLOP/s on gfx1101, and 25 to 57 where `a` is plain (a hand port, July 2026), while hipBLASLt
    ///   is best at them (ROCm/rocm-libraries 9632), and slower than rocBLAS with a transposed `b` alone
    ///   (ROCm/TheRock 5314, gfx1151: 8 to 23 against 25 to 40 TFLOP/s).
    ///
    /// rocBLAS on all others.
    #[default]
    Auto,
    /// rocBLAS always.
    Rocblas,
    /// hipBLASLt wherever it has a solution.
    Hipblaslt,
}

impl Choice {
    /// What `HIPRC_BLAS` says: `auto`, `rocblas` or `hipblaslt`; `None` if it says something else.
    pub(crate) fn of_environment() -> Option<Self> {
        Self::said(
            std::env::var_os(CHOICE)
                .as_ref()
                .map(|v| v.to_string_lossy())
                .as_deref(),
        )
    }

    /// What is said where it says something else.
    pub(crate) fn wrong() -> String {
        let value = std::env::var_os(CHOICE).unwrap_or_default();
        let value = value.to_string_lossy();
        format!("{CHOICE} is {value}: it can be auto, rocblas or hipblaslt")
    }

    fn said(value: Option<&str>) -> Option<Self> {
        match value.unwrap_or_default() {
            "" | "auto" => Some(Self::Auto),
            "rocblas" => Some(Self::Rocblas),
            "hipblaslt" => Some(Self::Hipblaslt),
            _ => None,
        }
    }

    /// Whether hipBLASLt shall take products of a shape on an architecture.
    pub(super) fn takes(self, arch: &str, shape: &Shape) -> bool {
        match self {
            Self::Rocblas => false,
            Self::Hipblaslt => true,
            Self::Auto => match arch {
                "gfx90a" | "gfx942" | "gfx950" | "gfx1200" | "gfx1201" => true,
                "gfx1100" | "gfx1101" | "gfx1151" => shape.is_along_k(),
                _ => false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::Operand;
    use super::super::sys::hipDataType;
    use super::*;

    #[test]
    fn the_environment_has_three_words() {
        for (value, choice) in [
            (None, Some(Choice::Auto)),
            (Some(""), Some(Choice::Auto)),
            (Some("auto"), Some(Choice::Auto)),
            (Some("rocblas"), Some(Choice::Rocblas)),
            (Some("hipblaslt"), Some(Choice::Hipblaslt)),
            (Some("hipBLASLt"), None),
        ] {
            assert_eq!(Choice::said(value), choice, "{value:?}");
        }
    }

    #[test]
    fn the_architecture_and_the_layout_decide() {
        let shape = |a, b| {
            let operand = |transposed| Operand {
                transposed,
                leading: 8,
                stride: 64,
            };
            Shape {
                kind: hipDataType::HIP_R_16F,
                m: 8,
                n: 8,
                k: 8,
                a: operand(a),
                b: operand(b),
                c: operand(false),
                batch: 1,
            }
        };
        for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
            for arch in ["gfx90a", "gfx942", "gfx950", "gfx1200", "gfx1201"] {
                assert!(Choice::Auto.takes(arch, &shape(a, b)));
            }
            for arch in ["gfx1100", "gfx1101", "gfx1151"] {
                assert_eq!(Choice::Auto.takes(arch, &shape(a, b)), a && !b);
            }
            for arch in ["gfx906", "gfx908", "gfx1030", "gfx1102", ""] {
                assert!(!Choice::Auto.takes(arch, &shape(a, b)));
                assert!(Choice::Hipblaslt.takes(arch, &shape(a, b)));
            }
            assert!(!Choice::Rocblas.takes("gfx942", &shape(a, b)));
        }
    }
}
