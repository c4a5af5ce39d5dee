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

// What hip_runtime.cpp takes.
using Allocate = hipError_t (*)(void **, size_t, hipStream_t);
using Free = hipError_t (*)(void *, hipStream_t, bool);
extern "C" void hip_runtime_memory(Allocate, Free);

// Lets launchers have memory by these functions in place of HIP's pool.
extern "C" void launchers_memory(Allocate allocate, Free free) {
  hip_runtime_memory(allocate, free);
}
