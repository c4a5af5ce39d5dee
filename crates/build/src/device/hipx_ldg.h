// Loads and stores with a word for the caches, for every type: HIP has some of them for some types,
// and where it has one, that wins (CUDA C++ Programming Guide, "Read-Only Data Cache Load
// Function", "Load Functions Using Cache Hints", "Store Functions Using Cache Hints").
#pragma once

#include "hipx.h"

// A word for the caches changes no value.
#define HIPX_LOAD(NAME)                 \
  template <typename T>                 \
  HIPX_DEVICE T NAME(const T *pointer) { \
    return *pointer;                    \
  }
HIPX_LOAD(__ldg)
HIPX_LOAD(__ldca)
HIPX_LOAD(__ldcg)
HIPX_LOAD(__ldcs)
HIPX_LOAD(__ldlu)
#undef HIPX_LOAD

#define HIPX_STORE(NAME)                             \
  template <typename T>                              \
  HIPX_DEVICE void NAME(T *pointer, const T value) { \
    *pointer = value;                                \
  }
HIPX_STORE(__stwb)
HIPX_STORE(__stcg)
HIPX_STORE(__stcs)
#undef HIPX_STORE
