//! The functions of candle-flash-attn on ROCm against sums in f64: random numbers, shapes, windows,
//! slopes and lengths.

use candle::{DType, Device, Result, Tensor};
use candle_flash_attn as flash;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    fn maybe(&mut self, n: usize) -> Option<usize> {
        (self.below(2) == 0).then(|| self.below(n))
    }

    /// Numbers that every type holds exactly.
    fn tensor(
        &mut self,
        shape: (usize, usize, usize),
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let numbers = (0..shape.0 * shape.1 * shape.2).map(|_| self.below(65) as f32 / 32.0 - 1.0);
        Tensor::from_iter(numbers, device)?
            .reshape(shape)?
            .to_dtype(dtype)
    }
}

struct Case {
    heads: usize,
    kv_heads: usize,
    width: usize,
    left: Option<usize>,
    right: Option<usize>,
    scale: f32,
    cap: f32,
    slopes: Option<Vec<f32>>,
}

impl Case {
    /// Return what one query gets, and for each column what rounding in f32 and that of weights may take.
    fn expected(
        &self,
        (q, k, v): (&[f32], &[f32], &[f32]),
        head: usize,
        own: i64,
        of_weights: f64,
    ) -> Vec<(f64, f64)> {
        let each = self.kv_heads * self.width;
        let at = head / (self.heads / self.kv_heads) * self.width;
        let (mut weights, mut size) = (vec![], 1f64);
        for (key, row) in k.chunks(each).enumerate() {
            let terms: Vec<f64> = (0..self.width)
                .map(|d| q[d] as f64 * row[at + d] as f64 * self.scale as f64)
                .collect();
            let mut score: f64 = terms.iter().sum();
            size = size.max(terms.iter().map(|x| x.abs()).sum());
            if self.cap > 0.0 {
                score = (score / self.cap as f64).tanh() * self.cap as f64;
            }
            let behind = key as i64 - own;
            if let Some(slopes) = &self.slopes {
                score -= slopes[head] as f64 * behind.abs() as f64;
                size = size.max(score.abs());
            }
            let seen = self.left.is_none_or(|left| -behind <= left as i64)
                && self.right.is_none_or(|right| behind <= right as i64);
            weights.push(if seen { score } else { f64::NEG_INFINITY });
        }
        let most = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for weight in weights.iter_mut() {
            *weight = if most == f64::NEG_INFINITY {
                0.0
            } else {
                (*weight - most).exp()
            };
        }
        let total: f64 = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let mut columns = vec![(0.0, 1e-7); self.width];
        for (weight, row) in weights.iter().zip(v.chunks(each)) {
            for (d, (sum, slack)) in columns.iter_mut().enumerate() {
                let x = weight / total * row[at + d] as f64;
                *sum += x;
                *slack += x.abs() * (f32::EPSILON as f64 * (4.0 * size + 16.0) + of_weights);
            }
        }
        columns
    }
}

fn numbers(tensor: &Tensor) -> Result<Vec<f32>> {
    tensor.to_dtype(DType::F32)?.flatten_all()?.to_vec1()
}

fn one(random: &mut Random, device: &Device) -> Result<()> {
    let dtype = [DType::F16, DType::BF16, DType::F32][random.below(3)];
    let groups = 1 + random.below(3);
    let kv_heads = 1 + random.below(2);
    let width = 8 * [1, 4, 8, 12, 16, 32, 64][random.below(7)];
    let case = Case {
        heads: kv_heads * groups,
        kv_heads,
        width,
        left: random.maybe(90),
        right: random.maybe(3),
        scale: 1.0 / (width as f32).sqrt(),
        cap: [0.0, 2.0][random.below(2)],
        slopes: (random.below(2) == 0).then(|| {
            (0..kv_heads * groups)
                .map(|_| 0.5f32.powi(random.below(8) as i32))
                .collect()
        }),
    };
    // From 193 keys on they may be in several parts.
    let many = [150, 500][random.below(2)];
    let most_k = 1 + random.below(many);
    let most_q = [8, 70][random.below(2)];
    let ragged = random.below(2) == 0;
    let (q_all, k_all) = (1 + random.below(most_q), most_k);
    let mut ends = (vec![0u32], vec![0u32]);
    for _ in 0..1 + random.below(3) {
        let lengths = match ragged {
            true => (random.below(most_q + 1), random.below(most_k + 1)),
            false => (q_all, k_all),
        };
        ends.0.push(ends.0[ends.0.len() - 1] + lengths.0 as u32);
        ends.1.push(ends.1[ends.1.len() - 1] + lengths.1 as u32);
    }
    let (total_q, total_k) = (
        ends.0[ends.0.len() - 1] as usize,
        ends.1[ends.1.len() - 1] as usize,
    );
    if total_q == 0 || total_k == 0 {
        return Ok(());
    }
    let q = random.tensor((total_q, case.heads, width), dtype, device)?;
    let k = random.tensor((total_k, kv_heads, width), dtype, device)?;
    let v = random.tensor((total_k, kv_heads, width), dtype, device)?;
    let slopes = match &case.slopes {
        Some(slopes) => Some(Tensor::new(slopes.as_slice(), device)?),
        None => None,
    };
    let found = if ragged {
        let (q_ends, k_ends) = (
            Tensor::new(&ends.0[..], device)?,
            Tensor::new(&ends.1[..], device)?,
        );
        flash::flash_attn_varlen_alibi_windowed_softcap(
            &q,
            &k,
            &v,
            slopes.as_ref(),
            &q_ends,
            &k_ends,
            most_q,
            most_k,
            case.scale,
            case.left,
            case.right,
            case.cap,
        )?
    } else {
        let batched = |t: &Tensor| t.reshape((ends.0.len() - 1, (), t.dim(1)?, width));
        flash::flash_attn_alibi_windowed_softcap(
            &batched(&q)?,
            &batched(&k)?,
            &batched(&v)?,
            slopes.as_ref(),
            case.scale,
            case.left,
            case.right,
            case.cap,
        )?
    };
    let (q, k, v, found) = (numbers(&q)?, numbers(&k)?, numbers(&v)?, numbers(&found)?);
    let half_a_place = match dtype {
        DType::F16 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
        _ => 2f64.powi(-24),
    };
    // Matrix cores take the weights in the type.
    let longest = if ragged { most_q } else { q_all };
    let of_weights = match dtype {
        DType::F16 | DType::BF16 if longest > 8 && width <= 256 => half_a_place,
        _ => 0.0,
    };
    for sequence in 0..ends.0.len() - 1 {
        let rows = |ends: &[u32], each: usize| {
            ends[sequence] as usize * each..ends[sequence + 1] as usize * each
        };
        let (k, v) = (
            &k[rows(&ends.1, kv_heads * width)],
            &v[rows(&ends.1, kv_heads * width)],
        );
        let (first, end) = (ends.0[sequence] as i64, ends.0[sequence + 1] as i64);
        for row in rows(&ends.0, case.heads) {
            let own = (row / case.heads) as i64 - first + (k.len() / kv_heads / width) as i64
                - (end - first);
            let of_row = (&q[row * width..], k, v);
            let expected = case.expected(of_row, row % case.heads, own, of_weights);
            for (d, (want, slack)) in expected.into_iter().enumerate() {
                let got = found[row * width + d] as f64;
                let allowed = want.abs() * half_a_place * 1.0001 + slack;
                assert!(
                    (got - want).abs() <= allowed,
                    "{got} and not {want}, row {row}, {dtype:?}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn the_same_as_sums_in_f64() -> Result<()> {
    let (device, mut random) = (Device::new_rocm(0)?, Random(7));
    let cases = std::env::var("CASES").map_or(60, |cases| cases.parse().unwrap());
    (0..cases).try_for_each(|_| one(&mut random, &device))
}

#[test]
fn causal_is_a_window() -> Result<()> {
    let (device, mut random) = (Device::new_rocm(0)?, Random(3));
    let q = random
        .tensor((5, 2, 16), DType::F16, &device)?
        .unsqueeze(0)?;
    let (all, causal) = (
        flash::flash_attn(&q, &q, &q, 0.25, false)?,
        flash::flash_attn(&q, &q, &q, 0.25, true)?,
    );
    let window = flash::flash_attn_windowed(&q, &q, &q, 0.25, None, Some(0))?;
    assert_eq!(numbers(&causal)?, numbers(&window)?);
    assert_ne!(numbers(&causal)?, numbers(&all)?);
    Ok(())
}

#[test]
fn what_is_not_taken_is_named() -> Result<()> {
    let device = Device::new_rocm(0)?;
    let refused = |width: usize, heads: usize, dtype: DType| -> Result<String> {
        let q = Tensor::zeros((1, 3, 3, width), dtype, &device)?;
        let k = Tensor::zeros((1, 3, heads, width), dtype, &device)?;
        Ok(flash::flash_attn(&q, &k, &k, 1.0, false)
            .unwrap_err()
            .to_string())
    };
    assert!(refused(12, 3, DType::F16)?.contains("8 to 512 elements, a multiple of 8"));
    assert!(refused(520, 3, DType::F16)?.contains("8 to 512 elements, a multiple of 8"));
    assert!(
        refused(16, 2, DType::BF16)?.contains("2 heads of k and v have to divide the 3 heads of q")
    );
    assert!(refused(16, 3, DType::F64)?.contains("f16, bf16 and f32"));
    Ok(())
}
