//! Random kernels: expressions over tensors that ug lowers, and instructions put together.

use crate::case::{memory, Case, DTYPES};
use crate::reference::Argument;
use crate::rng::Rng;
use candle_ug_rocm::ug::block::{Block, Id};
use candle_ug_rocm::ug::lang::op::{self, Ast, LayoutOp};
use candle_ug_rocm::ug::lang::ssa::{
    BinaryOp, Const, DType, Instr, Kernel, ReduceOp, Special, UnaryOp, A,
};
use candle_ug_rocm::ug::lang::{Arg, LaunchConfig};
use candle_ug_rocm::ug::lower_op::Opts;
use candle_ug_rocm::ug::{Layout, Result};

const BINARY: [BinaryOp; 7] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Mod,
    BinaryOp::Min,
    BinaryOp::Max,
];
const UNARY: [UnaryOp; 6] = [
    UnaryOp::Id,
    UnaryOp::Exp,
    UnaryOp::Sin,
    UnaryOp::Cos,
    UnaryOp::Neg,
    UnaryOp::Sqrt,
];
const REDUCE: [ReduceOp; 3] = [ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max];

/// A kernel that is an expression, lowered by ug with random options. It may make no sense, such as
/// a quotient by 0; then the reference says so.
pub fn lowered(rng: &mut Rng, name: String) -> Result<Case> {
    let rank = rng.within(1, 3);
    let dims: Vec<usize> = (0..rank).map(|_| rng.within(1, 9)).collect();
    let dtype = *rng.pick(&DTYPES);
    let mut tree = Tree { rng, args: vec![] };
    let depth = tree.rng.within(1, 4);
    let value = tree.of(&dims, dtype, depth)?;
    let dst = Arg::ptr(dtype);
    let store = op::store(dst.id(), Layout::from_shape(dims.clone()), value)?;
    let mut args = vec![(dst, dims.iter().product())];
    args.append(&mut tree.args);
    let pointers = args.iter().map(|(arg, _)| *arg).collect();
    let kernel = op::Kernel::new(name.clone(), pointers, vec![store]);
    let axis = rng.below(rank);
    let opts = match rng.below(5) {
        0 => Opts::default(),
        1 => Opts::default().with_block_axis(axis),
        2 => Opts::default().with_global_axis(axis, rng.within(1, 40)),
        3 => Opts::default().with_thread_block(axis, dims[axis]),
        _ => Opts::default()
            .with_block_axis(rng.below(rank))
            .with_thread_block(axis, dims[axis]),
    };
    let kernel = kernel.lower(&opts)?;
    let config = *kernel.launch_config();
    let arguments = args
        .iter()
        .map(|(arg, count)| match arg.type_() {
            candle_ug_rocm::ug::lang::Type::Ptr(dtype) => memory(rng, dtype, *count),
            other => unreachable!("{other:?} is no pointer"),
        })
        .collect();
    Ok(Case {
        name,
        kernel,
        grid: config.grid_dim,
        threads: config.block_dim as usize,
        arguments,
    })
}

struct Tree<'a> {
    rng: &'a mut Rng,
    /// The tensors that are read, with the number of their elements.
    args: Vec<(Arg, usize)>,
}

impl Tree<'_> {
    fn of(&mut self, dims: &[usize], dtype: DType, depth: usize) -> Result<Ast> {
        if depth == 0 || self.rng.chance(10) {
            return self.leaf(dims, dtype);
        }
        let depth = depth - 1;
        match self.rng.below(12) {
            0 => {
                let from = *self.rng.pick(&DTYPES);
                op::unary(UnaryOp::Cast(dtype), self.of(dims, from, depth)?)
            }
            1..=3 => {
                let op = *self.rng.pick(&UNARY);
                op::unary(op, self.of(dims, dtype, depth)?)
            }
            4..=7 => {
                let op = *self.rng.pick(&BINARY);
                let left = self.of(dims, dtype, depth)?;
                op::binary(op, left, self.of(dims, dtype, depth)?)
            }
            8 => {
                let reduce = *self.rng.pick(&REDUCE);
                let dim = self.rng.below(dims.len());
                let mut wide = dims.to_vec();
                wide[dim] = self.rng.within(1, 9).max(dims[dim]);
                let whole = if self.rng.chance(70) { dims } else { &wide };
                let all = self.of(whole, dtype, depth)?;
                op::broadcast(op::reduce(reduce, all, dim)?, dims.to_vec())
            }
            9 => op::binary(
                *self.rng.pick(&BINARY),
                self.of(dims, dtype, depth)?,
                self.number(dtype),
            ),
            _ => self.layout(dims, dtype, depth),
        }
    }

    fn number(&mut self, dtype: DType) -> Ast {
        let value = self.rng.within(1, 5) as f32 - if self.rng.chance(20) { 6. } else { 0. };
        let number = match dtype {
            DType::I32 => op::cst(value as i32),
            DType::I64 => op::cst(value as i64),
            DType::F32 => op::cst(value / 2.),
            DType::F16 => op::cst(half::f16::from_f32(value / 2.)),
            DType::BF16 => op::cst(half::bf16::from_f32(value / 2.)),
        };
        number.expect("a number")
    }

    /// A tensor, read as it lies, from an offset, or backwards through its strides.
    fn leaf(&mut self, dims: &[usize], dtype: DType) -> Result<Ast> {
        let arg = Arg::ptr(dtype);
        let count: usize = dims.iter().product();
        let mut layout = Layout::from_shape(dims.to_vec());
        if self.rng.chance(30) {
            let back: Vec<usize> = dims.iter().rev().copied().collect();
            layout = Layout::from_shape(back).transpose();
        }
        let offset = if self.rng.chance(30) {
            self.rng.within(1, 7)
        } else {
            0
        };
        layout.set_offset(offset);
        self.args.push((arg, count + offset));
        op::load(arg.id(), layout, dtype)
    }

    fn layout(&mut self, dims: &[usize], dtype: DType, depth: usize) -> Result<Ast> {
        let dim = self.rng.below(dims.len());
        let mut inner = dims.to_vec();
        match self.rng.below(5) {
            0 => {
                inner[dim] = 1;
                let from = if self.rng.chance(30) && inner[0] == 1 {
                    1
                } else {
                    0
                };
                let inner = if inner.len() > from {
                    &inner[from..]
                } else {
                    &inner
                };
                op::broadcast(self.of(inner, dtype, depth)?, dims.to_vec())
            }
            1 => {
                let offset = self.rng.within(0, 3);
                inner[dim] += offset + self.rng.within(0, 2);
                let arg = self.of(&inner, dtype, depth)?;
                op::layout(LayoutOp::Narrow { dim, offset }, arg, dims.to_vec())
            }
            2 => {
                let other = self.rng.below(dims.len());
                inner.swap(dim, other);
                let arg = self.of(&inner, dtype, depth)?;
                let (dim1, dim2) = (dim, other);
                op::layout(LayoutOp::Transpose { dim1, dim2 }, arg, dims.to_vec())
            }
            3 if dim + 1 < dims.len() => {
                inner[dim] *= inner.remove(dim + 1);
                let arg = self.of(&inner, dtype, depth)?;
                let (lhs, rhs) = (dim, dim + 1);
                op::layout(LayoutOp::SplitDim { dim, lhs, rhs }, arg, dims.to_vec())
            }
            _ => {
                let part = (1..=dims[dim])
                    .filter(|p| dims[dim] % p == 0)
                    .collect::<Vec<_>>();
                let part = *self.rng.pick(&part);
                inner[dim] /= part;
                inner.insert(dim + 1, part);
                let arg = self.of(&inner, dtype, depth)?;
                let (lhs, rhs) = (dim, dim + 1);
                op::layout(LayoutOp::MergeDims { dim, lhs, rhs }, arg, dims.to_vec())
            }
        }
    }
}

/// A kernel of instructions: loops, conditions, shared memory, barriers, reductions in any order.
pub fn put_together(rng: &mut Rng, name: String) -> Result<Case> {
    let threads = *rng.pick(&[1, 5, 31, 32, 33, 48, 64, 65, 96, 160]);
    let grid = rng.within(1, 3);
    let (from, to) = (*rng.pick(&DTYPES), *rng.pick(&DTYPES));
    let mut block = Block::empty();
    let src = block.push(Instr::DefineGlobal {
        index: 0,
        dtype: from,
    });
    let dst = block.push(Instr::DefineGlobal {
        index: 1,
        dtype: to,
    });
    let of_block = block.push(Instr::Special(Special::BlockIdx));
    let thread = block.push(Instr::Special(Special::ThreadIdx));
    let first = block.mul(of_block, threads);
    let at = block.binary(BinaryOp::Add, first, thread, DType::I32);
    let offset = at.to_a();
    let x = block.push(Instr::Load {
        src: src.to_varid(),
        offset,
        dtype: from,
    });
    let mut parts = Parts {
        rng,
        block,
        thread,
        threads,
        values: vec![(x, from)],
    };
    for _ in 0..parts.rng.within(2, 7) {
        parts.grow(2);
    }
    let (value, _) = *parts.values.last().expect("the one that was loaded");
    let mut block = parts.block;
    let value = value.to_a();
    block.push(Instr::Store {
        dst: dst.to_varid(),
        offset,
        value,
        dtype: to,
    });
    let config = LaunchConfig {
        grid_dim: grid as u32,
        block_dim: threads as u32,
        shared_mem: 0,
    };
    let args = vec![(Arg::ptr(from), 0), (Arg::ptr(to), 1)];
    let kernel = Kernel::new(block.relocate()?, args, config);
    let count = grid * threads as usize;
    let arguments: Vec<Argument> = vec![memory(rng, from, count), memory(rng, to, count)];
    Ok(Case {
        name,
        kernel,
        grid: grid as u32,
        threads: threads as usize,
        arguments,
    })
}

struct Parts<'a> {
    rng: &'a mut Rng,
    block: Block,
    thread: Id,
    threads: i32,
    /// What may be used where the next instruction stands.
    values: Vec<(Id, DType)>,
}

impl Parts<'_> {
    fn any(&mut self) -> (Id, DType) {
        *self.rng.pick(&self.values)
    }

    fn keep(&mut self, id: Id, dtype: DType) {
        self.values.push((id, dtype));
    }

    fn plain(&mut self) {
        let ((x, left), (y, _)) = (self.any(), self.any());
        let dtype = if self.rng.chance(80) {
            left
        } else {
            *self.rng.pick(&DTYPES)
        };
        let id = match self.rng.below(5) {
            0 => {
                let op = *self.rng.pick(&UNARY);
                self.block.unary(op, x, dtype)
            }
            1 => {
                let to = *self.rng.pick(&DTYPES);
                let id = self.block.unary(UnaryOp::Cast(to), x, to);
                return self.keep(id, to);
            }
            2 => {
                let number = A::Const(Const::I32(self.rng.within(1, 7) as i32 - 3));
                let op = *self.rng.pick(&BINARY);
                self.block.binary(op, x, number, dtype)
            }
            _ => {
                let op = *self.rng.pick(&BINARY);
                self.block.binary(op, x, y, dtype)
            }
        };
        self.keep(id, dtype);
    }

    fn grow(&mut self, depth: usize) {
        match self.rng.below(if depth == 0 { 4 } else { 9 }) {
            0..=3 => self.plain(),
            4 => self.exchange(),
            5 => {
                let (x, dtype) = self.any();
                let op = *self.rng.pick(&REDUCE);
                let id = self.block.push(Instr::ReduceLocal {
                    op,
                    arg: x.to_a(),
                    dtype,
                });
                self.keep(id, dtype);
            }
            6 => self.condition(depth),
            _ => self.repetition(depth),
        }
    }

    fn exchange(&mut self) {
        let (x, from) = self.any();
        let dtype = if self.rng.chance(80) {
            from
        } else {
            *self.rng.pick(&DTYPES)
        };
        let size = self.threads as usize;
        let shared = self
            .block
            .push(Instr::DefineLocal { size, dtype })
            .to_varid();
        let (offset, value) = (self.thread.to_a(), x.to_a());
        self.block.push(Instr::Store {
            dst: shared,
            offset,
            value,
            dtype,
        });
        self.block.push(Instr::Barrier);
        let by = self.rng.within(1, 70) as i32;
        let next = self.block.add(self.thread, by);
        let next = self
            .block
            .binary(BinaryOp::Mod, next, self.threads, DType::I32);
        let offset = next.to_a();
        let id = self.block.push(Instr::Load {
            src: shared,
            offset,
            dtype,
        });
        self.block.push(Instr::Barrier);
        self.keep(id, dtype);
    }

    /// Something is added to a number inside of what is opened and closed.
    fn inside(&mut self, depth: usize, number: Id, dtype: DType, also: Option<Id>) {
        let before = self.values.len();
        self.values.extend(also.map(|id| (id, DType::I32)));
        self.keep(number, dtype);
        for _ in 0..self.rng.within(1, 2) {
            self.grow(depth - 1);
        }
        let (x, _) = *self.values.last().expect("the number itself");
        let sum = self.block.binary(BinaryOp::Add, number, x, dtype);
        self.block.push(Instr::Assign {
            dst: number.to_varid(),
            src: sum.to_a(),
        });
        self.values.truncate(before);
    }

    fn number(&mut self) -> (Id, DType) {
        let dtype = *self.rng.pick(&DTYPES);
        (self.block.push(Instr::DefineAcc(Const::zero(dtype))), dtype)
    }

    fn condition(&mut self, depth: usize) {
        let (number, dtype) = self.number();
        let by = self.rng.within(2, 5) as i32;
        let cond = self
            .block
            .binary(BinaryOp::Mod, self.thread, by, DType::I32)
            .to_a();
        let end = Id::new();
        self.block.push(Instr::If {
            cond,
            end_idx: end.to_varid(),
        });
        self.inside(depth, number, dtype, None);
        self.block.0.push((end, Instr::EndIf));
        self.keep(number, dtype);
    }

    fn repetition(&mut self, depth: usize) {
        let (number, dtype) = self.number();
        let low = if self.rng.chance(30) {
            self.thread.to_a()
        } else {
            (self.rng.within(0, 4) as i32 - 2).into()
        };
        let up = self.rng.within(0, 6) as i32;
        let step = self.rng.within(1, 3);
        let range = if self.rng.chance(30) {
            self.block.range(low, i64::from(up), step)
        } else {
            self.block.range(low, up, step)
        };
        let index = range.id();
        self.inside(depth, number, dtype, Some(index));
        self.block
            .end_range(range)
            .expect("the range is this block's");
        self.keep(number, dtype);
    }
}
