// There is no fused kernel for ROCm: the same in single operations.
#[cfg(feature = "rocm")]
if q.device().is_rocm() {
    let (seq, kv_seq) = (q.dim(2)?, k.dim(2)?);
    let groups = q.dim(1)? / k.dim(1)?;
    let tiled = |t: &Tensor| -> Result<Tensor> {
        let (batch, heads, length, hidden) = t.dims4()?;
        t.unsqueeze(2)?
            .expand((batch, heads, groups, length, hidden))?
            .reshape((batch, heads * groups, length, hidden))
    };
    let mut scores = (q.contiguous()?.matmul(&tiled(k)?.t()?)? * scale as f64)?;
    if softcapping != 1.0 {
        scores = ((scores / softcapping as f64)?.tanh()? * softcapping as f64)?;
    }
    if let Some(mask) = mask {
        scores = scores.broadcast_add(&mask.to_dtype(scores.dtype())?)?;
    }
    if do_causal {
        let causal: Vec<f32> = (0..seq * kv_seq)
            .map(|at| match at % kv_seq + seq > at / kv_seq + kv_seq {
                true => f32::NEG_INFINITY,
                false => 0.0,
            })
            .collect();
        let causal = Tensor::from_vec(causal, (seq, kv_seq), q.device())?;
        scores = scores.broadcast_add(&causal.to_dtype(scores.dtype())?)?;
    }
    return softmax_last_dim(&scores)?.matmul(&tiled(v)?);
}
