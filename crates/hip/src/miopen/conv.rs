use super::chosen::Problem;
use super::descriptors::{ConvDescriptor, FilterDescriptor, TensorDescriptor};
use super::result::{self, Described, Memory, MiopenError};
use super::sys::{miopenConvFwdAlgorithm_t, miopenConvSolution_t, miopenStatus_t};
use super::{Miopen, MiopenDataType};
use crate::driver::{DevicePtr, DevicePtrMut};
use std::sync::Arc;

/// A convolution forward, of what is described.
#[derive(Debug)]
pub struct ConvForward<'a, X: MiopenDataType, C: MiopenDataType, Y: MiopenDataType> {
    /// What it does.
    pub conv: &'a ConvDescriptor<C>,
    /// The input.
    pub x: &'a TensorDescriptor<X>,
    /// The filter.
    pub w: &'a FilterDescriptor<X>,
    /// The output.
    pub y: &'a TensorDescriptor<Y>,
}

impl<X: MiopenDataType, C: MiopenDataType, Y: MiopenDataType> ConvForward<'_, X, C, Y> {
    /// The algorithm of MIOpen's fastest solution.
    pub fn pick_algorithm(&self) -> Result<miopenConvFwdAlgorithm_t, MiopenError> {
        self.solution(None).map(|fastest| fastest.algorithm)
    }

    /// The workspace that the fastest solution by an algorithm needs, in bytes.
    pub fn get_workspace_size(&self, algo: miopenConvFwdAlgorithm_t) -> Result<usize, MiopenError> {
        self.solution(Some(algo)).map(|one| one.workspace_size)
    }

    /// Puts the convolution into the stream, by the fastest solution by an algorithm.
    ///
    /// Of factors of the result and of what the output held MIOpen has 1 and 0 alone; others it is
    /// not asked for.
    ///
    /// # Safety
    ///
    /// The memory has to be as large as is described.
    pub unsafe fn launch<Workspace, Src, Filter, Dst>(
        &self,
        algo: miopenConvFwdAlgorithm_t,
        workspace: Option<&mut Workspace>,
        (alpha, beta): (Y, Y),
        src: &Src,
        filter: &Filter,
        y: &mut Dst,
    ) -> Result<(), MiopenError>
    where
        Workspace: DevicePtrMut<u8>,
        Src: DevicePtr<X>,
        Filter: DevicePtr<X>,
        Dst: DevicePtrMut<Y>,
    {
        if (
            alpha.into_scaling_parameter(),
            beta.into_scaling_parameter(),
        ) != (1., 0.)
        {
            return Err(MiopenError(miopenStatus_t::miopenStatusNotImplemented));
        }
        let solution = self.solution(Some(algo))?;
        let stream = self.miopen().stream();
        stream.context().bind_to_thread()?;
        let (src, mut guard_src) = src.device_ptr(stream);
        guard_src.begun()?;
        let (filter, mut guard_filter) = filter.device_ptr(stream);
        guard_filter.begun()?;
        let (y, mut guard_y) = y.device_ptr_mut(stream);
        guard_y.begun()?;
        let bytes = workspace.as_ref().map_or(0, |memory| memory.num_bytes());
        let (workspace, mut guard) = workspace
            .map(|memory| memory.device_ptr_mut(stream))
            .unzip();
        if let Some(guard) = &mut guard {
            guard.begun()?;
        }
        let memory = Memory {
            x: src as *const _,
            w: filter as *const _,
            y: y as *mut _,
            workspace: workspace.unwrap_or(0) as *mut _,
            bytes,
        };
        let own = self.miopen().handle().lock();
        result::convolution_forward(own.at, self.described(), memory, solution.solution_id)
    }

    pub(super) fn miopen(&self) -> &Arc<Miopen> {
        self.x.miopen()
    }

    pub(super) fn described(&self) -> Described {
        Described {
            x: self.x.at(),
            w: self.w.0.at(),
            convolution: self.conv.at(),
            y: self.y.at(),
        }
    }

    /// What it is known by among all that a handle is asked for.
    pub(super) fn problem(&self) -> Problem {
        let (x, w, y) = (self.x.said(), self.w.0.said(), self.y.said());
        let types = [X::DATA_TYPE.0, Y::DATA_TYPE.0, x.len() as _, w.len() as _];
        [&types, x, w, y, self.conv.said()].concat()
    }

    fn solution(
        &self,
        algorithm: Option<miopenConvFwdAlgorithm_t>,
    ) -> Result<miopenConvSolution_t, MiopenError> {
        let mut own = self.miopen().handle().lock();
        // SAFETY: what it is described by is alive.
        unsafe { own.solution(self.problem(), self.described(), algorithm) }
    }
}
