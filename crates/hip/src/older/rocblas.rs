//! Matrix products.

use super::driver::{DevicePtr, DevicePtrMut, HipDevice, HipStream};
use crate::hipblaslt::Choice;
use crate::{driver, rocblas};
use half::{bf16, f16};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sys::{hipblasComputeType_t, rocblas_datatype, rocblas_gemm_algo};

pub use crate::rocblas::{result, sys, GemmConfig, StridedBatchedConfig};
use result::RocblasError;

/// Handles of rocBLAS, whose work goes through the device's stream or another.
///
/// cuBLAS lets one handle put its work into several streams by turns. A handle of rocBLAS has memory
/// that its kernels share, which two streams must not use at once (rocBLAS, "Programmer's guide"), and
/// is not made for two threads at once: each stream has one for each thread, as PyTorch has it.
#[derive(Debug)]
pub struct RocBlas {
    device: Arc<HipDevice>,
    streams: Mutex<Streams>,
}

/// The handles of each stream that was used, and which of them is used now.
#[derive(Debug)]
struct Streams {
    all: Vec<rocblas::RocBlas>,
    now: usize,
}

impl RocBlas {
    /// Makes a handle.
    pub fn new(device: Arc<HipDevice>) -> Result<Self, RocblasError> {
        let all = vec![of_stream(device.default_stream().clone())?];
        let streams = Mutex::new(Streams { all, now: 0 });
        Ok(Self { device, streams })
    }

    /// The calling thread's handle of the stream that work is put into. It must not be destroyed.
    ///
    /// Null if none can be made, which rocBLAS then says.
    pub fn handle(&self) -> &sys::rocblas_handle {
        let streams = self.lock();
        let handle: *const sys::rocblas_handle = streams.all[streams.now].handle();
        // SAFETY: handles are where they are as long as `self`: none of `all` goes before.
        unsafe { &*handle }
    }

    /// Puts work into another stream from now on; by default into the device's.
    ///
    /// # Safety
    ///
    /// The stream has to be of the same device and to be there as long as it is used, and work on
    /// the former one not to concern the same memory.
    pub unsafe fn set_stream(&self, stream: Option<&HipStream>) -> Result<(), RocblasError> {
        let stream = stream.map_or(self.device.default_stream(), |other| &other.stream);
        let mut streams = self.lock();
        let known = streams.all.iter().position(|one| one.stream() == stream);
        streams.now = match known {
            Some(known) => known,
            None => streams.add(stream.clone())?,
        };
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Streams {
    /// Gives a stream handles: those of one that nobody else has any more, or new ones.
    unsafe fn add(&mut self, stream: Arc<driver::HipStream>) -> Result<usize, RocblasError> {
        let mut all = self.all.iter_mut();
        if let Some(left) = all.position(|one| Arc::strong_count(one.stream()) == 1) {
            self.all[left].set_stream(stream)?;
            return Ok(left);
        }
        self.all.push(of_stream(stream)?);
        Ok(self.all.len() - 1)
    }
}

/// The handles of a stream: hipBLASLt takes nothing of what is in this shape.
fn of_stream(stream: Arc<driver::HipStream>) -> Result<rocblas::RocBlas, RocblasError> {
    rocblas::RocBlas::with_choice(stream, Choice::Rocblas)
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
                        *self.handle(),
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
                        *self.handle(),
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
