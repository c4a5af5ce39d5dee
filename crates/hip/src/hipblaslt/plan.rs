//! How products of a shape are computed, found once.

use super::result::{best, Desc, HipblasltError, Layout, Preference};
use super::shape::{Operand, Shape};
use super::sys::{hipblasLtHandle_t, hipblasLtMatmulAlgo_t, hipblasOperation_t};

/// The workspace that a solution may have, in bytes: that of hipBLASLt's samples (`clients/samples`).
const WORKSPACE: u64 = 32 << 20;

/// The best solution for a shape, with all that it is called with.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) desc: Desc,
    pub(super) a: Layout,
    pub(super) b: Layout,
    pub(super) c: Layout,
    pub(super) algo: hipblasLtMatmulAlgo_t,
    /// In bytes.
    pub(super) workspace: usize,
}

impl Plan {
    /// Asks hipBLASLt's heuristic; `None` if it has no solution.
    ///
    /// # Safety
    ///
    /// The handle has to be alive.
    pub(super) unsafe fn new(
        handle: hipblasLtHandle_t,
        shape: &Shape,
    ) -> Result<Option<Self>, HipblasltError> {
        let operation = |operand: &Operand| {
            if operand.transposed {
                hipblasOperation_t::HIPBLAS_OP_T
            } else {
                hipblasOperation_t::HIPBLAS_OP_N
            }
        };
        let layout = |operand: &Operand, rows, columns| {
            let stored = operand.stored(rows, columns);
            let Operand {
                leading, stride, ..
            } = *operand;
            Layout::new(shape.kind, stored, leading, shape.batch, stride)
        };
        let desc = Desc::new(operation(&shape.a), operation(&shape.b))?;
        let a = layout(&shape.a, shape.m, shape.k)?;
        let b = layout(&shape.b, shape.k, shape.n)?;
        let c = layout(&shape.c, shape.m, shape.n)?;
        let preference = Preference::new(WORKSPACE)?;
        let best = best(handle, &desc, [&a, &b, &c], &preference)?;
        Ok(best.map(|best| Self {
            desc,
            a,
            b,
            c,
            algo: best.algo,
            workspace: best.workspaceSize,
        }))
    }
}
