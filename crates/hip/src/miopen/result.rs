//! The functions of [`sys`] with [`Result`]s.

use super::sys::{
    self, miopenConvSolution_t, miopenConvolutionDescriptor_t, miopenDataType_t, miopenHandle_t,
    miopenStatus_t, miopenTensorDescriptor_t,
};
use crate::driver::sys::hipStream_t;
use crate::driver::HipError;
use crate::loader::MIOPEN;
use std::ffi::{c_int, c_void};
use std::fmt;

/// A status of MIOpen other than success.
///
/// [`miopenStatus_t::NOT_LOADED`] stands for a library or a function that could not be loaded; its
/// text says which, and what to do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MiopenError(pub miopenStatus_t);

impl miopenStatus_t {
    /// `Ok` for success, else the status as an error.
    pub fn result(self) -> Result<(), MiopenError> {
        match self {
            Self::miopenStatusSuccess => Ok(()),
            status => Err(MiopenError(status)),
        }
    }
}

impl fmt::Display for MiopenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            miopenStatus_t::NOT_LOADED => f.write_str(&MIOPEN.not_loaded()),
            miopenStatus_t::NO_SOLUTION => f.write_str("MIOpen has no solution"),
            miopenStatus_t::NO_TYPE => f.write_str("MIOpen has no convolutions of"),
            miopenStatus_t::TOO_LARGE => {
                f.write_str("MIOpen counts in 32 bits, and a size or a stride is larger")
            }
            status => write!(f, "MIOpen: {status:?}"),
        }
    }
}

impl std::error::Error for MiopenError {}

impl From<HipError> for MiopenError {
    /// What kept a stream from waiting before MIOpen was called, which has no status for it.
    fn from(_: HipError) -> Self {
        Self(miopenStatus_t::miopenStatusInternalError)
    }
}

/// What a convolution is described by.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    /// The input.
    pub x: miopenTensorDescriptor_t,
    /// The filter.
    pub w: miopenTensorDescriptor_t,
    /// What is done with them.
    pub convolution: miopenConvolutionDescriptor_t,
    /// The output.
    pub y: miopenTensorDescriptor_t,
}

/// Where a convolution's memory is.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// The input.
    pub x: *const c_void,
    /// The filter.
    pub w: *const c_void,
    /// The output.
    pub y: *mut c_void,
    /// What is only used meanwhile.
    pub workspace: *mut c_void,
    /// How large that is.
    pub bytes: usize,
}

/// The version, such as 3, 4 and 0.
pub fn get_version() -> Result<(usize, usize, usize), MiopenError> {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the pointers are valid for a write.
    unsafe { sys::miopenGetVersion(&mut major, &mut minor, &mut patch) }.result()?;
    Ok((major, minor, patch))
}

/// Creates a handle for a stream, on the calling thread's device.
///
/// # Safety
///
/// The stream has to be of that device, and alive as long as the handle.
pub unsafe fn create_handle(stream: hipStream_t) -> Result<miopenHandle_t, MiopenError> {
    let mut handle = std::ptr::null_mut();
    sys::miopenCreateWithStream(&mut handle, stream).result()?;
    Ok(handle)
}

/// Destroys a handle.
///
/// # Safety
///
/// The handle has to be alive, and is not afterwards.
pub unsafe fn destroy_handle(handle: miopenHandle_t) -> Result<(), MiopenError> {
    sys::miopenDestroy(handle).result()
}

/// Creates a description of a tensor.
pub fn create_tensor_descriptor() -> Result<miopenTensorDescriptor_t, MiopenError> {
    let mut tensor = std::ptr::null_mut();
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::miopenCreateTensorDescriptor(&mut tensor) }.result()?;
    Ok(tensor)
}

/// Describes a tensor by its sizes and strides, of which there are as many.
///
/// # Safety
///
/// The description has to be alive.
pub unsafe fn set_tensor_descriptor(
    tensor: miopenTensorDescriptor_t,
    datatype: miopenDataType_t,
    sizes: &[c_int],
    strides: &[c_int],
) -> Result<(), MiopenError> {
    let wrong = MiopenError(miopenStatus_t::miopenStatusBadParm);
    let count = c_int::try_from(sizes.len()).map_err(|_| wrong)?;
    if strides.len() != sizes.len() {
        return Err(wrong);
    }
    let (sizes, strides) = (sizes.as_ptr(), strides.as_ptr());
    sys::miopenSetTensorDescriptor(tensor, datatype, count, sizes, strides).result()
}

/// Destroys a description of a tensor.
///
/// # Safety
///
/// The description has to be alive, and is not afterwards.
pub unsafe fn destroy_tensor_descriptor(
    tensor: miopenTensorDescriptor_t,
) -> Result<(), MiopenError> {
    sys::miopenDestroyTensorDescriptor(tensor).result()
}

/// Creates a description of a convolution.
pub fn create_convolution_descriptor() -> Result<miopenConvolutionDescriptor_t, MiopenError> {
    let mut convolution = std::ptr::null_mut();
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::miopenCreateConvolutionDescriptor(&mut convolution) }.result()?;
    Ok(convolution)
}

/// Describes a convolution by padding, stride and dilation of each dimension.
///
/// # Safety
///
/// The description has to be alive.
pub unsafe fn set_convolution_descriptor(
    convolution: miopenConvolutionDescriptor_t,
    [padding, stride, dilation]: [&[c_int]; 3],
    mode: sys::miopenConvolutionMode_t,
) -> Result<(), MiopenError> {
    let wrong = MiopenError(miopenStatus_t::miopenStatusBadParm);
    let count = c_int::try_from(padding.len()).map_err(|_| wrong)?;
    if stride.len() != padding.len() || dilation.len() != padding.len() {
        return Err(wrong);
    }
    let [padding, stride, dilation] = [padding, stride, dilation].map(<[_]>::as_ptr);
    sys::miopenInitConvolutionNdDescriptor(convolution, count, padding, stride, dilation, mode)
        .result()
}

/// Sets how many groups of channels there are.
///
/// # Safety
///
/// The description has to be alive.
pub unsafe fn set_convolution_group_count(
    convolution: miopenConvolutionDescriptor_t,
    groups: c_int,
) -> Result<(), MiopenError> {
    sys::miopenSetConvolutionGroupCount(convolution, groups).result()
}

/// Destroys a description of a convolution.
///
/// # Safety
///
/// The description has to be alive, and is not afterwards.
pub unsafe fn destroy_convolution_descriptor(
    convolution: miopenConvolutionDescriptor_t,
) -> Result<(), MiopenError> {
    sys::miopenDestroyConvolutionDescriptor(convolution).result()
}

/// The solutions of a convolution forward, the fastest first; none is an error.
///
/// # Safety
///
/// Handle and descriptions have to be alive.
pub unsafe fn convolution_forward_solutions(
    handle: miopenHandle_t,
    of: Described,
) -> Result<Vec<miopenConvSolution_t>, MiopenError> {
    let Described {
        x,
        w,
        convolution,
        y,
    } = of;
    let mut most = 0;
    sys::miopenConvolutionForwardGetSolutionCount(handle, w, x, convolution, y, &mut most)
        .result()?;
    let none = miopenConvSolution_t {
        time: 0.,
        workspace_size: 0,
        solution_id: 0,
        algorithm: sys::miopenConvFwdAlgorithm_t::COUNT,
    };
    let (mut found, mut count) = (vec![none; most], 0);
    let into = found.as_mut_ptr();
    if most > 0 {
        sys::miopenConvolutionForwardGetSolution(
            handle,
            w,
            x,
            convolution,
            y,
            most,
            &mut count,
            into,
        )
        .result()?;
    }
    found.truncate(count);
    if found.is_empty() {
        return Err(MiopenError(miopenStatus_t::NO_SOLUTION));
    }
    Ok(found)
}

/// The workspace that a search for the fastest solution needs, in bytes.
///
/// # Safety
///
/// Handle and descriptions have to be alive.
pub unsafe fn convolution_forward_search_workspace(
    handle: miopenHandle_t,
    of: Described,
) -> Result<usize, MiopenError> {
    let mut bytes = 0;
    sys::miopenConvolutionForwardGetWorkSpaceSize(
        handle,
        of.w,
        of.x,
        of.convolution,
        of.y,
        &mut bytes,
    )
    .result()?;
    Ok(bytes)
}

/// Runs the solutions, and leaves in MIOpen's database which is how fast; waits for the stream.
///
/// # Safety
///
/// Handle and descriptions have to be alive, and the memory as large as they say.
pub unsafe fn find_convolution_forward(
    handle: miopenHandle_t,
    of: Described,
    memory: Memory,
) -> Result<(), MiopenError> {
    let mut found = sys::miopenConvAlgoPerf_t {
        fwd_algo: sys::miopenConvFwdAlgorithm_t::COUNT,
        time: 0.,
        memory: 0,
    };
    let mut count = 0;
    sys::miopenFindConvolutionForwardAlgorithm(
        handle,
        of.x,
        memory.x,
        of.w,
        memory.w,
        of.convolution,
        of.y,
        memory.y,
        1,
        &mut count,
        &mut found,
        memory.workspace,
        memory.bytes,
        false,
    )
    .result()
}

/// Puts a convolution into the stream, by a solution.
///
/// # Safety
///
/// Handle and descriptions have to be alive, and the memory as large as they and the solution say
/// until the stream has got past this.
pub unsafe fn convolution_forward(
    handle: miopenHandle_t,
    of: Described,
    memory: Memory,
    solution: u64,
) -> Result<(), MiopenError> {
    sys::miopenConvolutionForwardImmediate(
        handle,
        of.w,
        memory.w,
        of.x,
        memory.x,
        of.convolution,
        of.y,
        memory.y,
        memory.workspace,
        memory.bytes,
        solution,
    )
    .result()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_success_or_an_error() {
        assert_eq!(miopenStatus_t::miopenStatusSuccess.result(), Ok(()));
        let error = miopenStatus_t(6).result().unwrap_err();
        assert_eq!(error.to_string(), "MIOpen: miopenStatusNotImplemented");
    }

    #[test]
    fn without_the_library_the_error_says_so() {
        if let Err(reason) = MIOPEN.load() {
            let error = create_tensor_descriptor().unwrap_err();
            assert_eq!(error, MiopenError(miopenStatus_t::NOT_LOADED));
            assert_eq!(error.to_string(), reason.to_string());
            let packages =
                "AMD's package miopen-hip; Debian's and Ubuntu's libmiopen-dev, Fedora's miopen";
            assert!(error.to_string().contains(packages), "{error}");
        }
    }
}
