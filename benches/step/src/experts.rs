//! A Qwen3 with a mixture of experts: a prompt, then one token a step.

use std::collections::HashMap;

use candle::quantized::{gguf_file, GgmlDType, QTensor};
use candle::{DType, Result, Tensor};
use candle_nn::{Activation, VarBuilder};
use candle_transformers::models::quantized_qwen3_moe::GGUFQWenMoE;
use candle_transformers::models::qwen3_moe::{Config, ModelForCausalLM};

use crate::asked::Asked;
use crate::weights::{self, Shapes};

const WIDTH: usize = 256;
const HEADS: usize = 4;
const HEADS_OF_KEYS: usize = 2;
const HEAD: usize = 64;
const EXPERTS: usize = 8;
const OF_A_TOKEN: usize = 2;
const INNER: usize = 256;
const WORDS: usize = 512;
const PROJECTIONS: [(&str, [usize; 2]); 3] = [
    ("gate_proj", [INNER, WIDTH]),
    ("up_proj", [INNER, WIDTH]),
    ("down_proj", [WIDTH, INNER]),
];

/// With weights of a type, as they are.
pub fn plain(asked: &Asked, dtype: DType) -> Result<()> {
    let weights = weights::tensors(&shapes(asked.layers), dtype, &asked.device)?;
    run(asked, dtype, apart(asked.layers, weights)?)
}

/// In f32, with the values that the quantized weights have.
pub fn dequantized(asked: &Asked) -> Result<()> {
    let one = |(name, weight): (String, QTensor)| Ok((name, weight.dequantize(&asked.device)?));
    let weights = quantized_weights(asked)?.into_iter().map(one);
    run(
        asked,
        DType::F32,
        apart(asked.layers, weights.collect::<Result<_>>()?)?,
    )
}

fn run(asked: &Asked, dtype: DType, weights: HashMap<String, Tensor>) -> Result<()> {
    let config = Config {
        vocab_size: WORDS,
        hidden_size: WIDTH,
        intermediate_size: INNER,
        num_hidden_layers: asked.layers,
        num_attention_heads: HEADS,
        head_dim: HEAD,
        attention_bias: false,
        num_key_value_heads: HEADS_OF_KEYS,
        max_position_embeddings: asked.prompt + asked.steps,
        sliding_window: None,
        max_window_layers: 0,
        tie_word_embeddings: true,
        rope_theta: 10_000.,
        rms_norm_eps: 1e-5,
        use_sliding_window: false,
        hidden_act: Activation::Silu,
        decoder_sparse_step: 1,
        moe_intermediate_size: INNER,
        num_experts_per_tok: OF_A_TOKEN,
        num_experts: EXPERTS,
        norm_topk_prob: true,
    };
    let builder = VarBuilder::from_tensors(weights, dtype, &asked.device);
    let mut model = ModelForCausalLM::new(&config, builder)?;
    asked.decode(|input, position| model.forward(input, position)?.squeeze(1))
}

pub fn quantized(asked: &Asked) -> Result<()> {
    let number = |value: usize| gguf_file::Value::U32(value as u32);
    let metadata = [
        (
            "general.architecture",
            gguf_file::Value::String("qwen3moe".to_string()),
        ),
        ("qwen3moe.attention.head_count", number(HEADS)),
        ("qwen3moe.attention.head_count_kv", number(HEADS_OF_KEYS)),
        ("qwen3moe.attention.key_length", number(HEAD)),
        ("qwen3moe.embedding_length", number(WIDTH)),
        (
            "qwen3moe.context_length",
            number(asked.prompt + asked.steps),
        ),
        ("qwen3moe.block_count", number(asked.layers)),
        (
            "qwen3moe.attention.layer_norm_rms_epsilon",
            gguf_file::Value::F32(1e-5),
        ),
        ("qwen3moe.rope.freq_base", gguf_file::Value::F32(10_000.)),
        ("qwen3moe.expert_feed_forward_length", number(INNER)),
        ("qwen3moe.expert_count", number(EXPERTS)),
        ("qwen3moe.expert_used_count", number(OF_A_TOKEN)),
    ];
    let mut all = quantized_weights(asked)?;
    for (name, _) in &mut all {
        *name = weights::in_gguf(name);
    }
    let (content, mut file) = weights::gguf(&metadata, &all)?;
    let mut model = GGUFQWenMoE::from_gguf(content, &mut file, &asked.device, DType::F16)?;
    asked.decode(|input, position| model.forward(input, position))
}

fn quantized_weights(asked: &Asked) -> Result<Vec<(String, QTensor)>> {
    weights::quantized(&shapes(asked.layers), GgmlDType::Q8_0)
}

/// The matrices of all experts of a layer are one weight each, as in GGUF files.
fn shapes(layers: usize) -> Shapes {
    let mut all = vec![
        ("model.embed_tokens.weight".to_string(), vec![WORDS, WIDTH]),
        ("model.norm.weight".to_string(), vec![WIDTH]),
    ];
    for layer in 0..layers {
        for (name, shape) in [
            ("input_layernorm", vec![WIDTH]),
            ("post_attention_layernorm", vec![WIDTH]),
            ("self_attn.q_proj", vec![HEADS * HEAD, WIDTH]),
            ("self_attn.k_proj", vec![HEADS_OF_KEYS * HEAD, WIDTH]),
            ("self_attn.v_proj", vec![HEADS_OF_KEYS * HEAD, WIDTH]),
            ("self_attn.o_proj", vec![WIDTH, HEADS * HEAD]),
            ("self_attn.q_norm", vec![HEAD]),
            ("self_attn.k_norm", vec![HEAD]),
            ("mlp.gate", vec![EXPERTS, WIDTH]),
        ] {
            all.push((format!("model.layers.{layer}.{name}.weight"), shape));
        }
        for (name, [rows, columns]) in PROJECTIONS {
            let name = format!("model.layers.{layer}.mlp.experts.all.{name}.weight");
            all.push((name, vec![EXPERTS, rows, columns]));
        }
    }
    all
}

/// The weights with the matrices of each expert by themselves.
fn apart(layers: usize, mut all: HashMap<String, Tensor>) -> Result<HashMap<String, Tensor>> {
    for layer in 0..layers {
        let experts = format!("model.layers.{layer}.mlp.experts");
        for (name, _) in PROJECTIONS {
            let Some(weights) = all.remove(&format!("{experts}.all.{name}.weight")) else {
                candle::bail!("{experts} has no {name}");
            };
            for expert in 0..EXPERTS {
                all.insert(
                    format!("{experts}.{expert}.{name}.weight"),
                    weights.get(expert)?,
                );
            }
        }
    }
    Ok(all)
}
