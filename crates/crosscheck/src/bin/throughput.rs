//! What operations take on the device: one item a process, so that one that hangs is one item.
//!
//! `throughput --list` names the items; `throughput ITEM SIDE MILLISECONDS` prints a line of JSON:
//! microseconds a call, and the work of a call in bytes or operations on numbers. SIDE is that of
//! the square matrices, a multiple of 256 for the quantized ones.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use candle::quantized::{GgmlDType, QMatMul, QTensor};
use candle::{DType, Device, Module, Result, Tensor, D};
use candle_nn::ops;

/// A sample each; the median is told.
const SAMPLES: usize = 5;

const ITEMS: [&str; 15] = [
    "a call (add f32 of 16)",
    "host to device",
    "device to host",
    "add f32",
    "add f16",
    "gelu f32",
    "cast f32 to bf16",
    "transposed copy f32",
    "softmax f32",
    "sum of rows f32",
    "product f32",
    "product f16",
    "matrix by vector f32",
    "quantized q4_0 by vector",
    "quantized q8_0 by vector",
];

/// What a call does, for the rate: so many bytes moved, or so many operations on numbers.
enum Work {
    Bytes(usize),
    Operations(usize),
}

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let told = match given.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--list"] => {
            println!("{}", ITEMS.join("\n"));
            Ok(())
        }
        [item, side, millis] => match (side.parse(), millis.parse()) {
            (Ok(side), Ok(millis)) => measure(item, side, Duration::from_millis(millis)),
            _ => Err(candle::Error::Msg("numbers follow the item".to_string())),
        },
        _ => Err(candle::Error::Msg(
            "throughput --list, or ITEM SIDE MILLISECONDS".to_string(),
        )),
    };
    match told {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Values between -1 and 1, the same in each run.
fn values(shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let count = shape.iter().product();
    let values: Vec<f32> = (0..count)
        .map(|_| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        })
        .collect();
    Tensor::from_vec(values, shape, device)?.to_dtype(dtype)
}

fn measure(item: &str, side: usize, sample: Duration) -> Result<()> {
    let device = Device::new_rocm(0)?;
    let n = side * side;
    let square = |dtype| values(&[side, side], dtype, &device);
    let (x, vector) = (
        square(DType::F32)?,
        values(&[1, side], DType::F32, &device)?,
    );
    let time = |work: Work, body: &dyn Fn() -> Result<Tensor>| {
        told(item, &work, time(&device, sample, body)?);
        Ok(())
    };
    match item {
        "a call (add f32 of 16)" => {
            let few = values(&[16], DType::F32, &device)?;
            time(Work::Bytes(192), &|| &few + &few)
        }
        "host to device" => {
            let here = x.to_device(&Device::Cpu)?;
            time(Work::Bytes(4 * n), &|| here.to_device(&device))
        }
        "device to host" => time(Work::Bytes(4 * n), &|| x.to_device(&Device::Cpu)),
        "add f32" => time(Work::Bytes(12 * n), &|| &x + &x),
        "add f16" => {
            let x = square(DType::F16)?;
            time(Work::Bytes(6 * n), &|| &x + &x)
        }
        "gelu f32" => time(Work::Bytes(8 * n), &|| x.gelu()),
        "cast f32 to bf16" => time(Work::Bytes(6 * n), &|| x.to_dtype(DType::BF16)),
        "transposed copy f32" => time(Work::Bytes(8 * n), &|| x.t()?.contiguous()),
        "softmax f32" => time(Work::Bytes(8 * n), &|| ops::softmax_last_dim(&x)),
        "sum of rows f32" => time(Work::Bytes(4 * n), &|| x.sum(D::Minus1)),
        "product f32" => time(Work::Operations(2 * n * side), &|| x.matmul(&x)),
        "product f16" => {
            let x = square(DType::F16)?;
            time(Work::Operations(2 * n * side), &|| x.matmul(&x))
        }
        "matrix by vector f32" => time(Work::Bytes(4 * n), &|| vector.matmul(&x)),
        "quantized q4_0 by vector" | "quantized q8_0 by vector" => {
            // GGML's blocks of 32: 18 bytes and 34.
            let (kind, block) = match item.contains("q4_0") {
                true => (GgmlDType::Q4_0, 18),
                false => (GgmlDType::Q8_0, 34),
            };
            let weights = QTensor::quantize_onto(&x.to_device(&Device::Cpu)?, kind, &device)?;
            let weights = QMatMul::from_qtensor(weights)?;
            time(Work::Bytes(n / 32 * block), &|| weights.forward(&vector))
        }
        other => candle::bail!("{other}: --list names the items"),
    }
}

/// The median of the samples: each is as many calls as fit into it, with one wait at its end.
fn time(device: &Device, sample: Duration, body: &dyn Fn() -> Result<Tensor>) -> Result<f64> {
    let run = |calls: usize| -> Result<f64> {
        let start = Instant::now();
        for _ in 0..calls {
            body()?;
        }
        device.synchronize()?;
        Ok(start.elapsed().as_secs_f64())
    };
    run(1)?;
    let calls = ((sample.as_secs_f64() / run(1)?) as usize).clamp(1, 10_000);
    let mut each = (0..SAMPLES)
        .map(|_| Ok(run(calls)? / calls as f64))
        .collect::<Result<Vec<_>>>()?;
    each.sort_by(f64::total_cmp);
    Ok(each[each.len() / 2])
}

fn told(item: &str, work: &Work, seconds: f64) {
    let (work, unit) = match work {
        Work::Bytes(count) => (count, "B"),
        Work::Operations(count) => (count, "FLOP"),
    };
    println!(
        "{{\"item\": {item:?}, \"us\": {:.3}, \"work\": {work}, \"unit\": {unit:?}}}",
        seconds * 1e6
    );
}
