//! What kernels are compiled with.

use std::fs;
use std::path::{Path, PathBuf};

/// The headers with what CUDA's device headers offer and HIP's lack, what stands between the
/// launchers and the HIP runtime, and kernels that a crate may name among its modules: name and text.
pub const DEVICE: &[(&str, &str)] = &[
    ("attention.hip", include_str!("device/attention.hip")),
    ("decode.hip", include_str!("device/decode.hip")),
    ("hip_runtime.cpp", include_str!("device/hip_runtime.cpp")),
    ("hipx.h", include_str!("device/hipx.h")),
    ("hipx_atomics.h", include_str!("device/hipx_atomics.h")),
    ("hipx_bfloat16.h", include_str!("device/hipx_bfloat16.h")),
    ("hipx_block.h", include_str!("device/hipx_block.h")),
    ("hipx_bytes.h", include_str!("device/hipx_bytes.h")),
    ("hipx_cuda.h", include_str!("device/hipx_cuda.h")),
    ("hipx_float.h", include_str!("device/hipx_float.h")),
    ("hipx_fp8.h", include_str!("device/hipx_fp8.h")),
    ("hipx_fp8_vector.h", include_str!("device/hipx_fp8_vector.h")),
    ("hipx_ggml.h", include_str!("device/hipx_ggml.h")),
    ("hipx_launch.h", include_str!("device/hipx_launch.h")),
    ("hipx_ldg.h", include_str!("device/hipx_ldg.h")),
    ("hipx_mmvq.h", include_str!("device/hipx_mmvq.h")),
    ("hipx_pairs.h", include_str!("device/hipx_pairs.h")),
    ("hipx_pipeline.h", include_str!("device/hipx_pipeline.h")),
    ("hipx_ptx.h", include_str!("device/hipx_ptx.h")),
    ("hipx_ptx_integer.h", include_str!("device/hipx_ptx_integer.h")),
    ("hipx_ptx_matrix.h", include_str!("device/hipx_ptx_matrix.h")),
    ("hipx_ptx_memory.h", include_str!("device/hipx_ptx_memory.h")),
    ("hipx_ptx_number.h", include_str!("device/hipx_ptx_number.h")),
    ("hipx_ptx_operand.h", include_str!("device/hipx_ptx_operand.h")),
    ("hipx_ptx_warp.h", include_str!("device/hipx_ptx_warp.h")),
    ("hipx_rounded.h", include_str!("device/hipx_rounded.h")),
    ("hipx_rtc.h", include_str!("device/hipx_rtc.h")),
    ("hipx_scan.h", include_str!("device/hipx_scan.h")),
    ("hipx_schedule.h", include_str!("device/hipx_schedule.h")),
    ("hipx_strided.h", include_str!("device/hipx_strided.h")),
    ("hipx_warp.h", include_str!("device/hipx_warp.h")),
    ("hipx_wmma.h", include_str!("device/hipx_wmma.h")),
    ("hipx_words.h", include_str!("device/hipx_words.h")),
    ("launchers.hip", include_str!("device/launchers.hip")),
    ("views.hip", include_str!("device/views.hip")),
];

/// Writes the headers into a folder of a build, and returns it, for `-I`.
///
/// # Errors
///
/// The folder cannot be written.
pub(crate) fn headers(out_dir: &Path) -> Result<PathBuf, String> {
    let folder = out_dir.join("hipx");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for (name, text) in DEVICE.iter().filter(|(name, _)| name.ends_with(".h")) {
        let place = folder.join(name);
        fs::write(&place, text).map_err(|e| format!("{}: {e}", place.display()))?;
    }
    Ok(folder)
}
