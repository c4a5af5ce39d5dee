//! A perceptron that learns: forward, backward, and the optimizer.

use candle::{DType, Device, Result, Tensor};
use candle_nn::{loss, AdamW, Linear, Module, Optimizer, VarBuilder, VarMap};

const WIDTH: usize = 128;
const ROWS: usize = 32;

pub fn perceptron(layers: usize, steps: usize, device: &Device) -> Result<()> {
    let weights = VarMap::new();
    let builder = VarBuilder::from_varmap(&weights, DType::F32, device);
    let layers = (0..layers)
        .map(|layer| candle_nn::linear(WIDTH, WIDTH, builder.pp(layer)))
        .collect::<Result<Vec<Linear>>>()?;
    let mut optimizer = AdamW::new_lr(weights.all_vars(), 1e-3)?;
    let inputs = Tensor::randn(0f32, 1., (ROWS, WIDTH), device)?;
    for _ in 0..=steps {
        let mut hidden = inputs.clone();
        for layer in &layers {
            hidden = layer.forward(&hidden)?.gelu()?;
        }
        let loss = loss::mse(&hidden, &inputs)?;
        optimizer.backward_step(&loss)?;
        loss.to_scalar::<f32>()?;
    }
    Ok(())
}
