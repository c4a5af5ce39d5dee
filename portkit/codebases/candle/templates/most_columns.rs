$all
// More columns are faster by tiles of CDNA's matrix cores than by rows, measured on an MI250X.
let most = match w_dtype {
    GgmlDType::Q3K | GgmlDType::Q4K | GgmlDType::Q5K => 3,
    GgmlDType::Q2K | GgmlDType::Q6K => 5,
    _ => MMVQ_MAX_BATCH,
};
if b_size > most && dev.rocm_stream().context().has_mfma() {
    return Ok(None);
}
