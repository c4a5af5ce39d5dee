//! The kernels that multiply quantized matrices by rows of 8 bits. Since 0.11 candle takes those of
//! the static library for that, and these only where it has no code for the GPU.

use candle::quantized::GgmlDType::{self, *};
use candle::rocm_backend::candle_hip::driver::LaunchConfig;
use candle::rocm_backend::kernels::QUANTIZED;

use super::quantized::{quantized, rows_product, weights};
use crate::blocks;
use crate::case::{Case, Maker, Operation};
use crate::element::Element::F32;
use crate::launch::{launched, Arg, Launch};

/// The lanes that work together, whatever the wavefront.
const WARP: u32 = 32;
/// What rows are padded to, in elements.
const PADDING: usize = 512;

/// A format, its name in those of kernels, and the rows and columns of a tile.
const FORMATS: [(GgmlDType, &str, usize, usize); 10] = [
    (Q4_0, "q4_0", 128, 64),
    (Q4_1, "q4_1", 128, 64),
    (Q5_0, "q5_0", 64, 128),
    (Q5_1, "q5_1", 64, 128),
    (Q8_0, "q8_0", 64, 128),
    (Q2K, "q2_K", 128, 64),
    (Q3K, "q3_K", 128, 128),
    (Q4K, "q4_K", 128, 64),
    (Q5K, "q5_K", 128, 64),
    (Q6K, "q6_K", 64, 64),
];

pub fn operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    for (dtype, name, rows, columns) in FORMATS {
        let elements = blocks::name(dtype);
        for count in 1..=8 {
            let make = move |m: &mut Maker| product(m, dtype, count, vector(name, count));
            let operation = Operation::new(format!("kernel mul_mat_vec {count}"), &elements, make);
            operations.push(operation.at_most(2));
        }
        let make = move |m: &mut Maker| {
            let count = m.rng.within(1, 150);
            product(m, dtype, count, matrix(name, rows, columns))
        };
        operations.push(Operation::new("kernel mul_mat", &elements, make).at_most(2));
    }
    operations
}

/// How a kernel is launched: its name, its blocks and threads for a number of rows of the weights
/// and of the input, and whether it is told the latter.
struct Shape {
    name: String,
    config: Box<dyn Fn(usize, usize) -> LaunchConfig>,
    counted: bool,
}

fn vector(name: &str, count: usize) -> Shape {
    let (rows, warps) = match count {
        1 => (1, 4),
        2..=4 => (2, 4),
        _ => (2, 2),
    };
    Shape {
        name: format!("mul_mat_vec_{name}_q8_1_cuda{count}"),
        config: Box::new(move |n, _| LaunchConfig {
            grid_dim: (n.div_ceil(rows) as u32, 1, 1),
            block_dim: (WARP, warps, 1),
            shared_mem_bytes: 0,
        }),
        counted: false,
    }
}

fn matrix(name: &str, rows: usize, columns: usize) -> Shape {
    Shape {
        name: format!("mul_mat_{name}"),
        config: Box::new(move |n, count| LaunchConfig {
            grid_dim: (n.div_ceil(rows) as u32, count.div_ceil(columns) as u32, 1),
            block_dim: (WARP, 4, 1),
            shared_mem_bytes: 0,
        }),
        counted: true,
    }
}

fn product(maker: &mut Maker, dtype: GgmlDType, count: usize, shape: Shape) -> Case {
    let (n, k) = (maker.rng.within(1, 150), 256 * maker.some(3));
    let (weight, array) = weights(maker, dtype, &[n, k]);
    let input = maker.plain(F32, &[count, k], (-1.0, 1.0));
    let x: Vec<&[f64]> = input.base.data.chunks(k).collect();
    let w: Vec<&[f64]> = array.data.chunks(k).collect();
    let expected = rows_product(F32, dtype, &x, &w);
    let padded = k.next_multiple_of(PADDING);
    let mut rows = Vec::new();
    for row in &x {
        let mut row = row.to_vec();
        row.resize(padded, 0.0);
        rows.extend(blocks::q8_1(&row));
    }
    let mut bytes = quantized(&weight, dtype);
    let padding = PADDING / dtype.block_size() * dtype.type_size();
    bytes.resize(bytes.len() + padding, 0);
    let mut args = vec![
        Arg::Bytes(bytes),
        Arg::Bytes(rows),
        Arg::zeros(F32, count * n),
        Arg::Int(k as i32),
        Arg::Int(n as i32),
    ];
    if shape.counted {
        args.push(Arg::Int(count as i32));
    }
    args.extend([Arg::Int(padded as i32), Arg::Int(n as i32)]);
    let launch = Launch {
        module: &QUANTIZED,
        name: shape.name,
        config: (shape.config)(n, count),
        args,
    };
    launched(vec![weight, input], expected, launch)
}
