// Sums and products that round by themselves: no multiplication and addition of them become one
// instruction, as CUDA promises (CUDA Math API, "__fadd_rn" and its kin). HIP's are plain operators,
// which clang may fuse.
#pragma once

#include "hipx.h"

namespace hipx {

#define HIPX_ROUNDED(NAME, TYPE, OPERATOR) \
  HIPX_DEVICE TYPE NAME(TYPE a, TYPE b) {  \
    _Pragma("clang fp contract(off)")      \
    return a OPERATOR b;                   \
  }

HIPX_ROUNDED(fadd_rn, float, +)
HIPX_ROUNDED(fsub_rn, float, -)
HIPX_ROUNDED(fmul_rn, float, *)
HIPX_ROUNDED(dadd_rn, double, +)
HIPX_ROUNDED(dsub_rn, double, -)
HIPX_ROUNDED(dmul_rn, double, *)
#undef HIPX_ROUNDED

}  // namespace hipx
