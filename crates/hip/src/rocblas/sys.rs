//! The C interface of rocBLAS: the part of `rocblas/rocblas.h` that this crate uses.
//!
//! Types, values and signatures are those of the header from ROCm 6.0 on.
//! [`hipblasComputeType_t`] is of hipBLAS, whose header has it.

use crate::driver::sys::hipStream_t;
use crate::loader::ROCBLAS;
use std::ffi::{c_int, c_uint, c_void};

/// What [`rocblas_handle`] points to.
#[allow(non_camel_case_types)]
#[repr(C)]
pub struct _rocblas_handle {
    _opaque: [u8; 0],
}

/// The state of rocBLAS for one stream.
#[allow(non_camel_case_types)]
pub type rocblas_handle = *mut _rocblas_handle;

/// A size.
#[allow(non_camel_case_types)]
pub type rocblas_int = c_int;

/// The number of elements from one matrix to the next.
#[allow(non_camel_case_types)]
pub type rocblas_stride = i64;

c_enum! {
    /// The status that each function of rocBLAS returns.
    rocblas_status(c_int) {
        rocblas_status_success = 0,
        rocblas_status_invalid_handle = 1,
        rocblas_status_not_implemented = 2,
        rocblas_status_invalid_pointer = 3,
        rocblas_status_invalid_size = 4,
        rocblas_status_memory_error = 5,
        rocblas_status_internal_error = 6,
        rocblas_status_perf_degraded = 7,
        rocblas_status_size_query_mismatch = 8,
        rocblas_status_size_increased = 9,
        rocblas_status_size_unchanged = 10,
        rocblas_status_invalid_value = 11,
        rocblas_status_continue = 12,
        rocblas_status_check_numerics_fail = 13,
        rocblas_status_excluded_from_build = 14,
        rocblas_status_arch_mismatch = 15,
    }
}

impl rocblas_status {
    /// Not a status of rocBLAS: the library, or the called function in it, could not be loaded.
    pub const NOT_LOADED: Self = Self(-1);
    /// Not a status of rocBLAS: `HIPRC_BLAS` is none of the words that it may be.
    pub const NO_CHOICE: Self = Self(-2);
}

c_enum! {
    /// How a matrix enters a product.
    rocblas_operation(c_uint) {
        rocblas_operation_none = 111,
        rocblas_operation_transpose = 112,
        rocblas_operation_conjugate_transpose = 113,
    }
}

c_enum! {
    /// The type of an element.
    rocblas_datatype(c_uint) {
        rocblas_datatype_f16_r = 150,
        rocblas_datatype_f32_r = 151,
        rocblas_datatype_f64_r = 152,
        rocblas_datatype_f16_c = 153,
        rocblas_datatype_f32_c = 154,
        rocblas_datatype_f64_c = 155,
        rocblas_datatype_i8_r = 160,
        rocblas_datatype_u8_r = 161,
        rocblas_datatype_i32_r = 162,
        rocblas_datatype_u32_r = 163,
        rocblas_datatype_bf16_r = 168,
        rocblas_datatype_bf16_c = 169,
    }
}

/// What a product is computed in, as hipBLAS names it.
///
/// rocBLAS takes a [`rocblas_datatype`] instead and has no words for the faster kinds of single
/// precision; [`datatype`](Self::datatype) says what stands for them.
#[allow(non_camel_case_types, missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum hipblasComputeType_t {
    HIPBLAS_COMPUTE_16F,
    HIPBLAS_COMPUTE_16F_PEDANTIC,
    HIPBLAS_COMPUTE_32F,
    HIPBLAS_COMPUTE_32F_PEDANTIC,
    HIPBLAS_COMPUTE_32F_FAST_16F,
    HIPBLAS_COMPUTE_32F_FAST_16BF,
    HIPBLAS_COMPUTE_32F_FAST_TF32,
    HIPBLAS_COMPUTE_64F,
    HIPBLAS_COMPUTE_64F_PEDANTIC,
    HIPBLAS_COMPUTE_32I,
    HIPBLAS_COMPUTE_32I_PEDANTIC,
}

impl hipblasComputeType_t {
    /// What rocBLAS computes in.
    ///
    /// The faster kinds of single precision are a permission to be less exact. rocBLAS makes no
    /// use of it: they are single precision.
    pub fn datatype(self) -> rocblas_datatype {
        match self {
            Self::HIPBLAS_COMPUTE_16F | Self::HIPBLAS_COMPUTE_16F_PEDANTIC => {
                rocblas_datatype::rocblas_datatype_f16_r
            }
            Self::HIPBLAS_COMPUTE_32F
            | Self::HIPBLAS_COMPUTE_32F_PEDANTIC
            | Self::HIPBLAS_COMPUTE_32F_FAST_16F
            | Self::HIPBLAS_COMPUTE_32F_FAST_16BF
            | Self::HIPBLAS_COMPUTE_32F_FAST_TF32 => rocblas_datatype::rocblas_datatype_f32_r,
            Self::HIPBLAS_COMPUTE_64F | Self::HIPBLAS_COMPUTE_64F_PEDANTIC => {
                rocblas_datatype::rocblas_datatype_f64_r
            }
            Self::HIPBLAS_COMPUTE_32I | Self::HIPBLAS_COMPUTE_32I_PEDANTIC => {
                rocblas_datatype::rocblas_datatype_i32_r
            }
        }
    }
}

c_enum! {
    /// How a product is computed.
    rocblas_gemm_algo(c_uint) {
        rocblas_gemm_algo_standard = 0,
        rocblas_gemm_algo_solution_index = 1,
    }
}

c_enum! {
    /// Where scalars are.
    rocblas_pointer_mode(c_uint) {
        rocblas_pointer_mode_host = 0,
        rocblas_pointer_mode_device = 1,
    }
}

c_enum! {
    /// Whether products may add to a result by atomic operations, in the order in which they come.
    rocblas_atomics_mode(c_uint) {
        rocblas_atomics_not_allowed = 0,
        rocblas_atomics_allowed = 1,
    }
}

c_functions! {
    library ROCBLAS;
    otherwise rocblas_status::NOT_LOADED;

    /// Creates a handle on the calling thread's device.
    fn rocblas_create_handle(handle: *mut rocblas_handle) -> rocblas_status;
    /// Destroys a handle.
    fn rocblas_destroy_handle(handle: rocblas_handle) -> rocblas_status;
    /// Sets the stream of a handle.
    fn rocblas_set_stream(handle: rocblas_handle, stream: hipStream_t) -> rocblas_status;
    /// The stream of a handle.
    fn rocblas_get_stream(handle: rocblas_handle, stream: *mut hipStream_t) -> rocblas_status;
    /// Sets where scalars are.
    fn rocblas_set_pointer_mode(
        handle: rocblas_handle, mode: rocblas_pointer_mode,
    ) -> rocblas_status;
    /// Where scalars are.
    fn rocblas_get_pointer_mode(
        handle: rocblas_handle, mode: *mut rocblas_pointer_mode,
    ) -> rocblas_status;
    /// Sets whether products may use atomic operations.
    fn rocblas_set_atomics_mode(
        handle: rocblas_handle, mode: rocblas_atomics_mode,
    ) -> rocblas_status;

    /// Sum of absolute values in single precision.
    fn rocblas_sasum(
        handle: rocblas_handle, n: rocblas_int, x: *const f32, incx: rocblas_int,
        result: *mut f32,
    ) -> rocblas_status;
    /// Sum of absolute values in double precision.
    fn rocblas_dasum(
        handle: rocblas_handle, n: rocblas_int, x: *const f64, incx: rocblas_int,
        result: *mut f64,
    ) -> rocblas_status;
    /// Matrix times vector in single precision.
    fn rocblas_sgemv(
        handle: rocblas_handle, trans: rocblas_operation, m: rocblas_int, n: rocblas_int,
        alpha: *const f32, a: *const f32, lda: rocblas_int, x: *const f32, incx: rocblas_int,
        beta: *const f32, y: *mut f32, incy: rocblas_int,
    ) -> rocblas_status;
    /// Matrix times vector in double precision.
    fn rocblas_dgemv(
        handle: rocblas_handle, trans: rocblas_operation, m: rocblas_int, n: rocblas_int,
        alpha: *const f64, a: *const f64, lda: rocblas_int, x: *const f64, incx: rocblas_int,
        beta: *const f64, y: *mut f64, incy: rocblas_int,
    ) -> rocblas_status;
    /// Matrix product in single precision.
    fn rocblas_sgemm(
        handle: rocblas_handle, transa: rocblas_operation, transb: rocblas_operation,
        m: rocblas_int, n: rocblas_int, k: rocblas_int, alpha: *const f32, a: *const f32,
        lda: rocblas_int, b: *const f32, ldb: rocblas_int, beta: *const f32, c: *mut f32,
        ldc: rocblas_int,
    ) -> rocblas_status;
    /// Matrix product in double precision.
    fn rocblas_dgemm(
        handle: rocblas_handle, transa: rocblas_operation, transb: rocblas_operation,
        m: rocblas_int, n: rocblas_int, k: rocblas_int, alpha: *const f64, a: *const f64,
        lda: rocblas_int, b: *const f64, ldb: rocblas_int, beta: *const f64, c: *mut f64,
        ldc: rocblas_int,
    ) -> rocblas_status;
    /// Matrix products in single precision.
    fn rocblas_sgemm_strided_batched(
        handle: rocblas_handle, transa: rocblas_operation, transb: rocblas_operation,
        m: rocblas_int, n: rocblas_int, k: rocblas_int, alpha: *const f32, a: *const f32,
        lda: rocblas_int, stride_a: rocblas_stride, b: *const f32, ldb: rocblas_int,
        stride_b: rocblas_stride, beta: *const f32, c: *mut f32, ldc: rocblas_int,
        stride_c: rocblas_stride, batch_count: rocblas_int,
    ) -> rocblas_status;
    /// Matrix products in double precision.
    fn rocblas_dgemm_strided_batched(
        handle: rocblas_handle, transa: rocblas_operation, transb: rocblas_operation,
        m: rocblas_int, n: rocblas_int, k: rocblas_int, alpha: *const f64, a: *const f64,
        lda: rocblas_int, stride_a: rocblas_stride, b: *const f64, ldb: rocblas_int,
        stride_b: rocblas_stride, beta: *const f64, c: *mut f64, ldc: rocblas_int,
        stride_c: rocblas_stride, batch_count: rocblas_int,
    ) -> rocblas_status;
    /// Matrix product with types of its own for each matrix.
    fn rocblas_gemm_ex(
        handle: rocblas_handle, transa: rocblas_operation, transb: rocblas_operation,
        m: rocblas_int, n: rocblas_int, k: rocblas_int, alpha: *const c_void,
        a: *const c_void, a_type: rocblas_datatype, lda: rocblas_int,
        b: *const c_void, b_type: rocblas_datatype, ldb: rocblas_int, beta: *const c_void,
        c: *const c_void, c_type: rocblas_datatype, ldc: rocblas_int,
        d: *mut c_void, d_type: rocblas_datatype, ldd: rocblas_int,
        compute_type: rocblas_datatype, algo: rocblas_gemm_algo, solution_index: i32, flags: u32,
    ) -> rocblas_status;
    /// Matrix products with types of their own for each matrix.
    fn rocblas_gemm_strided_batched_ex(
        handle: rocblas_handle, transa: rocblas_operation, transb: rocblas_operation,
        m: rocblas_int, n: rocblas_int, k: rocblas_int, alpha: *const c_void,
        a: *const c_void, a_type: rocblas_datatype, lda: rocblas_int, stride_a: rocblas_stride,
        b: *const c_void, b_type: rocblas_datatype, ldb: rocblas_int, stride_b: rocblas_stride,
        beta: *const c_void,
        c: *const c_void, c_type: rocblas_datatype, ldc: rocblas_int, stride_c: rocblas_stride,
        d: *mut c_void, d_type: rocblas_datatype, ldd: rocblas_int, stride_d: rocblas_stride,
        batch_count: rocblas_int, compute_type: rocblas_datatype, algo: rocblas_gemm_algo,
        solution_index: i32, flags: u32,
    ) -> rocblas_status;
}
