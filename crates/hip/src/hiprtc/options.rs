/// How kernels are compiled. What is `None` is left to the compiler.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub struct CompileOptions {
    /// Whether numbers too small for the exponent become zero.
    pub ftz: Option<bool>,
    /// Whether square roots are rounded correctly. hipRTC has one switch for square roots and
    /// divisions: they are if either is to be.
    pub prec_sqrt: Option<bool>,
    /// Whether divisions are rounded correctly; see [`prec_sqrt`](Self::prec_sqrt).
    pub prec_div: Option<bool>,
    /// Whether a product and a sum may be rounded as one.
    pub fmad: Option<bool>,
    /// Options for the compiler, as they are.
    pub options: Vec<String>,
    /// As NVIDIA's compiler has it: `ftz` and `fmad` on, `prec_sqrt` and `prec_div` off, each
    /// unless it is set itself. Infinities and NaNs stay what they are.
    pub use_fast_math: Option<bool>,
    /// Not made use of: hipRTC sets the number of registers from a kernel's `__launch_bounds__`.
    pub maxrregcount: Option<usize>,
    /// Folders to search for headers.
    pub include_paths: Vec<String>,
    /// The architecture to compile for; that of the calling thread's device if `None` or empty.
    pub arch: Option<&'static str>,
    /// The name of the program in messages.
    pub name: Option<String>,
}

impl CompileOptions {
    /// The options as the compiler takes them.
    pub(super) fn build(self) -> Vec<String> {
        let fast = self.use_fast_math.filter(|&fast| fast);
        let exact = fast.map(|fast| !fast);
        let ftz = self.ftz.or(fast);
        let prec_sqrt = self.prec_sqrt.or(exact);
        let prec_div = self.prec_div.or(exact);
        let precise = match (prec_sqrt, prec_div) {
            (None, None) => None,
            (sqrt, div) => Some(sqrt.unwrap_or(true) || div.unwrap_or(true)),
        };
        let switch = |name: &str, on: Option<bool>| {
            on.map(|on| format!("-f{}{name}", if on { "" } else { "no-" }))
        };
        let contract = self
            .fmad
            .or(fast)
            .map(|fmad| if fmad { "fast" } else { "off" });

        let mut options = Vec::new();
        let arch = self.arch.filter(|arch| !arch.is_empty());
        options.extend(arch.map(|arch| format!("--offload-arch={arch}")));
        options.extend(switch("gpu-flush-denormals-to-zero", ftz));
        options.extend(switch("hip-fp32-correctly-rounded-divide-sqrt", precise));
        options.extend(contract.map(|contract| format!("-ffp-contract={contract}")));
        options.extend(
            self.include_paths
                .into_iter()
                .map(|path| format!("-I{path}")),
        );
        options.extend(self.options);
        options
    }
}

#[cfg(test)]
mod tests {
    use super::CompileOptions;

    #[test]
    fn nothing_is_passed_for_none() {
        assert!(CompileOptions::default().build().is_empty());
        // As `env!` gives what a build script leaves open.
        let open = CompileOptions {
            arch: Some(""),
            ..Default::default()
        };
        assert!(open.build().is_empty());
    }

    #[test]
    fn each_option_has_its_flag() {
        let options = CompileOptions {
            ftz: Some(false),
            prec_div: Some(true),
            fmad: Some(false),
            options: vec!["-DN=4".to_string()],
            include_paths: vec!["/include".to_string()],
            arch: Some("gfx1100"),
            ..Default::default()
        };
        assert_eq!(
            options.build(),
            [
                "--offload-arch=gfx1100",
                "-fno-gpu-flush-denormals-to-zero",
                "-fhip-fp32-correctly-rounded-divide-sqrt",
                "-ffp-contract=off",
                "-I/include",
                "-DN=4",
            ]
        );
    }

    #[test]
    fn square_roots_and_divisions_share_a_flag() {
        let both = |prec_sqrt, prec_div| {
            CompileOptions {
                prec_sqrt,
                prec_div,
                ..Default::default()
            }
            .build()
        };
        assert_eq!(
            both(Some(false), Some(false)),
            ["-fno-hip-fp32-correctly-rounded-divide-sqrt"]
        );
        assert_eq!(
            both(Some(false), None),
            ["-fhip-fp32-correctly-rounded-divide-sqrt"]
        );
    }

    #[test]
    fn fast_math_sets_what_is_not_set() {
        let options = CompileOptions {
            use_fast_math: Some(true),
            ..Default::default()
        };
        assert_eq!(
            options.build(),
            [
                "-fgpu-flush-denormals-to-zero",
                "-fno-hip-fp32-correctly-rounded-divide-sqrt",
                "-ffp-contract=fast",
            ]
        );
        let options = CompileOptions {
            use_fast_math: Some(true),
            ftz: Some(false),
            ..Default::default()
        };
        assert_eq!(options.build()[0], "-fno-gpu-flush-denormals-to-zero");
        let options = CompileOptions {
            use_fast_math: Some(false),
            ..Default::default()
        };
        assert!(options.build().is_empty());
    }
}
