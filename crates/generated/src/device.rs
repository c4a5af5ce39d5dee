//! Kernels on a device: many in one source, since a compiler takes long to start.

use crate::number::Number;
use crate::reference::Argument;
use candle_hip::driver::{HipModule, HipSlice, HipStream, LaunchConfig, PushKernelArg};
use candle_hip::hiprtc::{compile_hsaco_with_opts, CompileOptions};
use candle_ug_rocm::ug::lang::ssa::{DType, Kernel};
use half::{bf16, f16};
use std::sync::Arc;

pub fn name(number: usize) -> String {
    format!("kernel_{number}")
}

pub fn source(number: usize, kernel: &Kernel) -> Result<String, String> {
    let mut source = vec![];
    candle_ug_rocm::code_gen::gen(&mut source, &name(number), kernel).map_err(|e| e.to_string())?;
    String::from_utf8(source).map_err(|e| e.to_string())
}

/// Compiles sources that were written apart.
pub fn load(stream: &HipStream, sources: &[(usize, &str)]) -> Result<Arc<HipModule>, String> {
    let mut all = String::new();
    for (number, source) in sources {
        all += &format!("namespace of_{number} {{\n{source}}}\n");
    }
    let options = CompileOptions {
        use_fast_math: Some(true),
        ..Default::default()
    };
    let image = compile_hsaco_with_opts(all, options).map_err(|e| e.to_string())?;
    stream
        .context()
        .load_module(image)
        .map_err(|e| e.to_string())
}

/// Launches a kernel, and answers what the memory holds afterwards.
pub fn launch(
    stream: &Arc<HipStream>,
    module: &Arc<HipModule>,
    number: usize,
    (grid, threads): (u32, usize),
    arguments: &[Argument],
) -> Result<Vec<Vec<Number>>, String> {
    let text = |e: candle_hip::driver::HipError| e.to_string();
    let function = module.load_function(&name(number)).map_err(text)?;
    let memory: Vec<Option<HipSlice<u8>>> = arguments
        .iter()
        .map(|argument| match argument {
            Argument::Memory(dtype, values) => {
                let bytes: Vec<u8> = values.iter().flat_map(|v| bytes(*v, *dtype)).collect();
                stream.clone_htod(&bytes).map(Some).map_err(text)
            }
            Argument::Value(..) => Ok(None),
        })
        .collect::<Result<_, _>>()?;
    let values: Vec<[u8; 8]> = arguments
        .iter()
        .map(|argument| {
            let mut value = [0; 8];
            if let Argument::Value(dtype, number) = argument {
                let bytes = bytes(*number, *dtype);
                value[..bytes.len()].copy_from_slice(&bytes);
            }
            value
        })
        .collect();
    let mut builder = stream.launch_builder(&function);
    for (memory, value) in memory.iter().zip(&values) {
        match memory {
            Some(memory) => builder.arg(memory),
            None => builder.arg(value),
        };
    }
    let config = LaunchConfig {
        grid_dim: (grid, 1, 1),
        block_dim: (threads as u32, 1, 1),
        shared_mem_bytes: 0,
    };
    // SAFETY: the reference has taken the kernel with these arguments, and all of it lay inside.
    unsafe { builder.launch(config) }.map_err(text)?;
    let mut after = vec![];
    for (argument, memory) in arguments.iter().zip(&memory) {
        if let (Argument::Memory(dtype, _), Some(memory)) = (argument, memory) {
            let bytes = stream.clone_dtoh(memory).map_err(text)?;
            let each = bytes.chunks(dtype.size_in_bytes());
            after.push(each.map(|bytes| element(bytes, *dtype)).collect());
        }
    }
    stream.synchronize().map_err(text)?;
    Ok(after)
}

fn bytes(number: Number, dtype: DType) -> Vec<u8> {
    let (int, real) = match number {
        Number::Int(value) => (value, value as f64),
        Number::Real { value, .. } => (value as i64, value),
    };
    match dtype {
        DType::I32 => (int as i32).to_le_bytes().to_vec(),
        DType::I64 => int.to_le_bytes().to_vec(),
        DType::F32 => (real as f32).to_le_bytes().to_vec(),
        DType::F16 => f16::from_f64(real).to_le_bytes().to_vec(),
        DType::BF16 => bf16::from_f64(real).to_le_bytes().to_vec(),
    }
}

fn element(bytes: &[u8], dtype: DType) -> Number {
    match (dtype, bytes) {
        (DType::I32, &[a, b, c, d]) => Number::Int(i32::from_le_bytes([a, b, c, d]).into()),
        (DType::F32, &[a, b, c, d]) => Number::exact(f32::from_le_bytes([a, b, c, d]).into()),
        (DType::F16, &[a, b]) => Number::exact(f16::from_le_bytes([a, b]).to_f64()),
        (DType::BF16, &[a, b]) => Number::exact(bf16::from_le_bytes([a, b]).to_f64()),
        (DType::I64, bytes) => Number::Int(i64::from_le_bytes(bytes.try_into().expect("8 bytes"))),
        _ => unreachable!("an element has the bytes of its type"),
    }
}
