use super::Kernels;
use std::path::PathBuf;

/// A code object: compiled kernels for one or several architectures.
///
/// Code objects come from [`compile_hsaco`](super::compile_hsaco), from a file, from bytes that
/// hipcc wrote before, or from [`Kernels`] that the program carries. They are loaded with
/// [`HipContext::load_module`](crate::driver::HipContext::load_module).
#[derive(Debug, Clone)]
pub struct Hsaco(pub(crate) HsacoKind);

#[derive(Debug, Clone)]
pub(crate) enum HsacoKind {
    Image(Vec<u8>),
    File(PathBuf),
    Kernels(&'static Kernels),
}

impl Hsaco {
    /// The code object in a file.
    pub fn from_file<P: Into<PathBuf>>(path: P) -> Self {
        Self(HsacoKind::File(path.into()))
    }

    /// A code object in memory.
    pub fn from_binary(data: Vec<u8>) -> Self {
        Self(HsacoKind::Image(data))
    }

    /// A code object that a program embeds, such as by `include_bytes!`: the counterpart of the
    /// text that `cudarc` takes here.
    pub fn from_src<S: Into<Vec<u8>>>(src: S) -> Self {
        Self::from_binary(src.into())
    }

    /// The bytes, unless they are in a file.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match &self.0 {
            HsacoKind::Image(image) => Some(image),
            HsacoKind::File(_) => None,
            HsacoKind::Kernels(kernels) => Some(kernels.compiled),
        }
    }
}

impl From<&'static Kernels> for Hsaco {
    fn from(kernels: &'static Kernels) -> Self {
        Self(HsacoKind::Kernels(kernels))
    }
}

impl From<Vec<u8>> for Hsaco {
    fn from(data: Vec<u8>) -> Self {
        Self::from_binary(data)
    }
}

impl From<&[u8]> for Hsaco {
    fn from(data: &[u8]) -> Self {
        Self::from_binary(data.to_vec())
    }
}

impl<const N: usize> From<&[u8; N]> for Hsaco {
    fn from(data: &[u8; N]) -> Self {
        Self::from_binary(data.to_vec())
    }
}
