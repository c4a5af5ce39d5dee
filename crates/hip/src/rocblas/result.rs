//! The functions of [`sys`] with [`Result`]s.

use super::sys::{
    self, hipblasComputeType_t, rocblas_datatype, rocblas_gemm_algo, rocblas_handle,
    rocblas_operation, rocblas_status,
};
use crate::driver::sys::hipStream_t;
use crate::driver::HipError;
use crate::hipblaslt::result::HipblasltError;
use crate::hipblaslt::sys::hipblasStatus_t;
use crate::hipblaslt::{shape, take, Choice, Product};
use crate::loader::ROCBLAS;
use std::ffi::{c_int, c_longlong, c_void};
use std::fmt;

/// A status of rocBLAS other than success.
///
/// [`rocblas_status::NOT_LOADED`] stands for a library or a function that could not be loaded; its
/// text says which, and what to do. A status of hipBLASLt, where that took a product, has a number of
/// its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RocblasError(pub rocblas_status);

impl rocblas_status {
    /// `Ok` for success, else the status as an error.
    pub fn result(self) -> Result<(), RocblasError> {
        match self {
            Self::rocblas_status_success => Ok(()),
            status => Err(RocblasError(status)),
        }
    }
}

impl fmt::Display for RocblasError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            rocblas_status::NOT_LOADED => f.write_str(&ROCBLAS.not_loaded()),
            rocblas_status::NO_CHOICE => f.write_str(&Choice::wrong()),
            status => match of_hipblaslt(status) {
                Some(error) => write!(f, "{error}; HIPRC_BLAS=rocblas does without hipBLASLt"),
                None => write!(f, "rocBLAS: {status:?}"),
            },
        }
    }
}

impl std::error::Error for RocblasError {}

impl From<HipError> for RocblasError {
    /// What kept a stream from waiting before rocBLAS was called, which has no status for it.
    fn from(_: HipError) -> Self {
        Self(rocblas_status::rocblas_status_internal_error)
    }
}

/// From here on downward numbers stand for hipBLASLt's statuses.
const HIPBLASLT: c_int = -100;

impl From<HipblasltError> for RocblasError {
    fn from(HipblasltError(status): HipblasltError) -> Self {
        Self(rocblas_status(HIPBLASLT.wrapping_sub(status.0 as c_int)))
    }
}

/// The error of hipBLASLt that a status stands for.
fn of_hipblaslt(rocblas_status(number): rocblas_status) -> Option<HipblasltError> {
    let status = u32::try_from(HIPBLASLT.wrapping_sub(number)).ok()?;
    Some(HipblasltError(hipblasStatus_t(status)))
}

/// Creates a handle on the calling thread's device.
pub fn create_handle() -> Result<rocblas_handle, RocblasError> {
    let mut handle = std::ptr::null_mut();
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::rocblas_create_handle(&mut handle) }.result()?;
    Ok(handle)
}

/// Destroys a handle.
///
/// # Safety
///
/// The handle has to be alive, and is not afterwards.
pub unsafe fn destroy_handle(handle: rocblas_handle) -> Result<(), RocblasError> {
    sys::rocblas_destroy_handle(handle).result()
}

/// Sets the stream of a handle.
///
/// # Safety
///
/// Both have to be alive and of one device.
pub unsafe fn set_stream(handle: rocblas_handle, stream: hipStream_t) -> Result<(), RocblasError> {
    sys::rocblas_set_stream(handle, stream).result()
}

macro_rules! functions {
    ($(
        $(#[$meta:meta])*
        $name:ident = $function:ident($($arg:ident: $type:ty),* $(,)?);
    )*) => {
        $(
            $(#[$meta])*
            ///
            /// # Safety
            ///
            /// The handle has to be alive, and the pointers valid for what the sizes say: matrices
            /// and vectors on the device until the stream has got past this, scalars where the
            /// handle's pointer mode says.
            #[allow(clippy::too_many_arguments)]
            pub unsafe fn $name(
                handle: rocblas_handle,
                $($arg: $type),*
            ) -> Result<(), RocblasError> {
                sys::$function(handle, $($arg),*).result()
            }
        )*
    };
}

functions! {
    /// Sum of absolute values in single precision.
    sasum = rocblas_sasum(n: c_int, x: *const f32, incx: c_int, result: *mut f32);
    /// Sum of absolute values in double precision.
    dasum = rocblas_dasum(n: c_int, x: *const f64, incx: c_int, result: *mut f64);
    /// Matrix times vector in single precision.
    sgemv = rocblas_sgemv(
        trans: rocblas_operation, m: c_int, n: c_int, alpha: *const f32, a: *const f32,
        lda: c_int, x: *const f32, incx: c_int, beta: *const f32, y: *mut f32, incy: c_int,
    );
    /// Matrix times vector in double precision.
    dgemv = rocblas_dgemv(
        trans: rocblas_operation, m: c_int, n: c_int, alpha: *const f64, a: *const f64,
        lda: c_int, x: *const f64, incx: c_int, beta: *const f64, y: *mut f64, incy: c_int,
    );
    /// Matrix product in single precision.
    sgemm = rocblas_sgemm(
        transa: rocblas_operation, transb: rocblas_operation, m: c_int, n: c_int, k: c_int,
        alpha: *const f32, a: *const f32, lda: c_int, b: *const f32, ldb: c_int,
        beta: *const f32, c: *mut f32, ldc: c_int,
    );
    /// Matrix product in double precision.
    dgemm = rocblas_dgemm(
        transa: rocblas_operation, transb: rocblas_operation, m: c_int, n: c_int, k: c_int,
        alpha: *const f64, a: *const f64, lda: c_int, b: *const f64, ldb: c_int,
        beta: *const f64, c: *mut f64, ldc: c_int,
    );
    /// Matrix products in single precision.
    sgemm_strided_batched = rocblas_sgemm_strided_batched(
        transa: rocblas_operation, transb: rocblas_operation, m: c_int, n: c_int, k: c_int,
        alpha: *const f32, a: *const f32, lda: c_int, stride_a: c_longlong, b: *const f32,
        ldb: c_int, stride_b: c_longlong, beta: *const f32, c: *mut f32, ldc: c_int,
        stride_c: c_longlong, batch_size: c_int,
    );
    /// Matrix products in double precision.
    dgemm_strided_batched = rocblas_dgemm_strided_batched(
        transa: rocblas_operation, transb: rocblas_operation, m: c_int, n: c_int, k: c_int,
        alpha: *const f64, a: *const f64, lda: c_int, stride_a: c_longlong, b: *const f64,
        ldb: c_int, stride_b: c_longlong, beta: *const f64, c: *mut f64, ldc: c_int,
        stride_c: c_longlong, batch_size: c_int,
    );
}

/// Matrix product with types of its own for each matrix.
///
/// `alpha` and `beta` point to values of the type that `compute_type` stands for. The matrix `c`
/// is read and written; rocBLAS would take another one for the result.
///
/// # Safety
///
/// As for [`sgemm`].
#[allow(clippy::too_many_arguments)]
pub unsafe fn gemm_ex(
    handle: rocblas_handle,
    transa: rocblas_operation,
    transb: rocblas_operation,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const c_void,
    a: *const c_void,
    a_type: rocblas_datatype,
    lda: c_int,
    b: *const c_void,
    b_type: rocblas_datatype,
    ldb: c_int,
    beta: *const c_void,
    c: *mut c_void,
    c_type: rocblas_datatype,
    ldc: c_int,
    compute_type: hipblasComputeType_t,
    algo: rocblas_gemm_algo,
) -> Result<(), RocblasError> {
    let matrices = [(a_type, lda, 0), (b_type, ldb, 0), (c_type, ldc, 0)];
    let shape = || shape(transa, transb, [m, n, k, 1], matrices, compute_type);
    if let Some(done) = take(handle, || {
        Some(Product {
            shape: shape()?,
            alpha,
            a,
            b,
            beta,
            c,
        })
    }) {
        return done;
    }
    sys::rocblas_gemm_ex(
        handle,
        transa,
        transb,
        m,
        n,
        k,
        alpha,
        a,
        a_type,
        lda,
        b,
        b_type,
        ldb,
        beta,
        c,
        c_type,
        ldc,
        c,
        c_type,
        ldc,
        compute_type.datatype(),
        algo,
        0,
        0,
    )
    .result()
}

/// Matrix products with types of their own for each matrix.
///
/// `alpha` and `beta` point to values of the type that `compute_type` stands for. The matrices `c`
/// are read and written; rocBLAS would take others for the result.
///
/// # Safety
///
/// As for [`sgemm`].
#[allow(clippy::too_many_arguments)]
pub unsafe fn gemm_strided_batched_ex(
    handle: rocblas_handle,
    transa: rocblas_operation,
    transb: rocblas_operation,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const c_void,
    a: *const c_void,
    a_type: rocblas_datatype,
    lda: c_int,
    stride_a: c_longlong,
    b: *const c_void,
    b_type: rocblas_datatype,
    ldb: c_int,
    stride_b: c_longlong,
    beta: *const c_void,
    c: *mut c_void,
    c_type: rocblas_datatype,
    ldc: c_int,
    stride_c: c_longlong,
    batch_count: c_int,
    compute_type: hipblasComputeType_t,
    algo: rocblas_gemm_algo,
) -> Result<(), RocblasError> {
    let matrices = [
        (a_type, lda, stride_a),
        (b_type, ldb, stride_b),
        (c_type, ldc, stride_c),
    ];
    let shape = || {
        shape(
            transa,
            transb,
            [m, n, k, batch_count],
            matrices,
            compute_type,
        )
    };
    if let Some(done) = take(handle, || {
        Some(Product {
            shape: shape()?,
            alpha,
            a,
            b,
            beta,
            c,
        })
    }) {
        return done;
    }
    sys::rocblas_gemm_strided_batched_ex(
        handle,
        transa,
        transb,
        m,
        n,
        k,
        alpha,
        a,
        a_type,
        lda,
        stride_a,
        b,
        b_type,
        ldb,
        stride_b,
        beta,
        c,
        c_type,
        ldc,
        stride_c,
        c,
        c_type,
        ldc,
        stride_c,
        batch_count,
        compute_type.datatype(),
        algo,
        0,
        0,
    )
    .result()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_success_or_an_error() {
        assert_eq!(rocblas_status::rocblas_status_success.result(), Ok(()));
        let error = rocblas_status(4).result().unwrap_err();
        assert_eq!(error.to_string(), "rocBLAS: rocblas_status_invalid_size");
    }

    #[test]
    fn an_error_of_hipblaslt_names_it() {
        let error = HipblasltError(hipblasStatus_t::HIPBLAS_STATUS_EXECUTION_FAILED);
        assert_eq!(
            RocblasError::from(error).to_string(),
            "hipBLASLt: HIPBLAS_STATUS_EXECUTION_FAILED; HIPRC_BLAS=rocblas does without hipBLASLt"
        );
        for number in [-2, -1, 4, 99] {
            assert_eq!(of_hipblaslt(rocblas_status(number)), None);
        }
    }

    #[test]
    fn without_the_library_the_error_says_so() {
        if let Err(reason) = ROCBLAS.load() {
            let error = create_handle().unwrap_err();
            assert_eq!(error, RocblasError(rocblas_status::NOT_LOADED));
            assert_eq!(error.to_string(), reason.to_string());
        }
    }

    #[test]
    fn faster_kinds_of_single_precision_are_single_precision() {
        for kind in [
            hipblasComputeType_t::HIPBLAS_COMPUTE_32F,
            hipblasComputeType_t::HIPBLAS_COMPUTE_32F_FAST_TF32,
            hipblasComputeType_t::HIPBLAS_COMPUTE_32F_FAST_16BF,
        ] {
            assert_eq!(kind.datatype(), rocblas_datatype::rocblas_datatype_f32_r);
        }
    }
}
