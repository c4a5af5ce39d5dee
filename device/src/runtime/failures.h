// Calls that fail because somebody asked for it.
#pragma once

#include <hip/hip_runtime_api.h>

namespace hipcpu {

// The status with which a call of a function has to fail that is about to do something, or
// hipSuccess. PORTKIT_DEVICE_FAIL says which: see options.h.
hipError_t asked_failure(const char *function);

// The status with which a call of another library's function has to fail, or 0: one that is named so.
int asked_failure_of_library(const char *function);

// Whether a function does its work also where it fails: a capture that cannot become a graph is over
// (HIP, hipStreamEndCapture).
bool acts_though_failing(const char *function);

}  // namespace hipcpu
