//! Matrix products.

use super::driver::{DevicePtr, DevicePtrMut, HipDevice, HipStream};
use half::{bf16, f16};
use std::sync::Arc;
use sys::{hipblasComputeType_t, rocblas_datatype, rocblas_gemm_algo};

pub use crate::rocblas::{result, sys, GemmConfig, StridedBatchedConfig};
use result::RocblasError;

/// A handle of rocBLAS, whose work goes through the device's stream.
#[derive(Debug)]
pub struct RocBlas {
    handle: sys::rocblas_handle,
    device: Arc<HipDevice>,
}

// SAFETY: a handle can be used from any thread (rocBLAS, "rocblas_handle"); `cudarc`'s is as well.
unsafe impl Send for RocBlas {}
// SAFETY: as above.
unsafe impl Sync for RocBlas {}

impl RocBlas {
    /// Makes a handle.
    pub fn new(device: Arc<HipDevice>) -> Result<Self, RocblasError> {
        device.bind_to_thread()?;
        let handle = result::create_handle()?;
        let blas = Self { handle, device };
        // SAFETY: the stream is of the same device, and nothing has been given to another.
        unsafe { blas.set_stream(None) }?;
        Ok(blas)
    }

    /// rocBLAS's handle, which must not be destroyed.
    pub fn handle(&self) -> &sys::rocblas_handle {
        &self.handle
    }

    /// Puts work into another stream from now on; by default into the device's.
    ///
    /// # Safety
    ///
    /// The stream has to be of the same device and to be there as long as it is used, and work on
    /// the former one not to concern the same memory.
    pub unsafe fn set_stream(&self, stream: Option<&HipStream>) -> Result<(), RocblasError> {
        let own = self.device.hip_stream();
        result::set_stream(self.handle, stream.map_or(own, HipStream::hip_stream))
    }
}

impl Drop for RocBlas {
    fn drop(&mut self) {
        // There is nobody to tell an error to.
        let _ = self.device.bind_to_thread();
        // SAFETY: the handle is alive and not used again.
        let _ = unsafe { result::destroy_handle(self.handle) };
    }
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

macro_rules! products {
    ($($type:ty, $datatype:ident, $scalar:ty, $compute:ident;)*) => {
        $(
            impl Gemm<$type> for RocBlas {
                unsafe fn gemm<A: DevicePtr<$type>, B: DevicePtr<$type>, C: DevicePtrMut<$type>>(
                    &self,
                    cfg: GemmConfig<$type>,
                    a: &A,
                    b: &B,
                    c: &mut C,
                ) -> Result<(), RocblasError> {
                    const TYPE: rocblas_datatype = rocblas_datatype::$datatype;
                    let (alpha, beta) = (<$scalar>::from(cfg.alpha), <$scalar>::from(cfg.beta));
                    result::gemm_ex(
                        self.handle,
                        cfg.transa,
                        cfg.transb,
                        cfg.m,
                        cfg.n,
                        cfg.k,
                        std::ptr::from_ref(&alpha).cast(),
                        *a.device_ptr() as *const _,
                        TYPE,
                        cfg.lda,
                        *b.device_ptr() as *const _,
                        TYPE,
                        cfg.ldb,
                        std::ptr::from_ref(&beta).cast(),
                        *c.device_ptr_mut() as *mut _,
                        TYPE,
                        cfg.ldc,
                        hipblasComputeType_t::$compute,
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
                    let one = &cfg.gemm;
                    let (alpha, beta) = (<$scalar>::from(one.alpha), <$scalar>::from(one.beta));
                    result::gemm_strided_batched_ex(
                        self.handle,
                        one.transa,
                        one.transb,
                        one.m,
                        one.n,
                        one.k,
                        std::ptr::from_ref(&alpha).cast(),
                        *a.device_ptr() as *const _,
                        TYPE,
                        one.lda,
                        cfg.stride_a,
                        *b.device_ptr() as *const _,
                        TYPE,
                        one.ldb,
                        cfg.stride_b,
                        std::ptr::from_ref(&beta).cast(),
                        *c.device_ptr_mut() as *mut _,
                        TYPE,
                        one.ldc,
                        cfg.stride_c,
                        cfg.batch_size,
                        hipblasComputeType_t::$compute,
                        rocblas_gemm_algo::rocblas_gemm_algo_standard,
                    )
                }
            }
        )*
    };
}

// Elements of 16 bits are multiplied and added in single precision.
products! {
    f32, rocblas_datatype_f32_r, f32, HIPBLAS_COMPUTE_32F;
    f64, rocblas_datatype_f64_r, f64, HIPBLAS_COMPUTE_64F;
    f16, rocblas_datatype_f16_r, f32, HIPBLAS_COMPUTE_32F;
    bf16, rocblas_datatype_bf16_r, f32, HIPBLAS_COMPUTE_32F;
}
