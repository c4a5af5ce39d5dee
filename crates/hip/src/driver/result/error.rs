use crate::driver::sys::{self, hipError_t};
use crate::loader::HIP;
use std::ffi::{c_char, CStr};
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// A status of HIP other than success.
///
/// [`hipError_t::NOT_LOADED`] stands for a library or a function that could not be loaded; its
/// text says which, and what to do. The numbers right below it stand for errors of this crate's
/// own, such as kernels that could not be compiled for a device.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct HipError(pub hipError_t);

impl hipError_t {
    /// `Ok` for success, else the status as an error.
    pub fn result(self) -> Result<(), HipError> {
        match self {
            Self::hipSuccess => Ok(()),
            status => Err(HipError(status)),
        }
    }
}

/// The texts of this crate's own errors, in the order of their numbers.
static OWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

impl HipError {
    /// An error of this crate's own, with its text.
    pub(crate) fn own(text: String) -> Self {
        let mut texts = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = texts.iter().position(|known| *known == text);
        let index = known.unwrap_or_else(|| {
            texts.push(text);
            texts.len() - 1
        });
        Self(hipError_t(hipError_t::NOT_LOADED.0 - 1 - index as u32))
    }

    /// The text of an error of this crate's own.
    fn own_text(&self) -> Option<String> {
        let index = (hipError_t::NOT_LOADED.0 - self.0 .0).checked_sub(1)?;
        let texts = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        texts.get(index as usize).cloned()
    }

    /// The name of the status, such as `hipErrorOutOfMemory`.
    ///
    /// # Errors
    ///
    /// This error itself, where HIP is not loaded or does not know it.
    pub fn error_name(&self) -> Result<&'static CStr, HipError> {
        // SAFETY: HIP takes any status.
        self.text(unsafe { sys::hipGetErrorName(self.0) })
    }

    /// What the status means, in English.
    ///
    /// # Errors
    ///
    /// This error itself, where HIP is not loaded or does not know it.
    pub fn error_string(&self) -> Result<&'static CStr, HipError> {
        // SAFETY: HIP takes any status.
        self.text(unsafe { sys::hipGetErrorString(self.0) })
    }

    fn text(&self, text: *const c_char) -> Result<&'static CStr, HipError> {
        if text.is_null() || self.0 == hipError_t::NOT_LOADED || self.own_text().is_some() {
            return Err(*self);
        }
        // SAFETY: HIP's texts are constants of the library, which is never closed.
        Ok(unsafe { CStr::from_ptr(text) })
    }
}

impl fmt::Debug for HipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HipError").field(&self.0).finish()
    }
}

impl fmt::Display for HipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == hipError_t::NOT_LOADED {
            return f.write_str(&HIP.not_loaded());
        }
        if let Some(text) = self.own_text() {
            return f.write_str(&text);
        }
        match self.error_string() {
            Ok(text) => write!(f, "{} ({:?})", text.to_string_lossy(), self.0),
            Err(_) => write!(f, "{:?}", self.0),
        }
    }
}

impl std::error::Error for HipError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_success_or_an_error() {
        assert_eq!(hipError_t::hipSuccess.result(), Ok(()));
        let error = hipError_t::hipErrorOutOfMemory.result().unwrap_err();
        assert_eq!(error, HipError(hipError_t(2)));
        assert_eq!(format!("{error:?}"), "HipError(hipErrorOutOfMemory)");
        assert!(error.to_string().contains("hipErrorOutOfMemory"), "{error}");
    }

    #[test]
    fn a_status_without_a_name_keeps_its_number() {
        assert_eq!(
            format!("{:?}", HipError(hipError_t(12345))),
            "HipError(hipError_t(12345))"
        );
    }

    #[test]
    fn errors_of_our_own_have_their_texts() {
        let (one, other) = (HipError::own("one".into()), HipError::own("other".into()));
        assert_ne!(one, other);
        assert_eq!(one, HipError::own("one".into()));
        assert_eq!(
            (one.to_string(), other.to_string()),
            ("one".into(), "other".into())
        );
        assert_eq!(one.error_name(), Err(one));
    }

    #[test]
    fn without_the_library_the_error_says_so() {
        let error = HipError(hipError_t::NOT_LOADED);
        match HIP.load() {
            Ok(_) => assert!(!error.to_string().is_empty()),
            Err(reason) => {
                assert_eq!(super::super::init(), Err(error));
                assert_eq!(error.to_string(), reason.to_string());
            }
        }
        assert_eq!(error.error_name(), Err(error));
        assert_eq!(error.error_string(), Err(error));
    }
}
