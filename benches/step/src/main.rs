//! Steps of small models with random weights: `step WORKLOAD LAYERS STEPS`.
//!
//! A program that does one step more, or has one layer more, differs by what that costs; nothing is
//! measured here.

mod decode;
mod image;
mod train;

use candle::{Device, Result};

fn main() -> Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| given.get(at).and_then(|text| text.parse().ok());
    let (Some(workload), Some(layers), Some(steps)) = (given.first(), number(1), number(2)) else {
        candle::bail!("step WORKLOAD LAYERS STEPS")
    };
    let device = Device::new_rocm(0)?;
    match workload.as_str() {
        "decode, quantized" => decode::quantized(layers, steps, &device),
        "decode, f16" => decode::half(layers, steps, &device),
        "prefill, quantized" => decode::prefill(layers, steps, &device),
        "training, f32" => train::perceptron(layers, steps, &device),
        "image, f16" => image::network(layers, steps, &device),
        other => candle::bail!("no workload is called {other}"),
    }
}
