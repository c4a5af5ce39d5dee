//! The fused mixture of experts of candle-nn on ROCm against sums in f64: experts without a token,
//! and odd numbers of everything that may be odd.

use candle::{DType, Device, Result, Tensor};

fn number(seed: &mut u64) -> usize {
    *seed = seed
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    (*seed >> 33) as usize
}

/// A tensor of numbers that every type holds exactly, and the numbers.
fn tensor(
    seed: &mut u64,
    shape: (usize, usize, usize),
    dtype: DType,
    device: &Device,
) -> Result<(Tensor, Vec<f32>)> {
    let numbers: Vec<f32> = (0..shape.0 * shape.1 * shape.2)
        .map(|_| (number(seed) % 33) as f32 / 16.0 - 1.0)
        .collect();
    let tensor = Tensor::from_slice(&numbers, shape, device)?.to_dtype(dtype)?;
    Ok((tensor, numbers))
}

#[test]
fn the_same_as_sums_in_f64() -> Result<()> {
    let (device, mut seed) = (Device::new_rocm(0)?, 5);
    for case in 0..24 {
        let dtype = [DType::F16, DType::BF16][case % 2];
        let prefill = case % 4 < 2;
        let experts = 1 + number(&mut seed) % 9;
        let tokens = 1 + number(&mut seed) % 40;
        let chosen = 1 + number(&mut seed) % 3;
        let (n, k) = (1 + number(&mut seed) % 70, 8 * (1 + number(&mut seed) % 9));
        // With weights of the routing, as after the experts' first layer, each choice has a row.
        let weighted = case % 8 >= 4;
        let rows_of_x = if weighted { tokens * chosen } else { tokens };
        let (x, of_x) = tensor(&mut seed, (1, rows_of_x, k), dtype, &device)?;
        let (weights, of_weights) = tensor(&mut seed, (experts, n, k), dtype, &device)?;
        // The first expert gets no token, unless it is alone.
        let mut order: Vec<(u32, u32)> = (0..tokens * chosen)
            .map(|row| {
                let expert = match experts {
                    1 => 0,
                    _ => 1 + number(&mut seed) % (experts - 1),
                };
                (expert as u32, row as u32)
            })
            .collect();
        order.sort_unstable();
        let column = |numbers: Vec<u32>| Tensor::new(numbers, &device);
        let ids = column(order.iter().map(|&(expert, _)| expert).collect())?;
        let rows = column(order.iter().map(|&(_, row)| row).collect())?;
        let x = x.squeeze(0)?;
        let (routing, of_routing) =
            tensor(&mut seed, (1, 1, tokens * chosen), DType::F32, &device)?;
        let routing = weighted.then_some(routing.flatten_all()?);
        let found = candle_nn::moe::moe_gemm(&x, &weights, &routing, &rows, &ids, chosen, prefill)?;
        let found = found.to_dtype(DType::F32)?.to_vec2::<f32>()?;
        for (expert, row) in order {
            let (expert, row) = (expert as usize, row as usize);
            for column in 0..n {
                let (of_token, times) = match weighted {
                    true => (row, of_routing[row] as f64),
                    false => (row / chosen, 1.0),
                };
                let terms = (0..k).map(|i| {
                    let weight = of_weights[(expert * n + column) * k + i];
                    of_x[of_token * k + i] as f64 * weight as f64 * times
                });
                let (want, size) =
                    terms.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
                let place = if dtype == DType::F16 {
                    1.0 / 1024.0
                } else {
                    1.0 / 128.0
                };
                let allowed = want.abs() * place * 0.5001 + size * 1e-6 + 1e-7;
                let got = found[row][column] as f64;
                assert!(
                    (got - want).abs() <= allowed,
                    "case {case}: {got} and not {want}, expert {expert}, row {row}, column {column}"
                );
            }
        }
    }
    Ok(())
}
