#[cfg(feature = "rocm")]
{
    use std::env;
    use std::path::PathBuf;
    use std::process::Command;

    println!("cargo::rerun-if-env-changed=CANDLE_ROCM_KERNELS");
    println!("cargo::rerun-if-env-changed=CANDLE_ROCM_ARCHS");
    println!("cargo::rerun-if-env-changed=HIPCC");
    println!("cargo::rerun-if-changed=examples/custom-ops/kernels");
    println!("cargo::rerun-if-changed=../candle-rocm-kernels/src");
    let out_dir = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    let module = out_dir.join("layernorm_kernels.hsaco");
    if env::var("CANDLE_ROCM_KERNELS").as_deref() == Ok("none") {
        // Loading the module is then an error at run time.
        std::fs::write(&module, []).expect("OUT_DIR is writable");
    } else {
        let hipcc = env::var("HIPCC").unwrap_or_else(|_| {
            env::var("ROCM_PATH").map_or("hipcc".into(), |path| format!("{path}/bin/hipcc"))
        });
        let mut command = Command::new(&hipcc);
        command.args(["--genco", "-O3", "-std=c++17", "-I../candle-rocm-kernels/src"]);
        command.arg("-o").arg(&module);
        if let Ok(archs) = env::var("CANDLE_ROCM_ARCHS") {
            command.args(archs.split(',').map(|arch| format!("--offload-arch={arch}")));
        }
        let status = command
            .arg("examples/custom-ops/kernels/layernorm_kernels.hip")
            .status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "{hipcc} failed to compile the kernels of the custom-ops example: install ROCm, set \
             HIPCC, or build without kernels with CANDLE_ROCM_KERNELS=none"
        );
    }
    std::fs::write(
        out_dir.join("rocm_kernels.rs"),
        "pub const LAYERNORM_KERNELS: &[u8] = include_bytes!(concat!(env!(\"OUT_DIR\"), \
         \"/layernorm_kernels.hsaco\"));\n",
    )
    .expect("OUT_DIR is writable");
}
