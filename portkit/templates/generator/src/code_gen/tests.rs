use super::gen;
use ug::lang::ssa::{BinaryOp, Const, DType, Instr as I, Kernel, ReduceOp, VarId, A};

const F32: DType = DType::F32;

fn v(at: usize) -> VarId {
    VarId::new(at)
}

fn a(at: usize) -> A {
    A::Var(v(at))
}

fn range(lo: A, up: A, step: usize, end: usize) -> I {
    let end_idx = v(end);
    I::Range {
        lo,
        up,
        step,
        end_idx,
    }
}

fn source(instrs: Vec<I>) -> Result<String, String> {
    let index = 0;
    let all = [vec![I::DefineGlobal { index, dtype: F32 }], instrs].concat();
    let kernel = Kernel::from_instrs(all).map_err(|error| error.to_string())?;
    let mut text = vec![];
    gen(&mut text, "kernel", &kernel).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(text).unwrap())
}

#[test]
fn what_makes_no_sense_is_said_of_its_instruction() {
    let end = |start| I::EndRange {
        start_idx: v(start),
    };
    let load = |src, offset| I::Load {
        src: v(src),
        offset,
        dtype: F32,
    };
    let one = || I::Const(Const::I32(1));
    let size = 0;
    let cond = a(1);
    let cases = [
        (
            vec![end(0)],
            "instruction 1: EndRange where nothing is open",
        ),
        (
            vec![range(0.into(), 1.into(), 1, 2)],
            "instruction 1: what it opens is not closed",
        ),
        (
            vec![range(0.into(), 1.into(), 1, 2), I::EndIf],
            "instruction 2: EndIf, where instruction 1 needs EndRange",
        ),
        (
            vec![
                range(0.into(), 1.into(), 1, 4),
                range(0.into(), 1.into(), 1, 3),
                end(1),
                end(2),
            ],
            "instruction 3: it ends the loop of instruction 1, inside of the one of instruction 2",
        ),
        (
            vec![range(0.into(), 1.into(), 0, 2), end(1)],
            "instruction 1: a loop with a step of 0 has no end",
        ),
        (
            vec![range(0.into(), 1.into(), 1, 2), end(1), load(0, a(1))],
            "instruction 3: instruction 1 has no value here",
        ),
        (
            vec![load(3, 0.into())],
            "instruction 1: instruction 3 is no memory",
        ),
        (
            vec![one(), load(1, 0.into())],
            "instruction 2: instruction 1 is no memory",
        ),
        (
            vec![load(0, a(0))],
            "instruction 1: instruction 0 has no value here",
        ),
        (
            vec![load(0, 0.into()), load(0, a(1))],
            "instruction 2: f32 is no type of an index",
        ),
        (
            vec![I::DefineLocal { size, dtype: F32 }],
            "instruction 1: shared memory for no elements",
        ),
        (
            vec![I::If {
                cond,
                end_idx: v(2),
            }],
            "instruction 1: instruction 1 has no value here",
        ),
    ];
    for (instrs, part) in cases {
        let error = source(instrs).unwrap_err();
        assert!(error.contains(part), "{part}\n{error}");
    }
}

#[test]
fn a_name_that_is_none_of_cpp_is_refused() {
    let kernel = Kernel::from_instrs(vec![]).unwrap();
    for name in ["", "1st", "a b", "a-b", "a(){}", "é"] {
        let error = gen(&mut vec![], name, &kernel).unwrap_err().to_string();
        assert!(error.contains("cannot be the name of a kernel"), "{error}");
    }
    for name in ["k", "_1", "Soft_Max2"] {
        gen(&mut vec![], name, &kernel).unwrap();
    }
}

#[test]
fn a_loop_whose_last_step_would_go_round_counts_in_64_bits() {
    for (up, step, wide) in [
        (1 << 30, 1 << 30, false),
        (i32::MAX, 1, false),
        (i32::MAX, 2, true),
        ((1 << 30) + 1, (1 << 30) + 1, true),
    ] {
        let end = I::EndRange { start_idx: v(1) };
        let text = source(vec![range(0.into(), up.into(), step, 2), end]).unwrap();
        let counter = if wide {
            "for (long long v1 "
        } else {
            "for (int v1 "
        };
        assert!(text.contains(counter), "{up} {step}\n{text}");
    }
}

#[test]
fn only_a_kernel_that_reduces_has_the_reduction() {
    let number = || I::Const(Const::I64(i64::MIN));
    let op = ReduceOp::Max;
    let dtype = DType::I64;
    let arg = a(1);
    let with = source(vec![number(), I::ReduceLocal { op, arg, dtype }]).unwrap();
    assert!(with.contains("block_reduce<Max>(v1)"), "{with}");
    assert!(
        with.contains("v1 = (-9223372036854775807LL - 1);"),
        "{with}"
    );
    let (op, lhs, rhs) = (BinaryOp::Min, a(1), a(1));
    let without = source(vec![
        number(),
        I::Binary {
            op,
            lhs,
            rhs,
            dtype,
        },
    ]);
    assert!(!without.unwrap().contains("block_reduce"));
}
