// Memory. An allocation of nothing is a null pointer, and a copy of nothing succeeds (HIP API
// reference, "Memory Management"); CUDA's driver refuses both.
#include "driver.h"

using namespace hipcuda;

namespace {

template <typename Allocate>
hipError_t allocate(const char *name, void **pointer, size_t bytes, Allocate make) {
  return answer(name, [&] {
    require(pointer != nullptr, hipErrorInvalidValue);
    *pointer = nullptr;
    bind();
    CUdeviceptr made = 0;
    if (bytes > 0) check(make(&made));
    *pointer = reinterpret_cast<void *>(made);
  });
}

template <typename Copy>
hipError_t copy(const char *name, size_t bytes, Copy start) {
  return answer(name, [&] {
    bind();
    if (bytes > 0) check(start());
  });
}

}  // namespace

HIP_EXPORT hipError_t hipMalloc(void **pointer, size_t bytes) {
  return allocate(__func__, pointer, bytes,
                  [&](CUdeviceptr *made) { return cuMemAlloc(made, bytes); });
}

HIP_EXPORT hipError_t hipMallocAsync(void **pointer, size_t bytes, hipStream_t stream) {
  return allocate(__func__, pointer, bytes, [&](CUdeviceptr *made) {
    return cuMemAllocAsync(made, bytes, native(stream));
  });
}

HIP_EXPORT hipError_t hipFree(void *pointer) {
  return answer(__func__, [&] {
    bind();
    if (pointer != nullptr) check(cuMemFree(native(pointer)));
  });
}

HIP_EXPORT hipError_t hipFreeAsync(void *pointer, hipStream_t stream) {
  return answer(__func__, [&] {
    bind();
    if (pointer != nullptr) check(cuMemFreeAsync(native(pointer), native(stream)));
  });
}

HIP_EXPORT hipError_t hipHostMalloc(void **pointer, size_t bytes, unsigned flags) {
  return answer(__func__, [&] {
    require(pointer != nullptr, hipErrorInvalidValue);
    *pointer = nullptr;
    bind();
    if (bytes > 0) check(cuMemHostAlloc(pointer, bytes, flags & 7));
  });
}

HIP_EXPORT hipError_t hipHostFree(void *pointer) {
  return answer(__func__, [&] {
    bind();
    if (pointer != nullptr) check(cuMemFreeHost(pointer));
  });
}

HIP_EXPORT hipError_t hipMemGetInfo(size_t *free, size_t *total) {
  return answer(__func__, [&] {
    bind();
    check(cuMemGetInfo(free, total));
  });
}

HIP_EXPORT hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t bytes) {
  return copy(__func__, bytes, [&] { return cuMemsetD8(native(to), value, bytes); });
}

HIP_EXPORT hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t bytes,
                                       hipStream_t stream) {
  return copy(__func__, bytes,
              [&] { return cuMemsetD8Async(native(to), value, bytes, native(stream)); });
}

HIP_EXPORT hipError_t hipMemsetAsync(void *to, int value, size_t bytes, hipStream_t stream) {
  return hipMemsetD8Async(to, static_cast<unsigned char>(value), bytes, stream);
}

HIP_EXPORT hipError_t hipMemcpyHtoD(hipDeviceptr_t to, const void *from, size_t bytes) {
  return copy(__func__, bytes, [&] { return cuMemcpyHtoD(native(to), from, bytes); });
}

HIP_EXPORT hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, const void *from, size_t bytes,
                                         hipStream_t stream) {
  return copy(__func__, bytes,
              [&] { return cuMemcpyHtoDAsync(native(to), from, bytes, native(stream)); });
}

HIP_EXPORT hipError_t hipMemcpyDtoH(void *to, hipDeviceptr_t from, size_t bytes) {
  return copy(__func__, bytes, [&] { return cuMemcpyDtoH(to, native(from), bytes); });
}

HIP_EXPORT hipError_t hipMemcpyDtoHAsync(void *to, hipDeviceptr_t from, size_t bytes,
                                         hipStream_t stream) {
  return copy(__func__, bytes,
              [&] { return cuMemcpyDtoHAsync(to, native(from), bytes, native(stream)); });
}

HIP_EXPORT hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes) {
  return copy(__func__, bytes, [&] { return cuMemcpyDtoD(native(to), native(from), bytes); });
}

HIP_EXPORT hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes,
                                         hipStream_t stream) {
  return copy(__func__, bytes, [&] {
    return cuMemcpyDtoDAsync(native(to), native(from), bytes, native(stream));
  });
}

// Which is whose memory, CUDA sees from the addresses.
HIP_EXPORT hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind,
                                     hipStream_t stream) {
  return copy(__func__, bytes,
              [&] { return cuMemcpyAsync(native(to), native(from), bytes, native(stream)); });
}

// Named, the two need no access to each other; found from addresses, they do where a pool has the
// memory (CUDA Driver API, cuMemcpyPeerAsync and cuMemPoolSetAccess).
HIP_EXPORT hipError_t hipMemcpyPeerAsync(void *to, int to_device, const void *from,
                                         int from_device, size_t bytes, hipStream_t stream) {
  return copy(__func__, bytes, [&] {
    return cuMemcpyPeerAsync(native(to), context_of(to_device), native(from),
                             context_of(from_device), bytes, native(stream));
  });
}
