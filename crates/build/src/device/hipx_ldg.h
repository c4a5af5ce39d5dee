// __ldg for every type: HIP's is declared for integers, floats and vectors of them, and where it
// is, that wins (CUDA C++ Programming Guide, "Read-Only Data Cache Load Function").
#pragma once

#include "hipx.h"

template <typename T>
HIPX_DEVICE T __ldg(const T *pointer) {
  return *pointer;
}
