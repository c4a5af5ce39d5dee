// Sums and products that round by themselves: no multiplication and addition of them become one
// instruction, as CUDA promises (CUDA Math API, "__fadd_rn" and its kin). HIP's are plain operators,
// which clang may fuse.
#pragma once

#include "hipx.h"

namespace hipx {

// GCC, which the CPU device may use, knows no such pragma: the value goes through memory.
#if defined(__clang__)
#define HIPX_SEPARATE(VALUE)
#else
#define HIPX_SEPARATE(VALUE) __asm__("" : "+m"(VALUE));
#endif

#define HIPX_ROUNDED(NAME, TYPE, OPERATOR) \
  HIPX_DEVICE TYPE NAME(TYPE a, TYPE b) {  \
    _Pragma("clang fp contract(off)")      \
    TYPE result = a OPERATOR b;            \
    HIPX_SEPARATE(result)                  \
    return result;                         \
  }

HIPX_ROUNDED(fadd_rn, float, +)
HIPX_ROUNDED(fsub_rn, float, -)
HIPX_ROUNDED(fmul_rn, float, *)
HIPX_ROUNDED(dadd_rn, double, +)
HIPX_ROUNDED(dsub_rn, double, -)
HIPX_ROUNDED(dmul_rn, double, *)
#undef HIPX_ROUNDED
#undef HIPX_SEPARATE

}  // namespace hipx
