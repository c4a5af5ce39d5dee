// Memory of devices, and host memory that devices reach.
#include <stdlib.h>

#include <map>
#include <mutex>
#include <set>

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

// Memory that was allocated in the order of a stream.
struct Pooled {
  std::mutex mutex;
  std::set<const void *> begins;
};

Pooled &pooled() {
  static Pooled *pooled = new Pooled;
  return *pooled;
}

void free_device(void *pointer) {
  {
    std::lock_guard<std::mutex> lock(pooled().mutex);
    pooled().begins.erase(pointer);
  }
  const int ordinal = device_of(pointer);
  if (ordinal >= 0) device(ordinal).heap.free(pointer);
}

// Where an allocation begins, on whichever device. Throws for everything else.
void require_allocation(void *pointer) {
  const int ordinal = device_of(pointer);
  require(ordinal >= 0, hipErrorInvalidValue);
  require(device(ordinal).heap.find(pointer).begin == pointer, hipErrorInvalidValue);
}

void allocate_async(void **pointer, size_t bytes, hipStream_t stream) {
  require(pointer != nullptr, hipErrorInvalidValue);
  const std::shared_ptr<Stream> of = stream_of(stream);
  require(of->capture == nullptr, hipErrorStreamCaptureUnsupported);
  *pointer = allocate(of->device, bytes);
  std::lock_guard<std::mutex> lock(pooled().mutex);
  pooled().begins.insert(*pointer);
}

// Every device has one pool, which is its heap.
hipMemPool_t pool_of(int ordinal) {
  return reinterpret_cast<hipMemPool_t>(&device(ordinal).heap);
}

int device_of_pool(hipMemPool_t pool) {
  for (int i = 0, count = 0; hipGetDeviceCount(&count) == hipSuccess && i < count; ++i) {
    if (pool_of(i) == pool) return i;
  }
  throw Failure{hipErrorInvalidValue};
}

}  // namespace

bool is_of_pool(const void *address) {
  const int ordinal = device_of(address);
  if (ordinal < 0) return false;
  const void *begin = device(ordinal).heap.find(address).begin;
  std::lock_guard<std::mutex> lock(pooled().mutex);
  return pooled().begins.count(begin) > 0;
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
    wait_for_device(device_of(pointer));
    free_device(pointer);
  });
}

HIP_EXPORT hipError_t hipMallocAsync(void **pointer, size_t bytes, hipStream_t stream) {
  return answer(__func__, [&] { allocate_async(pointer, bytes, stream); });
}

HIP_EXPORT hipError_t hipFreeAsync(void *pointer, hipStream_t stream) {
  return answer(__func__, [&] {
    require(pointer != nullptr, hipErrorInvalidValue);
    require_allocation(pointer);
    require(stream_of(stream)->capture == nullptr, hipErrorStreamCaptureUnsupported);
    const size_t bytes = device(device_of(pointer)).heap.find(pointer).bytes;
    submit(stream, [=] {
      check::writes(pointer, bytes, "hipFreeAsync");
      free_device(pointer);
    });
  });
}

HIP_EXPORT hipError_t hipHostMalloc(void **pointer, size_t bytes, unsigned) {
  return answer(__func__, [&] {
    require(pointer != nullptr, hipErrorInvalidValue);
    *pointer = nullptr;
    if (bytes == 0) return;
    require(posix_memalign(pointer, 4096, bytes) == 0, hipErrorOutOfMemory);
    std::lock_guard<std::mutex> lock(host_ranges().mutex);
    host_ranges().by_address[static_cast<const char *>(*pointer)] = {bytes, true};
  });
}

HIP_EXPORT hipError_t hipHostFree(void *pointer) {
  return answer(__func__, [&] {
    if (pointer == nullptr) return;
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
      throw Failure{hipErrorInvalidValue};
    }
  });
}

HIP_EXPORT hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t *pool, int device) {
  return answer(__func__, [&] {
    require(pool != nullptr, hipErrorInvalidValue);
    *pool = pool_of(device);
  });
}

HIP_EXPORT hipError_t hipDeviceGetMemPool(hipMemPool_t *pool, int device) {
  return answer(__func__, [&] {
    require(pool != nullptr, hipErrorInvalidValue);
    *pool = pool_of(device);
  });
}

HIP_EXPORT hipError_t hipMallocFromPoolAsync(void **pointer, size_t bytes, hipMemPool_t pool,
                                             hipStream_t stream) {
  return answer(__func__, [&] {
    require(device_of_pool(pool) == stream_of(stream)->device, hipErrorInvalidValue);
    allocate_async(pointer, bytes, stream);
  });
}

// Nothing is kept that could be given back.
HIP_EXPORT hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t) {
  return answer(__func__, [&] { device_of_pool(pool); });
}
