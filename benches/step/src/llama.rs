//! A Llama: a prompt, then one token a step.

use candle::quantized::{gguf_file, GgmlDType};
use candle::{DType, Result};
use candle_nn::VarBuilder;
use candle_transformers::models::llama::{Cache, Config, Llama};
use candle_transformers::models::quantized_llama::ModelWeights;

use crate::asked::Asked;
use crate::weights::{self, Shapes};

const WIDTH: usize = 512;
const INNER: usize = 1024;
const HEADS: usize = 8;
const HEADS_OF_KEYS: usize = 2;
const WORDS: usize = 1024;

pub fn quantized(asked: &Asked) -> Result<()> {
    let mut model = model(asked)?;
    asked.decode(|input, position| model.forward(input, position))
}

pub fn prefill(asked: &Asked) -> Result<()> {
    let mut model = model(asked)?;
    for _ in 0..=asked.steps {
        // From position 0 on the cache is begun anew.
        asked.chosen(&model.forward(&asked.prompt()?, 0)?)?;
    }
    Ok(())
}

pub fn plain(asked: &Asked, dtype: DType) -> Result<()> {
    let config = Config {
        hidden_size: WIDTH,
        intermediate_size: INNER,
        vocab_size: WORDS,
        num_hidden_layers: asked.layers,
        num_attention_heads: HEADS,
        num_key_value_heads: HEADS_OF_KEYS,
        use_flash_attn: asked.fused,
        rms_norm_eps: 1e-5,
        rope_theta: 10_000.,
        bos_token_id: None,
        eos_token_id: None,
        rope_scaling: None,
        max_position_embeddings: asked.prompt + asked.steps,
        tie_word_embeddings: true,
    };
    let weights = weights::tensors(&shapes(asked.layers), dtype, &asked.device)?;
    let model = Llama::load(
        VarBuilder::from_tensors(weights, dtype, &asked.device),
        &config,
    )?;
    let mut cache = Cache::new(true, dtype, &config, &asked.device)?;
    asked.decode(|input, position| model.forward(input, position, &mut cache))
}

fn shapes(layers: usize) -> Shapes {
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

fn model(asked: &Asked) -> Result<ModelWeights> {
    let number = |value: usize| gguf_file::Value::U32(value as u32);
    let metadata = [
        ("llama.attention.head_count", number(HEADS)),
        ("llama.attention.head_count_kv", number(HEADS_OF_KEYS)),
        ("llama.block_count", number(asked.layers)),
        ("llama.embedding_length", number(WIDTH)),
        ("llama.rope.dimension_count", number(WIDTH / HEADS)),
        (
            "llama.attention.layer_norm_rms_epsilon",
            gguf_file::Value::F32(1e-5),
        ),
    ];
    let mut all = weights::quantized(&shapes(asked.layers), GgmlDType::Q4K)?;
    for (name, _) in &mut all {
        *name = weights::in_gguf(name);
    }
    let (content, mut file) = weights::gguf(&metadata, &all)?;
    ModelWeights::from_gguf(content, &mut file, &asked.device)
}
