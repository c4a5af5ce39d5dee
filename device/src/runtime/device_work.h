// What the other libraries of the device do in streams: they work on device memory from the host.
#pragma once

#include <hip/hip_runtime_api.h>

#include <functional>
#include <memory>

namespace hipcpu {

#define HIPCPU_INTERNAL __attribute__((visibility("default")))

// Does work in the order of a stream. False for a handle that is no stream. Work that may have to wait
// says whether it can be done without.
HIPCPU_INTERNAL bool do_in_stream(hipStream_t stream, std::function<void()> work,
                                  std::function<bool()> ready = nullptr);

// A stream by its handle, for work that waits for other streams; null for a handle that is none.
class Stream;
HIPCPU_INTERNAL std::shared_ptr<Stream> stream_at(hipStream_t stream);
// Lets what is put into a stream from now on come after all that is in another.
HIPCPU_INTERNAL void follow(hipStream_t stream, const std::shared_ptr<Stream> &other);
// Does the next piece of its work, if nobody does one and it need not wait; waits for all of it.
HIPCPU_INTERNAL void step_stream(Stream &stream);
HIPCPU_INTERNAL void wait_for_stream(Stream &stream);

// For the checker: what such work reads and writes of a device's memory, before it does.
HIPCPU_INTERNAL void work_reads(const void *begin, size_t bytes, const char *what);
HIPCPU_INTERNAL void work_writes(const void *begin, size_t bytes, const char *what);

// Calls `piece` with every number below `count`, on as many host threads as are free.
HIPCPU_INTERNAL void for_each_piece(size_t count, const std::function<void(size_t)> &piece);

// Counts a call of a function of another library.
HIPCPU_INTERNAL void count_library_call(const char *name);
// The same of one whose calls may fail, as PORTKIT_DEVICE_FAIL asks: the status of its library, or 0.
// With `named` a `*` there does not mean it: its statuses are others than HIP's.
HIPCPU_INTERNAL int count_failing_call(const char *name, bool named);

}  // namespace hipcpu
