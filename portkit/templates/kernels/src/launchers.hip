// Whether the launchers have code for the current device: whether this kernel has, which is compiled
// for the same architectures.
#include <hip/hip_runtime.h>

static __global__ void probe() {}

extern "C" bool candle_rocm_launchers_present() {
  hipFuncAttributes attributes;
  return hipFuncGetAttributes(&attributes, reinterpret_cast<const void *>(probe)) == hipSuccess;
}
