// How each function of the interface answers: it is counted, and a failure is remembered for
// hipGetLastError.
#pragma once

#include <hip/hip_runtime_api.h>

#include <new>

#include "failures.h"
#include "report.h"

#define HIP_EXPORT extern "C" __attribute__((visibility("default")))

namespace hipcpu {

// The failure that hipGetLastError gives and clears: the last one of the calling thread, which a
// later success does not hide (as of ROCm 7; up to 6 it did).
hipError_t &last_error();

// Thrown inside of an answer.
struct Failure {
  hipError_t status;
};

inline void require(bool holds, hipError_t otherwise) {
  if (!holds) throw Failure{otherwise};
}

// Gives the status of `body`, which returns nothing: hipSuccess unless it throws.
template <typename Body>
hipError_t answer(const char *name, Body body) {
  count_call(name);
  hipError_t status = asked_failure(name);
  try {
    if (status == hipSuccess || acts_though_failing(name)) body();
  } catch (const Failure &failure) {
    status = failure.status;
  } catch (const std::bad_alloc &) {
    status = hipErrorOutOfMemory;
  }
  // Not a failure: what was asked is not the case yet.
  if (status != hipSuccess && status != hipErrorNotReady) last_error() = status;
  return status;
}

}  // namespace hipcpu
