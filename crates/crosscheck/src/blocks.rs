//! GGML's block formats, read as their published layouts say (llama.cpp, `ggml-common.h`).

use candle::quantized::GgmlDType;

use crate::element::Element;

use GgmlDType::{Q2K, Q3K, Q4K, Q4_0, Q4_1, Q5K, Q5_0, Q5_1, Q6K, Q8K, Q8_0};

pub const ALL: [GgmlDType; 11] = [Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2K, Q3K, Q4K, Q5K, Q6K, Q8K];

pub fn name(dtype: GgmlDType) -> String {
    format!("{dtype:?}").to_lowercase()
}

/// The values of quantized weights, or of weights that are stored as they are.
pub fn values(dtype: GgmlDType, bytes: &[u8]) -> Vec<f64> {
    match dtype {
        GgmlDType::F32 => return Element::F32.decode(bytes),
        GgmlDType::F16 => return Element::F16.decode(bytes),
        GgmlDType::BF16 => return Element::BF16.decode(bytes),
        _ => {}
    }
    bytes
        .chunks_exact(dtype.type_size())
        .flat_map(|block| one(dtype, block))
        .collect()
}

/// Rows of 8 bits, as kernels multiply them: for each 32 elements a scale and their sum, both f16,
/// then the elements (llama.cpp, `block_q8_1`).
#[cfg(feature = "rocm")]
pub fn q8_1(values: &[f64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for block in values.chunks(32) {
        let largest = block.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let scale = largest / 127.0;
        let ends = [scale, block.iter().sum()].map(|x| Element::F16.round(x));
        bytes.extend(Element::F16.encode(&ends));
        let steps = block.iter().map(|x| (x / scale).round());
        bytes.extend(steps.map(|q| if largest == 0.0 { 0 } else { q as i8 as u8 }));
    }
    bytes
}

fn half(block: &[u8], at: usize) -> f64 {
    Element::F16.decode(&block[at..at + 2])[0]
}

/// Two numbers of 4 bits in each byte: first all low ones, then all high ones.
fn nibbles(bytes: &[u8]) -> impl Iterator<Item = i32> + '_ {
    let low = bytes.iter().map(|byte| i32::from(byte & 15));
    low.chain(bytes.iter().map(|byte| i32::from(byte >> 4)))
}

fn bit(bytes: &[u8], i: usize) -> i32 {
    i32::from(bytes[i / 8] >> (i % 8) & 1)
}

fn one(dtype: GgmlDType, block: &[u8]) -> Vec<f64> {
    match dtype {
        Q4_0 => nibbles(&block[2..])
            .map(|q| half(block, 0) * f64::from(q - 8))
            .collect(),
        Q4_1 => {
            let (scale, least) = (half(block, 0), half(block, 2));
            nibbles(&block[4..])
                .map(|q| scale * f64::from(q) + least)
                .collect()
        }
        Q5_0 => {
            let high = |i| bit(&block[2..6], i) << 4;
            let all = nibbles(&block[6..]).enumerate();
            all.map(|(i, q)| half(block, 0) * f64::from((q | high(i)) - 16))
                .collect()
        }
        Q5_1 => {
            let high = |i| bit(&block[4..8], i) << 4;
            let (scale, least) = (half(block, 0), half(block, 2));
            let all = nibbles(&block[8..]).enumerate();
            all.map(|(i, q)| scale * f64::from(q | high(i)) + least)
                .collect()
        }
        Q8_0 => block[2..]
            .iter()
            .map(|&q| half(block, 0) * f64::from(q as i8))
            .collect(),
        Q2K => q2k(block),
        Q3K => q3k(block),
        Q4K => q45k(block, &block[16..144], None),
        Q5K => q45k(block, &block[48..176], Some(&block[16..48])),
        Q6K => q6k(block),
        Q8K => {
            let scale = f64::from(f32::from_le_bytes([block[0], block[1], block[2], block[3]]));
            block[4..260]
                .iter()
                .map(|&q| scale * f64::from(q as i8))
                .collect()
        }
        other => panic!("{other:?} is no format of blocks"),
    }
}

/// Numbers of 2 bits: of each 128, 32 bytes hold four times 32, from the low bits on.
fn quarter(bytes: &[u8], i: usize) -> i32 {
    i32::from(bytes[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3)
}

fn q2k(block: &[u8]) -> Vec<f64> {
    let (scale, least) = (half(block, 80), half(block, 82));
    (0..256)
        .map(|i| {
            let both = block[i / 16];
            let q = f64::from(quarter(&block[16..80], i));
            scale * f64::from(both & 15) * q - least * f64::from(both >> 4)
        })
        .collect()
}

fn q3k(block: &[u8]) -> Vec<f64> {
    let scales = &block[96..108];
    (0..256)
        .map(|i| {
            let group = i / 16;
            let low = if group < 8 {
                scales[group] & 15
            } else {
                scales[group - 8] >> 4
            };
            let high = scales[8 + group % 4] >> (2 * (group / 4)) & 3;
            let scale = f64::from(low | high << 4) - 32.0;
            let third = i32::from(block[i % 32] >> (i / 32) & 1) << 2;
            let q = quarter(&block[32..96], i) + third - 4;
            half(block, 108) * scale * f64::from(q)
        })
        .collect()
}

/// The scale and the least value of 32 numbers, 6 bits each.
fn six_bits(packed: &[u8], group: usize) -> (f64, f64) {
    let (scale, least) = if group < 4 {
        (packed[group] & 63, packed[group + 4] & 63)
    } else {
        let both = packed[group + 4];
        (
            both & 15 | packed[group - 4] >> 6 << 4,
            both >> 4 | packed[group] >> 6 << 4,
        )
    };
    (f64::from(scale), f64::from(least))
}

fn q45k(block: &[u8], low: &[u8], fifth: Option<&[u8]>) -> Vec<f64> {
    let (scale, least) = (half(block, 0), half(block, 2));
    (0..256)
        .map(|i| {
            let group = i / 32;
            let (factor, term) = six_bits(&block[4..16], group);
            let byte = low[group / 2 * 32 + i % 32];
            let nibble = if group % 2 == 0 { byte & 15 } else { byte >> 4 };
            let high = fifth.map_or(0, |bits| (bits[i % 32] >> group & 1) << 4);
            scale * factor * f64::from(nibble | high) - least * term
        })
        .collect()
}

fn q6k(block: &[u8]) -> Vec<f64> {
    let (low, high, scales) = (&block[..128], &block[128..192], &block[192..208]);
    (0..256)
        .map(|i| {
            let (part, row, column) = (i / 128, i % 128 / 32, i % 32);
            let byte = low[part * 64 + row % 2 * 32 + column];
            let nibble = if row < 2 { byte & 15 } else { byte >> 4 };
            let top = high[part * 32 + column] >> (2 * row) & 3;
            let q = f64::from(nibble | top << 4) - 32.0;
            half(block, 208) * f64::from(scales[i / 16] as i8) * q
        })
        .collect()
}
