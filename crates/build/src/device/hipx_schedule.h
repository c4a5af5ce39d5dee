// Hints that keep clang from using more registers than a kernel has.
#pragma once

#include "hipx.h"

namespace hipx {

// The same value, of which the compiler knows nothing: what is computed from it inside a loop is
// not moved out of the loop and kept in registers.
HIPX_DEVICE int opaque(int value) {
#if defined(__HIP_DEVICE_COMPILE__) && __HIP_DEVICE_COMPILE__
  asm volatile("" : "+v"(value));
#endif
  return value;
}

// Instructions stay on their side, so that the loads of a whole unrolled loop are not made first.
HIPX_DEVICE void schedule_barrier() {
#if defined(__HIP_DEVICE_COMPILE__) && __HIP_DEVICE_COMPILE__
  __builtin_amdgcn_sched_barrier(0);
#endif
}

}  // namespace hipx
