//! The functions of [`sys`] with [`Result`]s.

use super::sys::{self, hiprandGenerator_t, hiprandRngType_t, hiprandStatus_t};
use crate::driver::sys::hipStream_t;
use crate::driver::HipError;
use crate::loader::HIPRAND;
use std::fmt;

/// A status of hipRAND other than success.
///
/// [`hiprandStatus_t::NOT_LOADED`] stands for a library or a function that could not be loaded;
/// its text says which, and what to do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HiprandError(pub hiprandStatus_t);

impl hiprandStatus_t {
    /// `Ok` for success, else the status as an error.
    pub fn result(self) -> Result<(), HiprandError> {
        match self {
            Self::HIPRAND_STATUS_SUCCESS => Ok(()),
            status => Err(HiprandError(status)),
        }
    }
}

impl fmt::Display for HiprandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            hiprandStatus_t::NOT_LOADED => f.write_str(&HIPRAND.not_loaded()),
            status => write!(f, "hipRAND: {status:?}"),
        }
    }
}

impl std::error::Error for HiprandError {}

impl From<HipError> for HiprandError {
    /// What kept a stream from waiting before hipRAND was called, which has no status for it.
    fn from(_: HipError) -> Self {
        Self(hiprandStatus_t::HIPRAND_STATUS_INTERNAL_ERROR)
    }
}

/// Creates a generator of the default kind on the calling thread's device.
pub fn create_generator() -> Result<hiprandGenerator_t, HiprandError> {
    create_generator_kind(hiprandRngType_t::HIPRAND_RNG_PSEUDO_DEFAULT)
}

/// Creates a generator on the calling thread's device.
pub fn create_generator_kind(kind: hiprandRngType_t) -> Result<hiprandGenerator_t, HiprandError> {
    let mut generator = std::ptr::null_mut();
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::hiprandCreateGenerator(&mut generator, kind) }.result()?;
    Ok(generator)
}

/// Destroys a generator.
///
/// # Safety
///
/// The generator has to be alive, and is not afterwards.
pub unsafe fn destroy_generator(generator: hiprandGenerator_t) -> Result<(), HiprandError> {
    sys::hiprandDestroyGenerator(generator).result()
}

/// Sets the stream of a generator.
///
/// # Safety
///
/// Both have to be alive and of one device.
pub unsafe fn set_stream(
    generator: hiprandGenerator_t,
    stream: hipStream_t,
) -> Result<(), HiprandError> {
    sys::hiprandSetStream(generator, stream).result()
}

/// Sets the seed of a generator.
///
/// # Safety
///
/// The generator has to be alive.
pub unsafe fn set_seed(generator: hiprandGenerator_t, seed: u64) -> Result<(), HiprandError> {
    sys::hiprandSetPseudoRandomGeneratorSeed(generator, seed).result()
}

/// Sets where in its sequence a generator goes on.
///
/// # Safety
///
/// The generator has to be alive.
pub unsafe fn set_offset(generator: hiprandGenerator_t, offset: u64) -> Result<(), HiprandError> {
    sys::hiprandSetGeneratorOffset(generator, offset).result()
}

/// Evenly distributed numbers of type `T`.
pub trait UniformFill<T> {
    /// Fills `out` with `num` numbers: in (0, 1] for floating-point types, any bits for integers.
    ///
    /// # Safety
    ///
    /// The generator has to be alive, and `out` to have room for the numbers on the device until
    /// the stream has got past this.
    unsafe fn fill(self, out: *mut T, num: usize) -> Result<(), HiprandError>;
}

/// Normally distributed numbers of type `T`.
pub trait NormalFill<T> {
    /// Fills `out` with `num` numbers.
    ///
    /// The generators make them in pairs: `num` has to be even, and `out` to be aligned to two
    /// numbers (`hiprandGenerateNormal` in `hiprand.h`).
    ///
    /// # Safety
    ///
    /// As for [`UniformFill::fill`].
    unsafe fn fill(self, out: *mut T, num: usize, mean: T, std: T) -> Result<(), HiprandError>;
}

/// Numbers of type `T` with normally distributed logarithms.
pub trait LogNormalFill<T> {
    /// Fills `out` with `num` numbers, which has to be even as for [`NormalFill::fill`].
    ///
    /// # Safety
    ///
    /// As for [`UniformFill::fill`].
    unsafe fn fill(self, out: *mut T, num: usize, mean: T, std: T) -> Result<(), HiprandError>;
}

macro_rules! uniform {
    ($type:ty, $function:ident) => {
        impl UniformFill<$type> for hiprandGenerator_t {
            unsafe fn fill(self, out: *mut $type, num: usize) -> Result<(), HiprandError> {
                sys::$function(self, out, num).result()
            }
        }
    };
}

macro_rules! normal {
    ($trait:ident, $type:ty, $function:ident) => {
        impl $trait<$type> for hiprandGenerator_t {
            unsafe fn fill(
                self,
                out: *mut $type,
                num: usize,
                mean: $type,
                std: $type,
            ) -> Result<(), HiprandError> {
                sys::$function(self, out, num, mean, std).result()
            }
        }
    };
}

uniform!(f32, hiprandGenerateUniform);
uniform!(f64, hiprandGenerateUniformDouble);
uniform!(u32, hiprandGenerate);
normal!(NormalFill, f32, hiprandGenerateNormal);
normal!(NormalFill, f64, hiprandGenerateNormalDouble);
normal!(LogNormalFill, f32, hiprandGenerateLogNormal);
normal!(LogNormalFill, f64, hiprandGenerateLogNormalDouble);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_success_or_an_error() {
        assert_eq!(hiprandStatus_t::HIPRAND_STATUS_SUCCESS.result(), Ok(()));
        let error = hiprandStatus_t(105).result().unwrap_err();
        assert_eq!(
            error.to_string(),
            "hipRAND: HIPRAND_STATUS_LENGTH_NOT_MULTIPLE"
        );
    }

    #[test]
    fn without_the_library_the_error_says_so() {
        if let Err(reason) = HIPRAND.load() {
            let error = create_generator().unwrap_err();
            assert_eq!(error, HiprandError(hiprandStatus_t::NOT_LOADED));
            assert_eq!(error.to_string(), reason.to_string());
        }
    }
}
