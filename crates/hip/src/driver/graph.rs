use super::{result, sys, HipError, HipStream};
use std::sync::Arc;

/// The work that a stream captured, to be launched any number of times.
///
/// HIP does not guard a graph against use from several threads, and neither does this type: it
/// cannot be sent to another thread.
#[derive(Debug)]
pub struct HipGraph {
    graph: sys::hipGraph_t,
    exec: sys::hipGraphExec_t,
    stream: Arc<HipStream>,
}

impl Drop for HipGraph {
    fn drop(&mut self) {
        let context = self.stream.context();
        // SAFETY: the graphs are alive and not used again.
        unsafe {
            context.record_err(result::graph::exec_destroy(self.exec));
            context.record_err(result::graph::destroy(self.graph));
        }
    }
}

impl HipStream {
    /// Ends a capture; `None` if it did not yield a graph.
    pub fn end_capture(
        self: &Arc<Self>,
        flags: sys::hipGraphInstantiateFlags,
    ) -> Result<Option<HipGraph>, HipError> {
        self.context().bind_to_thread()?;
        // SAFETY: the stream is alive.
        let graph = unsafe { result::stream::end_capture(self.hip_stream()) }?;
        if graph.is_null() {
            return Ok(None);
        }
        // SAFETY: the graph is alive.
        match unsafe { result::graph::instantiate(graph, flags) } {
            Ok(exec) => Ok(Some(HipGraph {
                graph,
                exec,
                stream: self.clone(),
            })),
            Err(error) => {
                // SAFETY: the graph is alive and not used again.
                self.context()
                    .record_err(unsafe { result::graph::destroy(graph) });
                Err(error)
            }
        }
    }
}

impl HipGraph {
    /// Launches the graph on the stream that captured it.
    pub fn launch(&self) -> Result<(), HipError> {
        self.stream.context().bind_to_thread()?;
        // SAFETY: both are alive.
        unsafe { result::graph::launch(self.exec, self.stream.hip_stream()) }
    }

    /// Uploads the graph, so that its first launch takes no longer than the others.
    pub fn upload(&self) -> Result<(), HipError> {
        self.stream.context().bind_to_thread()?;
        // SAFETY: both are alive.
        unsafe { result::graph::upload(self.exec, self.stream.hip_stream()) }
    }

    /// The handle of the graph. It must not be destroyed.
    pub fn hip_graph(&self) -> sys::hipGraph_t {
        self.graph
    }

    /// The handle of the graph that is launched. It must not be destroyed.
    pub fn hip_graph_exec(&self) -> sys::hipGraphExec_t {
        self.exec
    }
}
