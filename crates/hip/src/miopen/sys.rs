//! The C interface of MIOpen, as `miopen/miopen.h` declares it (MIOpen 3.0 to 3.4, ROCm 6.0 to 6.4).

#![allow(non_camel_case_types)]

use crate::driver::sys::hipStream_t;
use crate::loader::MIOPEN;
use std::ffi::{c_int, c_void};

/// A handle of MIOpen, which one thread at a time may use.
pub type miopenHandle_t = *mut c_void;
/// What a tensor looks like; a filter is one as well.
pub type miopenTensorDescriptor_t = *mut c_void;
/// What a convolution does.
pub type miopenConvolutionDescriptor_t = *mut c_void;

c_enum! {
    /// What a call says.
    miopenStatus_t(c_int) {
        miopenStatusSuccess = 0,
        miopenStatusNotInitialized = 1,
        miopenStatusInvalidValue = 2,
        miopenStatusBadParm = 3,
        miopenStatusAllocFailed = 4,
        miopenStatusInternalError = 5,
        miopenStatusNotImplemented = 6,
        miopenStatusUnknownError = 7,
        miopenStatusUnsupportedOp = 8,
        miopenStatusGpuOperationsSkipped = 9,
        miopenStatusVersionMismatch = 10,
    }
}

impl miopenStatus_t {
    /// Not a status of MIOpen: the library, or the called function in it, could not be loaded.
    pub const NOT_LOADED: Self = Self(-1);
    /// Not a status of MIOpen: it has no solution for the convolution.
    pub const NO_SOLUTION: Self = Self(-2);
    /// Not a status of MIOpen: a size or a stride is no `int`.
    pub const TOO_LARGE: Self = Self(-3);
    /// Not a status of MIOpen: it has no convolutions of a type.
    pub const NO_TYPE: Self = Self(-4);
}

c_enum! {
    /// The type of an element.
    miopenDataType_t(c_int) {
        miopenHalf = 0,
        miopenFloat = 1,
        miopenInt32 = 2,
        miopenInt8 = 3,
        miopenBFloat16 = 5,
        miopenDouble = 6,
        miopenInt64 = 9,
    }
}

c_enum! {
    /// The order of the dimensions in memory.
    miopenTensorLayout_t(c_int) {
        miopenTensorNCHW = 0,
        miopenTensorNHWC = 1,
    }
}

c_enum! {
    /// What a convolution is; the plain one is a cross-correlation.
    miopenConvolutionMode_t(c_int) {
        miopenConvolution = 0,
        miopenTranspose = 1,
    }
}

c_enum! {
    /// How a convolution forward is computed.
    miopenConvFwdAlgorithm_t(c_int) {
        miopenConvolutionFwdAlgoGEMM = 0,
        miopenConvolutionFwdAlgoDirect = 1,
        miopenConvolutionFwdAlgoFFT = 2,
        miopenConvolutionFwdAlgoWinograd = 3,
        miopenConvolutionFwdAlgoImplicitGEMM = 5,
    }
}

impl miopenConvFwdAlgorithm_t {
    /// No algorithm: cuDNN's `COUNT` is a number behind the last, which it refuses, as MIOpen does this.
    pub const COUNT: Self = Self(-1);
}

/// What a search has found.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct miopenConvAlgoPerf_t {
    /// The algorithm; of the header's union the member `fwd_algo`.
    pub fwd_algo: miopenConvFwdAlgorithm_t,
    /// How long it took, in milliseconds.
    pub time: f32,
    /// The workspace that it needs, in bytes.
    pub memory: usize,
}

/// A way to compute a convolution.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct miopenConvSolution_t {
    /// How long it takes or may take, in milliseconds.
    pub time: f32,
    /// The workspace that it needs, in bytes.
    pub workspace_size: usize,
    /// What it is known by, in every process.
    pub solution_id: u64,
    /// Its algorithm: `miopenConvAlgorithm_t`, whose numbers those of the forward direction are.
    pub algorithm: miopenConvFwdAlgorithm_t,
}

c_functions! {
    library MIOPEN;
    otherwise miopenStatus_t::NOT_LOADED;

    /// The version.
    fn miopenGetVersion(
        major: *mut usize, minor: *mut usize, patch: *mut usize,
    ) -> miopenStatus_t;
    /// Creates a handle for a stream, on the calling thread's device.
    fn miopenCreateWithStream(
        handle: *mut miopenHandle_t, stream: hipStream_t,
    ) -> miopenStatus_t;
    /// Destroys a handle.
    fn miopenDestroy(handle: miopenHandle_t) -> miopenStatus_t;

    /// Creates a description of a tensor.
    fn miopenCreateTensorDescriptor(
        tensor: *mut miopenTensorDescriptor_t,
    ) -> miopenStatus_t;
    /// Describes a tensor by its dimensions and their strides, in elements.
    fn miopenSetTensorDescriptor(
        tensor: miopenTensorDescriptor_t, datatype: miopenDataType_t, dimensions: c_int,
        sizes: *const c_int, strides: *const c_int,
    ) -> miopenStatus_t;
    /// Destroys a description of a tensor.
    fn miopenDestroyTensorDescriptor(tensor: miopenTensorDescriptor_t) -> miopenStatus_t;

    /// Creates a description of a convolution.
    fn miopenCreateConvolutionDescriptor(
        convolution: *mut miopenConvolutionDescriptor_t,
    ) -> miopenStatus_t;
    /// Describes a convolution of so many dimensions.
    fn miopenInitConvolutionNdDescriptor(
        convolution: miopenConvolutionDescriptor_t, dimensions: c_int, padding: *const c_int,
        stride: *const c_int, dilation: *const c_int, mode: miopenConvolutionMode_t,
    ) -> miopenStatus_t;
    /// Sets how many groups of channels there are.
    fn miopenSetConvolutionGroupCount(
        convolution: miopenConvolutionDescriptor_t, groups: c_int,
    ) -> miopenStatus_t;
    /// Destroys a description of a convolution.
    fn miopenDestroyConvolutionDescriptor(
        convolution: miopenConvolutionDescriptor_t,
    ) -> miopenStatus_t;

    /// How many solutions there are at most.
    fn miopenConvolutionForwardGetSolutionCount(
        handle: miopenHandle_t, w: miopenTensorDescriptor_t, x: miopenTensorDescriptor_t,
        convolution: miopenConvolutionDescriptor_t, y: miopenTensorDescriptor_t,
        count: *mut usize,
    ) -> miopenStatus_t;
    /// The solutions, the fastest first.
    fn miopenConvolutionForwardGetSolution(
        handle: miopenHandle_t, w: miopenTensorDescriptor_t, x: miopenTensorDescriptor_t,
        convolution: miopenConvolutionDescriptor_t, y: miopenTensorDescriptor_t,
        most: usize, count: *mut usize, solutions: *mut miopenConvSolution_t,
    ) -> miopenStatus_t;
    /// Puts a convolution into the stream by a solution, whose kernels are compiled before.
    fn miopenConvolutionForwardImmediate(
        handle: miopenHandle_t, w_of: miopenTensorDescriptor_t, w: *const c_void,
        x_of: miopenTensorDescriptor_t, x: *const c_void,
        convolution: miopenConvolutionDescriptor_t, y_of: miopenTensorDescriptor_t,
        y: *mut c_void, workspace: *mut c_void, bytes: usize, solution: u64,
    ) -> miopenStatus_t;
    /// The workspace that a search needs, in bytes.
    fn miopenConvolutionForwardGetWorkSpaceSize(
        handle: miopenHandle_t, w: miopenTensorDescriptor_t, x: miopenTensorDescriptor_t,
        convolution: miopenConvolutionDescriptor_t, y: miopenTensorDescriptor_t,
        bytes: *mut usize,
    ) -> miopenStatus_t;
    /// Runs the solutions and keeps in MIOpen's database which is how fast; it waits for them.
    fn miopenFindConvolutionForwardAlgorithm(
        handle: miopenHandle_t, x_of: miopenTensorDescriptor_t, x: *const c_void,
        w_of: miopenTensorDescriptor_t, w: *const c_void,
        convolution: miopenConvolutionDescriptor_t, y_of: miopenTensorDescriptor_t,
        y: *mut c_void, most: c_int, count: *mut c_int, found: *mut miopenConvAlgoPerf_t,
        workspace: *mut c_void, bytes: usize, exhaustive: bool,
    ) -> miopenStatus_t;
}
