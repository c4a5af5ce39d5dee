use super::result::{self, MiopenError};
use super::sys::{
    miopenConvolutionDescriptor_t, miopenConvolutionMode_t, miopenStatus_t,
    miopenTensorDescriptor_t, miopenTensorLayout_t,
};
use super::{Miopen, MiopenDataType};
use std::ffi::c_int;
use std::marker::PhantomData;
use std::sync::Arc;

/// What a tensor of elements `T` looks like: its sizes and strides.
#[derive(Debug)]
pub struct TensorDescriptor<T> {
    at: miopenTensorDescriptor_t,
    said: Vec<c_int>,
    miopen: Arc<Miopen>,
    marker: PhantomData<T>,
}

/// What a filter of elements `T` looks like.
#[derive(Debug)]
pub struct FilterDescriptor<T>(pub(super) TensorDescriptor<T>);

/// What a convolution does: padding, stride and dilation.
///
/// `T` is what cuDNN computes in; MIOpen adds in single precision, whatever it is.
#[derive(Debug)]
pub struct ConvDescriptor<T> {
    at: miopenConvolutionDescriptor_t,
    said: Vec<c_int>,
    miopen: Arc<Miopen>,
    marker: PhantomData<T>,
}

impl<T> Drop for TensorDescriptor<T> {
    fn drop(&mut self) {
        // SAFETY: it is alive and not used again. There is nobody to tell an error to.
        let _ = unsafe { result::destroy_tensor_descriptor(self.at) };
    }
}

impl<T> Drop for ConvDescriptor<T> {
    fn drop(&mut self) {
        // SAFETY: it is alive and not used again. There is nobody to tell an error to.
        let _ = unsafe { result::destroy_convolution_descriptor(self.at) };
    }
}

impl<T> TensorDescriptor<T> {
    pub(super) fn at(&self) -> miopenTensorDescriptor_t {
        self.at
    }

    /// Sizes and strides.
    pub(super) fn said(&self) -> &[c_int] {
        &self.said
    }

    /// MIOpen, as it was asked for.
    pub(super) fn miopen(&self) -> &Arc<Miopen> {
        &self.miopen
    }
}

impl<T> ConvDescriptor<T> {
    pub(super) fn at(&self) -> miopenConvolutionDescriptor_t {
        self.at
    }

    /// Padding, stride, dilation, mode and the number of groups.
    pub(super) fn said(&self) -> &[c_int] {
        &self.said
    }

    /// Sets how many groups of channels there are, each with filters of its own; one at first.
    pub fn set_group_count(&mut self, group_count: c_int) -> Result<(), MiopenError> {
        // SAFETY: it is alive.
        unsafe { result::set_convolution_group_count(self.at, group_count) }?;
        if let Some(groups) = self.said.last_mut() {
            *groups = group_count;
        }
        Ok(())
    }

    /// MIOpen, as it was asked for.
    pub fn miopen(&self) -> &Arc<Miopen> {
        &self.miopen
    }
}

impl Miopen {
    /// Describes a packed tensor by its batch, channels, height and width.
    pub fn create_4d_tensor<T: MiopenDataType>(
        self: &Arc<Self>,
        format: miopenTensorLayout_t,
        dims: [c_int; 4],
    ) -> Result<TensorDescriptor<T>, MiopenError> {
        self.create_nd_tensor(&dims, &packed(format, &dims)?)
    }

    /// Describes a tensor with strides, in elements.
    pub fn create_4d_tensor_ex<T: MiopenDataType>(
        self: &Arc<Self>,
        dims: [c_int; 4],
        strides: [c_int; 4],
    ) -> Result<TensorDescriptor<T>, MiopenError> {
        self.create_nd_tensor(&dims, &strides)
    }

    /// Describes a tensor of as many dimensions as there are sizes and strides.
    pub fn create_nd_tensor<T: MiopenDataType>(
        self: &Arc<Self>,
        dims: &[c_int],
        strides: &[c_int],
    ) -> Result<TensorDescriptor<T>, MiopenError> {
        let tensor = TensorDescriptor {
            at: result::create_tensor_descriptor()?,
            said: [dims, strides].concat(),
            miopen: self.clone(),
            marker: PhantomData,
        };
        // SAFETY: it is alive.
        unsafe { result::set_tensor_descriptor(tensor.at, T::DATA_TYPE, dims, strides) }?;
        Ok(tensor)
    }

    /// Describes a packed filter by the channels that it gives and takes, its height and width.
    pub fn create_4d_filter<T: MiopenDataType>(
        self: &Arc<Self>,
        format: miopenTensorLayout_t,
        dims: [c_int; 4],
    ) -> Result<FilterDescriptor<T>, MiopenError> {
        self.create_nd_filter(format, &dims)
    }

    /// Describes a packed filter of as many dimensions as there are sizes.
    pub fn create_nd_filter<T: MiopenDataType>(
        self: &Arc<Self>,
        format: miopenTensorLayout_t,
        dims: &[c_int],
    ) -> Result<FilterDescriptor<T>, MiopenError> {
        let strides = packed(format, dims)?;
        self.create_nd_tensor(dims, &strides).map(FilterDescriptor)
    }

    /// Describes a convolution of height and width.
    pub fn create_conv2d<T: MiopenDataType>(
        self: &Arc<Self>,
        pad: [c_int; 2],
        stride: [c_int; 2],
        dilation: [c_int; 2],
        mode: miopenConvolutionMode_t,
    ) -> Result<ConvDescriptor<T>, MiopenError> {
        self.create_convnd(&pad, &stride, &dilation, mode)
    }

    /// Describes a convolution of as many dimensions as there are paddings, strides and dilations.
    pub fn create_convnd<T: MiopenDataType>(
        self: &Arc<Self>,
        pads: &[c_int],
        strides: &[c_int],
        dilations: &[c_int],
        mode: miopenConvolutionMode_t,
    ) -> Result<ConvDescriptor<T>, MiopenError> {
        let conv = ConvDescriptor {
            at: result::create_convolution_descriptor()?,
            said: [pads, strides, dilations, &[mode.0, 1]].concat(),
            miopen: self.clone(),
            marker: PhantomData,
        };
        // SAFETY: it is alive.
        unsafe { result::set_convolution_descriptor(conv.at, [pads, strides, dilations], mode) }?;
        Ok(conv)
    }
}

/// The strides of a packed tensor, whose sizes are in the order of batch, channels, and the rest.
fn packed(format: miopenTensorLayout_t, dims: &[c_int]) -> Result<Vec<c_int>, MiopenError> {
    let mut order: Vec<_> = (0..dims.len()).collect();
    match format {
        miopenTensorLayout_t::miopenTensorNCHW => {}
        miopenTensorLayout_t::miopenTensorNHWC if dims.len() > 1 => order[1..].rotate_left(1),
        _ => return Err(MiopenError(miopenStatus_t::miopenStatusNotImplemented)),
    }
    let (mut strides, mut next) = (vec![0; dims.len()], Some(1));
    for place in order.into_iter().rev() {
        let stride: c_int = next.ok_or(MiopenError(miopenStatus_t::TOO_LARGE))?;
        strides[place] = stride;
        next = stride.checked_mul(dims[place]);
    }
    Ok(strides)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_tensors_have_the_strides_of_their_layout() {
        let of = |format| packed(format, &[2, 3, 5, 7]);
        assert_eq!(
            of(miopenTensorLayout_t::miopenTensorNCHW),
            Ok(vec![105, 35, 7, 1])
        );
        assert_eq!(
            of(miopenTensorLayout_t::miopenTensorNHWC),
            Ok(vec![105, 1, 21, 3])
        );
        let unknown = of(miopenTensorLayout_t(5)).unwrap_err();
        assert_eq!(unknown.0, miopenStatus_t::miopenStatusNotImplemented);
    }

    #[test]
    fn a_stride_that_is_no_int_is_refused() {
        let of = |batch| {
            packed(
                miopenTensorLayout_t::miopenTensorNCHW,
                &[batch, 4, 1 << 15, 1 << 15],
            )
        };
        assert_eq!(of(1), Err(MiopenError(miopenStatus_t::TOO_LARGE)));
        let widest = packed(
            miopenTensorLayout_t::miopenTensorNCHW,
            &[1 << 20, 1, 1 << 15, 1 << 15],
        );
        assert_eq!(widest, Ok(vec![1 << 30, 1 << 30, 1 << 15, 1]));
    }
}
