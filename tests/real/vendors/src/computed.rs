//! What a device computes, against sums in f64: kernels that are loaded by name, the vendor's BLAS,
//! and launchers of the static library, of which each vendor has those of the same names.

use candle::quantized::{GgmlDType, QMatMul, QTensor};
use candle::{bail, DType, Device, Module, Result, Tensor};

pub fn all(device: &Device) -> Result<()> {
    single_operations(device)?;
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        product(dtype, device)?;
    }
    for dtype in [GgmlDType::Q4_0, GgmlDType::Q8_0, GgmlDType::Q4K] {
        // One row and many are launchers of their own.
        quantized_product(dtype, 1, device)?;
        quantized_product(dtype, 40, device)?;
    }
    // CUDA's write the bits of halves as numbers (docs/upstream/moe-float-to-half.md).
    let types = [DType::BF16, DType::F16];
    for dtype in &types[..if device.is_cuda() { 1 } else { 2 }] {
        experts(*dtype, true, device)?;
        experts(*dtype, false, device)?;
    }
    choice_of_experts(device)?;
    println!("{:?}: computes what it should", device.location());
    Ok(())
}

/// Numbers in steps of a sixteenth from -1 to 1, which every type holds exactly.
pub fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % 33
    };
    (0..count).map(|_| next() as f32 / 16.0 - 1.0).collect()
}

/// Ends with an error where a number is further from what it should be than is allowed.
pub fn near(what: &str, found: &Tensor, expected: &[(f64, f64)]) -> Result<()> {
    let device = found.device().location();
    let found = found
        .flatten_all()?
        .to_dtype(DType::F64)?
        .to_vec1::<f64>()?;
    if found.len() != expected.len() {
        bail!("{device:?}: {what}: {} numbers", found.len());
    }
    for (place, (found, (want, allowed))) in found.iter().zip(expected).enumerate() {
        // NaN is near nothing.
        if !((found - want).abs() <= *allowed) {
            bail!("{device:?}: {what}: number {place} is {found}, not {want}");
        }
    }
    Ok(())
}

fn single_operations(device: &Device) -> Result<()> {
    let of_x = numbers(7 * 33, 1);
    let x = Tensor::from_slice(&of_x, (7, 33), device)?;
    let exact = |f: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
        of_x.iter().map(|&x| (f(x as f64), 0.0)).collect()
    };
    near("affine", &x.affine(2.0, 0.5)?, &exact(&|x| 2.0 * x + 0.5))?;
    near("square", &x.sqr()?, &exact(&|x| x * x))?;
    let near_enough: Vec<_> = of_x
        .iter()
        .map(|&x| (x as f64).exp())
        .map(|y| (y, 1e-6 * y))
        .collect();
    near("exp", &x.exp()?, &near_enough)?;
    let sums: Vec<_> = of_x
        .chunks(33)
        .map(|row| (row.iter().map(|&x| x as f64).sum(), 0.0))
        .collect();
    near("sum", &x.sum(1)?, &sums)?;
    let mut sorted = of_x.clone();
    sorted
        .chunks_mut(33)
        .for_each(|row| row.sort_by(f32::total_cmp));
    let expected: Vec<_> = sorted.iter().map(|&x| (x as f64, 0.0)).collect();
    near("sort", &x.sort_last_dim(true)?.0, &expected)?;
    let transposed = x.t()?.contiguous()?;
    let expected: Vec<_> = (0..7 * 33)
        .map(|place| (of_x[place % 7 * 33 + place / 7] as f64, 0.0))
        .collect();
    near("transposed", &transposed, &expected)?;
    let random = Tensor::rand(0f32, 1.0, 4096, device)?.mean_all()?;
    near("mean of random numbers", &random, &[(0.5, 0.05)])
}

/// By how much a number is off that is rounded once, in parts of it.
fn half_a_place(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
        _ => 0.0,
    }
}

fn product(dtype: DType, device: &Device) -> Result<()> {
    let (m, k, n) = (9, 48, 17);
    let (of_a, of_b) = (numbers(m * k, 2), numbers(k * n, 3));
    let a = Tensor::from_slice(&of_a, (m, k), device)?.to_dtype(dtype)?;
    let b = Tensor::from_slice(&of_b, (k, n), device)?.to_dtype(dtype)?;
    let place = half_a_place(dtype);
    let expected: Vec<_> = (0..m * n)
        .map(|at| {
            let terms = (0..k).map(|i| of_a[at / n * k + i] as f64 * of_b[i * n + at % n] as f64);
            let sum: f64 = terms.sum();
            // The products are exact in f32, and so are their sums.
            (sum, sum.abs() * place)
        })
        .collect();
    near("product", &a.matmul(&b)?, &expected)
}

fn quantized_product(dtype: GgmlDType, rows: usize, device: &Device) -> Result<()> {
    const BLOCK: usize = 32;
    let (n, k) = (64, 512);
    let of_x = numbers(rows * k, 4);
    let weights = Tensor::from_slice(&numbers(n * k, 5), (n, k), &Device::Cpu)?;
    let quantized = QTensor::quantize(&weights, dtype)?;
    let of_weights = quantized
        .dequantize(&Device::Cpu)?
        .flatten_all()?
        .to_vec1::<f32>()?;
    let bytes = quantized.data()?.into_owned();
    let storage = candle::quantized::QStorage::from_data(bytes.into(), device, dtype)?;
    let there = QMatMul::from_qtensor(QTensor::new(storage, (n, k))?)?;
    let found = there.forward(&Tensor::from_slice(&of_x, (rows, k), device)?)?;
    let expected: Vec<_> = (0..rows * n)
        .map(|at| {
            let x = &of_x[at / n * k..][..k];
            let w = &of_weights[at % n * k..][..k];
            let (mut sum, mut allowed) = (0.0, 1e-5);
            for (x, w) in x.chunks(BLOCK).zip(w.chunks(BLOCK)) {
                // A block of x is rounded to eight bits, its scale to f16.
                let most = x.iter().fold(0f32, |most, x| most.max(x.abs())) as f64;
                for (&x, &w) in x.iter().zip(w) {
                    let (x, w) = (x as f64, w as f64);
                    sum += x * w;
                    allowed += w.abs() * most / 254.0 + (x * w).abs() / 512.0;
                }
            }
            (sum, allowed)
        })
        .collect();
    near(&format!("{rows} rows by {dtype:?}"), &found, &expected)
}

/// A model takes the fused experts on ROCm where its kernels take the type, whatever CUDA's take.
fn choice_of_experts(device: &Device) -> Result<()> {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let weights = candle_nn::VarBuilder::zeros(dtype, device);
        let fused = candle_nn::moe::fused_on_rocm(&weights);
        if fused != device.is_rocm().then_some(dtype != DType::F32) {
            bail!("{:?}: experts of {dtype:?}: {fused:?}", device.location());
        }
    }
    Ok(())
}

fn experts(dtype: DType, prefill: bool, device: &Device) -> Result<()> {
    let (experts, tokens, chosen, n, k) = (5, 11, 2, 32, 64);
    let (of_x, of_weights) = (numbers(tokens * k, 6), numbers(experts * n * k, 7));
    let tensor = |numbers: &[f32], shape: &[usize]| {
        Tensor::from_slice(numbers, shape, device)?.to_dtype(dtype)
    };
    let x = tensor(&of_x, &[tokens, k])?;
    let weights = tensor(&of_weights, &[experts, n, k])?;
    // The first expert gets none.
    let mut order: Vec<(u32, u32)> = (0..tokens * chosen)
        .map(|row| ((1 + (row * 3) % (experts - 1)) as u32, row as u32))
        .collect();
    order.sort_unstable();
    let ids: Vec<u32> = order.iter().map(|&(expert, _)| expert).collect();
    let rows: Vec<u32> = order.iter().map(|&(_, row)| row).collect();
    let (ids, rows) = (Tensor::new(ids, device)?, Tensor::new(rows, device)?);
    let found = candle_nn::moe::moe_gemm(&x, &weights, &None, &rows, &ids, chosen, prefill)?;
    let mut expected = vec![(0.0, 0.0); tokens * chosen * n];
    for (expert, row) in order {
        for column in 0..n {
            let w = &of_weights[(expert as usize * n + column) * k..][..k];
            let x = &of_x[row as usize / chosen * k..][..k];
            let sum: f64 = x.iter().zip(w).map(|(&x, &w)| x as f64 * w as f64).sum();
            expected[row as usize * n + column] = (sum, sum.abs() * half_a_place(dtype));
        }
    }
    near("experts", &found, &expected)
}
