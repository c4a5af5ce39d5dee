use super::capture::{self, Captured};
use super::uses::{self, Uses};
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
    captured: Option<Captured>,
}

impl Drop for HipGraph {
    /// Waits for the launches, so that others may have the memory of the graph.
    fn drop(&mut self) {
        let context = self.stream.context();
        let _bound = context.bound();
        self.stream.give_back(self.captured.take());
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
        // An error that waits to be told goes on to do so: the capture has to end.
        let bound = self.gpu().bind();
        let (graph, captured) = self.end();
        let made = graph.and_then(|graph| {
            if graph.is_null() {
                return bound.map(|()| None);
            }
            // SAFETY: the graph is alive.
            match bound.and_then(|()| unsafe { result::graph::instantiate(graph, flags) }) {
                Ok(exec) => Ok(Some((graph, exec))),
                Err(error) => {
                    // SAFETY: the graph is alive and not used again.
                    self.context()
                        .record_err(unsafe { result::graph::destroy(graph) });
                    Err(error)
                }
            }
        });
        match made {
            Ok(Some((graph, exec))) => Ok(Some(HipGraph {
                graph,
                exec,
                stream: self.clone(),
                captured,
            })),
            Ok(None) | Err(_) => {
                self.give_back(captured);
                made.map(|_| None)
            }
        }
    }

    /// Ends a capture without a graph.
    pub(super) fn give_up_capture(&self) {
        let _bound = self.context().bound();
        let (graph, captured) = self.end();
        // SAFETY: the graph is alive and not used again. There is nobody to tell an error to.
        let _ = graph.and_then(|graph| unsafe { result::graph::destroy(graph) });
        self.give_back(captured);
    }

    fn end(&self) -> (Result<sys::hipGraph_t, HipError>, Option<Captured>) {
        // SAFETY: the stream is alive.
        let end = || unsafe { result::stream::end_capture(self.hip_stream()) };
        let graph = end();
        if graph == Err(HipError(sys::hipError_t::hipErrorStreamCaptureInvalidated)) {
            // HIP leaves the streams of a capture that was broken as they are, which it refuses to
            // use, until they are captured again (`hipStreamEndCapture_common` in
            // `hipamd/src/hip_graph.cpp`, ROCm 6.2).
            let relaxed = sys::hipStreamCaptureMode::hipStreamCaptureModeRelaxed;
            // SAFETY: the stream is alive.
            let again = unsafe { result::stream::begin_capture(self.hip_stream(), relaxed) };
            let empty = again.and_then(|()| end());
            // SAFETY: the graph is alive and not used again. There is an error to tell already.
            let _ = empty.and_then(|empty| unsafe { result::graph::destroy(empty) });
        }
        let captured = self.gpu().captures.end(self.key());
        (graph, captured)
    }

    /// Gives back the memory of a graph, whose work this stream has.
    fn give_back(&self, captured: Option<Captured>) {
        let (context, gpu) = (self.context(), self.gpu());
        let captured = captured.and_then(|captured| gpu.captures.adopt(self.key(), captured));
        let Some(captured) = captured else { return };
        let held: Vec<&Uses> = captured.held.iter().map(|(_, uses)| uses).collect();
        context.record_err(uses::begin(&held, self));
        let relaxed = capture::relaxed();
        // SAFETY: the stream is alive.
        let done =
            relaxed.and_then(|_relaxed| unsafe { result::stream::synchronize(self.hip_stream()) });
        if let Err(error) = done {
            context.record_err::<()>(Err(error));
            if let Err(error) = gpu.wait_beside_none() {
                // What may still be read or written is nobody else's.
                std::mem::forget(captured.read);
                return context.record_err::<()>(Err(error));
            }
        }
        for pool in captured.pools {
            gpu.memory.dissolve(pool);
        }
        for (address, _) in &captured.held {
            // SAFETY: the memory was given up, and what used it is done.
            context.record_err(unsafe { gpu.memory.free(gpu, *address, self.key()) });
        }
        drop(captured.read);
    }
}

impl HipGraph {
    /// Launches the graph on the stream that captured it, which first waits for other streams
    /// that use the same memory.
    pub fn launch(&self) -> Result<(), HipError> {
        self.stream.context().bind_to_thread()?;
        let captured = self.captured.iter().flat_map(|captured| &captured.uses);
        let used: Vec<&Uses> = captured.collect();
        uses::begin(&used, &self.stream)?;
        // SAFETY: both are alive.
        unsafe { result::graph::launch(self.exec, self.stream.hip_stream()) }?;
        uses::end(&used, &self.stream)
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
