//! Random weights, the same in every run, by the names that models ask for.

use std::collections::HashMap;
use std::io::Cursor;

use candle::quantized::{gguf_file, GgmlDType, QTensor};
use candle::{DType, Device, Result, Tensor};

/// Weights by their names, and how wide each is spread around zero; norms are around one.
pub type Shapes = Vec<(String, Vec<usize>)>;

const SPREAD: f32 = 0.1;

/// Numbers that follow from a weight's name alone.
fn numbers(name: &str, count: usize) -> Vec<f32> {
    let mut state = name.bytes().fold(0xcbf29ce484222325u64, |hash, byte| {
        (hash ^ byte as u64).wrapping_mul(0x100000001b3)
    });
    (0..count)
        .map(|_| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

fn weight(name: &str, shape: &[usize]) -> Result<Tensor> {
    let all = Tensor::from_vec(numbers(name, shape.iter().product()), shape, &Device::Cpu)?;
    match shape.len() {
        1 => all.affine(SPREAD as f64, 1.0),
        _ => all.affine(SPREAD as f64, 0.0),
    }
}

pub fn tensors(shapes: &Shapes, dtype: DType, device: &Device) -> Result<HashMap<String, Tensor>> {
    let one = |(name, shape): &(String, Vec<usize>)| {
        let weight = weight(name, shape)?.to_dtype(dtype)?.to_device(device)?;
        Ok((name.clone(), weight))
    };
    shapes.iter().map(one).collect()
}

/// The weights in the types that a GGUF file would have: matrices quantized, the others not.
pub fn quantized(shapes: &Shapes, dtype: GgmlDType) -> Result<Vec<(String, QTensor)>> {
    let one = |(name, shape): &(String, Vec<usize>)| {
        let dtype = match shape.len() == 1 || name.ends_with("mlp.gate.weight") {
            true => GgmlDType::F32,
            false => dtype,
        };
        Ok((
            name.clone(),
            QTensor::quantize(&weight(name, shape)?, dtype)?,
        ))
    };
    shapes.iter().map(one).collect()
}

/// A GGUF file in memory: what it holds, and where to read that from.
pub fn gguf(
    metadata: &[(&str, gguf_file::Value)],
    weights: &[(String, QTensor)],
) -> Result<(gguf_file::Content, Cursor<Vec<u8>>)> {
    let mut file = Cursor::new(Vec::new());
    let metadata: Vec<_> = metadata.iter().map(|(key, value)| (*key, value)).collect();
    let weights: Vec<_> = weights
        .iter()
        .map(|(name, weight)| (name.as_str(), weight))
        .collect();
    gguf_file::write(&mut file, &metadata, &weights)?;
    file.set_position(0);
    Ok((gguf_file::Content::read(&mut file)?, file))
}

/// A name of `Shapes` as GGUF files have it.
pub fn in_gguf(name: &str) -> String {
    const NAMES: [(&str, &str); 16] = [
        ("model.embed_tokens", "token_embd"),
        ("model.norm", "output_norm"),
        ("model.layers", "blk"),
        ("input_layernorm", "attn_norm"),
        ("post_attention_layernorm", "ffn_norm"),
        ("self_attn.q_proj", "attn_q"),
        ("self_attn.k_proj", "attn_k"),
        ("self_attn.v_proj", "attn_v"),
        ("self_attn.o_proj", "attn_output"),
        ("self_attn.q_norm", "attn_q_norm"),
        ("self_attn.k_norm", "attn_k_norm"),
        ("mlp.gate_proj", "ffn_gate"),
        ("mlp.up_proj", "ffn_up"),
        ("mlp.down_proj", "ffn_down"),
        ("mlp.gate.", "ffn_gate_inp."),
        ("mlp.experts.all", "ffn"),
    ];
    let apart = |name: String, (from, to): (&str, &str)| name.replace(from, to);
    let name = NAMES.into_iter().fold(name.to_string(), apart);
    match name.contains("ffn.") {
        true => name.replace("ffn.", "ffn_").replace("_proj", "_exps"),
        false => name,
    }
}
