//! The C interface of hipRAND: the part of `hiprand/hiprand.h` that this crate uses.
//!
//! Types, values and signatures are those of the header from ROCm 6.0 on.

use crate::driver::sys::hipStream_t;
use crate::loader::HIPRAND;
use std::ffi::{c_int, c_uint, c_ulonglong};

/// What [`hiprandGenerator_t`] points to.
#[allow(non_camel_case_types)]
#[repr(C)]
pub struct hiprandGenerator_st {
    _opaque: [u8; 0],
}

/// A generator.
#[allow(non_camel_case_types)]
pub type hiprandGenerator_t = *mut hiprandGenerator_st;

c_enum! {
    /// The status that each function of hipRAND returns.
    hiprandStatus_t(c_int) {
        HIPRAND_STATUS_SUCCESS = 0,
        HIPRAND_STATUS_VERSION_MISMATCH = 100,
        HIPRAND_STATUS_NOT_INITIALIZED = 101,
        HIPRAND_STATUS_ALLOCATION_FAILED = 102,
        HIPRAND_STATUS_TYPE_ERROR = 103,
        HIPRAND_STATUS_OUT_OF_RANGE = 104,
        HIPRAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
        HIPRAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106,
        HIPRAND_STATUS_LAUNCH_FAILURE = 201,
        HIPRAND_STATUS_PREEXISTING_FAILURE = 202,
        HIPRAND_STATUS_INITIALIZATION_FAILED = 203,
        HIPRAND_STATUS_ARCH_MISMATCH = 204,
        HIPRAND_STATUS_INTERNAL_ERROR = 999,
        HIPRAND_STATUS_NOT_IMPLEMENTED = 1000,
    }
}

impl hiprandStatus_t {
    /// Not a status of hipRAND: the library, or the called function in it, could not be loaded.
    pub const NOT_LOADED: Self = Self(-1);
}

c_enum! {
    /// How numbers are generated.
    hiprandRngType_t(c_uint) {
        HIPRAND_RNG_PSEUDO_DEFAULT = 400,
        HIPRAND_RNG_PSEUDO_XORWOW = 401,
        HIPRAND_RNG_PSEUDO_MRG32K3A = 402,
        HIPRAND_RNG_PSEUDO_MTGP32 = 403,
        HIPRAND_RNG_PSEUDO_MT19937 = 404,
        HIPRAND_RNG_PSEUDO_PHILOX4_32_10 = 405,
        HIPRAND_RNG_QUASI_DEFAULT = 500,
        HIPRAND_RNG_QUASI_SOBOL32 = 501,
        HIPRAND_RNG_QUASI_SCRAMBLED_SOBOL32 = 502,
        HIPRAND_RNG_QUASI_SOBOL64 = 503,
        HIPRAND_RNG_QUASI_SCRAMBLED_SOBOL64 = 504,
    }
}

c_functions! {
    library HIPRAND;
    otherwise hiprandStatus_t::NOT_LOADED;

    /// Creates a generator on the calling thread's device.
    fn hiprandCreateGenerator(
        generator: *mut hiprandGenerator_t, kind: hiprandRngType_t,
    ) -> hiprandStatus_t;
    /// Destroys a generator.
    fn hiprandDestroyGenerator(generator: hiprandGenerator_t) -> hiprandStatus_t;
    /// Sets the stream of a generator.
    fn hiprandSetStream(generator: hiprandGenerator_t, stream: hipStream_t) -> hiprandStatus_t;
    /// Sets the seed of a generator.
    fn hiprandSetPseudoRandomGeneratorSeed(
        generator: hiprandGenerator_t, seed: c_ulonglong,
    ) -> hiprandStatus_t;
    /// Sets where in its sequence a generator goes on.
    fn hiprandSetGeneratorOffset(
        generator: hiprandGenerator_t, offset: c_ulonglong,
    ) -> hiprandStatus_t;
    /// Random bits.
    fn hiprandGenerate(
        generator: hiprandGenerator_t, output: *mut c_uint, n: usize,
    ) -> hiprandStatus_t;
    /// Evenly distributed numbers in single precision.
    fn hiprandGenerateUniform(
        generator: hiprandGenerator_t, output: *mut f32, n: usize,
    ) -> hiprandStatus_t;
    /// Evenly distributed numbers in double precision.
    fn hiprandGenerateUniformDouble(
        generator: hiprandGenerator_t, output: *mut f64, n: usize,
    ) -> hiprandStatus_t;
    /// Normally distributed numbers in single precision.
    fn hiprandGenerateNormal(
        generator: hiprandGenerator_t, output: *mut f32, n: usize, mean: f32, stddev: f32,
    ) -> hiprandStatus_t;
    /// Normally distributed numbers in double precision.
    fn hiprandGenerateNormalDouble(
        generator: hiprandGenerator_t, output: *mut f64, n: usize, mean: f64, stddev: f64,
    ) -> hiprandStatus_t;
    /// Numbers with normally distributed logarithms in single precision.
    fn hiprandGenerateLogNormal(
        generator: hiprandGenerator_t, output: *mut f32, n: usize, mean: f32, stddev: f32,
    ) -> hiprandStatus_t;
    /// Numbers with normally distributed logarithms in double precision.
    fn hiprandGenerateLogNormalDouble(
        generator: hiprandGenerator_t, output: *mut f64, n: usize, mean: f64, stddev: f64,
    ) -> hiprandStatus_t;
}
