// Warp functions on logical warps of 32 lanes, whatever the wavefront: a wavefront of 64 lanes
// holds two of them, and each sees only its own half.
//
// CUDA's mask argument is gone: only the full mask is translated, and lanes that have left the
// kernel take no part on either platform.
#pragma once

#include "hipx.h"

namespace hipx {

constexpr int warp_size = 32;

#define HIPX_SHUFFLE(NAME, ARGUMENT, INTRINSIC)                                        \
  template <typename T>                                                                \
  HIPX_DEVICE T NAME(T value, ARGUMENT argument, int width = warp_size) {              \
    if constexpr (sizeof(T) == 2) {                                                    \
      /* HIP has no 16-bit shuffles of every type: carry the bits in an int. */        \
      unsigned short bits;                                                             \
      __builtin_memcpy(&bits, &value, 2);                                              \
      bits = (unsigned short)INTRINSIC((int)bits, argument, width);                    \
      T result;                                                                        \
      __builtin_memcpy(&result, &bits, 2);                                             \
      return result;                                                                   \
    } else if constexpr (__is_enum(T)) { /* an int or a longer integer, for CUDA */    \
      return (T)INTRINSIC((__underlying_type(T))value, argument, width);               \
    } else {                                                                           \
      return INTRINSIC(value, argument, width);                                        \
    }                                                                                  \
  }

HIPX_SHUFFLE(shfl, int, __shfl)
HIPX_SHUFFLE(shfl_xor, int, __shfl_xor)
HIPX_SHUFFLE(shfl_up, unsigned, __shfl_up)
HIPX_SHUFFLE(shfl_down, unsigned, __shfl_down)
#undef HIPX_SHUFFLE

HIPX_DEVICE unsigned ballot(int predicate) {
  const unsigned long long wave = __ballot(predicate);
  return (unsigned)(wave >> (__lane_id() & 32u));
}

HIPX_DEVICE unsigned activemask() { return ballot(1); }

HIPX_DEVICE int any(int predicate) { return ballot(predicate) != 0; }

HIPX_DEVICE int all(int predicate) { return ballot(!predicate) == 0; }

// Lanes of a wavefront run in step, so that ordering their memory accesses is all there is to do.
HIPX_DEVICE void syncwarp() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

// For warps whose 32 lanes all come here.
template <typename T, typename Combine>
HIPX_DEVICE T reduce(T value, Combine combine) {
#pragma unroll
  for (int mask = warp_size / 2; mask > 0; mask >>= 1) {
    value = combine(value, shfl_xor(value, mask));
  }
  return value;
}

// For warps of which lanes have left the kernel: their values are no part of the result.
template <typename T, typename Combine>
HIPX_DEVICE T reduce_active(T value, Combine combine) {
  unsigned lanes = activemask();
  if (lanes == 0xffffffffu) return reduce(value, combine);
  T result = shfl(value, __builtin_ctz(lanes));
  while (lanes &= lanes - 1) result = combine(result, shfl(value, __builtin_ctz(lanes)));
  return result;
}

template <typename T>
HIPX_DEVICE T reduce_add(T value) {
  return reduce_active(value, [](T a, T b) { return (T)(a + b); });
}

template <typename T>
HIPX_DEVICE T reduce_max(T value) {
  return reduce_active(value, [](T a, T b) { return a > b ? a : b; });
}

template <typename T>
HIPX_DEVICE T reduce_min(T value) {
  return reduce_active(value, [](T a, T b) { return a < b ? a : b; });
}

template <typename T>
HIPX_DEVICE T reduce_and(T value) {
  return reduce_active(value, [](T a, T b) { return (T)(a & b); });
}

template <typename T>
HIPX_DEVICE T reduce_or(T value) {
  return reduce_active(value, [](T a, T b) { return (T)(a | b); });
}

template <typename T>
HIPX_DEVICE T reduce_xor(T value) {
  return reduce_active(value, [](T a, T b) { return (T)(a ^ b); });
}

}  // namespace hipx
