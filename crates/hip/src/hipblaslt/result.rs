//! The functions of [`sys`] with [`Result`]s, and descriptions that are destroyed when they are dropped.

use super::sys::{
    self, hipDataType, hipblasComputeType_t, hipblasLtHandle_t, hipblasLtMatmulDescAttributes_t,
    hipblasLtMatmulDesc_t, hipblasLtMatmulHeuristicResult_t, hipblasLtMatmulPreferenceAttributes_t,
    hipblasLtMatmulPreference_t, hipblasLtMatrixLayoutAttribute_t, hipblasLtMatrixLayout_t,
    hipblasOperation_t, hipblasStatus_t,
};
use crate::loader::HIPBLASLT;
use std::fmt;
use std::mem::size_of;
use std::ptr::{from_ref, null_mut};

/// A status of hipBLASLt other than success.
///
/// [`hipblasStatus_t::NOT_LOADED`] stands for a library or a function that could not be loaded; its text
/// says which, and what to do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HipblasltError(pub hipblasStatus_t);

impl hipblasStatus_t {
    /// `Ok` for success, else the status as an error.
    pub fn result(self) -> Result<(), HipblasltError> {
        match self {
            Self::HIPBLAS_STATUS_SUCCESS => Ok(()),
            status => Err(HipblasltError(status)),
        }
    }
}

impl fmt::Display for HipblasltError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            hipblasStatus_t::NOT_LOADED => f.write_str(&HIPBLASLT.not_loaded()),
            status => write!(f, "hipBLASLt: {status:?}"),
        }
    }
}

impl std::error::Error for HipblasltError {}

/// Creates a handle on the calling thread's device.
pub fn create_handle() -> Result<hipblasLtHandle_t, HipblasltError> {
    let mut handle = null_mut();
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::hipblasLtCreate(&mut handle) }.result()?;
    Ok(handle)
}

/// Destroys a handle.
///
/// # Safety
///
/// The handle has to be alive, and is not afterwards.
pub unsafe fn destroy_handle(handle: hipblasLtHandle_t) -> Result<(), HipblasltError> {
    sys::hipblasLtDestroy(handle).result()
}

/// How matrices lie in memory, column by column.
#[derive(Debug)]
pub struct Layout(hipblasLtMatrixLayout_t);

impl Layout {
    /// Matrices of `rows` and `columns` as they are stored, `leading` elements from one column to the next
    /// and `stride` from one of `batch` matrices to the next.
    pub fn new(
        kind: hipDataType,
        (rows, columns): (u64, u64),
        leading: i64,
        batch: i32,
        stride: i64,
    ) -> Result<Self, HipblasltError> {
        use hipblasLtMatrixLayoutAttribute_t as Attribute;
        let mut layout = null_mut();
        // SAFETY: the pointer is valid for a write.
        unsafe { sys::hipblasLtMatrixLayoutCreate(&mut layout, kind, rows, columns, leading) }
            .result()?;
        let made = Self(layout);
        let count = Attribute::HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT;
        let offset = Attribute::HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET;
        // SAFETY: the layout is alive, and the values are of the types that the header says.
        unsafe {
            sys::hipblasLtMatrixLayoutSetAttribute(
                layout,
                count,
                from_ref(&batch).cast(),
                size_of::<i32>(),
            )
            .result()?;
            sys::hipblasLtMatrixLayoutSetAttribute(
                layout,
                offset,
                from_ref(&stride).cast(),
                size_of::<i64>(),
            )
            .result()?;
        }
        Ok(made)
    }

    /// The handle, which must not be destroyed.
    pub fn handle(&self) -> hipblasLtMatrixLayout_t {
        self.0
    }
}

impl Drop for Layout {
    fn drop(&mut self) {
        // SAFETY: it is alive and not used again. There is nobody to tell an error to.
        let _ = unsafe { sys::hipblasLtMatrixLayoutDestroy(self.0) };
    }
}

/// What a product computes: in single precision, with scalars on the host.
#[derive(Debug)]
pub struct Desc(hipblasLtMatmulDesc_t);

impl Desc {
    /// A product of matrices that enter it so.
    pub fn new(a: hipblasOperation_t, b: hipblasOperation_t) -> Result<Self, HipblasltError> {
        use hipblasLtMatmulDescAttributes_t as Attribute;
        let compute = hipblasComputeType_t::HIPBLAS_COMPUTE_32F;
        let mut desc = null_mut();
        // SAFETY: the pointer is valid for a write.
        unsafe { sys::hipblasLtMatmulDescCreate(&mut desc, compute, hipDataType::HIP_R_32F) }
            .result()?;
        let made = Self(desc);
        for (attribute, operation) in [
            (Attribute::HIPBLASLT_MATMUL_DESC_TRANSA, a),
            (Attribute::HIPBLASLT_MATMUL_DESC_TRANSB, b),
        ] {
            let (value, size) = (from_ref(&operation).cast(), size_of::<hipblasOperation_t>());
            // SAFETY: the description is alive, and the value of the type that the header says.
            unsafe { sys::hipblasLtMatmulDescSetAttribute(desc, attribute, value, size) }
                .result()?;
        }
        Ok(made)
    }

    /// The handle, which must not be destroyed.
    pub fn handle(&self) -> hipblasLtMatmulDesc_t {
        self.0
    }
}

impl Drop for Desc {
    fn drop(&mut self) {
        // SAFETY: it is alive and not used again. There is nobody to tell an error to.
        let _ = unsafe { sys::hipblasLtMatmulDescDestroy(self.0) };
    }
}

/// Which solutions are asked for.
#[derive(Debug)]
pub struct Preference(hipblasLtMatmulPreference_t);

impl Preference {
    /// Those that need no more than `workspace` bytes.
    pub fn new(workspace: u64) -> Result<Self, HipblasltError> {
        use hipblasLtMatmulPreferenceAttributes_t as Attribute;
        let mut preference = null_mut();
        // SAFETY: the pointer is valid for a write.
        unsafe { sys::hipblasLtMatmulPreferenceCreate(&mut preference) }.result()?;
        let made = Self(preference);
        let attribute = Attribute::HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
        let (value, size) = (from_ref(&workspace).cast(), size_of::<u64>());
        // SAFETY: the preference is alive, and the value of the type that the header says.
        unsafe { sys::hipblasLtMatmulPreferenceSetAttribute(preference, attribute, value, size) }
            .result()?;
        Ok(made)
    }
}

impl Drop for Preference {
    fn drop(&mut self) {
        // SAFETY: it is alive and not used again. There is nobody to tell an error to.
        let _ = unsafe { sys::hipblasLtMatmulPreferenceDestroy(self.0) };
    }
}

/// The best solution for `c = op(a) * op(b)`; `None` if there is none.
///
/// # Safety
///
/// The handle has to be alive.
pub unsafe fn best(
    handle: hipblasLtHandle_t,
    desc: &Desc,
    [a, b, c]: [&Layout; 3],
    preference: &Preference,
) -> Result<Option<hipblasLtMatmulHeuristicResult_t>, HipblasltError> {
    let mut best = hipblasLtMatmulHeuristicResult_t::default();
    let mut found = 0;
    sys::hipblasLtMatmulAlgoGetHeuristic(
        handle,
        desc.0,
        a.0,
        b.0,
        c.0,
        c.0,
        preference.0,
        1,
        &mut best,
        &mut found,
    )
    .result()?;
    let holds = best.state == hipblasStatus_t::HIPBLAS_STATUS_SUCCESS;
    Ok((found > 0 && holds).then_some(best))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_success_or_an_error() {
        assert_eq!(hipblasStatus_t::HIPBLAS_STATUS_SUCCESS.result(), Ok(()));
        let error = hipblasStatus_t(7).result().unwrap_err();
        assert_eq!(error.to_string(), "hipBLASLt: HIPBLAS_STATUS_NOT_SUPPORTED");
    }

    #[test]
    fn without_the_library_the_error_says_so() {
        if let Err(reason) = HIPBLASLT.load() {
            let error = create_handle().unwrap_err();
            assert_eq!(error, HipblasltError(hipblasStatus_t::NOT_LOADED));
            assert_eq!(error.to_string(), reason.to_string());
        }
    }
}
