//! Products on a HIP device of which any one call may fail, those of hipBLASLt included. Nothing else may be
//! in this file: who runs it chooses the call (`tests/real/test_products.py`, on portkit's device that runs on
//! the CPU), and reads what is printed.

use half::f16;
use hiprc::driver::HipContext;
use hiprc::hipblaslt::Choice;
use hiprc::rocblas::sys::rocblas_operation;
use hiprc::rocblas::{Gemm, GemmConfig, RocBlas};
use std::error::Error;

type Outcome = Result<(), Box<dyn Error>>;

const M: usize = 8;
const K: usize = 300;

/// Twice the same products: all ones, so that sums are `K`, and with what was there before one more.
fn program() -> Outcome {
    let context = HipContext::new(0)?;
    let stream = context.new_stream()?;
    let blas = RocBlas::with_choice(stream.clone(), Choice::Hipblaslt)?;
    let ones = stream.clone_htod(&vec![f16::ONE; M * K])?;
    for _ in 0..2 {
        let mut c = stream.clone_htod(&[f16::ONE; M * M])?;
        for (beta, expected) in [(0., K), (1., 2 * K)] {
            let config = GemmConfig {
                transa: rocblas_operation::rocblas_operation_transpose,
                transb: rocblas_operation::rocblas_operation_none,
                m: M as i32,
                n: M as i32,
                k: K as i32,
                alpha: f16::ONE,
                lda: K as i32,
                ldb: K as i32,
                beta: f16::from_f32(beta),
                ldc: M as i32,
            };
            // SAFETY: the matrices are as large as the configuration says.
            unsafe { blas.gemm(config, &ones, &ones, &mut c) }?;
            let expected = f16::from_f32(expected as f32);
            assert!(stream.clone_dtoh(&c)? == [expected; M * M]);
        }
    }
    println!("taken: {}", blas.taken_by_hipblaslt());
    drop((ones, blas, stream));
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn what_fails_once_is_told_or_done_by_rocblas() -> Outcome {
    // One call fails, so the same succeeds before or after.
    let outcomes = [program(), program()];
    let told: Vec<_> = outcomes
        .iter()
        .filter_map(|each| each.as_ref().err())
        .map(|error| error.to_string())
        .collect();
    assert!(told.len() <= 1, "{told:?}");
    println!("told: {told:?}");
    Ok(())
}
