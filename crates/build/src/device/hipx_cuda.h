// What CUDA sources name that are compiled as they stand, beside the names that are macros for HIP's.
#pragma once

#include "hipx.h"

// From here on: HIP's own headers, which ask for it too, have been read.
#if defined(HIPX_CUDA_ARCH)
#define __CUDA_ARCH__ HIPX_CUDA_ARCH
#endif

namespace hipx {

constexpr unsigned lanes(unsigned mask = 0xffffffffu) { return mask; }

template <unsigned mask>
struct all_lanes {
  static_assert(mask == 0xffffffffu, "a warp function is translated for a mask of all lanes only");
};

}  // namespace hipx

// A call on the lanes of a mask, or of none, which is all of them: it is looked at, and then gone.
#define HIPX_ON_LANES(mask, call) ((void)sizeof(hipx::all_lanes<hipx::lanes(mask)>), call)

#if defined(__HIPCC_RTC__)
// There std is a macro for another name.
namespace cuda {
namespace hipx = ::hipx;
}
#else
namespace cuda {
namespace std = ::std;
}
#endif

#if defined(__HIPCC__) && !defined(__HIPCC_RTC__)
namespace hipcub {}
namespace cub = hipcub;

namespace hipx {

// CUDA's take a pointer to any function, and HIP's const void * alone.
template <typename T>
inline hipError_t func_set_attribute(T *function, hipFuncAttribute attribute, int value) {
  return hipFuncSetAttribute((const void *)function, attribute, value);
}

template <typename T>
inline hipError_t func_set_cache_config(T *function, hipFuncCache_t config) {
  return hipFuncSetCacheConfig((const void *)function, config);
}

template <typename T>
inline hipError_t func_get_attributes(hipFuncAttributes *attributes, T *function) {
  return hipFuncGetAttributes(attributes, (const void *)function);
}

}  // namespace hipx

#define cudaFuncSetAttribute hipx::func_set_attribute
#define cudaFuncSetCacheConfig hipx::func_set_cache_config
#define cudaFuncGetAttributes hipx::func_get_attributes
#endif
