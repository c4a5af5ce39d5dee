#include "device_work.h"

#include <atomic>

#include "../check/checker.h"
#include "../exec/pool.h"
#include "failures.h"
#include "stream.h"

namespace hipcpu {

bool do_in_stream(hipStream_t stream, std::function<void()> work, std::function<bool()> ready) {
  try {
    if (ready != nullptr) {
      ready = [ready = std::move(ready)] {
        const check::Reach reach;
        return ready();
      };
    }
    const auto in_reach = [work = std::move(work)] {
      const check::Reach reach;
      work();
    };
    submit(stream, in_reach, std::move(ready));
    return true;
  } catch (const Failure &) {
    return false;
  }
}

std::shared_ptr<Stream> stream_at(hipStream_t stream) {
  try {
    return stream_of(stream);
  } catch (const Failure &) {
    return nullptr;
  }
}

void follow(hipStream_t handle, const std::shared_ptr<Stream> &other) {
  const std::shared_ptr<Stream> stream = stream_of(handle);
  if (stream == other || stream->capture() != nullptr || other->capture() != nullptr) return;
  stream->comes_after(other->clock());
  submit_wait(handle, other, other->submitted());
}

void step_stream(Stream &stream) { stream.step(); }

void wait_for_stream(Stream &stream) { stream.wait(); }

void for_each_piece(size_t count, const std::function<void(size_t)> &piece) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) piece(i);
  };
  if (count > 1) {
    share(work);
  } else {
    work();
  }
}

void work_reads(const void *begin, size_t bytes, const char *what) {
  check::reads(begin, bytes, what);
}

void work_writes(const void *begin, size_t bytes, const char *what) {
  check::writes(begin, bytes, what);
}

void count_library_call(const char *name) { count_call(name); }

int count_failing_call(const char *name, bool named) {
  count_call(name);
  return named ? asked_failure_of_library(name) : asked_failure(name);
}

}  // namespace hipcpu
