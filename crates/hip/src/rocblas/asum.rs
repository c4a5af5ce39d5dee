use super::result::{self, RocblasError};
use super::RocBlas;
use crate::driver::DevicePtr;
use std::ffi::c_int;

/// A sum of absolute values.
#[derive(Debug, Copy, Clone)]
pub struct AsumConfig {
    /// The number of values.
    pub n: c_int,
    /// Elements from one value to the next.
    pub incx: c_int,
}

/// Sums of absolute values of type `T`.
pub trait Asum<T> {
    /// One sum.
    ///
    /// # Safety
    ///
    /// The vector has to be as large as the configuration says.
    unsafe fn asum<X: DevicePtr<T>>(
        &self,
        cfg: AsumConfig,
        x: &X,
        result: &mut T,
    ) -> Result<(), RocblasError>;
}

macro_rules! asum {
    ($type:ty, $asum:ident) => {
        impl Asum<$type> for RocBlas {
            unsafe fn asum<X: DevicePtr<$type>>(
                &self,
                cfg: AsumConfig,
                x: &X,
                result: &mut $type,
            ) -> Result<(), RocblasError> {
                let (x, mut guard) = x.device_ptr(self.stream());
                guard.begun()?;
                result::$asum(*self.handle(), cfg.n, x as *const $type, cfg.incx, result)
            }
        }
    };
}

asum!(f32, sasum);
asum!(f64, dasum);
