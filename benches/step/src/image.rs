//! An image model: convolutions, group norms and activations.

use candle::{DType, Device, Result, Tensor};
use candle_nn::{Conv2dConfig, Module, VarBuilder, VarMap};

const CHANNELS: usize = 16;
const SIDE: usize = 16;

pub fn network(layers: usize, steps: usize, device: &Device) -> Result<()> {
    let weights = VarMap::new();
    let builder = VarBuilder::from_varmap(&weights, DType::F16, device);
    let config = Conv2dConfig {
        padding: 1,
        ..Default::default()
    };
    let mut blocks = Vec::new();
    for layer in 0..layers {
        let at = builder.pp(layer);
        let conv = candle_nn::conv2d(CHANNELS, CHANNELS, 3, config, at.pp("conv"))?;
        let norm = candle_nn::group_norm(4, CHANNELS, 1e-5, at.pp("norm"))?;
        blocks.push((conv, norm));
    }
    let image = Tensor::randn(0f32, 1., (1, CHANNELS, SIDE, SIDE), device)?.to_dtype(DType::F16)?;
    for _ in 0..=steps {
        let mut hidden = image.clone();
        for (conv, norm) in &blocks {
            hidden = norm.forward(&conv.forward(&hidden)?)?.silu()?;
        }
        hidden
            .mean_all()?
            .to_dtype(DType::F32)?
            .to_scalar::<f32>()?;
    }
    Ok(())
}
