//! What a run is asked for, and what every model does: a prompt, then one token a step.

use candle::{DType, Device, IndexOp, Result, Tensor, D};

pub struct Asked {
    pub layers: usize,
    /// How many tokens there are before the first step.
    pub prompt: usize,
    pub steps: usize,
    /// Whether the logits are printed, a line for each forward pass.
    pub logits: bool,
    /// Whether the model's own setting for fused attention is on.
    pub fused: bool,
    pub device: Device,
}

impl Asked {
    pub fn prompt(&self) -> Result<Tensor> {
        Tensor::arange(0u32, self.prompt as u32, &self.device)?.unsqueeze(0)
    }

    /// Reads the prompt and takes the steps. Which tokens come does not depend on the model.
    pub fn decode(&self, mut forward: impl FnMut(&Tensor, usize) -> Result<Tensor>) -> Result<()> {
        self.chosen(&forward(&self.prompt()?, 0)?)?;
        for step in 0..self.steps {
            let token = 3 + 7 * step as u32;
            let input = Tensor::new(&[[token]], &self.device)?;
            self.chosen(&forward(&input, self.prompt + step)?)?;
        }
        Ok(())
    }

    /// Lets the host know the most likely token, as it has to.
    pub fn chosen(&self, logits: &Tensor) -> Result<()> {
        logits.i(0)?.argmax(D::Minus1)?.to_scalar::<u32>()?;
        if self.logits {
            let all = logits.i(0)?.to_dtype(DType::F32)?.to_vec1::<f32>()?;
            let all: Vec<_> = all.iter().map(f32::to_string).collect();
            println!("{}", all.join(" "));
        }
        Ok(())
    }
}
