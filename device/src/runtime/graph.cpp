// Captures of streams, and graphs that repeat them.
#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "stream.h"

struct ihipGraph {
  std::vector<hipcpu::Work> work;
};

struct hipGraphExec {
  std::shared_ptr<const std::vector<hipcpu::Work>> work;
};

namespace hipcpu {

namespace {

struct Captures {
  std::mutex mutex;
  std::set<std::shared_ptr<Capture>> underway;
  std::vector<std::pair<std::shared_ptr<Stream>, std::shared_ptr<Capture>>> of;  // each stream
};

Captures &captures() {
  static Captures *captures = new Captures;
  return *captures;
}

hipStreamCaptureMode &mode_of_thread() {
  static thread_local hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  return mode;
}

}  // namespace

bool is_any_captured() {
  std::lock_guard<std::mutex> lock(captures().mutex);
  return !captures().underway.empty();
}

void require_none_captured(hipError_t error) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  for (const auto &capture : captures().underway) capture->broken = true;
  require(captures().underway.empty(), error);
}

void require_no_blocking_captured(int device) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  bool forbidden = false;
  for (const auto &[stream, capture] : captures().of) {
    if (stream->device == device && stream->blocking()) capture->broken = forbidden = true;
  }
  require(!forbidden, hipErrorStreamCaptureImplicit);
}

void require_no_capture() {
  const hipStreamCaptureMode mode = mode_of_thread();
  if (mode == hipStreamCaptureModeRelaxed) return;
  std::lock_guard<std::mutex> lock(captures().mutex);
  bool forbidden = false;
  for (const auto &capture : captures().underway) {
    const bool own = capture->thread == std::this_thread::get_id();
    if (capture->mode == hipStreamCaptureModeRelaxed ||
        (!own && (capture->mode == hipStreamCaptureModeThreadLocal ||
                  mode == hipStreamCaptureModeThreadLocal))) {
      continue;
    }
    capture->broken = forbidden = true;
  }
  require(!forbidden, hipErrorStreamCaptureUnsupported);
}

std::shared_ptr<Capture> capture_of(const Stream *stream) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  for (const auto &[member, capture] : captures().of) {
    if (member.get() == stream) return capture;
  }
  return nullptr;
}

void end(const std::shared_ptr<Capture> &capture) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  captures().underway.erase(capture);
  auto &of = captures().of;
  const auto ended = [&](const auto &member) { return member.second == capture; };
  of.erase(std::remove_if(of.begin(), of.end(), ended), of.end());
  capture->ended = true;
}

void join(const std::shared_ptr<Stream> &stream, std::shared_ptr<Capture> capture) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  captures().of.emplace_back(stream, capture);
  stream->set_capture(std::move(capture));
}

}  // namespace hipcpu

using namespace hipcpu;

HIP_EXPORT hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode) {
  return answer(__func__, [&] {
    require(mode != nullptr && *mode >= hipStreamCaptureModeGlobal &&
                *mode <= hipStreamCaptureModeRelaxed,
            hipErrorInvalidValue);
    std::swap(*mode, mode_of_thread());
  });
}

HIP_EXPORT hipError_t hipStreamBeginCapture(hipStream_t handle, hipStreamCaptureMode mode) {
  return answer(__func__, [&] {
    require(handle != nullptr && handle != hipStreamLegacy, hipErrorStreamCaptureUnsupported);
    const std::shared_ptr<Stream> stream = stream_of(handle);
    require(stream->capture() == nullptr, hipErrorIllegalState);
    const auto capture = std::make_shared<Capture>();
    capture->origin = handle;
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    stream->unfit = false;
    join(stream, capture);
    std::lock_guard<std::mutex> lock(captures().mutex);
    captures().underway.insert(capture);
  });
}

HIP_EXPORT hipError_t hipStreamEndCapture(hipStream_t handle, hipGraph_t *graph) {
  return answer(__func__, [&] {
    require(graph != nullptr, hipErrorInvalidValue);
    *graph = nullptr;
    const std::shared_ptr<Stream> stream = stream_of(handle);
    const std::shared_ptr<Capture> capture = stream->capture();
    require(capture != nullptr, hipErrorIllegalState);
    require(capture->origin == handle, hipErrorStreamCaptureUnmatched);
    require(capture->mode == hipStreamCaptureModeRelaxed ||
                capture->thread == std::this_thread::get_id(),
            hipErrorStreamCaptureWrongThread);
    // The capture goes on, so that the other stream can still come back.
    require(capture->broken || capture->joined(stream.get()), hipErrorStreamCaptureUnjoined);
    end(capture);
    stream->set_capture(nullptr);
    stream->unfit = capture->broken.load();
    require(!capture->broken, hipErrorStreamCaptureInvalidated);
    *graph = new ihipGraph{capture->last_first()};
  });
}

HIP_EXPORT hipError_t hipStreamIsCapturing(hipStream_t handle, hipStreamCaptureStatus *status) {
  return answer(__func__, [&] {
    require(status != nullptr, hipErrorInvalidValue);
    const std::shared_ptr<Capture> capture = stream_of(handle)->capture();
    *status = capture == nullptr ? hipStreamCaptureStatusNone
              : capture->broken  ? hipStreamCaptureStatusInvalidated
                                 : hipStreamCaptureStatusActive;
  });
}

HIP_EXPORT hipError_t hipGraphDestroy(hipGraph_t graph) {
  return answer(__func__, [&] {
    require(graph != nullptr, hipErrorInvalidValue);
    delete graph;
  });
}

HIP_EXPORT hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *exec, hipGraph_t graph,
                                                   unsigned long long) {
  return answer(__func__, [&] {
    require(exec != nullptr && graph != nullptr, hipErrorInvalidValue);
    *exec = new hipGraphExec{std::make_shared<const std::vector<Work>>(graph->work)};
  });
}

HIP_EXPORT hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream) {
  return answer(__func__, [&] {
    require(exec != nullptr, hipErrorInvalidValue);
    stream_of(stream);
  });
}

HIP_EXPORT hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) {
  return answer(__func__, [&] {
    require(exec != nullptr, hipErrorInvalidValue);
    submit(stream, [all = exec->work] {
      for (const Work &work : *all) work();
    });
  });
}

HIP_EXPORT hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  return answer(__func__, [&] {
    require(exec != nullptr, hipErrorInvalidValue);
    delete exec;
  });
}
