//! Views and rows: what lies apart in memory is copied, added and reduced as on the CPU, and a softmax is
//! right for rows of every length that its kernel takes in another way.

use candle::{DType, Device, Result, Tensor, D};

fn numbers(seed: u32, shape: &[usize], dtype: DType) -> Result<Tensor> {
    let mut state = seed.wrapping_mul(2654435761).wrapping_add(12345);
    let values: Vec<f32> = (0..shape.iter().product())
        .map(|_| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            // Multiples of an eighth, below 128: exact in each type but f16's sums.
            ((state >> 8) % 1024) as f32 / 8.
        })
        .collect();
    Tensor::from_vec(values, shape, &Device::Cpu)?.to_dtype(dtype)
}

fn values(tensor: &Tensor) -> Result<Vec<f64>> {
    let tensor = tensor.to_device(&Device::Cpu)?.to_dtype(DType::F64)?;
    tensor.flatten_all()?.to_vec1()
}

const ORDERS: [[usize; 4]; 7] = [
    [0, 1, 3, 2],
    [0, 2, 1, 3],
    [0, 2, 3, 1],
    [0, 3, 1, 2],
    [3, 1, 0, 2],
    [3, 2, 1, 0],
    [1, 0, 2, 3],
];
const SHAPES: [[usize; 4]; 5] = [
    [2, 3, 40, 33],
    [1, 64, 7, 7],
    [3, 17, 1, 35],
    [1, 1, 100, 65],
    [2, 2, 3, 5],
];
const DTYPES: [DType; 7] = [
    DType::U8,
    DType::U32,
    DType::I64,
    DType::BF16,
    DType::F16,
    DType::F32,
    DType::F64,
];

#[test]
fn copies_of_views() -> Result<()> {
    let device = Device::new_rocm(0)?;
    for dtype in DTYPES {
        for shape in SHAPES {
            let whole = numbers(1, &shape, dtype)?;
            let there = whole.to_device(&device)?;
            for order in ORDERS {
                let copied = there.permute(order)?.contiguous()?;
                let expected = whole.permute(order)?.contiguous()?;
                assert_eq!(
                    values(&copied)?,
                    values(&expected)?,
                    "{dtype:?} {shape:?} {order:?}"
                );
                // A part of the last dimension, and of the first.
                let part = |t: &Tensor| -> Result<Tensor> {
                    let view = t.permute(order)?;
                    let last = view.dim(D::Minus1)?;
                    let first = view.dim(0)?;
                    view.narrow(D::Minus1, last / 3, last - last / 3)?
                        .narrow(0, first / 2, first - first / 2)?
                        .contiguous()
                };
                assert_eq!(
                    values(&part(&there)?)?,
                    values(&part(&whole)?)?,
                    "{shape:?} {order:?}"
                );
            }
        }
    }
    // Of more elements a thread has four.
    let whole = numbers(2, &[700, 401], DType::F32)?;
    for columns in [401, 399] {
        let expected = whole.narrow(1, 401 - columns, columns)?;
        let copied = whole
            .to_device(&device)?
            .narrow(1, 401 - columns, columns)?;
        assert_eq!(
            values(&copied.t()?.contiguous()?)?,
            values(&expected.t()?.contiguous()?)?
        );
        assert_eq!(
            values(&copied.contiguous()?)?,
            values(&expected.contiguous()?)?
        );
    }
    Ok(())
}

#[test]
fn sums_of_views() -> Result<()> {
    let device = Device::new_rocm(0)?;
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::F64] {
        for shape in SHAPES {
            let [a, b] = [1, 2].map(|seed| numbers(seed, &shape, dtype));
            let (a, b) = (a?, b?);
            for order in ORDERS {
                let of = |device: &Device| -> Result<Vec<Tensor>> {
                    let (a, b) = (a.to_device(device)?, b.to_device(device)?);
                    let (x, y) = (a.permute(order)?, b.permute(order)?);
                    // One of them in order, the other, none, and one that is repeated.
                    let repeated = y.narrow(1, 0, 1)?;
                    Ok(vec![
                        (x.contiguous()? + &y)?,
                        (&x + y.contiguous()?)?,
                        (&x * &y)?,
                        x.broadcast_add(&repeated)?,
                        x.broadcast_sub(&repeated.narrow(3, 0, 1)?)?,
                        x.affine(2., 1.)?,
                        x.max(D::Minus1)?,
                    ])
                };
                for (one, other) in of(&device)?.iter().zip(of(&Device::Cpu)?) {
                    assert_eq!(
                        values(one)?,
                        values(&other)?,
                        "{dtype:?} {shape:?} {order:?}"
                    );
                }
                if dtype == DType::F32 {
                    let sums = |t: &Tensor| -> Result<Vec<f64>> {
                        values(&t.permute(order)?.sum((1, 3))?)
                    };
                    assert_eq!(
                        sums(&a.to_device(&device)?)?,
                        sums(&a)?,
                        "{shape:?} {order:?}"
                    );
                }
            }
        }
    }
    Ok(())
}

#[test]
fn softmax_of_rows() -> Result<()> {
    let device = Device::new_rocm(0)?;
    for (dtype, near) in [
        (DType::F32, 1e-6),
        (DType::F64, 1e-12),
        (DType::F16, 4e-3),
        (DType::BF16, 3e-2),
    ] {
        for length in [
            1, 5, 31, 32, 33, 127, 1000, 1024, 1025, 8191, 8192, 8193, 20011,
        ] {
            let rows = (numbers(3, &[3, length], DType::F64)? / 16.)?;
            // A row whose ends are masked, where it has some.
            let at = Tensor::arange(0i64, length as i64, &Device::Cpu)?;
            let inner = (at.ge(length as i64 / 4)? * at.le(length as i64 / 2)?)?;
            let masked = inner.where_cond(
                &rows.get(0)?,
                &Tensor::full(f64::NEG_INFINITY, length, &Device::Cpu)?,
            )?;
            let rows = Tensor::cat(&[&rows, &masked.unsqueeze(0)?], 0)?.to_dtype(dtype)?;
            let found = values(&candle_nn::ops::softmax_last_dim(
                &rows.to_device(&device)?,
            )?)?;
            for (row, found) in values(&rows)?.chunks(length).zip(found.chunks(length)) {
                let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = row.iter().map(|x| (x - most).exp()).sum();
                let largest = 1. / sum;
                for (x, y) in row.iter().zip(found) {
                    let expected = (x - most).exp() / sum;
                    assert!(
                        (y - expected).abs() <= near * largest,
                        "{dtype:?} {length}: {y} {expected}"
                    );
                }
            }
        }
    }
    Ok(())
}
