//! The functions of [`sys`] with [`Result`]s.

use super::sys::{self, hiprtcProgram, hiprtcResult};
use crate::loader::HIPRTC;
use std::ffi::{c_char, c_int, CStr, CString};
use std::fmt;

/// A status of hipRTC other than success.
///
/// [`hiprtcResult::NOT_LOADED`] stands for a library or a function that could not be loaded; its
/// text says which, and what to do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HiprtcError(pub hiprtcResult);

impl hiprtcResult {
    /// `Ok` for success, else the status as an error.
    pub fn result(self) -> Result<(), HiprtcError> {
        match self {
            Self::HIPRTC_SUCCESS => Ok(()),
            status => Err(HiprtcError(status)),
        }
    }
}

impl fmt::Display for HiprtcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            hiprtcResult::NOT_LOADED => f.write_str(&HIPRTC.not_loaded()),
            status => write!(f, "hipRTC: {status:?}"),
        }
    }
}

impl std::error::Error for HiprtcError {}

/// Major and minor version of the compiler.
pub fn version() -> Result<(i32, i32), HiprtcError> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the pointers are valid for a write.
    unsafe { sys::hiprtcVersion(&mut major, &mut minor) }.result()?;
    Ok((major, minor))
}

/// Makes a program of a source text. The name is used in messages.
pub fn create_program(source: &CStr, name: Option<&CStr>) -> Result<hiprtcProgram, HiprtcError> {
    create_program_with_headers(source, name, &[])
}

/// Makes a program of a source text and of the headers that it includes, by name and text. hipRTC
/// refuses a header without a text.
pub fn create_program_with_headers(
    source: &CStr,
    name: Option<&CStr>,
    headers: &[(CString, CString)],
) -> Result<hiprtcProgram, HiprtcError> {
    let mut program = std::ptr::null_mut();
    let mut names: Vec<*const c_char> = headers.iter().map(|(name, _)| name.as_ptr()).collect();
    let mut texts: Vec<*const c_char> = headers.iter().map(|(_, text)| text.as_ptr()).collect();
    // SAFETY: the pointers are valid, and hipRTC copies the texts.
    unsafe {
        sys::hiprtcCreateProgram(
            &mut program,
            source.as_ptr(),
            name.map_or(std::ptr::null(), CStr::as_ptr),
            headers.len() as c_int,
            texts.as_mut_ptr(),
            names.as_mut_ptr(),
        )
    }
    .result()?;
    Ok(program)
}

/// Compiles a program.
///
/// # Safety
///
/// The program has to be alive.
///
/// # Errors
///
/// [`HIPRTC_ERROR_INVALID_OPTION`](hiprtcResult::HIPRTC_ERROR_INVALID_OPTION) for an option with
/// a zero in it, else the error of hipRTC.
pub unsafe fn compile_program<O: Clone + Into<Vec<u8>>>(
    program: hiprtcProgram,
    options: &[O],
) -> Result<(), HiprtcError> {
    let options: Vec<CString> = options
        .iter()
        .cloned()
        .map(CString::new)
        .collect::<Result<_, _>>()
        .map_err(|_| HiprtcError(hiprtcResult::HIPRTC_ERROR_INVALID_OPTION))?;
    let mut options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    sys::hiprtcCompileProgram(program, options.len() as c_int, options.as_mut_ptr()).result()
}

/// Destroys a program.
///
/// # Safety
///
/// The program has to be alive, and is not afterwards.
pub unsafe fn destroy_program(mut program: hiprtcProgram) -> Result<(), HiprtcError> {
    sys::hiprtcDestroyProgram(&mut program).result()
}

/// The code object of a program that was compiled.
///
/// # Safety
///
/// The program has to be alive.
pub unsafe fn get_code(program: hiprtcProgram) -> Result<Vec<u8>, HiprtcError> {
    let mut bytes = 0;
    sys::hiprtcGetCodeSize(program, &mut bytes).result()?;
    let mut code = vec![0; bytes];
    sys::hiprtcGetCode(program, code.as_mut_ptr().cast()).result()?;
    Ok(code)
}

/// What the compiler had to say.
///
/// # Safety
///
/// The program has to be alive.
pub unsafe fn get_program_log(program: hiprtcProgram) -> Result<CString, HiprtcError> {
    let mut bytes = 0;
    sys::hiprtcGetProgramLogSize(program, &mut bytes).result()?;
    let mut log = vec![0u8; bytes];
    if bytes > 0 {
        sys::hiprtcGetProgramLog(program, log.as_mut_ptr().cast()).result()?;
    }
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    log.truncate(end);
    Ok(CString::new(log).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_success_or_an_error() {
        assert_eq!(hiprtcResult::HIPRTC_SUCCESS.result(), Ok(()));
        let error = hiprtcResult(6).result().unwrap_err();
        assert_eq!(error.to_string(), "hipRTC: HIPRTC_ERROR_COMPILATION");
    }

    #[test]
    fn without_the_library_the_error_says_so() {
        if let Err(reason) = HIPRTC.load() {
            let error = version().unwrap_err();
            assert_eq!(error, HiprtcError(hiprtcResult::NOT_LOADED));
            assert_eq!(error.to_string(), reason.to_string());
        }
    }
}
