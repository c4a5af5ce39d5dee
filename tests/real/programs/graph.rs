//! A step of decoding as a graph: captured once, and launched for each token. For that the step has
//! to be the same work each time. What changes from token to token is memory of the device: the
//! token, its position, keys and values in a tensor that is as long as they will ever be.

use candle::quantized::{GgmlDType, QMatMul, QTensor};
use candle::rocm_backend::candle_hip::driver::sys;
use candle::{DType, Device, Module, Result, Tensor, D};
use candle_nn::ops::{rms_norm, silu, softmax_last_dim};
use candle_nn::rotary_emb::rope;

const WORDS: usize = 96;
const WIDTH: usize = 256;
const HEADS: usize = 4;
const HEAD: usize = WIDTH / HEADS;
const LONGEST: usize = 24;
const LAYERS: usize = 2;

/// Numbers between -1 and 1.
fn numbers(seed: u32, shape: &[usize], device: &Device) -> Result<Tensor> {
    let mut state = seed.wrapping_mul(2654435761).wrapping_add(12345);
    let values: Vec<f32> = (0..shape.iter().product())
        .map(|_| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect();
    Tensor::from_vec(values, shape, device)
}

fn product(seed: u32, rows: usize, columns: usize, device: &Device) -> Result<QMatMul> {
    let weights = (numbers(seed, &[rows, columns], device)? * (3.0 / columns as f64).sqrt())?;
    QMatMul::from_qtensor(QTensor::quantize(&weights, GgmlDType::Q8_0)?)
}

struct Layer {
    norms: [Tensor; 2],
    /// Of queries, keys, values and what attention gives.
    attention: [QMatMul; 4],
    gate: QMatMul,
    up: QMatMul,
    down: QMatMul,
    keys: Tensor,
    values: Tensor,
}

/// A small Llama, and what a step changes in place.
struct Model {
    words: Tensor,
    layers: Vec<Layer>,
    last: (Tensor, QMatMul),
    angles: (Tensor, Tensor),
    places: Tensor,
    token: Tensor,
    position: Tensor,
    said: Tensor,
}

impl Model {
    fn new(device: &Device) -> Result<Self> {
        let layer = |seed: u32| -> Result<Layer> {
            let square = |n: u32| product(seed + n, WIDTH, WIDTH, device);
            let norm = || Tensor::ones(WIDTH, DType::F32, device);
            let cache = || Tensor::zeros((1, HEADS, LONGEST, HEAD), DType::F32, device);
            Ok(Layer {
                norms: [norm()?, norm()?],
                attention: [square(1)?, square(2)?, square(3)?, square(4)?],
                gate: product(seed + 5, 2 * WIDTH, WIDTH, device)?,
                up: product(seed + 6, 2 * WIDTH, WIDTH, device)?,
                down: product(seed + 7, WIDTH, 2 * WIDTH, device)?,
                keys: cache()?,
                values: cache()?,
            })
        };
        let angles: Vec<f32> = (0..LONGEST * HEAD / 2)
            .map(|i| {
                let (place, pair) = (i / (HEAD / 2), i % (HEAD / 2));
                place as f32 / 10_000f32.powf(2.0 * pair as f32 / HEAD as f32)
            })
            .collect();
        let angles = Tensor::from_vec(angles, (LONGEST, HEAD / 2), device)?;
        Ok(Self {
            words: numbers(99, &[WORDS, WIDTH], device)?,
            layers: (0..LAYERS as u32)
                .map(|n| layer(10 * n))
                .collect::<Result<_>>()?,
            last: (
                Tensor::ones(WIDTH, DType::F32, device)?,
                product(98, WORDS, WIDTH, device)?,
            ),
            angles: (angles.cos()?, angles.sin()?),
            places: Tensor::arange(0, LONGEST as u32, device)?,
            token: Tensor::new(&[7u32], device)?,
            position: Tensor::new(&[0u32], device)?,
            said: Tensor::zeros(LONGEST, DType::U32, device)?,
        })
    }

    /// Decodes a token, and leaves the next one where the step finds it.
    fn step(&self) -> Result<()> {
        let (cos, sin) = &self.angles;
        let cos = cos.index_select(&self.position, 0)?;
        let sin = sin.index_select(&self.position, 0)?;
        let seen = self.places.broadcast_le(&self.position)?;
        let seen = seen.broadcast_as((1, HEADS, 1, LONGEST))?;
        let hidden = Tensor::full(f32::NEG_INFINITY, seen.shape(), seen.device())?;
        let here = self.position.reshape((1, 1, 1, 1))?;
        let here = here.broadcast_as((1, HEADS, 1, HEAD))?.contiguous()?;

        let mut x = self.words.index_select(&self.token, 0)?.unsqueeze(0)?;
        for layer in &self.layers {
            let normed = rms_norm(&x, &layer.norms[0], 1e-5)?;
            let heads = |n: usize| {
                layer.attention[n]
                    .forward(&normed)?
                    .reshape((1, HEADS, 1, HEAD))
            };
            let queries = rope(&heads(0)?, &cos, &sin)?;
            let keys = rope(&heads(1)?, &cos, &sin)?;
            layer.keys.scatter_set(&here, &keys, 2)?;
            layer.values.scatter_set(&here, &heads(2)?, 2)?;
            let scores = (queries.matmul(&layer.keys.t()?)? / (HEAD as f64).sqrt())?;
            let shares = softmax_last_dim(&seen.where_cond(&scores, &hidden)?)?;
            let attended = shares.matmul(&layer.values)?.reshape((1, 1, WIDTH))?;
            x = (x + layer.attention[3].forward(&attended)?)?;

            let normed = rms_norm(&x, &layer.norms[1], 1e-5)?;
            let gated = (silu(&layer.gate.forward(&normed)?)? * layer.up.forward(&normed)?)?;
            x = (x + layer.down.forward(&gated)?)?;
        }
        let logits = self.last.1.forward(&rms_norm(&x, &self.last.0, 1e-5)?)?;
        let next = logits.argmax(D::Minus1)?.reshape(1)?;
        self.said.scatter_set(&self.position, &next, 0)?;
        self.token.slice_set(&next, 0, 0)?;
        let position = (&self.position + self.position.ones_like()?)?;
        self.position.slice_set(&position, 0, 0)
    }
}

#[test]
fn a_step_that_is_captured_once_decodes_every_token() -> Result<()> {
    let device = Device::new_rocm_with_stream(0)?; // candle before 0.11 has the null stream else
    let eager = Model::new(&device)?;
    for _ in 0..LONGEST {
        eager.step()?;
    }

    let captured = Model::new(&device)?;
    captured.step()?; // loads kernels, and uploads what stays the same
    let stream = device.as_rocm_device()?.rocm_stream();
    let (mode, flags) = (
        sys::hipStreamCaptureMode::hipStreamCaptureModeThreadLocal,
        sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch,
    );
    stream.begin_capture(mode).map_err(candle::Error::wrap)?;
    let step = captured.step();
    let graph = stream.end_capture(flags).map_err(candle::Error::wrap)?;
    step?; // the capture ends whatever became of the step
    let graph = graph.expect("the stream captured a step");
    for _ in 1..LONGEST {
        graph.launch().map_err(candle::Error::wrap)?;
    }

    let said = eager.said.to_vec1::<u32>()?;
    assert!(said.iter().any(|word| *word != said[0]), "{said:?}");
    assert_eq!(captured.said.to_vec1::<u32>()?, said);
    for (one, other) in eager.layers.iter().zip(&captured.layers) {
        for (one, other) in [(&one.keys, &other.keys), (&one.values, &other.values)] {
            let one = one.flatten_all()?.to_vec1::<f32>()?;
            assert_eq!(other.flatten_all()?.to_vec1::<f32>()?, one);
        }
    }
    Ok(())
}
