use super::conv::ConvForward;
use super::result::{self, Memory, MiopenError};
use super::sys::{
    miopenConvFwdAlgorithm_t, miopenConvolutionMode_t, miopenDataType_t, miopenStatus_t,
    miopenTensorLayout_t,
};
use super::{searches, Miopen, MiopenDataType};
use crate::driver::{DevicePtr, DevicePtrMut, HipError, HipStream};
use std::collections::HashSet;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError};

/// A convolution of packed tensors: of each image, of channels, of height and width.
///
/// One of a single dimension has a height of 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Convolution {
    /// Batch, channels, height and width of the input.
    pub input: [usize; 4],
    /// Channels of the output and of the input, height and width of the filter.
    pub filter: [usize; 4],
    /// How many zeros lie around the input, above and below, left and right.
    pub padding: [usize; 2],
    /// Elements from one place of the filter to the next.
    pub stride: [usize; 2],
    /// Elements from one row and column of the filter to the next.
    pub dilation: [usize; 2],
}

/// Why MIOpen has not computed it.
enum Fault {
    /// MIOpen does not.
    Refused(MiopenError),
    /// The device has an error.
    Hip(HipError),
}

impl From<MiopenError> for Fault {
    fn from(error: MiopenError) -> Self {
        Self::Refused(error)
    }
}

impl From<HipError> for Fault {
    fn from(error: HipError) -> Self {
        Self::Hip(error)
    }
}

/// The types of elements whose convolutions MIOpen computes in floating point (`miopenDataType_t`:
/// double precision it has in part, and not here).
const COMPUTED: [miopenDataType_t; 3] = [
    miopenDataType_t::miopenHalf,
    miopenDataType_t::miopenBFloat16,
    miopenDataType_t::miopenFloat,
];

/// What was said already: each sentence is said once in a process.
static SAID: Mutex<Option<HashSet<String>>> = Mutex::new(None);

impl Convolution {
    /// Batch, channels, height and width of the output; nothing where the filter is larger than the
    /// input, or a number is 0 that must not be.
    pub fn output(&self) -> Option<[usize; 4]> {
        let along = |i: usize| {
            let reach = self.dilation[i].checked_mul(self.filter[i + 2].checked_sub(1)?)?;
            let padded = self.padding[i]
                .checked_mul(2)?
                .checked_add(self.input[i + 2])?;
            let steps = padded.checked_sub(reach)?.checked_sub(1)?;
            Some(steps.checked_div(self.stride[i])? + 1)
        };
        Some([self.input[0], self.filter[0], along(0)?, along(1)?])
    }

    /// Puts the convolution into the stream, by MIOpen's fastest solution, or by its fastest with an
    /// algorithm. Says whether it has: where MIOpen does not, for whatever reason, that is said once on
    /// standard error, and nothing of it is in the stream.
    ///
    /// # Errors
    ///
    /// The device's; memory that is smaller than the tensors are.
    pub fn forward<T, X, W, Y>(
        &self,
        stream: &Arc<HipStream>,
        algorithm: Option<miopenConvFwdAlgorithm_t>,
        x: &X,
        w: &W,
        y: &mut Y,
    ) -> Result<bool, HipError>
    where
        T: MiopenDataType,
        X: DevicePtr<T>,
        W: DevicePtr<T>,
        Y: DevicePtrMut<T>,
    {
        match self.put::<T, _, _, _>(stream, algorithm, x, w, y) {
            Ok(()) => Ok(true),
            Err(Fault::Hip(error)) => Err(error),
            Err(Fault::Refused(error)) => {
                say(&self.sentence(T::NAME, error));
                Ok(false)
            }
        }
    }

    fn put<T, X, W, Y>(
        &self,
        stream: &Arc<HipStream>,
        algorithm: Option<miopenConvFwdAlgorithm_t>,
        x: &X,
        w: &W,
        y: &mut Y,
    ) -> Result<(), Fault>
    where
        T: MiopenDataType,
        X: DevicePtr<T>,
        W: DevicePtr<T>,
        Y: DevicePtrMut<T>,
    {
        if !COMPUTED.contains(&T::DATA_TYPE) {
            return Err(MiopenError(miopenStatus_t::NO_TYPE).into());
        }
        let output = self.output();
        let output = output.ok_or(MiopenError(miopenStatus_t::miopenStatusBadParm))?;
        let sizes = [self.input, self.filter, output].map(size);
        let held = [x.len(), w.len(), y.len()];
        let fits = |(size, held): (Option<usize>, usize)| size.is_some_and(|size| size <= held);
        if !sizes.into_iter().zip(held).all(fits) {
            let told = format!("a convolution of {self:?} has memory of {held:?} elements");
            return Err(HipError::own(told).into());
        }
        stream.context().bind_to_thread()?;
        let miopen = Miopen::new(stream.clone())?;
        let packed = miopenTensorLayout_t::miopenTensorNCHW;
        let op = ConvForward::<T, T, T> {
            conv: &miopen.create_conv2d(
                ints(self.padding)?,
                ints(self.stride)?,
                ints(self.dilation)?,
                miopenConvolutionMode_t::miopenConvolution,
            )?,
            x: &miopen.create_4d_tensor(packed, ints(self.input)?)?,
            w: &miopen.create_4d_filter(packed, ints(self.filter)?)?,
            y: &miopen.create_4d_tensor(packed, ints(output)?)?,
        };
        let (x, mut guard_x) = x.device_ptr(stream);
        guard_x.begun()?;
        let (w, mut guard_w) = w.device_ptr(stream);
        guard_w.begun()?;
        let (y, mut guard_y) = y.device_ptr_mut(stream);
        guard_y.begun()?;

        let mut own = miopen.handle().lock();
        let (problem, of) = (op.problem(), op.described());
        let (x, w, y) = (x as *const _, w as *const _, y as *mut _);
        let within = |bytes, then: &mut dyn FnMut(Memory) -> Result<(), MiopenError>| {
            // SAFETY: nobody reads it before MIOpen has written it.
            let mut space = unsafe { stream.alloc::<u8>(bytes) }?;
            let (workspace, mut guard) = space.device_ptr_mut(stream);
            guard.begun()?;
            let workspace = workspace as *mut _;
            then(Memory {
                x,
                w,
                y,
                workspace,
                bytes,
            })?;
            Ok::<_, Fault>(())
        };
        if searches() && !own.knows(&problem) && !stream.is_captured() {
            // SAFETY: all is alive, and the memory as large as is described.
            let bytes = unsafe { result::convolution_forward_search_workspace(own.at, of) }?;
            within(bytes, &mut |memory| {
                // SAFETY: as above.
                unsafe { result::find_convolution_forward(own.at, of, memory) }
            })?;
        }
        // SAFETY: as above.
        let solution = unsafe { own.solution(problem, of, algorithm) }?;
        within(solution.workspace_size, &mut |memory| {
            // SAFETY: as above; the guards keep the memory until the work is in the stream.
            unsafe { result::convolution_forward(own.at, of, memory, solution.solution_id) }
        })
    }

    /// Why MIOpen has not computed it: of a library that is missing and of types that it has nothing
    /// for once for all.
    fn sentence(&self, elements: &str, error: MiopenError) -> String {
        match error.0 {
            miopenStatus_t::NOT_LOADED => format!("{error}; convolutions are computed without it"),
            miopenStatus_t::NO_TYPE => format!("{error} {elements}: they are computed without it"),
            _ => format!(
                "{error}: a convolution of {elements} {:?} by {:?}, padding {:?}, stride {:?}, \
                 dilation {:?}, is computed without it; MIOPEN_LOG_LEVEL=5 lets MIOpen say more",
                self.input, self.filter, self.padding, self.stride, self.dilation
            ),
        }
    }
}

/// How many elements a tensor has, if that is a number.
fn size(of: [usize; 4]) -> Option<usize> {
    of.into_iter()
        .try_fold(1usize, |all, each| all.checked_mul(each))
}

fn ints<const N: usize>(sizes: [usize; N]) -> Result<[c_int; N], MiopenError> {
    let mut found = [0; N];
    for (to, from) in found.iter_mut().zip(sizes) {
        *to = c_int::try_from(from).map_err(|_| MiopenError(miopenStatus_t::TOO_LARGE))?;
    }
    Ok(found)
}

/// Says a sentence on standard error, once in a process.
fn say(sentence: &str) {
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said
        .get_or_insert_with(HashSet::new)
        .insert(sentence.to_owned())
    {
        eprintln!("{sentence}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Convolution = Convolution {
        input: [2, 3, 9, 8],
        filter: [5, 3, 3, 2],
        padding: [1, 0],
        stride: [2, 3],
        dilation: [1, 2],
    };

    #[test]
    fn the_output_is_as_many_places_as_the_filter_has() {
        assert_eq!(PLAIN.output(), Some([2, 5, 5, 2]));
        for wrong in [
            Convolution {
                filter: [5, 3, 12, 2],
                ..PLAIN
            },
            Convolution {
                filter: [5, 3, 3, 0],
                ..PLAIN
            },
            Convolution {
                stride: [0, 1],
                ..PLAIN
            },
            Convolution {
                padding: [usize::MAX, 0],
                ..PLAIN
            },
        ] {
            assert_eq!(wrong.output(), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_sentence_says_what_was_asked_for_and_what_is_done() {
        let error = MiopenError(miopenStatus_t::miopenStatusNotImplemented);
        let said = PLAIN.sentence("f16", error);
        assert!(
            said.starts_with("MIOpen: miopenStatusNotImplemented: a"),
            "{said}"
        );
        let rest =
            "a convolution of f16 [2, 3, 9, 8] by [5, 3, 3, 2], padding [1, 0], stride [2, 3], \
                    dilation [1, 2], is computed without it;";
        assert!(said.contains(rest), "{said}");
    }
}
