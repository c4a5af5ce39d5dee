// HIP's words of the language, for a C++ compiler.
//
// Those with two underscores at the end are of the wrapper, which takes them away before the
// compiler sees them (portkit/device/rewrite.py).
#pragma once

#include <hip/hip_runtime_api.h>
#include <hip/hip_vector_types.h>

#include <type_traits>

#include "abi.h"

#define __host__
#define __device__ __hipcpu_device__
#define __constant__ __hipcpu_device__
#define __managed__ __hipcpu_device__
#define __global__ __hipcpu_kernel__
#define __shared__ __hipcpu_shared__
#define __launch_bounds__(...) __hipcpu_bounds__(__VA_ARGS__)

#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(BYTES) __attribute__((aligned(BYTES)))

#define threadIdx (*reinterpret_cast<const uint3 *>(&hipcpu_thread.thread))
#define blockIdx (*reinterpret_cast<const uint3 *>(&hipcpu_thread.block))
#define blockDim (*reinterpret_cast<const uint3 *>(&hipcpu_thread.block_size))
#define gridDim (*reinterpret_cast<const uint3 *>(&hipcpu_thread.grid_size))

// hipcc's for the pass for the host is 64 whatever the device.
#if defined(HIPCPU_DEVICE_PASS)
static constexpr int warpSize = HIPCPU_WAVEFRONT;
#else
static constexpr int warpSize = 64;
#endif

namespace hipcpu {

// A type trait that clang has built in, and g++ up to 14 has not. Under a name without std, which
// sources for hipRTC may make a macro of (`hipx_rtc.h`).
#if !__has_builtin(__is_integral)
template <typename T>
inline constexpr bool is_integral = std::is_integral<T>::value;
#define __is_integral(...) (::hipcpu::is_integral<__VA_ARGS__>)
#endif

// What the wrapper makes of a __shared__ variable: a reference of the variable's type is
// initialized with one of these.
struct Shared : SharedSlot {
  template <typename T>
  operator T &() {
    const Thread &thread = hipcpu_thread;
    void *place = number < thread.shared_count ? thread.shared[number] : nullptr;
    if (place == nullptr) {
      place = hipcpu_shared(this, sizeof(T), alignof(T) > 16 ? alignof(T) : 16);
    }
    return *static_cast<T *>(place);
  }
};

// What it makes of an `extern __shared__` one.
template <typename T>
inline T *dynamic_shared() {
  return static_cast<T *>(hipcpu_thread.dynamic_shared);
}

}  // namespace hipcpu
