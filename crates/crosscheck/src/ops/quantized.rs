//! Quantized weights: what they hold, and products with them.

use candle::quantized::{GgmlDType, QMatMul, QTensor};
use candle::{Device, Module, Result, Tensor};

use crate::array::{indices, Array};
use crate::blocks;
use crate::case::{Case, Expected, Input, Maker, Operation};
use crate::element::Element::{self, BF16, F16, F32, U32};

/// There are many kernels here, each for one format and one number of rows.
const CASES: usize = 4;

pub fn operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    for dtype in blocks::ALL {
        let element = blocks::name(dtype);
        let mut add = |name: &str, elements: String, make: Box<dyn Fn(&mut Maker) -> Case>| {
            operations.push(Operation::new(name, elements, make).at_most(CASES));
        };
        add(
            "dequantize",
            element.clone(),
            Box::new(move |m| dequantize(m, dtype, F32)),
        );
        add(
            "dequantize_f16",
            element.clone(),
            Box::new(move |m| dequantize(m, dtype, F16)),
        );
        if dtype == GgmlDType::Q8K {
            continue;
        }
        // candle 0.11 alone takes 16-bit inputs.
        let inputs: &[Element] = if cfg!(candle_0_11) {
            &[F32, F16, BF16]
        } else {
            &[F32]
        };
        for &input in inputs {
            let elements = format!("{element} {}", input.name());
            // One kernel for each small number of rows, another one for many.
            for rows in 1..=8 {
                let name = format!("qmatmul {rows}");
                let make = move |m: &mut Maker| product(m, dtype, input, rows);
                add(&name, elements.clone(), Box::new(make));
            }
            let many = |ragged| {
                move |m: &mut Maker| {
                    let rows = m.rng.within(9, 40);
                    product_of(m, dtype, input, rows, ragged)
                }
            };
            add("qmatmul many", elements.clone(), Box::new(many(false)));
            if dtype.block_size() == 32 {
                add("qmatmul many ragged", elements, Box::new(many(true)));
            }
        }
        #[cfg(feature = "rocm")]
        for many in [false, true] {
            let name = if many {
                "qmatmul by dequantizing many"
            } else {
                "qmatmul by dequantizing"
            };
            add(
                name,
                element.clone(),
                Box::new(move |m| plain_product(m, dtype, many)),
            );
        }
        #[cfg(candle_0_11)]
        add(
            "qembedding",
            element.clone(),
            Box::new(move |m| embedding(m, dtype)),
        );
        if !matches!(
            dtype,
            GgmlDType::Q4_0 | GgmlDType::Q4_1 | GgmlDType::Q5_0 | GgmlDType::Q5_1
        ) {
            add(
                "indexed_moe",
                element.clone(),
                Box::new(move |m| indexed_moe(m, dtype)),
            );
            add(
                "moe_gguf",
                element.clone(),
                Box::new(move |m| moe(m, Some(dtype), F32, false)),
            );
            for input in [F16, BF16] {
                let elements = format!("{element} {}", input.name());
                let make = move |m: &mut Maker| moe(m, Some(dtype), input, true);
                add("moe_gguf prefill", elements, Box::new(make));
            }
        }
    }
    #[cfg(candle_0_11)]
    for dtype in [GgmlDType::F32, GgmlDType::F16, GgmlDType::BF16] {
        let make = move |m: &mut Maker| embedding(m, dtype);
        operations.push(Operation::new("qembedding", blocks::name(dtype), make).at_most(CASES));
    }
    for element in [F16, BF16] {
        for prefill in [false, true] {
            let name = if prefill { "moe prefill" } else { "moe" };
            let make = move |m: &mut Maker| moe(m, None, element, prefill);
            operations.push(Operation::new(name, element.name(), make).at_most(CASES));
        }
    }
    operations
}

/// The blocks that weights are quantized to.
pub fn quantized(weights: &Input, dtype: GgmlDType) -> Vec<u8> {
    let bytes = weights
        .tensor(&Device::Cpu)
        .and_then(|t| Ok(QTensor::quantize(&t, dtype)?.data()?.to_vec()));
    bytes.unwrap_or_else(|error| panic!("the CPU cannot quantize to {dtype:?}: {error}"))
}

/// Weights before they are quantized, and the values that they then have.
pub fn weights(maker: &mut Maker, dtype: GgmlDType, shape: &[usize]) -> (Input, Array) {
    maker.edges = false;
    let input = maker.plain(F32, shape, (-1.0, 1.0));
    let data = blocks::values(dtype, &quantized(&input, dtype));
    (
        input,
        Array {
            shape: shape.to_vec(),
            data,
        },
    )
}

/// A length that is a whole number of blocks, and even: the CPU backend's products of the smaller
/// formats panic at an odd one, and poison a lock of theirs for the rest of the process.
fn length(maker: &mut Maker, dtype: GgmlDType) -> usize {
    let most = if dtype.block_size() == 256 { 3 } else { 9 };
    dtype.block_size().max(64) * maker.some(most)
}

fn dequantize(maker: &mut Maker, dtype: GgmlDType, element: Element) -> Case {
    let shape = [maker.some(5), length(maker, dtype)];
    let (input, array) = weights(maker, dtype, &shape);
    // Terms of a block are as large as its largest value, and are rounded before they cancel.
    let slack = vec![4.0 * element.epsilon(); array.data.len()];
    let run = move |t: &[Tensor]| {
        let quantized = QTensor::quantize(&t[0], dtype)?;
        if element == F16 {
            quantized.dequantize_f16(t[0].device())
        } else {
            quantized.dequantize(t[0].device())
        }
    };
    Case::new(
        vec![input],
        run,
        Expected::exact(element, array).within(1.0).slack(slack),
    )
}

/// The product of rows with each row of the weights. The rows are quantized to 8 bits first, block
/// by block: each value is off by up to half a step, evenly spread, so that eight standard
/// deviations of the sum are allowed for.
pub fn rows_product(
    element: Element,
    dtype: GgmlDType,
    rows: &[&[f64]],
    weights: &[&[f64]],
) -> Expected {
    // The CPU takes blocks of 256 for the formats that have them, a GPU blocks of 32.
    let block = dtype.block_size();
    let mut data = Vec::new();
    let mut slack = Vec::new();
    for x in rows {
        let steps: Vec<f64> = x
            .chunks(block)
            .map(|chunk| chunk.iter().fold(0.0, |most: f64, x| most.max(x.abs())) / 127.0)
            .collect();
        for w in weights {
            let terms = x.iter().zip(*w);
            let sum: f64 = terms.clone().map(|(x, w)| x * w).sum();
            let size: f64 = terms.map(|(x, w)| (x * w).abs()).sum();
            let spread: f64 = w
                .iter()
                .enumerate()
                .map(|(i, w)| (w * steps[i / block]).powi(2))
                .sum();
            // The scales of blocks are f16.
            let scales = size * F16.epsilon();
            data.push(sum);
            slack.push(8.0 * (spread / 12.0).sqrt() + scales + 2.0 * element.epsilon() * sum.abs());
        }
    }
    let array = Array {
        shape: vec![rows.len(), weights.len()],
        data,
    };
    Expected::exact(element, array).within(1.0).slack(slack)
}

fn product(maker: &mut Maker, dtype: GgmlDType, element: Element, rows: usize) -> Case {
    let ragged = maker.rng.chance(50);
    product_of(maker, dtype, element, rows, ragged)
}

/// Ragged rows are no multiple of 256 long, where the format allows for that.
fn product_of(
    maker: &mut Maker,
    dtype: GgmlDType,
    element: Element,
    rows: usize,
    ragged: bool,
) -> Case {
    let n = maker.rng.within(1, 70);
    let k = if ragged && dtype.block_size() == 32 {
        256 * maker.rng.below(3) + 64 * maker.rng.within(1, 3)
    } else {
        256 * maker.some(3)
    };
    let (weight, array) = weights(maker, dtype, &[n, k]);
    let input = maker.plain(element, &[rows, k], (-1.0, 1.0));
    let x: Vec<&[f64]> = input.base.data.chunks(k).collect();
    let w: Vec<&[f64]> = array.data.chunks(k).collect();
    let expected = rows_product(element, dtype, &x, &w);
    let run =
        move |t: &[Tensor]| QMatMul::from_qtensor(QTensor::quantize(&t[0], dtype)?)?.forward(&t[1]);
    Case::new(vec![weight, input], run, expected)
}

/// The same without quantizing the rows.
#[cfg(feature = "rocm")]
fn plain_product(maker: &mut Maker, dtype: GgmlDType, many: bool) -> Case {
    let rows = if many { maker.rng.within(2, 9) } else { 1 };
    let (n, k) = (maker.rng.within(1, 70), length(maker, dtype));
    let (weight, array) = weights(maker, dtype, &[n, k]);
    let input = maker.plain(F32, &[rows, k], (-1.0, 1.0));
    let left = input.base.clone();
    let right = array.transpose(0, 1);
    let mut expected = super::matmul::product(F32, &left, &right, &[]);
    expected
        .slack
        .iter_mut()
        .for_each(|slack| *slack += 1e-6 * k as f64);
    let run = move |t: &[Tensor]| {
        candle::quantized::rocm::set_force_dmmv(true);
        let result = QTensor::quantize(&t[0], dtype).and_then(|q| {
            // The CPU knows no other way.
            match t[0].device() {
                Device::Cpu => t[1].matmul(&q.dequantize(&Device::Cpu)?.t()?),
                _ => QMatMul::from_qtensor(q)?.forward(&t[1]),
            }
        });
        candle::quantized::rocm::set_force_dmmv(false);
        result
    };
    Case::new(vec![weight, input], run, expected)
}

#[cfg(candle_0_11)]
fn embedding(maker: &mut Maker, dtype: GgmlDType) -> Case {
    let shape = [maker.some(9), length(maker, dtype)];
    let (weight, array) = weights(maker, dtype, &shape);
    let count = maker.dim();
    let ids = ids(maker, &[count], shape[0]);
    let exact = Array::new(&[count, shape[1]], |index| {
        array.at(&[ids.base.data[index[0]] as usize, index[1]])
    });
    let slack = vec![4.0 * F32.epsilon(); exact.data.len()];
    let run = move |t: &[Tensor]| QTensor::quantize(&t[0], dtype)?.embedding(&t[1]);
    let expected = Expected::exact(F32, exact).within(1.0).slack(slack);
    Case::new(vec![weight, ids], run, expected)
}

fn ids(maker: &mut Maker, shape: &[usize], below: usize) -> Input {
    let mut input = maker.plain(U32, shape, (0.0, 1.0));
    for value in &mut input.base.data {
        *value = maker.rng.below(below) as f64;
    }
    input
}

/// A mixture of experts: each row goes to some of several matrices. The CPU has none.
fn indexed_moe(maker: &mut Maker, dtype: GgmlDType) -> Case {
    let (experts, n, k) = (maker.some(4), maker.rng.within(1, 20), length(maker, dtype));
    let (batch, chosen) = (maker.some(4), maker.some(3));
    let shared = maker.rng.chance(50);
    let (weight, array) = weights(maker, dtype, &[experts, n, k]);
    let input = maker.plain(
        F32,
        &[batch, if shared { 1 } else { chosen }, k],
        (-1.0, 1.0),
    );
    let which = ids(maker, &[batch, chosen], experts);
    let mut data = Vec::new();
    let mut slack = Vec::new();
    for index in indices(&[batch, chosen]) {
        let row = if shared {
            index[0]
        } else {
            index[0] * chosen + index[1]
        };
        let x = &input.base.data[row * k..][..k];
        let expert = which.base.at(&index) as usize;
        let w: Vec<&[f64]> = array.data[expert * n * k..][..n * k].chunks(k).collect();
        let one = rows_product(F32, dtype, &[x], &w);
        data.extend(one.array.data);
        slack.extend(one.slack);
    }
    let expected = Expected::exact(
        F32,
        Array {
            shape: vec![batch, chosen, n],
            data,
        },
    )
    .slack(slack);
    let run =
        move |t: &[Tensor]| QTensor::quantize(&t[0], dtype)?.indexed_moe_forward(&t[1], &t[2]);
    Case::new(vec![weight, input, which], run, expected)
}

/// The same by candle-nn's launchers, which want the rows in order of their experts.
fn moe(maker: &mut Maker, dtype: Option<GgmlDType>, element: Element, prefill: bool) -> Case {
    let block = dtype.unwrap_or(GgmlDType::Q8_0);
    let (experts, n, k) = (
        maker.some(4),
        16 * maker.rng.within(1, 4),
        length(maker, block),
    );
    let (tokens, chosen) = (maker.some(9), maker.some(3));
    let scaled = maker.rng.chance(50);
    let shape = [experts, n, k];
    let (weight, array) = match dtype {
        Some(dtype) => weights(maker, dtype, &shape),
        None => {
            maker.edges = false;
            let input = maker.plain(element, &shape, (-1.0, 1.0));
            let array = input.array();
            (input, array)
        }
    };
    // With weights for the rows, each row is there once for each of its experts.
    let rows = if scaled { tokens * chosen } else { tokens };
    // The launchers for GGUF take f32, and convert it themselves.
    let given = if dtype.is_some() { F32 } else { element };
    let mut input = maker.plain(given, &[rows, k], (-1.0, 1.0));
    input.base = input.base.map(|x| element.round(x));
    let scales = maker.plain(F32, &[tokens * chosen], (0.1, 1.0));
    let mut order: Vec<(usize, usize)> = (0..tokens * chosen)
        .map(|row| (maker.rng.below(experts), row))
        .collect();
    order.sort_unstable();
    let column = |data: Vec<f64>| {
        Input::contiguous(
            U32,
            Array {
                shape: vec![data.len()],
                data,
            },
        )
    };
    let sorted = column(order.iter().map(|&(_, row)| row as f64).collect());
    let of = column(order.iter().map(|&(expert, _)| expert as f64).collect());
    let out = if dtype.is_some() { F32 } else { element };
    let mut data = vec![0.0; tokens * chosen * n];
    let mut slack = data.clone();
    for &(expert, row) in &order {
        let x = &input.base.data[if scaled { row } else { row / chosen } * k..][..k];
        let scale = if scaled { scales.base.data[row] } else { 1.0 };
        let w: Vec<&[f64]> = array.data[expert * n * k..][..n * k].chunks(k).collect();
        let one = rows_product(out, block, &[x], &w);
        for i in 0..n {
            data[row * n + i] = one.array.data[i] * scale;
            slack[row * n + i] = one.slack[i];
        }
    }
    let shape = vec![tokens * chosen, n];
    let expected = Expected::exact(out, Array { shape, data })
        .within(2.0)
        .slack(slack);
    let run = move |t: &[Tensor]| -> Result<Tensor> {
        let scales = scaled.then(|| t[2].clone());
        match dtype {
            Some(dtype) => {
                let quantized = QTensor::quantize(&t[0], dtype)?;
                let through = if element == BF16 { BF16 } else { F16 }.dtype();
                candle_nn::moe::moe_gemm_gguf(
                    &t[1], &quantized, &scales, &t[3], &t[4], chosen, prefill, through,
                )
            }
            None => candle_nn::moe::moe_gemm(&t[1], &t[0], &scales, &t[3], &t[4], chosen, prefill),
        }
    };
    Case::new(vec![weight, input, scales, sorted, of], run, expected).with(format!(
        "{chosen} of {experts} experts, with scales {scaled}"
    ))
}
