// HIP's names for sources that nvcc compiles: kernels and the functions that launch them.
//
// Types, streams and warp functions are CUDA's own; the functions of the runtime are HIP's, which
// the stand-in for its library has. What sources see of the architecture is gfx1030's: 32 lanes,
// dot products of bytes, no matrix instructions (hipcc.py).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <type_traits>

// CUDA has a dim3 of the same layout, and its launches take its own type of stream.
#define dim3 hipDim3
#define ihipStream_t CUstream_st
#include <hip/hip_runtime_api.h>
#undef ihipStream_t
#undef dim3

using __hip_bfloat16 = __nv_bfloat16;
using __hip_bfloat162 = __nv_bfloat162;
using __hip_bfloat16_raw = __nv_bfloat16_raw;
using hip_bfloat16 = __nv_bfloat16;

#define hipLaunchKernelGGL(KERNEL, GRID, BLOCK, SHARED, STREAM, ...) \
  KERNEL<<<GRID, BLOCK, SHARED, STREAM>>>(__VA_ARGS__)
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(TYPE, NAME) extern __shared__ TYPE NAME[];

// What nvcc's host code calls around the registration of its kernels, and HIP's does not.
#define CUDA_ONLY extern "C" __attribute__((weak, visibility("hidden")))
CUDA_ONLY void __cudaRegisterFatBinaryEnd(void **) {}
CUDA_ONLY char __cudaInitModule(void **) { return 0; }
#undef CUDA_ONLY

// HIP's warp functions take no mask. Lanes that have left the kernel take no part in either.
#define HIP_SHUFFLE(NAME, ARGUMENT)                                                         \
  template <typename T>                                                                     \
  __device__ __forceinline__ T NAME(T value, ARGUMENT argument, int width = 32) {           \
    return NAME##_sync(0xffffffffu, value, argument, width);                                \
  }
HIP_SHUFFLE(__shfl, int)
HIP_SHUFFLE(__shfl_xor, int)
HIP_SHUFFLE(__shfl_up, unsigned)
HIP_SHUFFLE(__shfl_down, unsigned)
#undef HIP_SHUFFLE

#define __ballot(PREDICATE) \
  (static_cast<unsigned long long>(__ballot_sync(__activemask(), (PREDICATE))))

__device__ __forceinline__ unsigned __lane_id() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// clang's functions, some of them for AMD GPUs, that sources of gfx1030 name.
#if defined(__CUDA_ARCH__)
#define __builtin_trap() __trap()
#else
#define __builtin_trap() hip_trap()
__host__ __device__ __forceinline__ void hip_trap() { abort(); }
#endif
#define __builtin_amdgcn_fence(ORDER, SCOPE) __threadfence_block()
#define __builtin_amdgcn_wave_barrier() __syncwarp()
#define __builtin_amdgcn_sched_barrier(MASK) ((void)0)
#define __builtin_amdgcn_readlane(VALUE, LANE) __shfl((VALUE), (LANE))
#define __builtin_amdgcn_readfirstlane(VALUE) __shfl((VALUE), 0)
#define __builtin_amdgcn_read_exec() (static_cast<unsigned long long>(__activemask()))

__host__ __device__ __forceinline__ int __builtin_amdgcn_sdot4(int a, int b, int c, bool) {
#if defined(__CUDA_ARCH__)
  return __dp4a(a, b, c);
#else
  abort();
#endif
}

// Bytes of high:low, picked by the four bytes of the selector; CUDA's takes digits for them.
__device__ __forceinline__ unsigned __builtin_amdgcn_perm(unsigned high, unsigned low,
                                                          unsigned selector) {
  const unsigned digits = (selector & 7) | (selector >> 4 & 0x70) | (selector >> 8 & 0x700) |
                          (selector >> 12 & 0x7000);
  return __byte_perm(low, high, digits);
}

#if defined(__CUDA_ARCH__)
// The translated sources' own name for the feature level. They set it, to the same number, where
// __HIP_DEVICE_COMPILE__ says that this is the device's pass; that one also switches on assembly
// which names registers of AMD's.
#define HIPX_CUDA_ARCH 890

// A volatile access is made once, as a relaxed load is.
#define __atomic_load_n(ADDRESS, ORDER) \
  (*(const volatile std::remove_reference_t<decltype(*(ADDRESS))> *)(ADDRESS))
#endif
