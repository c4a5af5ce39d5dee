use super::result::{self, RocblasError};
use super::sys::{self, hipblasComputeType_t, rocblas_datatype, rocblas_gemm_algo};
use super::RocBlas;
use crate::driver::{DevicePtr, DevicePtrMut};
use half::{bf16, f16};
use std::ffi::{c_int, c_longlong};

/// A product `c = alpha * op(a) * op(b) + beta * c`.
#[derive(Debug, Copy, Clone)]
pub struct GemmConfig<T> {
    /// How `a` enters the product.
    pub transa: sys::rocblas_operation,
    /// How `b` enters the product.
    pub transb: sys::rocblas_operation,
    /// Rows of `op(a)` and of `c`.
    pub m: c_int,
    /// Columns of `op(b)` and of `c`.
    pub n: c_int,
    /// Columns of `op(a)` and rows of `op(b)`.
    pub k: c_int,
    /// The factor of the product.
    pub alpha: T,
    /// Elements from one column of `a` to the next.
    pub lda: c_int,
    /// Elements from one column of `b` to the next.
    pub ldb: c_int,
    /// The factor of what `c` held.
    pub beta: T,
    /// Elements from one column of `c` to the next.
    pub ldc: c_int,
}

/// Products of matrices that lie at even distances.
#[derive(Debug, Copy, Clone)]
pub struct StridedBatchedConfig<T> {
    /// One product.
    pub gemm: GemmConfig<T>,
    /// The number of products.
    pub batch_size: c_int,
    /// Elements from one `a` to the next.
    pub stride_a: c_longlong,
    /// Elements from one `b` to the next.
    pub stride_b: c_longlong,
    /// Elements from one `c` to the next.
    pub stride_c: c_longlong,
}

/// Matrix products of elements of type `T`.
pub trait Gemm<T> {
    /// One product.
    ///
    /// # Safety
    ///
    /// The matrices have to be as large as the configuration says.
    unsafe fn gemm<A: DevicePtr<T>, B: DevicePtr<T>, C: DevicePtrMut<T>>(
        &self,
        cfg: GemmConfig<T>,
        a: &A,
        b: &B,
        c: &mut C,
    ) -> Result<(), RocblasError>;

    /// Products of matrices that lie at even distances.
    ///
    /// # Safety
    ///
    /// The matrices have to be as large and as many as the configuration says.
    unsafe fn gemm_strided_batched<A: DevicePtr<T>, B: DevicePtr<T>, C: DevicePtrMut<T>>(
        &self,
        cfg: StridedBatchedConfig<T>,
        a: &A,
        b: &B,
        c: &mut C,
    ) -> Result<(), RocblasError>;
}

macro_rules! with_functions {
    ($type:ty, $gemm:ident, $strided_batched:ident) => {
        impl Gemm<$type> for RocBlas {
            unsafe fn gemm<A: DevicePtr<$type>, B: DevicePtr<$type>, C: DevicePtrMut<$type>>(
                &self,
                cfg: GemmConfig<$type>,
                a: &A,
                b: &B,
                c: &mut C,
            ) -> Result<(), RocblasError> {
                let (a, mut guard_a) = a.device_ptr(self.stream());
                guard_a.begun()?;
                let (b, mut guard_b) = b.device_ptr(self.stream());
                guard_b.begun()?;
                let (c, mut guard_c) = c.device_ptr_mut(self.stream());
                guard_c.begun()?;
                result::$gemm(
                    *self.handle(),
                    cfg.transa,
                    cfg.transb,
                    cfg.m,
                    cfg.n,
                    cfg.k,
                    &cfg.alpha,
                    a as *const $type,
                    cfg.lda,
                    b as *const $type,
                    cfg.ldb,
                    &cfg.beta,
                    c as *mut $type,
                    cfg.ldc,
                )
            }

            unsafe fn gemm_strided_batched<
                A: DevicePtr<$type>,
                B: DevicePtr<$type>,
                C: DevicePtrMut<$type>,
            >(
                &self,
                cfg: StridedBatchedConfig<$type>,
                a: &A,
                b: &B,
                c: &mut C,
            ) -> Result<(), RocblasError> {
                let (a, mut guard_a) = a.device_ptr(self.stream());
                guard_a.begun()?;
                let (b, mut guard_b) = b.device_ptr(self.stream());
                guard_b.begun()?;
                let (c, mut guard_c) = c.device_ptr_mut(self.stream());
                guard_c.begun()?;
                result::$strided_batched(
                    *self.handle(),
                    cfg.gemm.transa,
                    cfg.gemm.transb,
                    cfg.gemm.m,
                    cfg.gemm.n,
                    cfg.gemm.k,
                    &cfg.gemm.alpha,
                    a as *const $type,
                    cfg.gemm.lda,
                    cfg.stride_a,
                    b as *const $type,
                    cfg.gemm.ldb,
                    cfg.stride_b,
                    &cfg.gemm.beta,
                    c as *mut $type,
                    cfg.gemm.ldc,
                    cfg.stride_c,
                    cfg.batch_size,
                )
            }
        }
    };
}

with_functions!(f32, sgemm, sgemm_strided_batched);
with_functions!(f64, dgemm, dgemm_strided_batched);

/// Elements of 16 bits, which are multiplied and added in single precision.
macro_rules! in_single_precision {
    ($type:ty, $datatype:ident) => {
        impl Gemm<$type> for RocBlas {
            unsafe fn gemm<A: DevicePtr<$type>, B: DevicePtr<$type>, C: DevicePtrMut<$type>>(
                &self,
                cfg: GemmConfig<$type>,
                a: &A,
                b: &B,
                c: &mut C,
            ) -> Result<(), RocblasError> {
                const TYPE: rocblas_datatype = rocblas_datatype::$datatype;
                let (alpha, beta) = (cfg.alpha.to_f32(), cfg.beta.to_f32());
                let (a, mut guard_a) = a.device_ptr(self.stream());
                guard_a.begun()?;
                let (b, mut guard_b) = b.device_ptr(self.stream());
                guard_b.begun()?;
                let (c, mut guard_c) = c.device_ptr_mut(self.stream());
                guard_c.begun()?;
                result::gemm_ex(
                    *self.handle(),
                    cfg.transa,
                    cfg.transb,
                    cfg.m,
                    cfg.n,
                    cfg.k,
                    std::ptr::from_ref(&alpha).cast(),
                    a as *const _,
                    TYPE,
                    cfg.lda,
                    b as *const _,
                    TYPE,
                    cfg.ldb,
                    std::ptr::from_ref(&beta).cast(),
                    c as *mut _,
                    TYPE,
                    cfg.ldc,
                    hipblasComputeType_t::HIPBLAS_COMPUTE_32F,
                    rocblas_gemm_algo::rocblas_gemm_algo_standard,
                )
            }

            unsafe fn gemm_strided_batched<
                A: DevicePtr<$type>,
                B: DevicePtr<$type>,
                C: DevicePtrMut<$type>,
            >(
                &self,
                cfg: StridedBatchedConfig<$type>,
                a: &A,
                b: &B,
                c: &mut C,
            ) -> Result<(), RocblasError> {
                const TYPE: rocblas_datatype = rocblas_datatype::$datatype;
                let (alpha, beta) = (cfg.gemm.alpha.to_f32(), cfg.gemm.beta.to_f32());
                let (a, mut guard_a) = a.device_ptr(self.stream());
                guard_a.begun()?;
                let (b, mut guard_b) = b.device_ptr(self.stream());
                guard_b.begun()?;
                let (c, mut guard_c) = c.device_ptr_mut(self.stream());
                guard_c.begun()?;
                result::gemm_strided_batched_ex(
                    *self.handle(),
                    cfg.gemm.transa,
                    cfg.gemm.transb,
                    cfg.gemm.m,
                    cfg.gemm.n,
                    cfg.gemm.k,
                    std::ptr::from_ref(&alpha).cast(),
                    a as *const _,
                    TYPE,
                    cfg.gemm.lda,
                    cfg.stride_a,
                    b as *const _,
                    TYPE,
                    cfg.gemm.ldb,
                    cfg.stride_b,
                    std::ptr::from_ref(&beta).cast(),
                    c as *mut _,
                    TYPE,
                    cfg.gemm.ldc,
                    cfg.stride_c,
                    cfg.batch_size,
                    hipblasComputeType_t::HIPBLAS_COMPUTE_32F,
                    rocblas_gemm_algo::rocblas_gemm_algo_standard,
                )
            }
        }
    };
}

in_single_precision!(f16, rocblas_datatype_f16_r);
in_single_precision!(bf16, rocblas_datatype_bf16_r);
