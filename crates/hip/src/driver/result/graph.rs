//! Graphs.

use super::HipError;
use crate::driver::sys::{self, hipGraphExec_t, hipGraphInstantiateFlags, hipGraph_t, hipStream_t};

/// Makes a graph ready for launch.
///
/// # Safety
///
/// The graph has to be alive.
pub unsafe fn instantiate(
    graph: hipGraph_t,
    flags: hipGraphInstantiateFlags,
) -> Result<hipGraphExec_t, HipError> {
    let mut exec = std::ptr::null_mut();
    sys::hipGraphInstantiateWithFlags(&mut exec, graph, flags.0.into()).result()?;
    Ok(exec)
}

/// Launches a graph.
///
/// # Safety
///
/// Both have to be alive, and so has all that the graph works on.
pub unsafe fn launch(exec: hipGraphExec_t, stream: hipStream_t) -> Result<(), HipError> {
    sys::hipGraphLaunch(exec, stream).result()
}

/// Uploads a graph before its first launch.
///
/// # Safety
///
/// Both have to be alive.
pub unsafe fn upload(exec: hipGraphExec_t, stream: hipStream_t) -> Result<(), HipError> {
    sys::hipGraphUpload(exec, stream).result()
}

/// Destroys a graph.
///
/// # Safety
///
/// The graph has to be alive, and is not afterwards.
pub unsafe fn destroy(graph: hipGraph_t) -> Result<(), HipError> {
    sys::hipGraphDestroy(graph).result()
}

/// Destroys a graph that was made ready for launch.
///
/// # Safety
///
/// The graph has to be alive, and is not afterwards.
pub unsafe fn exec_destroy(exec: hipGraphExec_t) -> Result<(), HipError> {
    sys::hipGraphExecDestroy(exec).result()
}
