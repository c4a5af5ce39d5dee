use super::result::{self, RocblasError};
use super::{sys, RocBlas};
use crate::driver::{DevicePtr, DevicePtrMut};
use std::ffi::c_int;

/// A product `y = alpha * op(a) * x + beta * y`.
#[derive(Debug, Copy, Clone)]
pub struct GemvConfig<T> {
    /// How `a` enters the product.
    pub trans: sys::rocblas_operation,
    /// Rows of `a`.
    pub m: c_int,
    /// Columns of `a`.
    pub n: c_int,
    /// The factor of the product.
    pub alpha: T,
    /// Elements from one column of `a` to the next.
    pub lda: c_int,
    /// Elements from one value of `x` to the next.
    pub incx: c_int,
    /// The factor of what `y` held.
    pub beta: T,
    /// Elements from one value of `y` to the next.
    pub incy: c_int,
}

/// Products of matrix and vector with elements of type `T`.
pub trait Gemv<T> {
    /// One product.
    ///
    /// # Safety
    ///
    /// Matrix and vectors have to be as large as the configuration says.
    unsafe fn gemv<A: DevicePtr<T>, X: DevicePtr<T>, Y: DevicePtrMut<T>>(
        &self,
        cfg: GemvConfig<T>,
        a: &A,
        x: &X,
        y: &mut Y,
    ) -> Result<(), RocblasError>;
}

macro_rules! gemv {
    ($type:ty, $gemv:ident) => {
        impl Gemv<$type> for RocBlas {
            unsafe fn gemv<A: DevicePtr<$type>, X: DevicePtr<$type>, Y: DevicePtrMut<$type>>(
                &self,
                cfg: GemvConfig<$type>,
                a: &A,
                x: &X,
                y: &mut Y,
            ) -> Result<(), RocblasError> {
                let (a, mut guard_a) = a.device_ptr(self.stream());
                guard_a.begun()?;
                let (x, mut guard_x) = x.device_ptr(self.stream());
                guard_x.begun()?;
                let (y, mut guard_y) = y.device_ptr_mut(self.stream());
                guard_y.begun()?;
                result::$gemv(
                    *self.handle(),
                    cfg.trans,
                    cfg.m,
                    cfg.n,
                    &cfg.alpha,
                    a as *const $type,
                    cfg.lda,
                    x as *const $type,
                    cfg.incx,
                    &cfg.beta,
                    y as *mut $type,
                    cfg.incy,
                )
            }
        }
    };
}

gemv!(f32, sgemv);
gemv!(f64, dgemv);
