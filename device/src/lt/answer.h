// How each function of hipBLASLt answers.
#pragma once

#include <string.h>

#include "../runtime/device_work.h"
#include "types.h"

namespace hipcpu::lt {

// Thrown inside of an answer.
struct Failure {
  hipblasStatus_t status;
};

inline void require(bool holds, hipblasStatus_t otherwise = HIPBLAS_STATUS_INVALID_VALUE) {
  if (!holds) throw Failure{otherwise};
}

inline void require_hip(hipError_t status) {
  require(status != hipErrorOutOfMemory, HIPBLAS_STATUS_ALLOC_FAILED);
  require(status == hipSuccess, HIPBLAS_STATUS_INTERNAL_ERROR);
}

template <typename Body>
hipblasStatus_t answer(const char *name, Body body) {
  if (const int asked = count_failing_call(name, false)) return static_cast<hipblasStatus_t>(asked);
  try {
    body();
  } catch (const Failure &failure) {
    return failure.status;
  }
  return HIPBLAS_STATUS_SUCCESS;
}

// What a caller gives by pointer and size.
template <typename T>
T given(const void *value, size_t size) {
  require(value != nullptr && size >= sizeof(T));
  T result;
  memcpy(&result, value, sizeof(T));
  return result;
}

}  // namespace hipcpu::lt
