#[cfg(feature = "rocm")]
if q.device().is_rocm() {
    return RocmSdpa::new(mask, do_causal, scale, softcapping).attend(q, k, v);
}
