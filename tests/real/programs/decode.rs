//! The operations of a step of decoding: norms, products by quantized weights, and tensors that are
//! joined by one launch. Each product is compared, bit by bit, with that of a copy of its input.

use candle::quantized::{GgmlDType, QMatMul, QTensor};
use candle::{DType, Device, Module, Result, Tensor};

const KINDS: [GgmlDType; 4] = [
    GgmlDType::Q8_0,
    GgmlDType::Q4K,
    GgmlDType::Q6K,
    GgmlDType::Q4_0,
];
const DTYPES: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

fn numbers(seed: u32, shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
    let mut state = seed.wrapping_mul(2654435761).wrapping_add(12345);
    let values: Vec<f32> = (0..shape.iter().product())
        .map(|_| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect();
    Tensor::from_vec(values, shape, device)?.to_dtype(dtype)
}

/// Weights of `rows` outputs, by each kind that the columns are a multiple for.
fn products(columns: usize, rows: usize, device: &Device) -> Result<Vec<QMatMul>> {
    let weights = numbers(7, &[rows, columns], DType::F32, device)?;
    let fits = |kind: &&GgmlDType| columns % kind.block_size() == 0;
    let made = KINDS.iter().filter(fits).map(|&kind| {
        let weights = QTensor::quantize(&weights.to_device(&Device::Cpu)?, kind)?;
        let on_device =
            QTensor::quantize(&weights.dequantize(&Device::Cpu)?.to_device(device)?, kind)?;
        QMatMul::from_qtensor(on_device)
    });
    made.collect()
}

/// The types of which products take activations. Before candle 0.11 that is f32 alone, which who runs
/// this says.
fn taken() -> &'static [DType] {
    match std::env::var_os("PRODUCTS_OF_F32_ALONE") {
        Some(_) => &DTYPES[..1],
        None => &DTYPES,
    }
}

fn bits(tensor: &Tensor) -> Result<Vec<u32>> {
    let values = tensor
        .to_dtype(DType::F32)?
        .flatten_all()?
        .to_vec1::<f32>()?;
    Ok(values.into_iter().map(f32::to_bits).collect())
}

/// The product of a copy.
fn apart(product: &QMatMul, x: &Tensor) -> Result<Vec<u32>> {
    bits(&product.forward(&x.copy()?)?)
}

#[test]
fn products_of_one_tensor_are_those_of_its_copies() -> Result<()> {
    let device = Device::new_rocm(0)?;
    for (columns, rows) in [(256, 1), (256, 8), (768, 3), (96, 2), (256, 9), (512, 40)] {
        let products = products(columns, 24, &device)?;
        for &dtype in taken() {
            let x = numbers(1, &[1, rows, columns], dtype, &device)?;
            let expected = products
                .iter()
                .map(|p| apart(p, &x))
                .collect::<Result<Vec<_>>>()?;
            let found = products
                .iter()
                .map(|p| p.forward(&x))
                .collect::<Result<Vec<_>>>()?;
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(&bits(found)?, expected, "{columns} {rows} {dtype:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_product_is_of_what_its_input_is_now() -> Result<()> {
    let device = Device::new_rocm(0)?;
    let products = products(256, 24, &device)?;
    let x = numbers(1, &[2, 256], DType::F32, &device)?;
    let other = numbers(2, &[2, 256], DType::F32, &device)?;
    for product in &products {
        let before = bits(&product.forward(&x)?)?;
        x.slice_set(&other, 0, 0)?;
        assert_eq!(bits(&product.forward(&x)?)?, apart(product, &other)?);
        x.slice_set(&numbers(1, &[2, 256], DType::F32, &device)?, 0, 0)?;
        assert_eq!(bits(&product.forward(&x)?)?, before);
        // Another tensor where the last one was.
        let mut found = Vec::new();
        for seed in 3..9 {
            let y = numbers(seed, &[2, 256], DType::F32, &device)?;
            found.push((seed, bits(&product.forward(&y)?)?));
        }
        for (seed, found) in found {
            let y = numbers(seed, &[2, 256], DType::F32, &device)?;
            assert_eq!(found, apart(product, &y)?);
        }
        // Parts of one tensor.
        let both = Tensor::cat(&[&x, &other], 0)?;
        for part in 0..2 {
            let part = both.narrow(0, 2 * part, 2)?;
            assert_eq!(bits(&product.forward(&part)?)?, apart(product, &part)?);
        }
    }
    Ok(())
}

#[test]
fn a_norm_and_the_product_of_it_are_right() -> Result<()> {
    let device = Device::new_rocm(0)?;
    for (columns, rows) in [
        (256, 1),
        (256, 8),
        (768, 3),
        (96, 2),
        (256, 9),
        (32 * 300, 2),
    ] {
        let products = products(columns, 24, &device)?;
        for dtype in DTYPES {
            let x = numbers(1, &[1, rows, columns], dtype, &device)?;
            let weights = numbers(2, &[columns], dtype, &device)?;
            let norm = || candle_nn::ops::rms_norm(&x, &weights, 1e-5);
            let wide = x.to_dtype(DType::F64)?;
            let mean = wide.sqr()?.mean_keepdim(2)?;
            let exact = wide.broadcast_div(&(mean + 1e-5)?.sqrt()?)?;
            let exact = exact.broadcast_mul(&weights.to_dtype(DType::F64)?)?;
            let off = (norm()?.to_dtype(DType::F64)? - exact)?
                .abs()?
                .flatten_all()?
                .max(0)?;
            let places = [2e-6, 2e-3, 2e-2][DTYPES.iter().position(|&d| d == dtype).unwrap()];
            assert!(
                off.to_scalar::<f64>()? < places,
                "{columns} {rows} {dtype:?}"
            );
            for product in products.iter().filter(|_| taken().contains(&dtype)) {
                let found = product.forward(&norm()?)?;
                let expected = apart(product, &norm()?)?;
                assert_eq!(bits(&found)?, expected, "{columns} {rows} {dtype:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn what_is_joined_is_what_the_cpu_joins() -> Result<()> {
    let device = Device::new_rocm(0)?;
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::F64, DType::U8] {
        for (shape, more) in [
            ([1, 4, 7, 64], 1),
            ([2, 3, 5, 6], 4),
            ([3, 1, 1, 1], 2),
            ([1, 2, 0, 8], 3),
        ] {
            for dim in 0..4 {
                let mut behind = shape;
                behind[dim] = more;
                let tensors = |device: &Device| -> Result<[Tensor; 2]> {
                    let made = |seed, shape: &[usize]| {
                        let values =
                            (numbers(seed, shape, DType::F32, &Device::Cpu)?.abs()? * 100.)?;
                        values.to_dtype(dtype)?.to_device(device)
                    };
                    Ok([made(1, &shape)?, made(2, &behind)?])
                };
                let ([a, b], [c, d]) = (tensors(&device)?, tensors(&Device::Cpu)?);
                assert_eq!(
                    bits(&Tensor::cat(&[&a, &b], dim)?)?,
                    bits(&Tensor::cat(&[&c, &d], dim)?)?
                );
                assert_eq!(
                    bits(&Tensor::cat(&[&b, &b], dim)?)?,
                    bits(&Tensor::cat(&[&d, &d], dim)?)?
                );
                // Part of a longer tensor, as a cache has it, beginning anywhere.
                if shape[dim] > 1 {
                    let [e, f] = [(&a, &b), (&c, &d)].map(|(a, b)| -> Result<Tensor> {
                        Tensor::cat(&[&a.narrow(dim, 1, shape[dim] - 1)?, b], dim)
                    });
                    assert_eq!(bits(&e?)?, bits(&f?)?);
                }
            }
        }
    }
    Ok(())
}
