// Events: moments in streams.
#include <chrono>
#include <map>
#include <memory>
#include <vector>

#include "device.h"
#include "stream.h"

namespace hipcpu {

namespace {

using Clock = std::chrono::steady_clock;

struct Event {
  int device;
  unsigned flags;
  // Of the latest record; the stream is null before the first.
  std::shared_ptr<Stream> stream;
  uint64_t position = 0;
  std::shared_ptr<Clock::time_point> time;
  std::shared_ptr<Capture> capture;  // the record is part of it
  std::vector<size_t> captured;      // what it comes after there
  check::Clock clock;                // what is done when it is reached

  bool reached() const { return stream == nullptr || stream->reached(position); }

  // The capture that its stream is in now, whether the record is part of it or was before.
  std::shared_ptr<Capture> underway() const {
    if (capture != nullptr) return capture;
    return stream == nullptr ? nullptr : capture_of(stream.get());
  }
  // For the host, which is told nothing of a stream that is captured, and breaks the capture by
  // asking, nor may ask in a capture of another (clr, hip_event.cpp, hipEventSynchronize, and
  // ihipEventQuery after ROCm 6.2).
  void require_told() const {
    if (const auto broken = underway()) {
      broken->broken = true;
      throw Failure{hipErrorCapturedEvent};
    }
    require_no_capture();
  }
};

struct Events {
  std::mutex mutex;
  std::map<hipEvent_t, std::shared_ptr<Event>> by_handle;
};

Events &events() {
  static Events *events = new Events;
  return *events;
}

std::shared_ptr<Event> event_of(hipEvent_t handle) {
  std::lock_guard<std::mutex> lock(events().mutex);
  const auto found = events().by_handle.find(handle);
  require(found != events().by_handle.end(), hipErrorInvalidHandle);
  return found->second;
}

void create(hipEvent_t *handle, unsigned flags) {
  require(handle != nullptr && flags < 32, hipErrorInvalidValue);
  auto event = std::make_shared<Event>();
  event->device = current_device();
  event->flags = flags;
  *handle = reinterpret_cast<hipEvent_t>(event.get());
  std::lock_guard<std::mutex> lock(events().mutex);
  events().by_handle[*handle] = std::move(event);
}

}  // namespace

}  // namespace hipcpu

using namespace hipcpu;

HIP_EXPORT hipError_t hipEventCreate(hipEvent_t *event) {
  return answer(__func__, [&] { create(event, hipEventDefault); });
}

HIP_EXPORT hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags) {
  return answer(__func__, [&] { create(event, flags); });
}

HIP_EXPORT hipError_t hipEventDestroy(hipEvent_t handle) {
  return answer(__func__, [&] {
    event_of(handle);
    std::lock_guard<std::mutex> lock(events().mutex);
    events().by_handle.erase(handle);
  });
}

HIP_EXPORT hipError_t hipEventRecord(hipEvent_t handle, hipStream_t stream_handle) {
  return answer(__func__, [&] {
    const std::shared_ptr<Event> event = event_of(handle);
    const std::shared_ptr<Stream> stream = stream_of(stream_handle);
    require(event->device == stream->device, hipErrorInvalidHandle);
    event->capture = stream->capture();
    if (event->capture != nullptr) {
      event->captured = event->capture->recorded(stream.get());
      return;
    }
    auto time = std::make_shared<Clock::time_point>();
    submit(stream_handle, [time] { *time = Clock::now(); });
    event->stream = stream;
    event->position = stream->submitted();
    event->clock = stream->clock();
    event->time = std::move(time);
  });
}

HIP_EXPORT hipError_t hipStreamWaitEvent(hipStream_t stream_handle, hipEvent_t handle, unsigned) {
  return answer(__func__, [&] {
    const std::shared_ptr<Event> event = event_of(handle);
    const std::shared_ptr<Stream> stream = stream_of(stream_handle);
    // Once the capture is over, such a record counts no more (clr, hip_stream.cpp,
    // hipStreamWaitEvent_common).
    if (event->capture != nullptr && !event->capture->ended) {
      join(stream, event->capture);
      stream->capture()->wait(stream.get(), event->captured);
      return;
    }
    // Only the order of a stream's own work crosses the border of a capture; nor does anybody wait
    // for what a stream that is captured now was given before.
    require(stream->capture() == nullptr || event->stream == nullptr, hipErrorStreamCaptureIsolation);
    require(event->capture != nullptr || event->underway() == nullptr,
            hipErrorStreamCaptureIsolation);
    stream->comes_after(event->clock);
    if (event->stream != nullptr) submit_wait(stream_handle, event->stream, event->position);
  });
}

HIP_EXPORT hipError_t hipEventQuery(hipEvent_t handle) {
  return answer(__func__, [&] {
    const std::shared_ptr<Event> event = event_of(handle);
    event->require_told();
    if (event->reached()) {
      check::host_waited(event->clock);
      return;
    }
    event->stream->step();
    throw Failure{hipErrorNotReady};
  });
}

HIP_EXPORT hipError_t hipEventSynchronize(hipEvent_t handle) {
  return answer(__func__, [&] {
    const std::shared_ptr<Event> event = event_of(handle);
    event->require_told();
    if (event->stream != nullptr) event->stream->wait_until(event->position);
    check::host_waited(event->clock);
  });
}

HIP_EXPORT hipError_t hipEventElapsedTime(float *ms, hipEvent_t start_handle,
                                          hipEvent_t stop_handle) {
  return answer(__func__, [&] {
    require(ms != nullptr, hipErrorInvalidValue);
    const std::shared_ptr<Event> start = event_of(start_handle), stop = event_of(stop_handle);
    for (const auto &event : {start, stop}) {
      require(event->stream != nullptr && (event->flags & hipEventDisableTiming) == 0,
              hipErrorInvalidHandle);
      require(event->device == start->device, hipErrorInvalidHandle);
      require(event->reached(), hipErrorNotReady);
    }
    *ms = std::chrono::duration<float, std::milli>(*stop->time - *start->time).count();
  });
}
