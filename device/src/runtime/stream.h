// Streams: queues of work that is done in order.
//
// Work is done when it is put in (eager), on the thread that puts it in, or when something waits
// for it (lazy). Both are orders that HIP allows. The second shows where a program relies on work
// that it does not wait for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "../check/order.h"
#include "answer.h"

namespace hipcpu {

using Work = std::function<void()>;

// Whether work that waits for others can be done without a wait. It lets them get on, where it cannot.
using Ready = std::function<bool()>;

class Stream;

// The work of a capture. A graph keeps no order but that of each stream and of the events that were
// waited for (HIP, "HIP graphs": nodes and dependencies).
struct Capture {
  struct Item {
    Work work;
    std::vector<size_t> after;  // other items, by their places
  };
  std::vector<Item> items;
  // By stream: what its next work comes after.
  std::map<const Stream *, std::vector<size_t>> before;

  void add(const Stream *stream, Work work);
  // What is recorded by an event on a stream, and what a stream that waits for that comes after.
  const std::vector<size_t> &recorded(const Stream *stream) { return before[stream]; }
  void wait(const Stream *stream, const std::vector<size_t> &items);
  // Whether all work comes before what a stream would do next.
  bool joined(const Stream *stream) const;
  // The work in an order in which what was put in last is done as soon as it may be.
  std::vector<Work> last_first() const;

  hipStream_t origin;
  hipStreamCaptureMode mode;
  std::thread::id thread;  // in which it began
  std::atomic<bool> broken{false};  // whoever does what it forbids breaks it
  std::atomic<bool> ended{false};
};

class Stream {
 public:
  Stream(int device, unsigned flags, int priority);

  const int device;
  const unsigned flags;
  const int priority;

  // Whether it waits for the default stream, and the default stream for it.
  bool blocking() const { return (flags & hipStreamNonBlocking) == 0; }

  // Puts work at the end. Returns its position.
  uint64_t submit(Work work, Ready ready = nullptr);
  // For the checker: what comes before the work that is put in from now on, and what is known to
  // be done when the work that was put in so far is.
  void comes_after(const check::Clock &clock);
  check::Clock clock() const;
  // How much work was put in so far.
  uint64_t submitted() const;
  // Whether the work up to a position is done.
  bool reached(uint64_t position) const;
  // Does the work up to a position, or waits until another thread has.
  void wait_until(uint64_t position);
  // The same for all work, and the host knows that it is done.
  void wait();
  // Does the next piece of work, if there is one that nobody does yet and that is ready: who asks
  // how far a stream has come does not wait for it (HIP, hipStreamQuery), nor does who lets it get on.
  void step();

  // While it is captured; another thread may ask.
  std::shared_ptr<Capture> capture() const { return std::atomic_load(&capture_); }
  void set_capture(std::shared_ptr<Capture> capture) {
    std::atomic_store(&capture_, std::move(capture));
  }
  // Whether its capture was broken, which leaves it unfit for all but another capture (clr,
  // hip_graph.cpp, hipStreamEndCapture_common returns before Stream::EndCapture).
  std::atomic<bool> unfit{false};

 private:
  struct Item {
    Work work;
    Ready ready;
  };
  void run_next(std::unique_lock<std::mutex> &lock, bool waits);

  const uint64_t number_;  // no other stream has
  std::shared_ptr<Capture> capture_;
  check::Clock clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  uint64_t submitted_ = 0, done_ = 0;
  bool running_ = false;
  std::thread::id runner_;
};

// The stream of a handle: also for null and the two special ones, which are of the calling
// thread's device. Throws hipErrorInvalidHandle for another that is none.
std::shared_ptr<Stream> stream_of(hipStream_t handle);

// Puts work into a stream, or into its capture. It is done after what the default stream's rules
// demand.
void submit(hipStream_t handle, Work work, Ready ready = nullptr);

// Lets what is put into a stream from now on come after work of another stream.
void submit_wait(hipStream_t handle, std::shared_ptr<Stream> source, uint64_t position);

// The same, and waits for it; not allowed while the stream is captured.
void submit_and_wait(hipStream_t handle, Work work);

// Throws hipErrorStreamCaptureUnsupported where a capture that is underway forbids the calling
// thread what it does not see, such as to allocate memory or to wait for another stream (HIP,
// hipThreadExchangeStreamCaptureMode). The capture is broken then (clr, hip_internal.hpp,
// CHECK_STREAM_CAPTURE_SUPPORTED; hip_stream.cpp, Stream::StreamCaptureOngoing).
void require_no_capture();

// The capture that a stream is in, which may be another thread's; null for none.
std::shared_ptr<Capture> capture_of(const Stream *stream);

// Lets a stream join a capture.
void join(const std::shared_ptr<Stream> &stream, std::shared_ptr<Capture> capture);

void end(const std::shared_ptr<Capture> &capture);

bool is_any_captured();

// Throws an error where a stream is captured, in whatever mode, and breaks the capture (clr,
// hip_internal.hpp, CHECK_SUPPORTED_DURING_CAPTURE and CHECK_STREAM_CAPTURING).
void require_none_captured(hipError_t error);

// The same where one is that waits for the default stream, which work is put into (CUDA driver API,
// CUDA_ERROR_STREAM_CAPTURE_IMPLICIT).
void require_no_blocking_captured(int device);

// Waits for all work of a device.
void wait_for_device(int device);

}  // namespace hipcpu
