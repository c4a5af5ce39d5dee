//! From a kernel of `ug` to a HIP source.

use std::io::Write;
use ug::lang::ssa::{BinaryOp, Const, DType, Instr, Kernel, ReduceOp, Special, Type, UnaryOp, A};
use ug::Result;

/// Writes the HIP source of a kernel.
///
/// # Errors
///
/// If the name is none that C++ takes, the instructions make no sense, or the source cannot be written.
pub fn gen<W: Write>(w: &mut W, func_name: &str, kernel: &Kernel) -> Result<()> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !func_name.chars().all(word) || !func_name.starts_with(|c| word(c) && !c.is_ascii_digit()) {
        ug::bail!("{func_name:?} cannot be the name of a kernel: C++ has letters, digits and _")
    }
    let mut function = Function::new(kernel)?;
    for (at, instr) in kernel.instrs().iter().enumerate() {
        function.write(at, instr)?;
    }
    if let Some((start, _)) = function.open.pop() {
        ug::bail!("instruction {start}: what it opens is not closed")
    }
    writeln!(w, "{}", include_str!("prelude.hip"))?;
    if function.reduces {
        writeln!(w, "{}", include_str!("reduce.hip"))?;
    }
    let parameters = function.parameters.join(", ");
    writeln!(
        w,
        "extern \"C\" __global__ void {func_name}({parameters}) {{"
    )?;
    w.write_all(function.shared.as_bytes())?;
    w.write_all(function.body.as_bytes())?;
    writeln!(w, "}}")?;
    Ok(())
}

/// What an instruction stands for in those after it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Value(DType),
    Memory(DType),
    Nothing,
}

/// What the C++ source is made of, and what is known of each instruction before the current one.
struct Function {
    parameters: Vec<String>,
    shared: String,
    body: String,
    kinds: Vec<Kind>,
    /// The loops and conditions around the current instruction: where each begins.
    open: Vec<(usize, Closing)>,
    reduces: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Closing {
    EndRange,
    EndIf,
}

impl Function {
    fn new(kernel: &Kernel) -> Result<Self> {
        let mut function = Self {
            parameters: vec![],
            shared: String::new(),
            body: String::new(),
            kinds: vec![Kind::Nothing; kernel.instrs().len()],
            open: vec![],
            reduces: false,
        };
        for &(arg, at) in kernel.args() {
            let Some(Instr::DefineGlobal { .. }) = kernel.instrs().get(at) else {
                ug::bail!("instruction {at}: it defines no argument, {arg:?} is said to be there")
            };
            let (kind, parameter) = match arg.type_() {
                Type::Ptr(dtype) => (Kind::Memory(dtype), format!("{} *v{at}", name(dtype))),
                Type::Value(dtype) => (Kind::Value(dtype), format!("{} v{at}", name(dtype))),
            };
            function.kinds[at] = kind;
            function.parameters.push(parameter);
        }
        Ok(function)
    }

    fn write(&mut self, at: usize, instr: &Instr) -> Result<()> {
        match *instr {
            Instr::DefineGlobal { index, dtype: _ } => {
                if self.kinds[at] == Kind::Nothing {
                    ug::bail!("instruction {at}: argument {index} is none of the kernel's")
                }
            }
            Instr::DefineLocal { size, dtype } => {
                if size == 0 {
                    ug::bail!("instruction {at}: shared memory for no elements")
                }
                self.kinds[at] = Kind::Memory(dtype);
                self.shared += &format!("  __shared__ {} v{at}[{size}];\n", name(dtype));
            }
            Instr::DefineAcc(value) | Instr::Const(value) => {
                self.define(at, value.dtype(), &constant(value));
            }
            Instr::Special(special) => {
                let index = match special {
                    Special::ThreadIdx => "static_cast<int>(threadIdx.x)",
                    Special::BlockIdx => "static_cast<int>(blockIdx.x)",
                };
                self.define(at, DType::I32, index);
            }
            Instr::Load { src, offset, dtype } => {
                let (memory, stored) = self.memory(at, src.as_usize())?;
                let offset = self.index(at, offset)?;
                let value = converted(&format!("{memory}[{offset}]"), stored, dtype);
                self.define(at, dtype, &value);
            }
            Instr::Store {
                dst,
                offset,
                value,
                dtype: _,
            } => {
                let (memory, stored) = self.memory(at, dst.as_usize())?;
                let offset = self.index(at, offset)?;
                let (value, of) = self.value(at, value)?;
                let value = converted(&value, of, stored);
                self.line(&format!("{memory}[{offset}] = {value};"));
            }
            Instr::Assign { dst, src } => {
                let (dst, to) = self.value(at, A::Var(dst))?;
                let (src, from) = self.value(at, src)?;
                self.line(&format!("{dst} = {};", converted(&src, from, to)));
            }
            Instr::Unary { op, arg, dtype } => {
                let (arg, of) = self.value(at, arg)?;
                let (value, made) = unary(op, &arg, of);
                self.define(at, dtype, &converted(&value, made, dtype));
            }
            Instr::Binary {
                op,
                lhs,
                rhs,
                dtype,
            } => {
                let ((lhs, left), (rhs, right)) = (self.value(at, lhs)?, self.value(at, rhs)?);
                let common = common(left, right);
                let (lhs, rhs) = (
                    converted(&lhs, left, common),
                    converted(&rhs, right, common),
                );
                let value = binary(op, &lhs, &rhs, common);
                self.define(at, dtype, &converted(&value, common, dtype));
            }
            Instr::ReduceLocal { op, arg, dtype } => {
                self.reduces = true;
                let (arg, of) = self.value(at, arg)?;
                let common = common(of, of);
                let op = match op {
                    ReduceOp::Sum => "Sum",
                    ReduceOp::Min => "Min",
                    ReduceOp::Max => "Max",
                };
                let value = format!("block_reduce<{op}>({})", converted(&arg, of, common));
                self.define(at, dtype, &converted(&value, common, dtype));
            }
            Instr::Barrier => self.line("__syncthreads();"),
            Instr::Range {
                lo,
                up,
                step,
                end_idx: _,
            } => self.range(at, lo, up, step)?,
            Instr::If { cond, end_idx: _ } => {
                let (cond, of) = self.value(at, cond)?;
                let cond = converted(&cond, of, common(of, of));
                self.open(at, &format!("if ({cond} != 0) {{"), Closing::EndIf);
            }
            Instr::EndRange { start_idx } => {
                let start = self.close(at, Closing::EndRange)?;
                if start != start_idx.as_usize() {
                    ug::bail!(
                        "instruction {at}: it ends the loop of instruction {}, inside of the one \
                         of instruction {start}",
                        start_idx.as_usize()
                    )
                }
            }
            Instr::EndIf => {
                self.close(at, Closing::EndIf)?;
            }
        }
        Ok(())
    }

    fn range(&mut self, at: usize, lo: A, up: A, step: usize) -> Result<()> {
        if step == 0 {
            ug::bail!("instruction {at}: a loop with a step of 0 has no end")
        }
        let (lo, up_text) = (self.index(at, lo)?, self.index(at, up)?);
        // The last step goes past the end, and must not go round.
        let last = match up {
            A::Const(Const::I32(up)) => Some(i64::from(up)),
            A::Const(Const::I64(up)) => Some(up),
            _ => (step == 1).then_some(i64::from(i32::MAX)),
        };
        let past = last.and_then(|last| last.checked_add(i64::try_from(step).ok()? - 1));
        let fits = past.is_some_and(|past| past <= i64::from(i32::MAX));
        let dtype = if fits { DType::I32 } else { DType::I64 };
        let text = format!(
            "for ({} v{at} = {lo}; v{at} < {up_text}; v{at} += {step}) {{",
            name(dtype)
        );
        self.open(at, &text, Closing::EndRange);
        self.kinds[at] = Kind::Value(dtype);
        Ok(())
    }

    fn line(&mut self, text: &str) {
        self.body += &"  ".repeat(self.open.len() + 1);
        self.body += text;
        self.body += "\n";
    }

    fn define(&mut self, at: usize, dtype: DType, value: &str) {
        self.line(&format!("{} v{at} = {value};", name(dtype)));
        self.kinds[at] = Kind::Value(dtype);
    }

    fn open(&mut self, at: usize, text: &str, closing: Closing) {
        self.line(text);
        self.open.push((at, closing));
    }

    /// Ends the innermost loop or condition, and with it what was defined inside.
    fn close(&mut self, at: usize, closing: Closing) -> Result<usize> {
        match self.open.pop() {
            Some((start, wanted)) if wanted == closing => {
                for kind in &mut self.kinds[start..at] {
                    if matches!(kind, Kind::Value(_)) {
                        *kind = Kind::Nothing;
                    }
                }
                self.line("}");
                Ok(start)
            }
            Some((start, wanted)) => {
                ug::bail!(
                    "instruction {at}: {closing:?}, where instruction {start} needs {wanted:?}"
                )
            }
            None => ug::bail!("instruction {at}: {closing:?} where nothing is open"),
        }
    }

    fn memory(&self, at: usize, of: usize) -> Result<(String, DType)> {
        match self.kinds.get(of) {
            Some(&Kind::Memory(dtype)) => Ok((format!("v{of}"), dtype)),
            _ => ug::bail!("instruction {at}: instruction {of} is no memory"),
        }
    }

    fn value(&self, at: usize, of: A) -> Result<(String, DType)> {
        let of = match of {
            A::Const(value) => return Ok((constant(value), value.dtype())),
            A::Var(of) => of.as_usize(),
        };
        match self.kinds.get(of) {
            Some(&Kind::Value(dtype)) => Ok((format!("v{of}"), dtype)),
            _ => ug::bail!("instruction {at}: instruction {of} has no value here"),
        }
    }

    fn index(&self, at: usize, of: A) -> Result<String> {
        match self.value(at, of)? {
            (text, DType::I32 | DType::I64) => Ok(text),
            (_, dtype) => ug::bail!(
                "instruction {at}: {} is no type of an index",
                dtype.as_str()
            ),
        }
    }
}

/// The type of C++ whose layout in memory is that of an element.
fn name(dtype: DType) -> &'static str {
    match dtype {
        DType::BF16 => "bf16",
        DType::F16 => "_Float16",
        DType::F32 => "float",
        DType::I32 => "int",
        DType::I64 => "long long",
    }
}

/// The type that two operands are computed in: halves are only stored as such.
fn common(left: DType, right: DType) -> DType {
    if left.is_float() || right.is_float() {
        DType::F32
    } else if left == DType::I32 && right == DType::I32 {
        DType::I32
    } else {
        DType::I64
    }
}

fn converted(value: &str, from: DType, to: DType) -> String {
    match (from, to) {
        _ if from == to => value.to_string(),
        (DType::BF16, DType::F32) => format!("to_float({value})"),
        (DType::F32, DType::BF16) => format!("to_bf16({value})"),
        (DType::BF16, _) | (_, DType::BF16) => {
            converted(&converted(value, from, DType::F32), DType::F32, to)
        }
        _ => format!("static_cast<{}>({value})", name(to)),
    }
}

fn unary(op: UnaryOp, arg: &str, of: DType) -> (String, DType) {
    let function = match op {
        // The type to cast to is that of the instruction.
        UnaryOp::Id | UnaryOp::Cast(_) => return (arg.to_string(), of),
        UnaryOp::Neg => {
            let common = common(of, of);
            return (format!("-({})", converted(arg, of, common)), common);
        }
        // The fast one, as on CUDA: whoever compares results of both finds the same.
        UnaryOp::Exp => "__expf",
        UnaryOp::Sin => "sinf",
        UnaryOp::Cos => "cosf",
        UnaryOp::Sqrt => "sqrtf",
    };
    (
        format!("{function}({})", converted(arg, of, DType::F32)),
        DType::F32,
    )
}

fn binary(op: BinaryOp, lhs: &str, rhs: &str, dtype: DType) -> String {
    match (op, dtype.is_float()) {
        (BinaryOp::Add, _) => format!("{lhs} + {rhs}"),
        (BinaryOp::Sub, _) => format!("{lhs} - {rhs}"),
        (BinaryOp::Mul, _) => format!("{lhs} * {rhs}"),
        (BinaryOp::Div, _) => format!("{lhs} / {rhs}"),
        (BinaryOp::Mod, true) => format!("fmodf({lhs}, {rhs})"),
        (BinaryOp::Mod, false) => format!("{lhs} % {rhs}"),
        (BinaryOp::Min, true) => format!("fminf({lhs}, {rhs})"),
        (BinaryOp::Max, true) => format!("fmaxf({lhs}, {rhs})"),
        (BinaryOp::Min, false) => format!("{lhs} < {rhs} ? {lhs} : {rhs}"),
        (BinaryOp::Max, false) => format!("{lhs} < {rhs} ? {rhs} : {lhs}"),
    }
}

/// A constant, in parentheses where it has a sign.
fn constant(value: Const) -> String {
    match value {
        Const::BF16(v) => format!("to_bf16({})", float((*v).into())),
        Const::F16(v) => format!("static_cast<_Float16>({})", float((*v).into())),
        Const::F32(v) => float(*v),
        // C++ reads the sign apart, and the number alone does not fit.
        Const::I32(i32::MIN) => format!("({} - 1)", i32::MIN + 1),
        Const::I64(i64::MIN) => format!("({}LL - 1)", i64::MIN + 1),
        Const::I32(v) if v < 0 => format!("({v})"),
        Const::I32(v) => v.to_string(),
        Const::I64(v) if v < 0 => format!("({v}LL)"),
        Const::I64(v) => format!("{v}LL"),
    }
}

fn float(v: f32) -> String {
    if v.is_nan() {
        "__builtin_nanf(\"\")".to_string()
    } else if v.is_infinite() {
        format!("({}__builtin_inff())", if v < 0. { "-" } else { "" })
    } else if v.is_sign_negative() {
        format!("({v:?}f)")
    } else {
        format!("{v:?}f")
    }
}

#[cfg(test)]
mod tests;
