//! Whole models: a small transformer with random weights, as Llama has it (grouped heads, rotary
//! positions, RMS norms, gated layers), first on a prompt and then token by token with a cache.
//!
//! What must come out is the same model on the CPU in f64, of single operations alone.

use candle::quantized::{GgmlDType, QMatMul, QTensor};
use candle::{DType, Device, Module, Result, Tensor, D};
use candle_nn::kv_cache::KvCache;

use crate::array::Array;
use crate::blocks;
use crate::case::{Case, Expected, Input, Maker, Operation};
use crate::element::Element::{self, BF16, F16, F32, F64};
use crate::judge::read;

const LAYERS: usize = 2;
const WIDTH: usize = 256;
const HEADS: usize = 4;
/// Heads of keys and values; each serves two of the queries.
const PAIRS: usize = 2;
const HIDDEN: usize = 512;
const VOCABULARY: usize = 64;
const HEAD: usize = WIDTH / HEADS;
const PROMPT: usize = 9;
const STEPS: usize = 4;

/// The matrices of a layer: how many rows and columns each has.
const MATRICES: [(usize, usize); 7] = [
    (WIDTH, WIDTH),
    (PAIRS * HEAD, WIDTH),
    (PAIRS * HEAD, WIDTH),
    (WIDTH, WIDTH),
    (HIDDEN, WIDTH),
    (HIDDEN, WIDTH),
    (WIDTH, HIDDEN),
];

pub fn operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    // By how much logits may be off, as a part of the largest one.
    for (element, part) in [(F32, 2e-5), (F16, 2e-2), (BF16, 1e-1)] {
        let make = move |m: &mut Maker| model(m, element, part);
        operations.push(Operation::new("model", element.name(), make).at_most(1));
    }
    use GgmlDType::{Q2K, Q3K, Q4K, Q4_0, Q4_1, Q5K, Q5_0, Q5_1, Q6K, Q8_0};
    for dtype in [Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2K, Q3K, Q4K, Q5K, Q6K] {
        let make = move |m: &mut Maker| quantized(m, dtype);
        operations.push(Operation::new("quantized model", blocks::name(dtype), make).at_most(1));
    }
    operations
}

/// A matrix, as it is or quantized.
enum Linear {
    Plain(Tensor),
    Quantized(QMatMul),
}

impl Linear {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Plain(weight) => x.broadcast_matmul(&weight.t()?),
            Self::Quantized(weight) => weight.forward(x),
        }
    }
}

struct Layer {
    matrices: Vec<Linear>,
    norms: [Tensor; 2],
    cache: KvCache,
}

struct Model {
    embedding: Tensor,
    layers: Vec<Layer>,
    norm: Tensor,
    head: Linear,
    /// Whether candle-nn's fused operations are used.
    fused: bool,
}

impl Model {
    /// Makes a model of tensors in the order of [`weights`].
    fn new(tensors: &[Tensor], quantized: Option<GgmlDType>, fused: bool) -> Result<Self> {
        let linear = |tensor: &Tensor| -> Result<Linear> {
            Ok(match quantized {
                Some(dtype) => {
                    Linear::Quantized(QMatMul::from_qtensor(QTensor::quantize(tensor, dtype)?)?)
                }
                None => Linear::Plain(tensor.clone()),
            })
        };
        let each = MATRICES.len() + 2;
        let layers = (0..LAYERS)
            .map(|i| {
                let own = &tensors[3 + i * each..][..each];
                Ok(Layer {
                    matrices: own[2..].iter().map(linear).collect::<Result<_>>()?,
                    norms: [own[0].clone(), own[1].clone()],
                    cache: KvCache::new(2, PROMPT + STEPS),
                })
            })
            .collect::<Result<_>>()?;
        let (embedding, norm) = (tensors[0].clone(), tensors[1].clone());
        Ok(Self {
            embedding,
            layers,
            norm,
            head: linear(&tensors[2])?,
            fused,
        })
    }

    /// The logits after the last of some tokens.
    fn forward(&mut self, tokens: &[u32], position: usize) -> Result<Tensor> {
        let device = self.embedding.device().clone();
        let (length, fused) = (tokens.len(), self.fused);
        let ids = Tensor::new(tokens, &device)?;
        let mut x = self.embedding.index_select(&ids, 0)?.unsqueeze(0)?;
        let dtype = x.dtype();
        let (cos, sin) = angles(position, length, dtype, &device)?;
        let mask = mask(length, position + length, dtype, &device)?;
        for layer in &mut self.layers {
            let attended =
                layer.attend(&norm(&x, &layer.norms[0], fused)?, &cos, &sin, &mask, fused)?;
            x = (x + attended)?;
            let y = norm(&x, &layer.norms[1], fused)?;
            let gate = layer.matrices[4].forward(&y)?.silu()?;
            let up = layer.matrices[5].forward(&y)?;
            x = (x + layer.matrices[6].forward(&(gate * up)?)?)?;
        }
        let last = norm(&x, &self.norm, fused)?
            .narrow(1, length - 1, 1)?
            .contiguous()?;
        self.head.forward(&last)?.reshape(VOCABULARY)
    }

    fn logits(&mut self, tokens: &[u32]) -> Result<Vec<Tensor>> {
        let mut all = vec![self.forward(&tokens[..PROMPT], 0)?];
        for position in PROMPT..PROMPT + STEPS {
            all.push(self.forward(&tokens[position..=position], position)?);
        }
        Ok(all)
    }
}

impl Layer {
    fn attend(
        &mut self,
        x: &Tensor,
        cos: &Tensor,
        sin: &Tensor,
        mask: &Tensor,
        fused: bool,
    ) -> Result<Tensor> {
        let length = x.dim(1)?;
        let heads = |matrix: &Linear, count: usize| {
            matrix
                .forward(x)?
                .reshape((1, length, count, HEAD))?
                .transpose(1, 2)?
                .contiguous()
        };
        let q = turn(&heads(&self.matrices[0], HEADS)?, cos, sin, fused)?;
        let k = turn(&heads(&self.matrices[1], PAIRS)?, cos, sin, fused)?;
        let v = heads(&self.matrices[2], PAIRS)?;
        let (k, v) = self.cache.append(&k, &v)?;
        let (k, v) = (repeat(&k)?, repeat(&v)?);
        let scores = (q.matmul(&k.t()?)? * (1.0 / (HEAD as f64).sqrt()))?.broadcast_add(mask)?;
        let weights = if fused {
            candle_nn::ops::softmax_last_dim(&scores)?
        } else {
            candle_nn::ops::softmax(&scores, D::Minus1)?
        };
        let mixed = weights
            .matmul(&v)?
            .transpose(1, 2)?
            .reshape((1, length, WIDTH))?;
        self.matrices[3].forward(&mixed)
    }
}

/// Each head of keys or values once for each of its queries.
fn repeat(x: &Tensor) -> Result<Tensor> {
    let (b, heads, length, width) = x.dims4()?;
    let times = HEADS / PAIRS;
    x.unsqueeze(2)?
        .expand((b, heads, times, length, width))?
        .reshape((b, heads * times, length, width))
}

fn norm(x: &Tensor, weight: &Tensor, fused: bool) -> Result<Tensor> {
    if fused {
        return candle_nn::ops::rms_norm(&x.contiguous()?, weight, 1e-5);
    }
    let square = x.sqr()?.mean_keepdim(D::Minus1)?;
    x.broadcast_div(&(square + 1e-5)?.sqrt()?)?
        .broadcast_mul(weight)
}

fn turn(x: &Tensor, cos: &Tensor, sin: &Tensor, fused: bool) -> Result<Tensor> {
    if fused {
        return candle_nn::rotary_emb::rope(x, cos, sin);
    }
    let (a, b) = (x.narrow(3, 0, HEAD / 2)?, x.narrow(3, HEAD / 2, HEAD / 2)?);
    let first = (a.broadcast_mul(cos)? - b.broadcast_mul(sin)?)?;
    let second = (a.broadcast_mul(sin)? + b.broadcast_mul(cos)?)?;
    Tensor::cat(&[first, second], 3)
}

fn angles(start: usize, length: usize, dtype: DType, on: &Device) -> Result<(Tensor, Tensor)> {
    let angle = |t: usize, i: usize| t as f64 / 1e4f64.powf(2.0 * i as f64 / HEAD as f64);
    let all: Vec<f64> = (start..start + length)
        .flat_map(|t| (0..HEAD / 2).map(move |i| angle(t, i)))
        .collect();
    let table = |f: fn(f64) -> f64| {
        let values: Vec<f64> = all.iter().map(|&x| f(x)).collect();
        Tensor::from_vec(values, (length, HEAD / 2), &Device::Cpu)?
            .to_dtype(dtype)?
            .to_device(on)
    };
    Ok((table(f64::cos)?, table(f64::sin)?))
}

fn mask(length: usize, keys: usize, dtype: DType, on: &Device) -> Result<Tensor> {
    let later = |i: usize, j: usize| j + length > i + keys;
    let values: Vec<f64> = (0..length * keys)
        .map(|at| {
            if later(at / keys, at % keys) {
                f64::NEG_INFINITY
            } else {
                0.0
            }
        })
        .collect();
    Tensor::from_vec(values, (length, keys), &Device::Cpu)?
        .to_dtype(dtype)?
        .to_device(on)
}

/// The weights: embedding, last norm, head, then the norms and matrices of each layer.
fn weights(maker: &mut Maker, element: Element) -> Vec<Input> {
    maker.edges = false;
    let mut all = vec![
        maker.plain(element, &[VOCABULARY, WIDTH], (-1.0, 1.0)),
        maker.plain(element, &[WIDTH], (0.5, 1.5)),
        maker.plain(element, &[VOCABULARY, WIDTH], (-0.1, 0.1)),
    ];
    for _ in 0..LAYERS {
        for _ in 0..2 {
            all.push(maker.plain(element, &[WIDTH], (0.5, 1.5)));
        }
        for (rows, columns) in MATRICES {
            let size = (3.0 / columns as f64).sqrt();
            all.push(maker.plain(element, &[rows, columns], (-size, size)));
        }
    }
    all
}

/// Which of the weights are matrices that can be quantized.
fn is_matrix(number: usize, input: &Input) -> bool {
    number != 0 && input.base.shape.len() == 2
}

fn model(maker: &mut Maker, element: Element, part: f64) -> Case {
    let inputs = weights(maker, element);
    case(maker, inputs.clone(), inputs, None, part)
}

fn quantized(maker: &mut Maker, dtype: GgmlDType) -> Case {
    let inputs = weights(maker, F32);
    let exact = inputs.iter().enumerate().map(|(number, input)| {
        let mut input = input.clone();
        if is_matrix(number, &input) {
            let tensor = input.tensor(&Device::Cpu);
            let bytes =
                tensor.and_then(|t| QTensor::quantize(&t, dtype)?.data().map(|d| d.to_vec()));
            let bytes =
                bytes.unwrap_or_else(|e| panic!("the CPU cannot quantize to {dtype:?}: {e}"));
            input.base.data = blocks::values(dtype, &bytes);
        }
        input
    });
    let exact = exact.collect();
    // Activations have 8 bits. Where a block has a minimum, the kernels multiply that with the sum of
    // the activations as they were before: errors of the two parts, each up to twice the weight, do not
    // cancel as they do in a product with the weight itself.
    let part = match dtype {
        GgmlDType::Q4_1 | GgmlDType::Q5_1 => 12e-2,
        _ => 6e-2,
    };
    case(maker, inputs, exact, Some(dtype), part)
}

fn case(
    maker: &mut Maker,
    inputs: Vec<Input>,
    exact: Vec<Input>,
    dtype: Option<GgmlDType>,
    part: f64,
) -> Case {
    let tokens: Vec<u32> = (0..PROMPT + STEPS)
        .map(|_| maker.rng.below(VOCABULARY) as u32)
        .collect();
    let reference = || -> Result<Vec<(Element, Vec<usize>, Vec<f64>)>> {
        let tensors: Vec<Tensor> = exact
            .into_iter()
            .map(|input| {
                Input {
                    element: F64,
                    ..input
                }
                .tensor(&Device::Cpu)
            })
            .collect::<Result<_>>()?;
        Model::new(&tensors, None, false)?
            .logits(&tokens)?
            .iter()
            .map(read)
            .collect()
    };
    let logits = reference().unwrap_or_else(|e| panic!("the model on the CPU: {e}"));
    let element = inputs[0].element;
    let expected = logits
        .into_iter()
        .map(|(_, shape, data)| {
            let most = data.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            let slack = vec![part * most; data.len()];
            Expected::exact(element, Array { shape, data }).slack(slack)
        })
        .collect();
    let run = move |t: &[Tensor]| Model::new(t, dtype, true)?.logits(&tokens);
    let arguments =
        format!("{LAYERS} layers of {WIDTH}, a prompt of {PROMPT} and {STEPS} tokens more");
    Case {
        inputs,
        arguments,
        run: Box::new(run),
        expected,
    }
}
