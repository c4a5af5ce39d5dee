//! The C interface of hipRTC: the part of `hip/hiprtc.h` that this crate uses.
//!
//! Types, values and signatures are those of the header from ROCm 6.0 on.

use crate::loader::HIPRTC;
use std::ffi::{c_char, c_int};

/// What [`hiprtcProgram`] points to.
#[allow(non_camel_case_types)]
#[repr(C)]
pub struct _hiprtcProgram {
    _opaque: [u8; 0],
}

/// A program.
#[allow(non_camel_case_types)]
pub type hiprtcProgram = *mut _hiprtcProgram;

c_enum! {
    /// The status that each function of hipRTC returns.
    hiprtcResult(c_int) {
        HIPRTC_SUCCESS = 0,
        HIPRTC_ERROR_OUT_OF_MEMORY = 1,
        HIPRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
        HIPRTC_ERROR_INVALID_INPUT = 3,
        HIPRTC_ERROR_INVALID_PROGRAM = 4,
        HIPRTC_ERROR_INVALID_OPTION = 5,
        HIPRTC_ERROR_COMPILATION = 6,
        HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
        HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8,
        HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
        HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
        HIPRTC_ERROR_INTERNAL_ERROR = 11,
        HIPRTC_ERROR_LINKING = 100,
    }
}

impl hiprtcResult {
    /// Not a status of hipRTC: the library, or the called function in it, could not be loaded.
    pub const NOT_LOADED: Self = Self(-1);
}

c_functions! {
    library HIPRTC;
    otherwise hiprtcResult::NOT_LOADED;

    /// The version of the compiler.
    fn hiprtcVersion(major: *mut c_int, minor: *mut c_int) -> hiprtcResult;
    /// Makes a program of a source text.
    fn hiprtcCreateProgram(
        program: *mut hiprtcProgram, source: *const c_char, name: *const c_char,
        num_headers: c_int, headers: *mut *const c_char, include_names: *mut *const c_char,
    ) -> hiprtcResult;
    /// Destroys a program.
    fn hiprtcDestroyProgram(program: *mut hiprtcProgram) -> hiprtcResult;
    /// Compiles a program.
    fn hiprtcCompileProgram(
        program: hiprtcProgram, num_options: c_int, options: *mut *const c_char,
    ) -> hiprtcResult;
    /// The size of the log, with the zero at its end.
    fn hiprtcGetProgramLogSize(program: hiprtcProgram, bytes: *mut usize) -> hiprtcResult;
    /// What the compiler had to say.
    fn hiprtcGetProgramLog(program: hiprtcProgram, log: *mut c_char) -> hiprtcResult;
    /// The size of the code object.
    fn hiprtcGetCodeSize(program: hiprtcProgram, bytes: *mut usize) -> hiprtcResult;
    /// The code object.
    fn hiprtcGetCode(program: hiprtcProgram, code: *mut c_char) -> hiprtcResult;
}
