//! Steps of small models with random weights: `step WORKLOAD LAYERS PROMPT STEPS [logits]`.
//!
//! A program that does one step more, or has one layer more, differs by what that costs; nothing is
//! measured here.

mod asked;
mod experts;
mod image;
mod llama;
mod train;
mod weights;

use asked::Asked;
use candle::{DType, Device, Result};

/// Names the paths that a model takes, as in the tree that the program is built with.
const PATHS: &str = "PORTKIT_MUTANT";

fn main() -> Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| given.get(at).and_then(|text| text.parse().ok());
    let (Some(workload), Some(layers), Some(prompt), Some(steps)) =
        (given.first(), number(1), number(2), number(3))
    else {
        candle::bail!("step WORKLOAD LAYERS PROMPT STEPS [logits]")
    };
    let asked = Asked {
        layers,
        prompt,
        steps,
        logits: given.get(4).is_some_and(|word| word == "logits"),
        fused: std::env::var_os(PATHS).is_none(),
        device: Device::new_rocm(0)?,
    };
    match workload.as_str() {
        "Llama, f16" => llama::plain(&asked, DType::F16),
        "Llama, f32" => llama::plain(&asked, DType::F32),
        "Llama, quantized" => llama::quantized(&asked),
        "Llama, quantized, the prompt" => llama::prefill(&asked),
        "Qwen3-MoE, f16" => experts::plain(&asked, DType::F16),
        "Qwen3-MoE, quantized" => experts::quantized(&asked),
        "Qwen3-MoE, dequantized" => experts::dequantized(&asked),
        "training, f32" => train::perceptron(layers, steps, &asked.device),
        "image, f16" => image::network(layers, steps, &asked.device),
        other => candle::bail!("no workload is called {other}"),
    }
}
