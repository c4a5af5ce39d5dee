use super::result::{self, HiprtcError};
use super::sys::{hiprtcProgram, hiprtcResult};
use super::{CompileOptions, Hsaco};
use std::ffi::CString;
use std::fmt;

/// Compiles a source text for the calling thread's device.
pub fn compile_hsaco<S: AsRef<str>>(src: S) -> Result<Hsaco, CompileError> {
    compile_hsaco_with_opts(src, CompileOptions::default())
}

/// Compiles a source text.
///
/// # Errors
///
/// [`CompileError`]; that of the compiler has its log.
pub fn compile_hsaco_with_opts<S: AsRef<str>>(
    src: S,
    opts: CompileOptions,
) -> Result<Hsaco, CompileError> {
    let program = Program::create(src.as_ref(), opts.name.as_deref(), &[])?;
    program.compile(opts.build()).map(Hsaco::from_binary)
}

/// Compiles a source text that includes headers, given by name and text.
pub(super) fn compile_with_headers(
    source: &str,
    name: &str,
    headers: &[(&str, &str)],
    options: Vec<String>,
) -> Result<Vec<u8>, CompileError> {
    Program::create(source, Some(name), headers)?.compile(options)
}

struct Program(hiprtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program is alive and not used again. There is nobody to tell an error to.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

impl Program {
    fn create(
        source: &str,
        name: Option<&str>,
        headers: &[(&str, &str)],
    ) -> Result<Self, CompileError> {
        let c_string = |text: &str| {
            CString::new(text).map_err(|_| {
                CompileError::CreationError(HiprtcError(hiprtcResult::HIPRTC_ERROR_INVALID_INPUT))
            })
        };
        let source = c_string(source)?;
        let name = name.map(c_string).transpose()?;
        let headers = headers
            .iter()
            .map(|&(name, text)| Ok((c_string(name)?, c_string(text)?)))
            .collect::<Result<Vec<_>, _>>()?;
        result::create_program_with_headers(&source, name.as_deref(), &headers)
            .map(Self)
            .map_err(CompileError::CreationError)
    }

    fn compile(&self, options: Vec<String>) -> Result<Vec<u8>, CompileError> {
        // SAFETY: the program is alive.
        if let Err(hiprtc) = unsafe { result::compile_program(self.0, &options) } {
            // SAFETY: as above.
            let log = unsafe { result::get_program_log(self.0) };
            let log = log.map_err(CompileError::GetLogError)?;
            return Err(CompileError::CompileError {
                hiprtc,
                options,
                log,
            });
        }
        // SAFETY: as above.
        unsafe { result::get_code(self.0) }.map_err(CompileError::GetHsacoError)
    }
}

/// Why a source text was not compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompileError {
    /// No program was made: hipRTC is not there, or the text has a zero in it.
    CreationError(HiprtcError),

    /// The compiler refused the text or an option.
    CompileError {
        /// The status.
        hiprtc: HiprtcError,
        /// The options that the compiler was given.
        options: Vec<String>,
        /// What the compiler had to say.
        log: CString,
    },

    /// The compiler refused the text or an option, and did not say why.
    GetLogError(HiprtcError),

    /// The compiler did not give the code object.
    GetHsacoError(HiprtcError),
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreationError(error) => write!(f, "{error}"),
            Self::CompileError {
                hiprtc,
                options,
                log,
            } => {
                write!(
                    f,
                    "{hiprtc} with options {options:?}\n{}",
                    log.to_string_lossy()
                )
            }
            Self::GetLogError(error) => write!(f, "{error} on asking for the compiler's log"),
            Self::GetHsacoError(error) => write!(f, "{error} on asking for the code object"),
        }
    }
}

impl std::error::Error for CompileError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_the_log() {
        let error = CompileError::CompileError {
            hiprtc: HiprtcError(hiprtcResult::HIPRTC_ERROR_COMPILATION),
            options: vec!["-DN=4".to_string()],
            log: CString::from(c"error: unknown type name 'flaot'"),
        };
        assert_eq!(
            error.to_string(),
            "hipRTC: HIPRTC_ERROR_COMPILATION with options [\"-DN=4\"]\n\
             error: unknown type name 'flaot'"
        );
    }

    #[test]
    fn a_zero_in_the_source_is_an_error() {
        let invalid = HiprtcError(hiprtcResult::HIPRTC_ERROR_INVALID_INPUT);
        assert_eq!(
            compile_hsaco("a\0b").unwrap_err(),
            CompileError::CreationError(invalid)
        );
    }
}
