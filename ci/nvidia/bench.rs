//! What operations of a backend take on one GPU, in microseconds: a line of JSON for each item.
//!
//! Built once with `--features rocm` and once with `--features cuda`; `run.py` starts the two in
//! turn. Arguments: how many samples of each item, how long one lasts in milliseconds, and which
//! items, by their names; all by default.

use candle::quantized::{GgmlDType, QMatMul, QTensor};
use candle::{DType, Device, Module, Result, Tensor, D};
use candle_nn::{ops, rotary_emb};
use std::time::{Duration, Instant};

#[cfg(feature = "rocm")]
const BACKEND: &str = "rocm";
#[cfg(not(feature = "rocm"))]
const BACKEND: &str = "cuda";

fn gpu() -> Result<Device> {
    #[cfg(feature = "rocm")]
    return Device::new_rocm(0);
    #[cfg(not(feature = "rocm"))]
    return Device::new_cuda(0);
}

/// The same values on every backend, between -1 and 1.
fn values(shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64 ^ shape.iter().product::<usize>() as u64;
    let count = shape.iter().product();
    let values: Vec<f32> = (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        })
        .collect();
    Tensor::from_vec(values, shape, device)?.to_dtype(dtype)
}

struct Bench {
    device: Device,
    samples: usize,
    sample: Duration,
    wanted: Vec<String>,
}

impl Bench {
    /// Times `body`, or says why it cannot be.
    fn item(&self, name: &str, body: impl Fn() -> Result<Tensor>) -> Result<()> {
        if !self.wanted.is_empty() && !self.wanted.iter().any(|wanted| wanted == name) {
            return Ok(());
        }
        let (key, value) = match self.time(body) {
            Ok(us) => ("us", format!("{us:.3}")),
            Err(error) => ("error", format!("{:?}", error.to_string())),
        };
        println!("{{\"backend\": \"{BACKEND}\", \"item\": \"{name}\", \"{key}\": {value}}}");
        Ok(())
    }

    /// The median of the samples in microseconds: each is as many calls as fit into it, with one
    /// wait for the device at its end.
    fn time(&self, body: impl Fn() -> Result<Tensor>) -> Result<f64> {
        let run = |calls: usize| -> Result<Duration> {
            let start = Instant::now();
            for _ in 0..calls {
                body()?;
            }
            self.device.synchronize()?;
            Ok(start.elapsed())
        };
        run(3)?;
        let one = run(10)?.as_secs_f64() / 10.0;
        let calls = ((self.sample.as_secs_f64() / one) as usize).clamp(1, 20_000);
        let mut each = (0..self.samples)
            .map(|_| Ok(run(calls)?.as_secs_f64() * 1e6 / calls as f64))
            .collect::<Result<Vec<_>>>()?;
        each.sort_by(f64::total_cmp);
        Ok(each[each.len() / 2])
    }
}

fn products(b: &Bench) -> Result<()> {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let label = dtype.as_str();
        for (m, k, n) in [(1024, 1024, 1024), (4096, 4096, 4096), (1, 4096, 4096)] {
            let left = values(&[m, k], dtype, &b.device)?;
            let right = values(&[k, n], dtype, &b.device)?;
            b.item(&format!("matmul {label} {m}x{k}x{n}"), || {
                left.matmul(&right)
            })?;
        }
        let left = values(&[32, 512, 64], dtype, &b.device)?;
        let right = values(&[32, 512, 64], dtype, &b.device)?.transpose(1, 2)?;
        b.item(&format!("matmul {label} batch 32 of 512x64x512"), || {
            left.matmul(&right)
        })?;
    }
    Ok(())
}

fn elementwise(b: &Bench) -> Result<()> {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let label = dtype.as_str();
        let x = values(&[4096, 4096], dtype, &b.device)?;
        let y = values(&[4096, 4096], dtype, &b.device)?;
        let row = values(&[1, 4096], dtype, &b.device)?;
        b.item(&format!("add {label} 16M"), || &x + &y)?;
        b.item(&format!("mul by a row {label} 16M"), || {
            x.broadcast_mul(&row)
        })?;
        b.item(&format!("exp {label} 16M"), || x.exp())?;
        b.item(&format!("gelu {label} 16M"), || x.gelu())?;
        b.item(&format!("silu {label} 16M"), || x.silu())?;
        b.item(&format!("affine {label} 16M"), || x.affine(1.5, 0.25))?;
        let turned = x.t()?;
        b.item(&format!("copy transposed {label} 16M"), || {
            turned.contiguous()
        })?;
    }
    let x = values(&[4096, 4096], DType::F32, &b.device)?;
    b.item("cast f32 to f16 16M", || x.to_dtype(DType::F16))?;
    b.item("cast f32 to f8e4m3 16M", || x.to_dtype(DType::F8E4M3))?;
    let mask = x.ge(0f64)?;
    let y = x.neg()?;
    b.item("where_cond f32 16M", || mask.where_cond(&x, &y))?;
    let small = values(&[16], DType::F32, &b.device)?;
    b.item("add f32 16 (cost of a call)", || &small + &small)
}

fn rows(b: &Bench) -> Result<()> {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let label = dtype.as_str();
        let x = values(&[4096, 4096], dtype, &b.device)?;
        let alpha = values(&[4096], dtype, &b.device)?;
        let beta = values(&[4096], dtype, &b.device)?;
        b.item(&format!("softmax {label} 4096x4096"), || {
            ops::softmax_last_dim(&x)
        })?;
        b.item(&format!("rms_norm {label} 4096x4096"), || {
            ops::rms_norm(&x, &alpha, 1e-5)
        })?;
        b.item(&format!("layer_norm {label} 4096x4096"), || {
            ops::layer_norm(&x, &alpha, &beta, 1e-5)
        })?;
        b.item(&format!("sum {label} 4096x4096"), || x.sum(D::Minus1))?;
        let heads = values(&[1, 32, 512, 128], dtype, &b.device)?;
        let angle = values(&[512, 64], dtype, &b.device)?;
        b.item(&format!("rope {label} 32x512x128"), || {
            rotary_emb::rope(&heads, &angle, &angle)
        })?;
    }
    let x = values(&[1024, 1024], DType::F32, &b.device)?;
    b.item("argmax f32 1024x1024", || x.argmax(D::Minus1))?;
    b.item("sort f32 1024x1024", || x.arg_sort_last_dim(true))?;
    let table = values(&[32000, 1024], DType::F32, &b.device)?;
    let ids: Vec<u32> = (0..2048).map(|i| i * 7919 % 32000).collect();
    let ids = Tensor::new(ids, &b.device)?;
    b.item("index_select f32 2048 of 32000x1024", || {
        table.index_select(&ids, 0)
    })
}

fn convolution(b: &Bench) -> Result<()> {
    for dtype in [DType::F32, DType::F16] {
        let label = dtype.as_str();
        let image = values(&[8, 64, 56, 56], dtype, &b.device)?;
        let kernel = values(&[64, 64, 3, 3], dtype, &b.device)?;
        b.item(&format!("conv2d {label} 8x64x56x56 by 64x3x3"), || {
            image.conv2d(&kernel, 1, 1, 1, 1)
        })?;
        let signal = values(&[8, 256, 1500], dtype, &b.device)?;
        let kernel = values(&[256, 256, 3], dtype, &b.device)?;
        b.item(&format!("conv1d {label} 8x256x1500 by 256x3"), || {
            signal.conv1d(&kernel, 1, 1, 1, 1)
        })?;
        b.item(&format!("max_pool2d {label} 8x64x56x56"), || {
            image.max_pool2d(2)
        })?;
    }
    Ok(())
}

const QUANTIZED: [(GgmlDType, &str); 5] = [
    (GgmlDType::Q4_0, "q4_0"),
    (GgmlDType::Q5_1, "q5_1"),
    (GgmlDType::Q8_0, "q8_0"),
    (GgmlDType::Q4K, "q4_k"),
    (GgmlDType::Q6K, "q6_k"),
];

fn quantized(b: &Bench) -> Result<()> {
    let weights = values(&[4096, 4096], DType::F32, &Device::Cpu)?;
    for (kind, label) in QUANTIZED {
        let weights = QTensor::quantize_onto(&weights, kind, &b.device)?;
        let product = QMatMul::from_qtensor(weights)?;
        for n in [1, 8, 512] {
            let x = values(&[n, 4096], DType::F32, &b.device)?;
            b.item(&format!("quantized {label} {n}x4096x4096"), || {
                product.forward(&x)
            })?;
        }
    }
    Ok(())
}

/// A weight: quantized, or a matrix to multiply with from the right.
enum Weight {
    Quantized(QMatMul),
    Plain(Tensor),
}

impl Weight {
    fn new(out: usize, of: usize, dtype: DType, quantized: bool, device: &Device) -> Result<Self> {
        if quantized {
            let values = values(&[out, of], DType::F32, &Device::Cpu)?;
            let weight = QTensor::quantize_onto(&values, GgmlDType::Q4_0, device)?;
            Ok(Self::Quantized(QMatMul::from_qtensor(weight)?))
        } else {
            Ok(Self::Plain(values(&[out, of], dtype, device)?.t()?))
        }
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Quantized(weight) => weight.forward(x),
            Self::Plain(weight) => x.broadcast_matmul(weight),
        }
    }
}

/// One layer of a decoder in the manner of Llama, with the keys and values of earlier tokens.
struct Layer {
    norms: [Tensor; 2],
    projections: [Weight; 4],
    up: Weight,
    gate: Weight,
    down: Weight,
    keys: Tensor,
    values: Tensor,
}

const HIDDEN: usize = 2048;
const INNER: usize = 5632;
const HEADS: usize = 16;
const CONTEXT: usize = 512;

impl Layer {
    fn new(dtype: DType, quantized: bool, device: &Device) -> Result<Self> {
        let weight = |out, of| Weight::new(out, of, dtype, quantized, device);
        let square = || weight(HIDDEN, HIDDEN);
        let norm = || values(&[HIDDEN], dtype, device);
        let past = || values(&[1, HEADS, CONTEXT - 1, HIDDEN / HEADS], dtype, device);
        Ok(Self {
            norms: [norm()?, norm()?],
            projections: [square()?, square()?, square()?, square()?],
            up: weight(INNER, HIDDEN)?,
            gate: weight(INNER, HIDDEN)?,
            down: weight(HIDDEN, INNER)?,
            keys: past()?,
            values: past()?,
        })
    }

    fn forward(&self, x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
        let split = |x: Tensor| {
            x.reshape((1, 1, HEADS, HIDDEN / HEADS))?
                .transpose(1, 2)?
                .contiguous()
        };
        let normed = ops::rms_norm(x, &self.norms[0], 1e-5)?;
        let [query, key, value, output] = &self.projections;
        let q = rotary_emb::rope(&split(query.forward(&normed)?)?, cos, sin)?;
        let k = rotary_emb::rope(&split(key.forward(&normed)?)?, cos, sin)?;
        let v = split(value.forward(&normed)?)?;
        let keys = Tensor::cat(&[&self.keys, &k], 2)?;
        let values = Tensor::cat(&[&self.values, &v], 2)?;
        let scale = 1.0 / ((HIDDEN / HEADS) as f64).sqrt();
        let scores = (q.matmul(&keys.t()?)? * scale)?;
        let mixed = ops::softmax_last_dim(&scores)?.matmul(&values)?;
        let mixed = mixed.transpose(1, 2)?.reshape((1, 1, HIDDEN))?;
        let x = (x + output.forward(&mixed)?)?;
        let normed = ops::rms_norm(&x, &self.norms[1], 1e-5)?;
        let inner = (self.gate.forward(&normed)?.silu()? * self.up.forward(&normed)?)?;
        x + self.down.forward(&inner)?
    }
}

fn decoding(b: &Bench) -> Result<()> {
    for (name, dtype, quantized) in [
        ("f32", DType::F32, false),
        ("bf16", DType::BF16, false),
        ("q4_0", DType::F32, true),
    ] {
        let layers = (0..4)
            .map(|_| Layer::new(dtype, quantized, &b.device))
            .collect::<Result<Vec<_>>>()?;
        let token = values(&[1, 1, HIDDEN], dtype, &b.device)?;
        let angle = values(&[1, HIDDEN / HEADS / 2], dtype, &b.device)?;
        b.item(&format!("decode step {name}, 4 layers of {HIDDEN}"), || {
            layers
                .iter()
                .try_fold(token.clone(), |x, layer| layer.forward(&x, &angle, &angle))
        })?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |otherwise| match arguments.next() {
        Some(argument) => argument.parse().unwrap_or(otherwise),
        None => otherwise,
    };
    let (samples, milliseconds) = (number(5), number(20));
    let bench = Bench {
        device: gpu()?,
        samples: samples as usize,
        sample: Duration::from_millis(milliseconds),
        wanted: arguments.collect(),
    };
    for part in [
        products,
        elementwise,
        rows,
        convolution,
        quantized,
        decoding,
    ] {
        part(&bench)?;
    }
    Ok(())
}
