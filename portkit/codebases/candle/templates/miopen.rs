//! Convolutions by MIOpen. Where it has none, of which it says why, they take the path without it.

use super::{RocmStorage, RocmStorageSlice as S, WrapErr};
use crate::backend::{BackendDevice, BackendStorage};
use crate::conv::{CudnnFwdAlgo, ParamsConv1D, ParamsConv2D};
use crate::{Layout, Result};
use candle_hip::miopen::{sys::miopenConvFwdAlgorithm_t as Algorithm, Convolution};
use half::{bf16, f16};

/// A tensor, and where its elements are.
pub(super) type Placed<'a> = (&'a RocmStorage, &'a Layout);

/// A convolution along a width alone: PyTorch has MIOpen compute it so.
pub(super) fn conv1d(x: Placed, w: Placed, of: &ParamsConv1D) -> Result<Option<RocmStorage>> {
    let shape = Convolution {
        input: [of.b_size, of.c_in, 1, of.l_in],
        filter: [of.c_out, of.c_in, 1, of.k_size],
        padding: [0, of.padding],
        stride: [1, of.stride],
        dilation: [1, of.dilation],
    };
    convolution(x, w, shape, of.cudnn_fwd_algo)
}

pub(super) fn conv2d(x: Placed, w: Placed, of: &ParamsConv2D) -> Result<Option<RocmStorage>> {
    let shape = Convolution {
        input: [of.b_size, of.c_in, of.i_h, of.i_w],
        filter: [of.c_out, of.c_in, of.k_h, of.k_w],
        padding: [of.padding; 2],
        stride: [of.stride; 2],
        dilation: [of.dilation; 2],
    };
    convolution(x, w, shape, of.cudnn_fwd_algo)
}

fn convolution(
    (x, x_l): Placed,
    (w, w_l): Placed,
    of: Convolution,
    algo: Option<CudnnFwdAlgo>,
) -> Result<Option<RocmStorage>> {
    let count = |of: [usize; 4]| of.iter().product::<usize>();
    let Some(len) = of.output().map(count) else {
        return Ok(None);
    };
    if len == 0 || count(of.input) == 0 || count(of.filter) == 0 {
        return Ok(None);
    }
    let (own_x, own_w) = (packed(x, x_l)?, packed(w, w_l)?);
    let (x, from_x) = own_x.as_ref().map_or((x, x_l.start_offset()), |x| (x, 0));
    let (w, from_w) = own_w.as_ref().map_or((w, w_l.start_offset()), |w| (w, 0));
    let (device, algo) = (x.device().clone(), algo.map(algorithm));
    macro_rules! of_types {
        ($($name:ident: $type:ty),*) => {
            match (&x.slice, &w.slice) {
                $((S::$name(x), S::$name(w)) => {
                    // All of it is written, or none of it is used.
                    let mut y = unsafe { device.alloc::<$type>(len)? };
                    let (x, w) = (x.slice(from_x..), w.slice(from_w..));
                    let stream = device.rocm_stream();
                    let done = of.forward::<$type, _, _, _>(&stream, algo, &x, &w, &mut y).w()?;
                    let slice = S::$name(y);
                    Ok(done.then(|| RocmStorage { slice, device }))
                })*
                _ => Ok(None),
            }
        };
    }
    of_types!(F16: f16, BF16: bf16, F32: f32, F64: f64)
}

/// A copy in the order of the layout, unless it is the order in memory.
fn packed(of: &RocmStorage, l: &Layout) -> Result<Option<RocmStorage>> {
    if l.is_contiguous() {
        return Ok(None);
    }
    let mut copy = unsafe { of.device().alloc_uninit(l.shape(), of.dtype())? };
    of.copy_strided_src(&mut copy, 0, l)?;
    Ok(Some(copy))
}

/// What MIOpen calls an algorithm of cuDNN's.
fn algorithm(of: CudnnFwdAlgo) -> Algorithm {
    use CudnnFwdAlgo as C;
    match of {
        C::ImplicitGemm | C::ImplicitPrecompGemm => Algorithm::miopenConvolutionFwdAlgoImplicitGEMM,
        C::Gemm => Algorithm::miopenConvolutionFwdAlgoGEMM,
        C::Direct => Algorithm::miopenConvolutionFwdAlgoDirect,
        C::Fft | C::FftTiling => Algorithm::miopenConvolutionFwdAlgoFFT,
        C::Winograd | C::WinogradNonFused => Algorithm::miopenConvolutionFwdAlgoWinograd,
        C::Count => Algorithm::COUNT,
    }
}
