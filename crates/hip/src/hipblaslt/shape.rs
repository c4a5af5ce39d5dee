//! The shape of a product: all that a solution depends on.

use super::sys::hipDataType;
use crate::rocblas::sys::{hipblasComputeType_t, rocblas_datatype, rocblas_operation};
use std::ffi::{c_int, c_longlong};

/// How matrices enter a product and lie in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Operand {
    pub(crate) transposed: bool,
    /// Elements from one column to the next.
    pub(crate) leading: i64,
    /// Elements from one matrix to the next.
    pub(crate) stride: i64,
}

/// `batch` products of `m` times `k` and `k` times `n` elements of 16 bits, in columns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Shape {
    pub(crate) kind: hipDataType,
    pub(crate) m: u64,
    pub(crate) n: u64,
    pub(crate) k: u64,
    pub(crate) a: Operand,
    pub(crate) b: Operand,
    pub(crate) c: Operand,
    pub(crate) batch: i32,
}

/// The shape of products as rocBLAS is given them: how `a` and `b` enter; `m`, `n`, `k` and their number; type,
/// elements from one column to the next and from one matrix to the next, of `a`, `b` and `c`; what they are
/// added in. `None` for other types than hipBLASLt is asked for here.
pub(crate) fn shape(
    a: rocblas_operation,
    b: rocblas_operation,
    [m, n, k, batch]: [c_int; 4],
    matrices: [(rocblas_datatype, c_int, c_longlong); 3],
    compute: hipblasComputeType_t,
) -> Option<Shape> {
    let [of_a, of_b, of_c] = matrices;
    let kind = match of_a.0 {
        rocblas_datatype::rocblas_datatype_f16_r => hipDataType::HIP_R_16F,
        rocblas_datatype::rocblas_datatype_bf16_r => hipDataType::HIP_R_16BF,
        _ => return None,
    };
    let single = compute.datatype() == rocblas_datatype::rocblas_datatype_f32_r;
    if !single || of_b.0 != of_a.0 || of_c.0 != of_a.0 {
        return None;
    }
    let operand = |transposed, (_, leading, stride): (_, c_int, c_longlong)| Operand {
        transposed,
        leading: i64::from(leading),
        stride,
    };
    let size = |size| u64::try_from(size).ok();
    let is_transposed = |operation| match operation {
        rocblas_operation::rocblas_operation_none => Some(false),
        rocblas_operation::rocblas_operation_transpose
        | rocblas_operation::rocblas_operation_conjugate_transpose => Some(true),
        _ => None,
    };
    Some(Shape {
        kind,
        m: size(m)?,
        n: size(n)?,
        k: size(k)?,
        a: operand(is_transposed(a)?, of_a),
        b: operand(is_transposed(b)?, of_b),
        c: operand(false, of_c),
        batch,
    })
}

impl Operand {
    /// Rows and columns as they are stored, of a matrix that enters as `rows` times `columns`.
    pub(super) fn stored(&self, rows: u64, columns: u64) -> (u64, u64) {
        if self.transposed {
            (columns, rows)
        } else {
            (rows, columns)
        }
    }

    /// The same values with `transposed` as asked, if they are one column, or one row without gaps: as a
    /// row and as a column these lie in memory alike.
    fn as_asked(self, transposed: bool, rows: u64, columns: u64) -> Self {
        let (height, width) = self.stored(rows, columns);
        let leading = match (height, width) {
            _ if self.transposed == transposed => return self,
            (_, 1) => 1,
            (1, _) if self.leading == 1 => width as i64,
            _ => return self,
        };
        Self {
            transposed,
            leading,
            ..self
        }
    }
}

impl Shape {
    /// Whether both libraries have the same to say of it: hipBLASLt's header says nothing of products
    /// of nothing, nor of matrices that a batch has in common; and where columns overlap rocBLAS has the error.
    pub(crate) fn is_plain(&self) -> bool {
        let Self { m, n, k, .. } = *self;
        let sizes = m > 0 && n > 0 && k > 0 && self.batch > 0;
        let each = |operand: &Operand, rows, columns| {
            let apart = operand.leading >= operand.stored(rows, columns).0 as i64;
            apart && (self.batch == 1 || operand.stride > 0)
        };
        sizes && each(&self.a, m, k) && each(&self.b, k, n) && each(&self.c, m, n)
    }

    /// Whether both operands are read along `k`, the layout that hipBLASLt is best at
    /// (ROCm/rocm-libraries 9632).
    pub(super) fn is_along_k(&self) -> bool {
        self.a.transposed && !self.b.transposed
    }

    /// The same product, with vectors said to lie along `k`, which costs nothing.
    pub(super) fn along_k(self) -> Self {
        Self {
            a: self.a.as_asked(true, self.m, self.k),
            b: self.b.as_asked(false, self.k, self.n),
            ..self
        }
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let letter = |operand: &Operand| if operand.transposed { 'T' } else { 'N' };
        let kind = if self.kind == hipDataType::HIP_R_16F {
            "f16"
        } else {
            "bf16"
        };
        let (a, b) = (letter(&self.a), letter(&self.b));
        let Self { m, n, k, batch, .. } = self;
        write!(f, "{batch} x {kind} {a}{b}, m {m}, n {n}, k {k}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operand(transposed: bool, leading: i64) -> Operand {
        Operand {
            transposed,
            leading,
            stride: 7,
        }
    }

    /// Where element (row, column) of what enters lies.
    fn place(of: &Operand, row: u64, column: u64) -> i64 {
        let (i, j) = of.stored(row, column);
        i as i64 + j as i64 * of.leading
    }

    #[test]
    fn every_element_stays_where_it_is() {
        let mut changed = 0;
        for (rows, columns) in [(1, 1), (1, 5), (5, 1), (2, 3)] {
            for transposed in [false, true] {
                for extra in [0, 3] {
                    let before = operand(transposed, 0);
                    let least = before.stored(rows, columns).0 as i64;
                    let before = operand(transposed, least + extra);
                    for asked in [false, true] {
                        let after = before.as_asked(asked, rows, columns);
                        changed += usize::from(after != before);
                        let (height, _) = after.stored(rows, columns);
                        assert!(after.leading >= height as i64, "{before:?} {after:?}");
                        for (row, column) in
                            (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c)))
                        {
                            assert_eq!(place(&before, row, column), place(&after, row, column));
                        }
                    }
                }
            }
        }
        assert!(changed >= 6, "{changed}");
    }

    #[test]
    fn nothing_and_what_is_shared_are_not_plain() {
        let plain = Shape {
            kind: hipDataType::HIP_R_16F,
            m: 2,
            n: 3,
            k: 4,
            a: operand(false, 2),
            b: operand(false, 4),
            c: operand(false, 2),
            batch: 2,
        };
        assert!(plain.is_plain());
        let shared = Operand {
            stride: 0,
            ..plain.a
        };
        assert!(!Shape { a: shared, ..plain }.is_plain());
        assert!(!Shape { b: shared, ..plain }.is_plain());
        let overlapping = operand(false, 1);
        assert!(!Shape {
            a: overlapping,
            ..plain
        }
        .is_plain());
        assert!(!Shape {
            c: overlapping,
            ..plain
        }
        .is_plain());
        let one = Shape {
            a: shared,
            batch: 1,
            ..plain
        };
        assert!(one.is_plain());
        for nothing in [
            Shape { m: 0, ..plain },
            Shape { n: 0, ..plain },
            Shape { k: 0, ..plain },
            Shape { batch: 0, ..plain },
        ] {
            assert!(!nothing.is_plain());
        }
    }
}
