// Whether the launchers have code for the current device: whether this kernel has, which is compiled
// for the same architectures. build.rs puts a prefix before this name and every other.
#include <hip/hip_runtime.h>

static __global__ void probe() {}

extern "C" bool launchers_present() {
  hipFuncAttributes attributes;
  return hipFuncGetAttributes(&attributes, reinterpret_cast<const void *>(probe)) == hipSuccess;
}

// What hip_runtime.cpp has kept.
extern "C" hipError_t hip_runtime_failure();

// The first failure that the launchers met in the calling thread since this was asked last.
extern "C" unsigned launchers_failure() {
  return static_cast<unsigned>(hip_runtime_failure());
}
