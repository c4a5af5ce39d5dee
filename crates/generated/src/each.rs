//! Each operation of each type, reductions of each number of threads, constants, arguments.

use crate::case::{memory, values, Case, DTYPES};
use crate::number::Number;
use crate::reference::Argument;
use crate::rng::Rng;
use candle_ug_rocm::ug::block::Block;
use candle_ug_rocm::ug::lang::ssa::{
    Arg, BinaryOp, Const, DType, Instr, Kernel, ReduceOp, Special, UnaryOp, A,
};
use candle_ug_rocm::ug::lang::LaunchConfig;
use half::{bf16, f16};

const BLOCKS: u32 = 2;
const THREADS: usize = 24;

pub fn all() -> Vec<Case> {
    let mut cases = vec![];
    for dtype in DTYPES {
        let plain = [
            UnaryOp::Id,
            UnaryOp::Exp,
            UnaryOp::Sin,
            UnaryOp::Cos,
            UnaryOp::Neg,
        ];
        for op in plain {
            cases.push(unary(op, dtype, dtype));
        }
        cases.push(unary(UnaryOp::Sqrt, dtype, dtype));
        for to in DTYPES {
            cases.push(unary(UnaryOp::Cast(to), dtype, to));
        }
        use BinaryOp as B;
        for op in [B::Add, B::Sub, B::Mul, B::Div, B::Mod, B::Min, B::Max] {
            cases.push(binary(op, dtype, dtype));
        }
        for other in DTYPES {
            cases.push(binary(BinaryOp::Add, dtype, other));
        }
        for op in [ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max] {
            for threads in [1, 2, 3, 31, 32, 33, 63, 64, 65, 100, 255, 256, 1000, 1024] {
                cases.push(reduction(op, dtype, threads));
            }
        }
        cases.push(exchange(dtype));
        cases.push(value(dtype));
    }
    cases.extend(
        constants()
            .into_iter()
            .enumerate()
            .map(|(i, c)| constant(i, c)),
    );
    cases
}

struct Parts {
    block: Block,
    args: Vec<DType>,
}

impl Parts {
    /// Arguments, and the index of the thread among those of all blocks.
    fn new(args: &[DType], threads: usize) -> (Self, Vec<A>, A) {
        let mut block = Block::empty();
        let define = |(index, &dtype)| block.push(Instr::DefineGlobal { index, dtype }).to_a();
        let memory = args.iter().enumerate().map(define).collect();
        let of_block = block.push(Instr::Special(Special::BlockIdx));
        let of_thread = block.push(Instr::Special(Special::ThreadIdx));
        let first = block.mul(of_block, threads as i32);
        let at = block
            .binary(BinaryOp::Add, first, of_thread, DType::I32)
            .to_a();
        let args = args.to_vec();
        (Self { block, args }, memory, at)
    }

    fn load(&mut self, src: A, offset: A, dtype: DType) -> A {
        let A::Var(src) = src else {
            unreachable!("memory is no constant")
        };
        self.block.push(Instr::Load { src, offset, dtype }).to_a()
    }

    fn store(&mut self, dst: A, offset: A, value: A, dtype: DType) {
        let A::Var(dst) = dst else {
            unreachable!("memory is no constant")
        };
        self.block.push(Instr::Store {
            dst,
            offset,
            value,
            dtype,
        });
    }

    fn kernel(self, grid: u32, threads: usize) -> Kernel {
        let args = self
            .args
            .iter()
            .map(|&dtype| Arg::ptr(dtype))
            .zip(0..)
            .collect();
        let config = LaunchConfig {
            grid_dim: grid,
            block_dim: threads as u32,
            shared_mem: 0,
        };
        let instrs = self.block.relocate().expect("every value is of the block");
        Kernel::new(instrs, args, config)
    }
}

fn case(name: String, parts: Parts, grid: u32, threads: usize, arguments: Vec<Argument>) -> Case {
    let kernel = parts.kernel(grid, threads);
    Case {
        name,
        kernel,
        grid,
        threads,
        arguments,
    }
}

fn unary(op: UnaryOp, from: DType, to: DType) -> Case {
    let name = format!("{op:?} of {from:?} to {to:?}");
    let mut rng = Rng::new(1, &[&name]);
    let count = BLOCKS as usize * THREADS;
    let (mut parts, args, at) = Parts::new(&[from, to], THREADS);
    let x = parts.load(args[0], at, from);
    let y = parts.block.unary(op, x, to).to_a();
    parts.store(args[1], at, y, to);
    let mut source = values(&mut rng, from, count);
    for value in &mut source {
        *value = match *value {
            Number::Int(v) if op == UnaryOp::Sqrt => Number::Int(v * v),
            // Whole numbers and what lies well between them.
            Number::Real { value, .. } if op == UnaryOp::Sqrt => Number::exact(value.abs()),
            other => other,
        };
    }
    // A function of an integer is cut off to one, which must not lie near a step.
    if from.is_int()
        && matches!(
            op,
            UnaryOp::Sqrt | UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Exp
        )
    {
        source = (0..count as i64)
            .map(|v| {
                Number::Int(if op == UnaryOp::Sqrt {
                    v % 7 * 11 + 2
                } else {
                    1 + v % 5
                })
            })
            .collect();
    }
    let arguments = vec![Argument::Memory(from, source), memory(&mut rng, to, count)];
    case(name, parts, BLOCKS, THREADS, arguments)
}

fn binary(op: BinaryOp, left: DType, right: DType) -> Case {
    let name = format!("{op:?} of {left:?} and {right:?}");
    let mut rng = Rng::new(1, &[&name]);
    let count = BLOCKS as usize * THREADS;
    let (mut parts, args, at) = Parts::new(&[left, right, left], THREADS);
    let x = parts.load(args[0], at, left);
    let y = parts.load(args[1], at, right);
    let whole = left.is_int() && !right.is_int();
    let z = parts.block.binary(op, x, y, left).to_a();
    parts.store(args[2], at, z, left);
    let mut divisors = values(&mut rng, right, count);
    for divisor in &mut divisors {
        *divisor = match *divisor {
            Number::Int(0) => Number::Int(5),
            Number::Real { value, .. } if whole => Number::exact(value.floor()),
            Number::Real { value, .. } if value == 0. => Number::exact(0.75),
            other => other,
        };
    }
    let arguments = vec![
        memory(&mut rng, left, count),
        Argument::Memory(right, divisors),
        memory(&mut rng, left, count),
    ];
    case(name, parts, BLOCKS, THREADS, arguments)
}

/// Two reductions, the second of what the first leaves, so that one may not disturb the other.
fn reduction(op: ReduceOp, dtype: DType, threads: usize) -> Case {
    let name = format!("{op:?} of {dtype:?} over {threads} threads");
    let mut rng = Rng::new(1, &[&name]);
    let count = BLOCKS as usize * threads;
    let (mut parts, args, at) = Parts::new(&[dtype, dtype], threads);
    let x = parts.load(args[0], at, dtype);
    let first = parts
        .block
        .push(Instr::ReduceLocal { op, arg: x, dtype })
        .to_a();
    let rest = parts.block.binary(BinaryOp::Sub, x, first, dtype).to_a();
    let op = if op == ReduceOp::Min {
        ReduceOp::Max
    } else {
        ReduceOp::Min
    };
    let second = parts
        .block
        .push(Instr::ReduceLocal {
            op,
            arg: rest,
            dtype,
        })
        .to_a();
    let both = parts
        .block
        .binary(BinaryOp::Add, first, second, dtype)
        .to_a();
    parts.store(args[1], at, both, dtype);
    let arguments = vec![
        memory(&mut rng, dtype, count),
        memory(&mut rng, dtype, count),
    ];
    case(name, parts, BLOCKS, threads, arguments)
}

/// Each thread reads what its neighbour wrote to shared memory, also in the next wavefront.
fn exchange(dtype: DType) -> Case {
    let name = format!("shared memory of {dtype:?}");
    let mut rng = Rng::new(1, &[&name]);
    let threads = 96;
    let count = BLOCKS as usize * threads;
    let (mut parts, args, at) = Parts::new(&[dtype, dtype], threads);
    let shared = parts
        .block
        .push(Instr::DefineLocal {
            size: threads,
            dtype,
        })
        .to_a();
    let thread = parts.block.push(Instr::Special(Special::ThreadIdx));
    let x = parts.load(args[0], at, dtype);
    parts.store(shared, thread.to_a(), x, dtype);
    parts.block.push(Instr::Barrier);
    let next = parts.block.add(thread, 33);
    let next = parts
        .block
        .binary(BinaryOp::Mod, next, threads as i32, DType::I32)
        .to_a();
    let y = parts.load(shared, next, dtype);
    parts.store(args[1], at, y, dtype);
    let arguments = vec![
        memory(&mut rng, dtype, count),
        memory(&mut rng, dtype, count),
    ];
    case(name, parts, BLOCKS, threads, arguments)
}

/// An argument that is a number and no memory.
fn value(dtype: DType) -> Case {
    let name = format!("an argument of {dtype:?}");
    let mut rng = Rng::new(1, &[&name]);
    let (mut parts, args, at) = Parts::new(&[dtype, dtype], THREADS);
    let twice = parts
        .block
        .binary(BinaryOp::Add, args[0], args[0], dtype)
        .to_a();
    parts.store(args[1], at, twice, dtype);
    let instrs = parts.block.relocate().expect("every value is of the block");
    let args = vec![(Arg::value(dtype), 0), (Arg::ptr(dtype), 1)];
    let config = LaunchConfig {
        grid_dim: BLOCKS,
        block_dim: THREADS as u32,
        shared_mem: 0,
    };
    let number = values(&mut rng, dtype, 1)[0];
    let arguments = vec![
        Argument::Value(dtype, number),
        memory(&mut rng, dtype, BLOCKS as usize * THREADS),
    ];
    let kernel = Kernel::new(instrs, args, config);
    Case {
        name,
        kernel,
        grid: BLOCKS,
        threads: THREADS,
        arguments,
    }
}

fn constants() -> Vec<Const> {
    let f32s = [
        0.,
        -0.,
        1.5,
        -2.25,
        1e-38,
        f32::MAX,
        f32::MIN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        1e9,
    ];
    let mut all: Vec<Const> = vec![];
    all.extend(f32s.iter().map(|&v| Const::try_from(v).expect("a number")));
    for v in [
        f16::MAX,
        f16::MIN,
        f16::INFINITY,
        f16::from_f32(-0.1),
        f16::MIN_POSITIVE_SUBNORMAL,
    ] {
        all.push(Const::try_from(v).expect("a number"));
    }
    for v in [
        bf16::MAX,
        bf16::MIN,
        bf16::NEG_INFINITY,
        bf16::from_f32(0.1),
        bf16::MIN_POSITIVE,
    ] {
        all.push(Const::try_from(v).expect("a number"));
    }
    all.extend([0, -1, i32::MIN, i32::MAX].map(Const::I32));
    all.extend([0, -1, i64::MIN, i64::MAX, 1 << 40].map(Const::I64));
    all
}

/// A constant, as an operand and as an instruction: the larger of the two is it again.
fn constant(number: usize, constant: Const) -> Case {
    let dtype = constant.dtype();
    let (mut parts, args, at) = Parts::new(&[dtype], THREADS);
    let twice = parts.block.push(Instr::Const(constant)).to_a();
    let value = parts
        .block
        .binary(BinaryOp::Max, twice, A::Const(constant), dtype)
        .to_a();
    parts.store(args[0], at, value, dtype);
    let name = format!("constant {number}, {constant:?}");
    let arguments = vec![memory(
        &mut Rng::new(1, &[&name]),
        dtype,
        BLOCKS as usize * THREADS,
    )];
    case(name, parts, BLOCKS, THREADS, arguments)
}
