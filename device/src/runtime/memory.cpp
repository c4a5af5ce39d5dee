// Memory of devices, and host memory that devices reach.
#include <stdlib.h>

#include <map>
#include <mutex>

#include "../check/checker.h"
#include "chaos.h"
#include "device.h"
#include "memory.h"
#include "stream.h"

namespace hipcpu {

namespace {

struct HostMemory {
  size_t bytes;
  bool allocated;  // and not only registered
};

struct HostRanges {
  std::mutex mutex;
  std::map<const char *, HostMemory> by_address;
};

HostRanges &host_ranges() {
  static HostRanges *ranges = new HostRanges;
  return *ranges;
}

void *allocate(int ordinal, size_t bytes) {
  if (bytes == 0) return nullptr;
  void *pointer = device(ordinal).heap.allocate(bytes);
  require(pointer != nullptr, hipErrorOutOfMemory);
  return pointer;
}

void free_device(void *pointer) {
  forget_block(pointer);
  const int ordinal = device_of(pointer);
  if (ordinal >= 0) device(ordinal).heap.free(pointer);
}

}  // namespace

void require_allocation(void *pointer) {
  const int ordinal = device_of(pointer);
  require(ordinal >= 0, hipErrorInvalidValue);
  require(device(ordinal).heap.find(pointer).begin == pointer, hipErrorInvalidValue);
}

bool is_locked_host_memory(const void *address) {
  const auto *at = static_cast<const char *>(address);
  HostRanges &ranges = host_ranges();
  std::lock_guard<std::mutex> lock(ranges.mutex);
  auto after = ranges.by_address.upper_bound(at);
  if (after == ranges.by_address.begin()) return false;
  const auto &[begin, memory] = *--after;
  return at < begin + memory.bytes;
}

}  // namespace hipcpu

using namespace hipcpu;

HIP_EXPORT hipError_t hipMalloc(void **pointer, size_t bytes) {
  return answer(__func__, [&] {
    require(pointer != nullptr, hipErrorInvalidValue);
    require_no_capture();
    // While a stream is captured a program has no way to make room.
    require(is_any_captured() || !refuses_memory(), hipErrorOutOfMemory);
    *pointer = allocate(current_device(), bytes);
  });
}

HIP_EXPORT hipError_t hipFree(void *pointer) {
  return answer(__func__, [&] {
    if (pointer == nullptr) return;
    require_allocation(pointer);
    require_no_capture();
    // As of HIP 7.0 it does not wait for those who use memory of the pool (its list of changes).
    if (!may(Open::unwaited_free) || !is_of_pool(pointer)) wait_for_device(device_of(pointer));
    free_device(pointer);
  });
}

HIP_EXPORT hipError_t hipHostMalloc(void **pointer, size_t bytes, unsigned) {
  return answer(__func__, [&] {
    require(pointer != nullptr, hipErrorInvalidValue);
    *pointer = nullptr;
    if (bytes == 0) return;
    require_no_capture();
    require(posix_memalign(pointer, 4096, bytes) == 0, hipErrorOutOfMemory);
    std::lock_guard<std::mutex> lock(host_ranges().mutex);
    host_ranges().by_address[static_cast<const char *>(*pointer)] = {bytes, true};
  });
}

HIP_EXPORT hipError_t hipHostFree(void *pointer) {
  return answer(__func__, [&] {
    if (pointer == nullptr) return;
    require_no_capture();
    wait_for_device(current_device());
    HostRanges &ranges = host_ranges();
    std::lock_guard<std::mutex> lock(ranges.mutex);
    const auto found = ranges.by_address.find(static_cast<const char *>(pointer));
    require(found != ranges.by_address.end() && found->second.allocated, hipErrorInvalidValue);
    ranges.by_address.erase(found);
    free(pointer);
  });
}

HIP_EXPORT hipError_t hipHostRegister(void *pointer, size_t bytes, unsigned) {
  return answer(__func__, [&] {
    require(pointer != nullptr && bytes > 0, hipErrorInvalidValue);
    require(!is_locked_host_memory(pointer), hipErrorHostMemoryAlreadyRegistered);
    std::lock_guard<std::mutex> lock(host_ranges().mutex);
    host_ranges().by_address[static_cast<const char *>(pointer)] = {bytes, false};
  });
}

HIP_EXPORT hipError_t hipHostUnregister(void *pointer) {
  return answer(__func__, [&] {
    HostRanges &ranges = host_ranges();
    std::lock_guard<std::mutex> lock(ranges.mutex);
    const auto found = ranges.by_address.find(static_cast<const char *>(pointer));
    require(found != ranges.by_address.end() && !found->second.allocated,
            hipErrorHostMemoryNotRegistered);
    ranges.by_address.erase(found);
  });
}

HIP_EXPORT hipError_t hipHostGetDevicePointer(void **device_pointer, void *pointer, unsigned) {
  return answer(__func__, [&] {
    require(device_pointer != nullptr && is_locked_host_memory(pointer), hipErrorInvalidValue);
    *device_pointer = pointer;
  });
}

HIP_EXPORT hipError_t hipMemGetInfo(size_t *free, size_t *total) {
  return answer(__func__, [&] {
    require(free != nullptr && total != nullptr, hipErrorInvalidValue);
    const Heap &heap = device(current_device()).heap;
    *total = heap.total();
    *free = heap.total() - heap.used();
  });
}

HIP_EXPORT hipError_t hipPointerGetAttributes(hipPointerAttribute_t *attributes,
                                              const void *pointer) {
  return answer(__func__, [&] {
    require(attributes != nullptr && pointer != nullptr, hipErrorInvalidValue);
    auto *address = const_cast<void *>(pointer);
    const int ordinal = device_of(pointer);
    if (ordinal >= 0) {
      *attributes = {hipMemoryTypeDevice, ordinal, address, nullptr, 0, 0};
    } else if (is_locked_host_memory(pointer)) {
      *attributes = {hipMemoryTypeHost, current_device(), address, address, 0, 0};
    } else {
      *attributes = {hipMemoryTypeUnregistered, -2, nullptr, nullptr, 0, 0};
    }
  });
}
