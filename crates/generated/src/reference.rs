//! What a kernel computes: its instructions, one after the other, each for all threads of a block.

use crate::number::{Number, Unsure};
use candle_ug_rocm::ug::lang::ssa::{Const, DType, Instr, Kernel, Special, Type, VarId, A};

/// What a kernel is given for an argument.
#[derive(Clone, Debug)]
pub enum Argument {
    Memory(DType, Vec<Number>),
    Value(DType, Number),
}

/// Runs a kernel block by block; the arguments are changed as its memory is.
pub fn run(
    kernel: &Kernel,
    grid: u32,
    threads: usize,
    arguments: &mut [Argument],
) -> Result<(), Unsure> {
    for block in 0..grid {
        let mut state = Block {
            kernel,
            block: i64::from(block),
            threads,
            values: vec![vec![None; threads]; kernel.instrs().len()],
            shared: vec![vec![]; kernel.instrs().len()],
            arguments,
        };
        for ((arg, at), argument) in kernel.args().iter().zip(state.arguments.iter()) {
            if let (Type::Value(_), Argument::Value(_, value)) = (arg.type_(), argument) {
                state.values[*at] = vec![Some(*value); threads];
            }
        }
        state.run(0, kernel.instrs().len(), &vec![true; threads])?;
    }
    Ok(())
}

pub fn constant(value: Const) -> Number {
    match value {
        Const::I32(v) => Number::Int(v.into()),
        Const::I64(v) => Number::Int(v),
        Const::F32(v) => Number::exact((*v).into()),
        Const::F16(v) => Number::exact(v.to_f64()),
        Const::BF16(v) => Number::exact(v.to_f64()),
    }
}

struct Block<'a> {
    kernel: &'a Kernel,
    block: i64,
    threads: usize,
    values: Vec<Vec<Option<Number>>>,
    shared: Vec<Vec<Option<Number>>>,
    arguments: &'a mut [Argument],
}

impl Block<'_> {
    fn run(&mut self, from: usize, to: usize, on: &[bool]) -> Result<(), Unsure> {
        let mut at = from;
        while at < to {
            at = self.step(at, on)?;
        }
        Ok(())
    }

    /// One instruction, with all inside of it; answers where the next one is.
    fn step(&mut self, at: usize, on: &[bool]) -> Result<usize, Unsure> {
        let kernel = self.kernel;
        match kernel.instrs()[at] {
            Instr::If { cond, .. } => {
                let end = self.end(at);
                let mut inner = on.to_vec();
                for t in self.active(on) {
                    inner[t] = self.get(cond, t)?.int()? != 0;
                }
                self.run(at + 1, end, &inner)?;
                return Ok(end + 1);
            }
            Instr::Range { lo, up, step, .. } => {
                let end = self.end(at);
                let mut inner = on.to_vec();
                for t in self.active(on) {
                    self.values[at][t] = Some(self.get(lo, t)?);
                }
                loop {
                    for t in self.active(&inner.clone()) {
                        let index = self.get(A::Var(VarId::new(at)), t)?.int()?;
                        inner[t] = index < self.get(up, t)?.int()?;
                    }
                    if !inner.contains(&true) {
                        return Ok(end + 1);
                    }
                    self.run(at + 1, end, &inner)?;
                    for t in self.active(&inner) {
                        let index = self.get(A::Var(VarId::new(at)), t)?.int()?;
                        self.values[at][t] = Some(Number::Int(index + step as i64));
                    }
                }
            }
            Instr::ReduceLocal { op, arg, dtype } => {
                if on.contains(&false) {
                    return Err("a reduction that some threads do not come to");
                }
                let all = self.active(on).map(|t| self.get(arg, t));
                let all = Number::reduce(op, &all.collect::<Result<Vec<_>, _>>()?, dtype)?;
                self.values[at] = vec![Some(all); self.threads];
            }
            Instr::Barrier if on.contains(&false) => {
                return Err("a barrier that some threads do not come to")
            }
            Instr::DefineLocal { size, .. } => self.shared[at] = vec![None; size],
            _ => {
                for t in self.active(on) {
                    self.thread(at, t)?;
                }
            }
        }
        Ok(at + 1)
    }

    fn thread(&mut self, at: usize, t: usize) -> Result<(), Unsure> {
        let kernel = self.kernel;
        let value = match kernel.instrs()[at] {
            Instr::DefineAcc(value) | Instr::Const(value) => constant(value),
            Instr::Special(Special::ThreadIdx) => Number::Int(t as i64),
            Instr::Special(Special::BlockIdx) => Number::Int(self.block),
            Instr::Unary { op, arg, dtype } => self.get(arg, t)?.unary(op, dtype)?,
            Instr::Binary {
                op,
                lhs,
                rhs,
                dtype,
            } => {
                let (lhs, rhs) = (self.get(lhs, t)?, self.get(rhs, t)?);
                lhs.binary(op, rhs, dtype)?
            }
            Instr::Load { src, offset, dtype } => {
                let place = self.get(offset, t)?.int()? as usize;
                let read = match self.argument(src) {
                    Some(Argument::Memory(_, memory)) => memory.get(place).copied(),
                    _ => self.shared[src.as_usize()].get(place).copied().flatten(),
                };
                read.ok_or("a load beyond the memory, or of what was not written")?
                    .of(dtype)?
            }
            Instr::Store {
                dst,
                offset,
                value,
                dtype: _,
            } => {
                let place = self.get(offset, t)?.int()? as usize;
                let value = self.get(value, t)?;
                let of = match kernel.instrs()[dst.as_usize()] {
                    Instr::DefineLocal { dtype, .. } => dtype,
                    Instr::DefineGlobal { dtype, .. } => dtype,
                    _ => return Err("a store to no memory"),
                };
                let value = value.of(of)?;
                const BEYOND: &str = "a store beyond the memory";
                match self.argument(dst) {
                    Some(Argument::Memory(_, memory)) => {
                        *memory.get_mut(place).ok_or(BEYOND)? = value;
                    }
                    _ => {
                        let shared = &mut self.shared[dst.as_usize()];
                        *shared.get_mut(place).ok_or(BEYOND)? = Some(value);
                    }
                }
                return Ok(());
            }
            Instr::Assign { dst, src } => {
                let of = self.dtype(dst)?;
                self.values[dst.as_usize()][t] = Some(self.get(src, t)?.of(of)?);
                return Ok(());
            }
            Instr::DefineGlobal { .. } | Instr::Barrier => return Ok(()),
            ref other => unreachable!("{other:?} is no thread's own"),
        };
        self.values[at][t] = Some(value);
        Ok(())
    }

    fn dtype(&self, of: VarId) -> Result<DType, Unsure> {
        match self.kernel.instrs()[of.as_usize()] {
            Instr::DefineAcc(value) | Instr::Const(value) => Ok(value.dtype()),
            Instr::Unary { dtype, .. } | Instr::Binary { dtype, .. } => Ok(dtype),
            Instr::Load { dtype, .. } | Instr::ReduceLocal { dtype, .. } => Ok(dtype),
            _ => Err("an assignment to no value"),
        }
    }

    fn argument(&mut self, of: VarId) -> Option<&mut Argument> {
        let index = self
            .kernel
            .args()
            .iter()
            .position(|(_, at)| *at == of.as_usize())?;
        self.arguments.get_mut(index)
    }

    fn get(&self, of: A, t: usize) -> Result<Number, Unsure> {
        match of {
            A::Const(value) => Ok(constant(value)),
            A::Var(of) => self.values[of.as_usize()][t].ok_or("a value that is not there"),
        }
    }

    fn active<'b>(&self, on: &'b [bool]) -> impl Iterator<Item = usize> + 'b {
        on.iter().enumerate().filter(|(_, on)| **on).map(|(t, _)| t)
    }

    /// Where what an instruction opens is closed.
    fn end(&self, at: usize) -> usize {
        let mut depth = 0;
        for (i, instr) in self.kernel.instrs().iter().enumerate().skip(at) {
            match instr {
                Instr::If { .. } | Instr::Range { .. } => depth += 1,
                Instr::EndIf | Instr::EndRange { .. } => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return i;
            }
        }
        unreachable!("the kernel closes what it opens")
    }
}
