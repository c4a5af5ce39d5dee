//! The C interface of hipBLASLt: the part of `hipblaslt/hipblaslt.h` and of
//! `hipblas-common/hipblas-common.h` that this crate uses.
//!
//! Types, values and signatures are those of the headers from ROCm 6.0 on.

use crate::driver::sys::hipStream_t;
use crate::loader::HIPBLASLT;
use std::ffi::{c_int, c_uint, c_void};

/// The state of hipBLASLt for one device.
#[allow(non_camel_case_types)]
pub type hipblasLtHandle_t = *mut c_void;

/// Declares structures of which only pointers are known.
macro_rules! opaque {
    ($($(#[$meta:meta])* $name:ident, $pointer:ident;)*) => {
        $(
            #[doc = concat!("What [`", stringify!($pointer), "`] points to.")]
            #[allow(non_camel_case_types)]
            #[repr(C)]
            pub struct $name {
                _opaque: [u8; 0],
            }

            $(#[$meta])*
            #[allow(non_camel_case_types)]
            pub type $pointer = *mut $name;
        )*
    };
}

opaque! {
    /// What a product computes.
    hipblasLtMatmulDescOpaque_t, hipblasLtMatmulDesc_t;
    /// How a matrix lies in memory.
    hipblasLtMatrixLayoutOpaque_t, hipblasLtMatrixLayout_t;
    /// What solutions are asked for.
    hipblasLtMatmulPreferenceOpaque_t, hipblasLtMatmulPreference_t;
}

/// A solution: how a product is computed.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct hipblasLtMatmulAlgo_t {
    /// Known to hipBLASLt alone.
    pub data: [u8; 16],
    /// The workspace that it was asked with, in bytes.
    pub max_workspace_bytes: usize,
}

/// A solution, with what it needs.
#[allow(non_camel_case_types, non_snake_case)]
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct hipblasLtMatmulHeuristicResult_t {
    /// The solution.
    pub algo: hipblasLtMatmulAlgo_t,
    /// The workspace that it needs, in bytes.
    pub workspaceSize: usize,
    /// Whether the rest holds.
    pub state: hipblasStatus_t,
    /// How far it fills the device.
    pub wavesCount: f32,
    /// Not used.
    pub reserved: [c_int; 4],
}

c_enum! {
    /// The status that each function of hipBLASLt returns.
    hipblasStatus_t(c_uint) {
        HIPBLAS_STATUS_SUCCESS = 0,
        HIPBLAS_STATUS_NOT_INITIALIZED = 1,
        HIPBLAS_STATUS_ALLOC_FAILED = 2,
        HIPBLAS_STATUS_INVALID_VALUE = 3,
        HIPBLAS_STATUS_MAPPING_ERROR = 4,
        HIPBLAS_STATUS_EXECUTION_FAILED = 5,
        HIPBLAS_STATUS_INTERNAL_ERROR = 6,
        HIPBLAS_STATUS_NOT_SUPPORTED = 7,
        HIPBLAS_STATUS_ARCH_MISMATCH = 8,
        HIPBLAS_STATUS_HANDLE_IS_NULLPTR = 9,
        HIPBLAS_STATUS_INVALID_ENUM = 10,
        HIPBLAS_STATUS_UNKNOWN = 11,
    }
}

impl hipblasStatus_t {
    /// Not a status of hipBLASLt: the library, or the called function in it, could not be loaded.
    pub const NOT_LOADED: Self = Self(c_uint::MAX);
}

impl Default for hipblasStatus_t {
    /// That of what nobody has written.
    fn default() -> Self {
        Self::HIPBLAS_STATUS_UNKNOWN
    }
}

c_enum! {
    /// How a matrix enters a product.
    hipblasOperation_t(c_uint) {
        HIPBLAS_OP_N = 111,
        HIPBLAS_OP_T = 112,
        HIPBLAS_OP_C = 113,
    }
}

c_enum! {
    /// What a product is computed in.
    hipblasComputeType_t(c_uint) {
        HIPBLAS_COMPUTE_32F = 2,
    }
}

c_enum! {
    /// The type of an element.
    hipDataType(c_uint) {
        HIP_R_32F = 0,
        HIP_R_16F = 2,
        HIP_R_16BF = 14,
    }
}

c_enum! {
    /// What is said of a matrix.
    hipblasLtMatrixLayoutAttribute_t(c_uint) {
        HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 0,
        HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 1,
    }
}

c_enum! {
    /// What is said of a product.
    hipblasLtMatmulDescAttributes_t(c_uint) {
        HIPBLASLT_MATMUL_DESC_TRANSA = 0,
        HIPBLASLT_MATMUL_DESC_TRANSB = 1,
    }
}

c_enum! {
    /// What is said of the solutions that are asked for.
    hipblasLtMatmulPreferenceAttributes_t(c_uint) {
        HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
    }
}

c_functions! {
    library HIPBLASLT;
    otherwise hipblasStatus_t::NOT_LOADED;

    /// Creates a handle on the calling thread's device.
    fn hipblasLtCreate(handle: *mut hipblasLtHandle_t) -> hipblasStatus_t;
    /// Destroys a handle.
    fn hipblasLtDestroy(handle: hipblasLtHandle_t) -> hipblasStatus_t;
    /// Describes a matrix.
    fn hipblasLtMatrixLayoutCreate(
        layout: *mut hipblasLtMatrixLayout_t, kind: hipDataType, rows: u64, columns: u64,
        leading: i64,
    ) -> hipblasStatus_t;
    /// Destroys the description of a matrix.
    fn hipblasLtMatrixLayoutDestroy(layout: hipblasLtMatrixLayout_t) -> hipblasStatus_t;
    /// Says something of a matrix.
    fn hipblasLtMatrixLayoutSetAttribute(
        layout: hipblasLtMatrixLayout_t, attribute: hipblasLtMatrixLayoutAttribute_t,
        value: *const c_void, size: usize,
    ) -> hipblasStatus_t;
    /// Describes a product.
    fn hipblasLtMatmulDescCreate(
        desc: *mut hipblasLtMatmulDesc_t, compute: hipblasComputeType_t, scale: hipDataType,
    ) -> hipblasStatus_t;
    /// Destroys the description of a product.
    fn hipblasLtMatmulDescDestroy(desc: hipblasLtMatmulDesc_t) -> hipblasStatus_t;
    /// Says something of a product.
    fn hipblasLtMatmulDescSetAttribute(
        desc: hipblasLtMatmulDesc_t, attribute: hipblasLtMatmulDescAttributes_t,
        value: *const c_void, size: usize,
    ) -> hipblasStatus_t;
    /// Creates what says which solutions are asked for.
    fn hipblasLtMatmulPreferenceCreate(
        preference: *mut hipblasLtMatmulPreference_t,
    ) -> hipblasStatus_t;
    /// Destroys it.
    fn hipblasLtMatmulPreferenceDestroy(
        preference: hipblasLtMatmulPreference_t,
    ) -> hipblasStatus_t;
    /// Says something of the solutions that are asked for.
    fn hipblasLtMatmulPreferenceSetAttribute(
        preference: hipblasLtMatmulPreference_t,
        attribute: hipblasLtMatmulPreferenceAttributes_t, value: *const c_void, size: usize,
    ) -> hipblasStatus_t;
    /// Finds solutions for a product, the best first.
    fn hipblasLtMatmulAlgoGetHeuristic(
        handle: hipblasLtHandle_t, desc: hipblasLtMatmulDesc_t, a: hipblasLtMatrixLayout_t,
        b: hipblasLtMatrixLayout_t, c: hipblasLtMatrixLayout_t, d: hipblasLtMatrixLayout_t,
        preference: hipblasLtMatmulPreference_t, asked: c_int,
        results: *mut hipblasLtMatmulHeuristicResult_t, found: *mut c_int,
    ) -> hipblasStatus_t;
    /// Puts a product into a stream.
    fn hipblasLtMatmul(
        handle: hipblasLtHandle_t, desc: hipblasLtMatmulDesc_t, alpha: *const c_void,
        a: *const c_void, a_layout: hipblasLtMatrixLayout_t,
        b: *const c_void, b_layout: hipblasLtMatrixLayout_t, beta: *const c_void,
        c: *const c_void, c_layout: hipblasLtMatrixLayout_t,
        d: *mut c_void, d_layout: hipblasLtMatrixLayout_t,
        algo: *const hipblasLtMatmulAlgo_t, workspace: *mut c_void, workspace_size: usize,
        stream: hipStream_t,
    ) -> hipblasStatus_t;
}
