// What the stand-ins for HIP's libraries share: HIP's header beside CUDA's, which has a dim3 of the
// same layout.
#pragma once

#define dim3 hipDim3
#include <hip/hip_runtime_api.h>
#undef dim3

#include <stddef.h>
#include <stdint.h>

#define API extern "C" __attribute__((visibility("default"))) int

// CUDA's libraries take the device of the calling thread, which HIP may not have told CUDA of yet.
inline bool bind() {
  int device = 0;
  return hipGetDevice(&device) == hipSuccess && hipSetDevice(device) == hipSuccess;
}
