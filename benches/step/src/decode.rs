//! A Llama: a prompt, then one token a step.

use std::collections::HashMap;
use std::io::Cursor;

use candle::quantized::{gguf_file, GgmlDType, QTensor};
use candle::{DType, Device, IndexOp, Result, Tensor, D};
use candle_nn::VarBuilder;
use candle_transformers::models::llama::{Cache, Config, Llama};
use candle_transformers::models::quantized_llama::ModelWeights;

const WIDTH: usize = 512;
const INNER: usize = 1024;
const HEADS: usize = 8;
const HEADS_OF_KEYS: usize = 2;
const WORDS: usize = 1024;
const PROMPT: usize = 12;

pub fn quantized(layers: usize, steps: usize, device: &Device) -> Result<()> {
    let mut model = weights(layers, device)?;
    let mut token = next(&model.forward(&prompt(device)?, 0)?)?;
    for step in 0..steps {
        let input = Tensor::new(&[[token]], device)?;
        token = next(&model.forward(&input, PROMPT + step)?)?;
    }
    Ok(())
}

pub fn prefill(layers: usize, steps: usize, device: &Device) -> Result<()> {
    let mut model = weights(layers, device)?;
    for _ in 0..=steps {
        // From position 0 on the cache is begun anew.
        next(&model.forward(&prompt(device)?, 0)?)?;
    }
    Ok(())
}

pub fn half(layers: usize, steps: usize, device: &Device) -> Result<()> {
    let config = Config {
        hidden_size: WIDTH,
        intermediate_size: INNER,
        vocab_size: WORDS,
        num_hidden_layers: layers,
        num_attention_heads: HEADS,
        num_key_value_heads: HEADS_OF_KEYS,
        use_flash_attn: false,
        rms_norm_eps: 1e-5,
        rope_theta: 10_000.,
        bos_token_id: None,
        eos_token_id: None,
        rope_scaling: None,
        max_position_embeddings: 256,
        tie_word_embeddings: true,
    };
    let model = Llama::load(
        VarBuilder::from_tensors(tensors(layers, device)?, DType::F16, device),
        &config,
    )?;
    let mut cache = Cache::new(true, DType::F16, &config, device)?;
    let mut token = next(&model.forward(&prompt(device)?, 0, &mut cache)?)?;
    for step in 0..steps {
        let input = Tensor::new(&[[token]], device)?;
        token = next(&model.forward(&input, PROMPT + step, &mut cache)?)?;
    }
    Ok(())
}

fn prompt(device: &Device) -> Result<Tensor> {
    Tensor::arange(0u32, PROMPT as u32, device)?.unsqueeze(0)
}

/// The most likely token, which the host has to know.
fn next(logits: &Tensor) -> Result<u32> {
    logits.i(0)?.argmax(D::Minus1)?.to_scalar()
}

fn shapes(layers: usize) -> Vec<(String, Vec<usize>)> {
    let of_keys = WIDTH / HEADS * HEADS_OF_KEYS;
    let mut all = vec![
        ("model.embed_tokens.weight".to_string(), vec![WORDS, WIDTH]),
        ("model.norm.weight".to_string(), vec![WIDTH]),
    ];
    for layer in 0..layers {
        for (name, shape) in [
            ("input_layernorm", vec![WIDTH]),
            ("post_attention_layernorm", vec![WIDTH]),
            ("self_attn.q_proj", vec![WIDTH, WIDTH]),
            ("self_attn.k_proj", vec![of_keys, WIDTH]),
            ("self_attn.v_proj", vec![of_keys, WIDTH]),
            ("self_attn.o_proj", vec![WIDTH, WIDTH]),
            ("mlp.gate_proj", vec![INNER, WIDTH]),
            ("mlp.up_proj", vec![INNER, WIDTH]),
            ("mlp.down_proj", vec![WIDTH, INNER]),
        ] {
            all.push((format!("model.layers.{layer}.{name}.weight"), shape));
        }
    }
    all
}

fn tensors(layers: usize, device: &Device) -> Result<HashMap<String, Tensor>> {
    let mut all = HashMap::new();
    for (name, shape) in shapes(layers) {
        let weight = Tensor::randn(0f32, 0.05, shape, &Device::Cpu)?;
        all.insert(name, weight.to_dtype(DType::F16)?.to_device(device)?);
    }
    Ok(all)
}

/// Names of a weight as GGUF files have them, for a name of `shapes`.
const IN_GGUF: [(&str, &str); 12] = [
    ("model.embed_tokens", "token_embd"),
    ("model.norm", "output_norm"),
    ("model.layers", "blk"),
    ("input_layernorm", "attn_norm"),
    ("post_attention_layernorm", "ffn_norm"),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.o_proj", "attn_output"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
];

fn weights(layers: usize, device: &Device) -> Result<ModelWeights> {
    let mut all = Vec::new();
    for (mut name, shape) in shapes(layers) {
        let dtype = match shape.len() {
            1 => GgmlDType::F32,
            _ => GgmlDType::Q4K,
        };
        for (from, to) in IN_GGUF {
            name = name.replace(from, to);
        }
        let weight = Tensor::randn(0f32, 0.05, shape, &Device::Cpu)?;
        all.push((name, QTensor::quantize(&weight, dtype)?));
    }
    let number = |value: usize| gguf_file::Value::U32(value as u32);
    let metadata = [
        ("llama.attention.head_count", number(HEADS)),
        ("llama.attention.head_count_kv", number(HEADS_OF_KEYS)),
        ("llama.block_count", number(layers)),
        ("llama.embedding_length", number(WIDTH)),
        ("llama.rope.dimension_count", number(WIDTH / HEADS)),
        (
            "llama.attention.layer_norm_rms_epsilon",
            gguf_file::Value::F32(1e-5),
        ),
    ];
    let mut file = Cursor::new(Vec::new());
    gguf_file::write(
        &mut file,
        &metadata.each_ref().map(|(key, value)| (*key, value)),
        &all.iter()
            .map(|(name, weight)| (name.as_str(), weight))
            .collect::<Vec<_>>(),
    )?;
    file.set_position(0);
    let content = gguf_file::Content::read(&mut file)?;
    ModelWeights::from_gguf(content, &mut file, device)
}
