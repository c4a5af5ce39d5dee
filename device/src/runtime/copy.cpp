// Copies and fills.
#include <string.h>

#include <vector>

#include "../check/checker.h"
#include "chaos.h"
#include "device.h"
#include "memory.h"
#include "module.h"
#include "options.h"
#include "stream.h"

namespace hipcpu {

namespace {

enum class Side { host, device };

// The bytes from `pointer` on have to be of one allocation of a device, or of the host.
void require_range(const void *pointer, size_t bytes, Side side) {
  require(pointer != nullptr, hipErrorInvalidValue);
  const int ordinal = device_of(pointer);
  if (side == Side::host) {
    require(ordinal < 0, hipErrorInvalidValue);
    return;
  }
  if (ordinal < 0) {
    // Devices reach locked memory of the host as well, and have the variables of modules.
    require(is_locked_host_memory(pointer) || is_variable(pointer, bytes), hipErrorInvalidValue);
    return;
  }
  const Heap::Allocation allocation = device(ordinal).heap.find(pointer);
  const auto *at = static_cast<const char *>(pointer);
  require(allocation.begin != nullptr && at + bytes <= allocation.begin + allocation.bytes,
          hipErrorInvalidValue);
}

struct Direction {
  Side to, from;
};

Side side_of(const void *pointer) { return device_of(pointer) >= 0 ? Side::device : Side::host; }

Direction direction_of(hipMemcpyKind kind, const void *to, const void *from) {
  switch (kind) {
    case hipMemcpyHostToHost: return {Side::host, Side::host};
    case hipMemcpyHostToDevice: return {Side::device, Side::host};
    case hipMemcpyDeviceToHost: return {Side::host, Side::device};
    case hipMemcpyDeviceToDevice:
    case hipMemcpyDeviceToDeviceNoCU: return {Side::device, Side::device};
    case hipMemcpyDefault: return {side_of(to), side_of(from)};
  }
  throw Failure{hipErrorInvalidMemcpyDirection};
}

enum class Wait { no, yes };

void move(void *to, const void *from, size_t bytes, Direction direction) {
  const check::Reach reach;
  if (direction.to == Side::host) {
    check::reads(from, bytes, "a copy");
  } else if (direction.from == Side::host) {
    check::writes(to, bytes, "a copy");
  } else {
    check::copies(to, from, bytes, "a copy");
  }
  memmove(to, from, bytes);
}

// No capture bears a copy or a fill that names no stream and waits.
void require_allowed(hipStream_t stream, Wait wait) {
  if (stream == nullptr && wait == Wait::yes) require_none_captured(hipErrorStreamCaptureImplicit);
}

// Host memory that is not page-locked is read before an asynchronous copy returns, and has been
// written when it returns (HIP, "Memory management", "Pageable memory").
void copy(void *to, const void *from, size_t bytes, Direction direction, hipStream_t stream,
          Wait wait) {
  if (bytes == 0) return;
  require_allowed(stream, wait);
  require_range(to, bytes, direction.to);
  require_range(from, bytes, direction.from);
  if (direction.to == Side::device && direction.from == Side::device &&
      device_of(to) != device_of(from)) {
    require(!is_of_pool(to) && !is_of_pool(from), hipErrorInvalidValue);
  }
  const bool captured = stream_of(stream)->capture() != nullptr;
  const bool reads_pageable = direction.from == Side::host && !is_locked_host_memory(from);
  const bool writes_pageable = direction.to == Side::host && !is_locked_host_memory(to);
  if (wait == Wait::yes || (writes_pageable && !captured)) {
    submit_and_wait(stream, [=] { move(to, from, bytes, direction); });
  } else if (reads_pageable && !captured && options().lazy && !may(Open::late_reads)) {
    const auto *begin = static_cast<const char *>(from);
    submit(stream, [=, content = std::vector<char>(begin, begin + bytes)] {
      move(to, content.data(), bytes, direction);
    });
  } else {
    submit(stream, [=] { move(to, from, bytes, direction); });
  }
}

template <typename T>
void fill(void *pointer, T value, size_t count, hipStream_t stream, Wait wait) {
  if (count == 0) return;
  require_allowed(stream, wait);
  require_range(pointer, count * sizeof(T), Side::device);
  require(reinterpret_cast<uintptr_t>(pointer) % sizeof(T) == 0, hipErrorInvalidValue);
  const Work work = [=] {
    const check::Reach reach;
    check::writes(pointer, count * sizeof(T), "a fill");
    auto *values = static_cast<T *>(pointer);
    for (size_t i = 0; i < count; ++i) values[i] = value;
  };
  if (wait == Wait::yes) {
    submit_and_wait(stream, work);
  } else {
    submit(stream, work);
  }
}

constexpr Direction to_device{Side::device, Side::host};
constexpr Direction to_host{Side::host, Side::device};
constexpr Direction on_device{Side::device, Side::device};

}  // namespace

}  // namespace hipcpu

using namespace hipcpu;

HIP_EXPORT hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind) {
  return answer(__func__, [&] {
    copy(to, from, bytes, direction_of(kind, to, from), nullptr, Wait::yes);
  });
}

HIP_EXPORT hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind,
                                     hipStream_t stream) {
  return answer(__func__, [&] {
    copy(to, from, bytes, direction_of(kind, to, from), stream, Wait::no);
  });
}

HIP_EXPORT hipError_t hipMemcpyWithStream(void *to, const void *from, size_t bytes,
                                          hipMemcpyKind kind, hipStream_t stream) {
  return answer(__func__, [&] {
    copy(to, from, bytes, direction_of(kind, to, from), stream, Wait::yes);
  });
}

HIP_EXPORT hipError_t hipMemcpyHtoD(hipDeviceptr_t to, const void *from, size_t bytes) {
  return answer(__func__, [&] { copy(to, from, bytes, to_device, nullptr, Wait::yes); });
}

HIP_EXPORT hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, const void *from, size_t bytes,
                                         hipStream_t stream) {
  return answer(__func__, [&] { copy(to, from, bytes, to_device, stream, Wait::no); });
}

HIP_EXPORT hipError_t hipMemcpyDtoH(void *to, hipDeviceptr_t from, size_t bytes) {
  return answer(__func__, [&] { copy(to, from, bytes, to_host, nullptr, Wait::yes); });
}

HIP_EXPORT hipError_t hipMemcpyDtoHAsync(void *to, hipDeviceptr_t from, size_t bytes,
                                         hipStream_t stream) {
  return answer(__func__, [&] { copy(to, from, bytes, to_host, stream, Wait::no); });
}

HIP_EXPORT hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes) {
  return answer(__func__, [&] { copy(to, from, bytes, on_device, nullptr, Wait::yes); });
}

HIP_EXPORT hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes,
                                         hipStream_t stream) {
  return answer(__func__, [&] { copy(to, from, bytes, on_device, stream, Wait::no); });
}

HIP_EXPORT hipError_t hipMemcpyPeer(void *to, int to_device, const void *from, int from_device,
                                    size_t bytes) {
  return answer(__func__, [&] {
    require(device_of(to) == to_device && device_of(from) == from_device, hipErrorInvalidValue);
    copy(to, from, bytes, on_device, nullptr, Wait::yes);
  });
}

HIP_EXPORT hipError_t hipMemcpyPeerAsync(void *to, int to_device, const void *from,
                                         int from_device, size_t bytes, hipStream_t stream) {
  return answer(__func__, [&] {
    require(device_of(to) == to_device && device_of(from) == from_device, hipErrorInvalidValue);
    copy(to, from, bytes, on_device, stream, Wait::no);
  });
}

HIP_EXPORT hipError_t hipMemset(void *pointer, int value, size_t bytes) {
  return answer(__func__, [&] {
    fill(pointer, static_cast<unsigned char>(value), bytes, nullptr, Wait::yes);
  });
}

HIP_EXPORT hipError_t hipMemsetAsync(void *pointer, int value, size_t bytes, hipStream_t stream) {
  return answer(__func__, [&] {
    fill(pointer, static_cast<unsigned char>(value), bytes, stream, Wait::no);
  });
}

HIP_EXPORT hipError_t hipMemsetD8(hipDeviceptr_t pointer, unsigned char value, size_t count) {
  return answer(__func__, [&] { fill(pointer, value, count, nullptr, Wait::yes); });
}

HIP_EXPORT hipError_t hipMemsetD8Async(hipDeviceptr_t pointer, unsigned char value, size_t count,
                                       hipStream_t stream) {
  return answer(__func__, [&] { fill(pointer, value, count, stream, Wait::no); });
}

HIP_EXPORT hipError_t hipMemsetD16(hipDeviceptr_t pointer, unsigned short value, size_t count) {
  return answer(__func__, [&] { fill(pointer, value, count, nullptr, Wait::yes); });
}

HIP_EXPORT hipError_t hipMemsetD16Async(hipDeviceptr_t pointer, unsigned short value, size_t count,
                                        hipStream_t stream) {
  return answer(__func__, [&] { fill(pointer, value, count, stream, Wait::no); });
}

HIP_EXPORT hipError_t hipMemsetD32(hipDeviceptr_t pointer, int value, size_t count) {
  return answer(__func__, [&] { fill(pointer, value, count, nullptr, Wait::yes); });
}

HIP_EXPORT hipError_t hipMemsetD32Async(hipDeviceptr_t pointer, int value, size_t count,
                                        hipStream_t stream) {
  return answer(__func__, [&] { fill(pointer, value, count, stream, Wait::no); });
}
