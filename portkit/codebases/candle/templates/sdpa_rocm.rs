/// Attention on ROCm: what [`sdpa`] takes.
#[cfg(feature = "rocm")]
struct RocmSdpa {
    scale: f32,
    softcapping: f32,
    mask: Option<Tensor>,
    do_causal: bool,
}

#[cfg(feature = "rocm")]
impl RocmSdpa {
    /// The widest heads that are given to the kernels; wider ones take single operations.
    const WIDEST: usize = 256;
    /// Scores of half precision in bytes, up to which rocBLAS makes those of more queries where the
    /// kernels have no matrix cores: it is the faster one, and the kernels do without the scores.
    const MOST_SCORES: usize = 1 << 30;

    fn new(mask: Option<&Tensor>, do_causal: bool, scale: f32, softcapping: f32) -> Self {
        Self {
            scale,
            softcapping,
            mask: mask.cloned(),
            do_causal,
        }
    }

    fn attend(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        use candle::rocm_backend::attention;

        let (batch, heads, seq, width) = q.dims4()?;
        let (k_batch, kv_heads, kv_seq, k_width) = k.dims4()?;
        let (v_batch, v_heads, v_seq, v_width) = v.dims4()?;
        if (batch, width) != (k_batch, k_width)
            || (batch, kv_heads, kv_seq) != (v_batch, v_heads, v_seq)
            || kv_heads == 0
            || heads % kv_heads != 0
        {
            candle::bail!(
                "sdpa takes q (batch, heads, seq, width), k (batch, kv_heads, kv_seq, width) and v \
                 (batch, kv_heads, kv_seq, v_width), heads a multiple of kv_heads, not q {:?}, k {:?}, \
                 v {:?}",
                q.dims(),
                k.dims(),
                v.dims()
            )
        }
        // The kernels have no gradients, and single operations do. They also take what the kernels
        // are not made for: other types, wider heads, heads that are no multiple of 8, no elements,
        // and half precision without matrix cores.
        let mask = self.mask.iter();
        let tracked = [q, k, v].into_iter().chain(mask).any(|t| t.track_op());
        let typed = matches!(q.dtype(), DType::F16 | DType::BF16 | DType::F32)
            && q.dtype() == k.dtype()
            && q.dtype() == v.dtype();
        let sized = [width, v_width]
            .iter()
            .all(|&n| n % 8 == 0 && (1..=Self::WIDEST).contains(&n));
        let empty = batch == 0 || heads == 0 || seq == 0 || kv_seq == 0;
        let scores = batch * heads * seq * kv_seq * q.dtype().size_in_bytes();
        let products = seq > attention::FEW && q.dtype() != DType::F32 && scores <= Self::MOST_SCORES;
        let taken = typed && sized && !tracked && !empty;
        if !taken || (products && !attention::has_matrix_cores(q.device().as_rocm_device()?)?) {
            return self.in_single_operations(q, k, v);
        }
        // Neighbours in a row are neighbours in memory; all other strides are as they are.
        let rows = |t: &Tensor| match t.stride() {
            [.., 1] => Ok(t.clone()),
            _ => t.contiguous(),
        };
        let (dtype, shape) = (q.dtype(), (batch, heads, seq, kv_seq));
        let wide = |mask: &Tensor| mask.to_dtype(dtype)?.broadcast_as(shape);
        let mask = self.mask.as_ref().map(wide).transpose()?;
        rows(q)?.apply_op3_no_bwd(&rows(k)?, &rows(v)?, &Self { mask, ..*self })
    }

    fn in_single_operations(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        let groups = q.dim(1)? / k.dim(1)?;
        let tiled = |t: &Tensor| -> Result<Tensor> {
            let (batch, heads, length, hidden) = t.dims4()?;
            t.unsqueeze(2)?
                .expand((batch, heads, groups, length, hidden))?
                .reshape((batch, heads * groups, length, hidden))
        };
        let mut scores = (q.contiguous()?.matmul(&tiled(k)?.t()?)? * self.scale as f64)?;
        if self.softcapping != 1.0 {
            let cap = self.softcapping as f64;
            scores = ((scores / cap)?.tanh()? * cap)?;
        }
        if let Some(mask) = &self.mask {
            scores = scores.broadcast_add(&mask.to_dtype(scores.dtype())?)?;
        }
        if self.do_causal {
            let (seq, kv_seq) = (q.dim(2)? as u32, k.dim(2)? as u32);
            let queries = Tensor::arange(kv_seq, kv_seq + seq, q.device())?.unsqueeze(1)?;
            let keys = Tensor::arange(seq, seq + kv_seq, q.device())?.unsqueeze(0)?;
            let hidden = keys.broadcast_gt(&queries)?.broadcast_as(scores.shape())?;
            let never = Tensor::new(f32::NEG_INFINITY, q.device())?.to_dtype(scores.dtype())?;
            scores = hidden.where_cond(&never.broadcast_as(scores.shape())?, &scores)?;
        }
        softmax_last_dim(&scores)?.matmul(&tiled(v)?)
    }

    fn launch<T>(
        &self,
        (q, q_l): (&candle::RocmStorage, &Layout),
        (k, k_l): (&candle::RocmStorage, &Layout),
        (v, v_l): (&candle::RocmStorage, &Layout),
    ) -> Result<(candle::RocmStorage, Shape)>
    where
        T: candle::WithDType
            + candle::rocm_backend::RocmDType
            + candle::rocm_backend::attention::DeviceRepr
            + candle::rocm_backend::attention::ValidAsZeroBits,
    {
        use candle::backend::BackendStorage;
        use candle::rocm_backend::attention::{Attention, Besides, Sizes};

        let dev = q.device();
        let (batches, heads, queries, width) = q_l.shape().dims4()?;
        let (_, kv_heads, keys, v_width) = v_l.shape().dims4()?;
        let outer = |l: &Layout| [0, 1, 2].map(|dim| l.stride()[dim]);
        let mask = self.mask.as_ref().map(|mask| mask.storage_and_layout());
        let mask = match &mask {
            None => None,
            Some((storage, layout)) => {
                let candle::Storage::Rocm(storage) = &**storage else {
                    candle::bail!("the mask of sdpa has to be on the device of q")
                };
                let mask = storage.as_rocm_slice::<T>()?;
                let stride = [0, 1, 2, 3].map(|dim| layout.stride()[dim]);
                Some((mask.slice(layout.start_offset()..), stride))
            }
        };
        let [q, k, v] = [q, k, v].map(|part| part.as_rocm_slice::<T>());
        let attention = Attention {
            q: (q?.slice(q_l.start_offset()..), outer(q_l)),
            k: (k?.slice(k_l.start_offset()..), outer(k_l)),
            v: (v?.slice(v_l.start_offset()..), outer(v_l)),
            sizes: Sizes {
                batches,
                heads,
                kv_heads,
                queries,
                keys,
                width,
                v_width,
            },
            out_stride: [heads * queries, queries, 1],
            scale: self.scale,
            // Here 1 says that there is none.
            cap: Some(self.softcapping).filter(|&cap| cap != 1.0),
            before: None,
            behind: self.do_causal.then_some(0),
            mask,
            besides: Besides::default(),
            unseeing_is_zero: false,
        };
        let out = attention.launch(dev)?;
        let shape = Shape::from((batches, heads, queries, v_width));
        let out = candle::RocmStorage::wrap_rocm_slice(out, dev.clone());
        Ok((out, shape))
    }
}

#[cfg(feature = "rocm")]
impl candle::CustomOp3 for RocmSdpa {
    fn name(&self) -> &'static str {
        "rocm-sdpa"
    }

    fn cpu_fwd(
        &self,
        _s1: &CpuStorage,
        _l1: &Layout,
        _s2: &CpuStorage,
        _l2: &Layout,
        _s3: &CpuStorage,
        _l3: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        candle::bail!("SDPA has no cpu impl")
    }

    fn rocm_fwd(
        &self,
        q: &candle::RocmStorage,
        q_l: &Layout,
        k: &candle::RocmStorage,
        k_l: &Layout,
        v: &candle::RocmStorage,
        v_l: &Layout,
    ) -> Result<(candle::RocmStorage, Shape)> {
        use candle::backend::BackendStorage;

        let (q, k, v) = ((q, q_l), (k, k_l), (v, v_l));
        match q.0.dtype() {
            DType::F16 => self.launch::<half::f16>(q, k, v),
            DType::BF16 => self.launch::<half::bf16>(q, k, v),
            DType::F32 => self.launch::<f32>(q, k, v),
            other => candle::bail!("unsupported sdpa type {other:?}"),
        }
    }
}
