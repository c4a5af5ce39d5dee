#include "stream.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "../check/checker.h"
#include "chaos.h"
#include "device.h"
#include "memory.h"
#include "options.h"

namespace hipcpu {

namespace {

std::atomic<uint64_t> streams_made{0};

}  // namespace

Stream::Stream(int device, unsigned flags, int priority)
    : device(device), flags(flags), priority(priority), number_(++streams_made) {}

namespace {

// The same, as the work of a ticket.
template <typename Body>
auto under(const check::Ticket &ticket, Body body) {
  return [ticket, body = std::move(body)] {
    const check::Doing doing(ticket);
    return body();
  };
}

}  // namespace

uint64_t Stream::submit(Work work, Ready ready) {
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t position = ++submitted_;
  if (check::enabled()) {
    const check::Ticket ticket = check::issue(number_, position, clock_);
    clock_ = *ticket.before;
    clock_[number_] = position;
    work = under(ticket, std::move(work));
    if (ready != nullptr) ready = under(ticket, std::move(ready));
  }
  queue_.push_back({std::move(work), std::move(ready)});
  lock.unlock();
  if (!options().lazy) wait_until(position);
  return position;
}

uint64_t Stream::submitted() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return submitted_;
}

bool Stream::reached(uint64_t position) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return done_ >= position;
}

void Stream::wait_until(uint64_t position) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (done_ < position) {
    if (!running_) {
      run_next(lock, true);
    } else if (runner_ == std::this_thread::get_id()) {
      return;  // a host function waits for its own stream: HIP calls that undefined
    } else {
      changed_.wait(lock);
    }
  }
}

void Stream::wait() {
  const check::Clock known = check::enabled() ? clock() : check::Clock();
  wait_until(submitted());
  check::host_waited(known);
  lose_pages();
}

void Stream::comes_after(const check::Clock &clock) {
  std::lock_guard<std::mutex> lock(mutex_);
  check::merge(clock_, clock);
}

check::Clock Stream::clock() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return clock_;
}

void Stream::step() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!running_ && !queue_.empty()) run_next(lock, false);
}

void Stream::run_next(std::unique_lock<std::mutex> &lock, bool waits) {
  Item item = std::move(queue_.front());
  queue_.pop_front();
  running_ = true;
  runner_ = std::this_thread::get_id();
  lock.unlock();
  const bool now = waits || item.ready == nullptr || item.ready();
  if (now) item.work();
  lock.lock();
  running_ = false;
  if (now) {
    ++done_;
  } else {
    queue_.push_front(std::move(item));
  }
  changed_.notify_all();
}

namespace {

struct Streams {
  std::mutex mutex;
  std::map<hipStream_t, std::shared_ptr<Stream>> by_handle;  // the default ones excepted
  std::vector<std::shared_ptr<Stream>> destroyed;            // with work that is not done
};

Streams &streams() {
  static Streams *streams = new Streams;
  return *streams;
}

std::shared_ptr<Stream> default_stream(int device) {
  static std::mutex mutex;
  static auto *made = new std::map<int, std::shared_ptr<Stream>>;
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<Stream> &stream = (*made)[device];
  if (stream == nullptr) stream = std::make_shared<Stream>(device, hipStreamDefault, 0);
  return stream;
}

std::shared_ptr<Stream> thread_stream(int device) {
  static thread_local std::map<int, std::shared_ptr<Stream>> made;
  std::shared_ptr<Stream> &stream = made[device];
  if (stream == nullptr) {
    stream = std::make_shared<Stream>(device, hipStreamDefault, 0);
    // The default stream and hipDeviceSynchronize have to find it.
    std::lock_guard<std::mutex> lock(streams().mutex);
    streams().by_handle[reinterpret_cast<hipStream_t>(stream.get())] = stream;
  }
  return stream;
}

std::vector<std::shared_ptr<Stream>> streams_of(int device) {
  std::vector<std::shared_ptr<Stream>> found;
  std::lock_guard<std::mutex> lock(streams().mutex);
  for (const auto &[handle, stream] : streams().by_handle) {
    if (stream->device == device) found.push_back(stream);
  }
  for (const auto &stream : streams().destroyed) {
    if (stream->device == device) found.push_back(stream);
  }
  return found;
}

using Moment = std::pair<std::shared_ptr<Stream>, uint64_t>;

// What the rules of the default stream make new work of a stream wait for: the default stream for
// every blocking stream, each of those for the default stream.
std::vector<Moment> implicit_dependencies(const std::shared_ptr<Stream> &stream) {
  std::vector<Moment> found;
  const std::shared_ptr<Stream> standard = default_stream(stream->device);
  if (stream == standard) {
    for (const auto &other : streams_of(stream->device)) {
      if (other->blocking()) found.emplace_back(other, other->submitted());
    }
  } else if (stream->blocking()) {
    found.emplace_back(standard, standard->submitted());
  }
  return found;
}

// Any stream may get on at any time.
void let_any_get_on(int device) {
  if (!may(Open::streams)) return;
  std::vector<std::shared_ptr<Stream>> all = streams_of(device);
  all.push_back(default_stream(device));
  while (any_below(3) == 0) all[any_below(all.size())]->step();
}

// Whether the work up to a position is done, or is after one more piece.
bool let_reach(Stream &stream, uint64_t position) {
  if (!stream.reached(position)) stream.step();
  return stream.reached(position);
}

// Puts work into a stream that is not captured.
uint64_t enqueue(const std::shared_ptr<Stream> &stream, Work work, Ready ready = nullptr) {
  if (stream == default_stream(stream->device)) require_no_blocking_captured(stream->device);
  let_any_get_on(stream->device);
  std::vector<Moment> before = implicit_dependencies(stream);
  bool all_reached = true;
  for (const auto &[other, position] : before) {
    all_reached &= other->reached(position);
    if (check::enabled()) stream->comes_after(other->clock());
  }
  if (!all_reached) {
    work = [before, work = std::move(work)] {
      for (const auto &[other, position] : before) other->wait_until(position);
      work();
    };
    ready = [before = std::move(before), ready = std::move(ready)] {
      for (const auto &[other, position] : before) {
        if (!let_reach(*other, position)) return false;
      }
      return ready == nullptr || ready();
    };
  }
  const uint64_t position = stream->submit(std::move(work), std::move(ready));
  // Also before the call returns.
  let_any_get_on(stream->device);
  return position;
}

// A stream that had joined a capture leaves it when that ends.
std::shared_ptr<Stream> after_capture(std::shared_ptr<Stream> stream) {
  const std::shared_ptr<Capture> capture = stream->capture();
  if (capture != nullptr && capture->ended) stream->set_capture(nullptr);
  return stream;
}

// For the host, which is told nothing of a stream that is captured, and breaks the capture by
// asking, nor may ask in a capture of another (clr, hip_stream.cpp, hipStreamSynchronize_common and
// hipStreamQuery_common).
void require_told(const Stream &stream) {
  require(!stream.unfit, hipErrorStreamCaptureUnsupported);
  if (stream.capture() != nullptr) {
    stream.capture()->broken = true;
    throw Failure{hipErrorStreamCaptureUnsupported};
  }
  require_no_capture();
}

hipStream_t create(unsigned flags, int priority) {
  require((flags & ~unsigned{hipStreamNonBlocking}) == 0, hipErrorInvalidValue);
  auto stream = std::make_shared<Stream>(current_device(), flags, priority);
  const auto handle = reinterpret_cast<hipStream_t>(stream.get());
  std::lock_guard<std::mutex> lock(streams().mutex);
  streams().by_handle[handle] = std::move(stream);
  return handle;
}

}  // namespace

void Capture::add(const Stream *stream, Work work) {
  items.push_back({std::move(work), before[stream]});
  before[stream] = {items.size() - 1};
}

void Capture::wait(const Stream *stream, const std::vector<size_t> &others) {
  std::vector<size_t> &own = before[stream];
  own.insert(own.end(), others.begin(), others.end());
}

bool Capture::joined(const Stream *stream) const {
  std::vector<bool> there(items.size());
  const std::function<void(size_t)> reach = [&](size_t place) {
    if (there[place]) return;
    there[place] = true;
    for (const size_t other : items[place].after) reach(other);
  };
  const auto last = before.find(stream);
  if (last != before.end()) std::for_each(last->second.begin(), last->second.end(), reach);
  return std::find(there.begin(), there.end(), false) == there.end();
}

std::vector<Work> Capture::last_first() const {
  std::vector<Work> order;
  std::vector<bool> there(items.size());
  const std::function<void(size_t)> put = [&](size_t place) {
    if (there[place]) return;
    there[place] = true;
    for (const size_t other : items[place].after) put(other);
    order.push_back(items[place].work);
  };
  for (size_t place = items.size(); place-- > 0;) put(place);
  return order;
}

std::shared_ptr<Stream> stream_of(hipStream_t handle) {
  if (handle == nullptr || handle == hipStreamLegacy) return default_stream(current_device());
  if (handle == hipStreamPerThread) return after_capture(thread_stream(current_device()));
  std::lock_guard<std::mutex> lock(streams().mutex);
  const auto found = streams().by_handle.find(handle);
  require(found != streams().by_handle.end(), hipErrorContextIsDestroyed);
  return after_capture(found->second);
}

void submit(hipStream_t handle, Work work, Ready ready) {
  const std::shared_ptr<Stream> stream = stream_of(handle);
  require(!stream->unfit, hipErrorStreamCaptureInvalidated);
  if (stream->capture() != nullptr) {
    stream->capture()->add(stream.get(), std::move(work));
  } else {
    enqueue(stream, std::move(work), std::move(ready));
  }
}

void submit_wait(hipStream_t handle, std::shared_ptr<Stream> source, uint64_t position) {
  if (source->reached(position)) return;
  submit(
      handle, [source, position] { source->wait_until(position); },
      [source, position] { return let_reach(*source, position); });
}

void submit_and_wait(hipStream_t handle, Work work) {
  const std::shared_ptr<Stream> stream = stream_of(handle);
  if (stream->capture() != nullptr) {
    stream->capture()->broken = true;
    throw Failure{hipErrorStreamCaptureImplicit};
  }
  enqueue(stream, std::move(work));
  stream->wait();
}

void wait_for_device(int device) {
  default_stream(device)->wait();
  for (const auto &stream : streams_of(device)) stream->wait();
}

}  // namespace hipcpu

using namespace hipcpu;

HIP_EXPORT hipError_t hipStreamCreate(hipStream_t *stream) {
  return answer(__func__, [&] {
    require(stream != nullptr, hipErrorInvalidValue);
    *stream = create(hipStreamDefault, 0);
  });
}

HIP_EXPORT hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags) {
  return answer(__func__, [&] {
    require(stream != nullptr, hipErrorInvalidValue);
    *stream = create(flags, 0);
  });
}

HIP_EXPORT hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags,
                                                  int priority) {
  return answer(__func__, [&] {
    require(stream != nullptr, hipErrorInvalidValue);
    *stream = create(flags, std::min(std::max(priority, greatest_priority), least_priority));
  });
}

HIP_EXPORT hipError_t hipStreamDestroy(hipStream_t handle) {
  return answer(__func__, [&] {
    require(handle != nullptr && handle != hipStreamLegacy && handle != hipStreamPerThread,
            hipErrorInvalidHandle);
    const std::shared_ptr<Stream> stream = stream_of(handle);
    const std::shared_ptr<Capture> capture = stream->capture();
    if (capture != nullptr && capture->origin == handle) end(capture);
    // HIP may wait for the work of the stream, or not (hipStreamDestroy).
    if (!options().lazy) stream->wait();
    std::lock_guard<std::mutex> lock(streams().mutex);
    streams().by_handle.erase(handle);
    std::vector<std::shared_ptr<Stream>> &left = streams().destroyed;
    const auto done = [](const auto &each) { return each->reached(each->submitted()); };
    left.erase(std::remove_if(left.begin(), left.end(), done), left.end());
    if (!done(stream)) left.push_back(stream);
  });
}

HIP_EXPORT hipError_t hipStreamQuery(hipStream_t handle) {
  return answer(__func__, [&] {
    const std::shared_ptr<Stream> stream = stream_of(handle);
    require_told(*stream);
    if (stream->reached(stream->submitted())) {
      stream->wait();
      return;
    }
    stream->step();  // so that a program that asks again and again comes to an end
    throw Failure{hipErrorNotReady};
  });
}

HIP_EXPORT hipError_t hipStreamSynchronize(hipStream_t handle) {
  return answer(__func__, [&] {
    const std::shared_ptr<Stream> stream = stream_of(handle);
    require_told(*stream);
    if (stream == default_stream(stream->device)) {
      for (const auto &[other, position] : implicit_dependencies(stream)) other->wait();
    }
    stream->wait();
  });
}

HIP_EXPORT hipError_t hipStreamGetFlags(hipStream_t handle, unsigned *flags) {
  return answer(__func__, [&] {
    require(flags != nullptr, hipErrorInvalidValue);
    *flags = stream_of(handle)->flags;
  });
}

HIP_EXPORT hipError_t hipStreamGetPriority(hipStream_t handle, int *priority) {
  return answer(__func__, [&] {
    require(priority != nullptr, hipErrorInvalidValue);
    *priority = stream_of(handle)->priority;
  });
}

HIP_EXPORT hipError_t hipStreamGetDevice(hipStream_t handle, hipDevice_t *device) {
  return answer(__func__, [&] {
    require(device != nullptr, hipErrorInvalidValue);
    *device = stream_of(handle)->device;
  });
}

HIP_EXPORT hipError_t hipLaunchHostFunc(hipStream_t handle, hipHostFn_t function, void *data) {
  return answer(__func__, [&] {
    require(function != nullptr, hipErrorInvalidValue);
    submit(handle, [=] { function(data); });
  });
}

HIP_EXPORT hipError_t hipStreamAddCallback(hipStream_t handle, hipStreamCallback_t function,
                                           void *data, unsigned flags) {
  return answer(__func__, [&] {
    require(function != nullptr && flags == 0, hipErrorInvalidValue);
    submit(handle, [=] { function(handle, hipSuccess, data); });
  });
}
