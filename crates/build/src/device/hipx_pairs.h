// Functions on pairs of half or bfloat16 that CUDA has and HIP lacks, all of them or for one of the
// two types. They are constrained templates: where HIP has its own, that wins.
#pragma once

#include "hipx.h"

namespace hipx {

template <typename T>
constexpr bool is_pair =
    std::is_same<T, __half2>::value || std::is_same<T, __hip_bfloat162>::value;

}  // namespace hipx

// The larger of each two halves (CUDA Math API, "Half2 Comparison Functions").
template <typename T, typename = std::enable_if_t<hipx::is_pair<T>>>
HIPX_DEVICE T __hmax2(T a, T b) {
  return T{__hmax(a.x, b.x), __hmax(a.y, b.y)};
}

// The smaller of each two halves.
template <typename T, typename = std::enable_if_t<hipx::is_pair<T>>>
HIPX_DEVICE T __hmin2(T a, T b) {
  return T{__hmin(a.x, b.x), __hmin(a.y, b.y)};
}

// The larger of each two halves, NaN if either is.
template <typename T, typename = std::enable_if_t<hipx::is_pair<T>>>
HIPX_DEVICE T __hmax2_nan(T a, T b) {
  return T{__hmax_nan(a.x, b.x), __hmax_nan(a.y, b.y)};
}

// The smaller of each two halves, NaN if either is.
template <typename T, typename = std::enable_if_t<hipx::is_pair<T>>>
HIPX_DEVICE T __hmin2_nan(T a, T b) {
  return T{__hmin_nan(a.x, b.x), __hmin_nan(a.y, b.y)};
}

// Adds both halves at once, which is more than CUDA promises ("atomicAdd": each half on its own).
template <typename T, typename = std::enable_if_t<hipx::is_pair<T>>, typename = void,
          typename = void>
HIPX_DEVICE T atomicAdd(T *address, T value) {
  unsigned *bits = (unsigned *)address;
  unsigned old = __atomic_load_n(bits, __ATOMIC_RELAXED);
  for (;;) {
    T current;
    __builtin_memcpy((void *)&current, &old, 4);
    const T next = __hadd2(current, value);
    unsigned next_bits;
    __builtin_memcpy(&next_bits, &next, 4);
    const unsigned seen = atomicCAS(bits, old, next_bits);
    if (seen == old) return current;
    old = seen;
  }
}
