// Functions on half and bfloat16 that CUDA has and some HIP releases lack. They are constrained
// templates: where HIP has its own, that wins.
#pragma once

#include "hipx.h"

namespace hipx {

template <typename T>
constexpr bool is_bfloat16 = std::is_same<T, __hip_bfloat16>::value;

}  // namespace hipx

// The larger of two values, NaN if either is (CUDA Math API, "Bfloat16 Comparison Functions").
template <typename T, typename = std::enable_if_t<hipx::is_bfloat16<T>>>
HIPX_DEVICE T __hmax_nan(T a, T b) {
  return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b);
}

// The smaller of two values, NaN if either is.
template <typename T, typename = std::enable_if_t<hipx::is_bfloat16<T>>>
HIPX_DEVICE T __hmin_nan(T a, T b) {
  return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b);
}
