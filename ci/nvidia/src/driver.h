// CUDA's driver under HIP's names: what the parts of the stand-in share. How a function answers,
// what statuses are called and how a bundle is read is the CPU device's (device/src).
#pragma once

#include <cuda.h>

#include "answer.h"

namespace hipcuda {

using hipcpu::answer;
using hipcpu::Failure;
using hipcpu::require;

// HIP numbers its statuses as CUDA does, and has those that it lacks as "unknown".
void check(CUresult result);

// The one context of a device that the process has.
CUcontext context_of(int ordinal);

// Makes the calling thread's device, which is 0 at first, that of CUDA as well, and returns it.
int bind();

inline CUstream native(hipStream_t stream) { return reinterpret_cast<CUstream>(stream); }
inline CUevent native(hipEvent_t event) { return reinterpret_cast<CUevent>(event); }
inline CUmodule native(hipModule_t module) { return reinterpret_cast<CUmodule>(module); }
inline CUgraph native(hipGraph_t graph) { return reinterpret_cast<CUgraph>(graph); }
inline CUgraphExec native(hipGraphExec_t exec) { return reinterpret_cast<CUgraphExec>(exec); }
inline CUdeviceptr native(const void *pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// A handle of CUDA's where HIP's is to be written.
template <typename Native, typename Handle>
Native *out(Handle *handle) {
  static_assert(sizeof(Native) == sizeof(Handle));
  require(handle != nullptr, hipErrorInvalidValue);
  return reinterpret_cast<Native *>(handle);
}

}  // namespace hipcuda
