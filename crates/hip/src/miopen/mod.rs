//! Convolutions on a stream, with MIOpen.
//!
//! [`Convolution`] computes one of packed tensors, and says when MIOpen does not. [`ConvForward`] has the
//! shape of cudarc's. Both take MIOpen's solution that is fastest by its database or, where that has
//! none, by its estimate; [`searches`] says when it is measured.

mod chosen;
mod conv;
mod convolution;
mod descriptors;
mod handle;
pub mod result;
pub mod sys;
mod types;

pub use chosen::searches;
pub use conv::ConvForward;
pub use convolution::Convolution;
pub use descriptors::{ConvDescriptor, FilterDescriptor, TensorDescriptor};
pub use handle::Miopen;
pub use result::MiopenError;
pub use types::MiopenDataType;

/// The types that own their handles, and what they can do.
pub mod safe {
    pub use super::{
        ConvDescriptor, ConvForward, FilterDescriptor, Miopen, MiopenDataType, MiopenError,
        TensorDescriptor,
    };
}
