// Streams, events and graphs. HIP's flags and modes have CUDA's values, and so have its two special
// streams (hip/hip_runtime_api.h, hipStreamLegacy and hipStreamPerThread).
#include "driver.h"

using namespace hipcuda;

namespace {

// Calls CUDA's function of the same meaning on the calling thread's device.
template <typename Call>
hipError_t forward(const char *name, Call call) {
  return answer(name, [&] {
    bind();
    check(call());
  });
}

}  // namespace

HIP_EXPORT hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags) {
  return forward(__func__, [&] { return cuStreamCreate(out<CUstream>(stream), flags); });
}

HIP_EXPORT hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags,
                                                  int priority) {
  return forward(
      __func__, [&] { return cuStreamCreateWithPriority(out<CUstream>(stream), flags, priority); });
}

HIP_EXPORT hipError_t hipStreamDestroy(hipStream_t stream) {
  return forward(__func__, [&] { return cuStreamDestroy(native(stream)); });
}

HIP_EXPORT hipError_t hipStreamSynchronize(hipStream_t stream) {
  return forward(__func__, [&] { return cuStreamSynchronize(native(stream)); });
}

HIP_EXPORT hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return forward(__func__,
                 [&] { return cuStreamWaitEvent(native(stream), native(event), flags); });
}

HIP_EXPORT hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return forward(__func__, [&] {
    return cuStreamBeginCapture(native(stream), static_cast<CUstreamCaptureMode>(mode));
  });
}

HIP_EXPORT hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph) {
  return forward(__func__, [&] { return cuStreamEndCapture(native(stream), out<CUgraph>(graph)); });
}

HIP_EXPORT hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode) {
  return forward(__func__, [&] {
    return cuThreadExchangeStreamCaptureMode(out<CUstreamCaptureMode>(mode));
  });
}

HIP_EXPORT hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *status) {
  return forward(__func__, [&] {
    return cuStreamIsCapturing(native(stream), out<CUstreamCaptureStatus>(status));
  });
}

HIP_EXPORT hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void *data) {
  return forward(__func__, [&] { return cuLaunchHostFunc(native(stream), function, data); });
}

HIP_EXPORT hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags) {
  return forward(__func__, [&] { return cuEventCreate(out<CUevent>(event), flags & 7); });
}

HIP_EXPORT hipError_t hipEventDestroy(hipEvent_t event) {
  return forward(__func__, [&] { return cuEventDestroy(native(event)); });
}

HIP_EXPORT hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return forward(__func__, [&] { return cuEventRecord(native(event), native(stream)); });
}

HIP_EXPORT hipError_t hipEventQuery(hipEvent_t event) {
  return forward(__func__, [&] { return cuEventQuery(native(event)); });
}

HIP_EXPORT hipError_t hipEventSynchronize(hipEvent_t event) {
  return forward(__func__, [&] { return cuEventSynchronize(native(event)); });
}

HIP_EXPORT hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop) {
  return forward(__func__, [&] { return cuEventElapsedTime(ms, native(start), native(stop)); });
}

HIP_EXPORT hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *exec, hipGraph_t graph,
                                                   unsigned long long flags) {
  return forward(__func__, [&] {
    return cuGraphInstantiateWithFlags(out<CUgraphExec>(exec), native(graph), flags);
  });
}

HIP_EXPORT hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream) {
  return forward(__func__, [&] { return cuGraphUpload(native(exec), native(stream)); });
}

HIP_EXPORT hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) {
  return forward(__func__, [&] { return cuGraphLaunch(native(exec), native(stream)); });
}

HIP_EXPORT hipError_t hipGraphDestroy(hipGraph_t graph) {
  return forward(__func__, [&] { return cuGraphDestroy(native(graph)); });
}

HIP_EXPORT hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  return forward(__func__, [&] { return cuGraphExecDestroy(native(exec)); });
}
