// cudaLaunchKernelEx, and what it is told (CUDA Runtime API, "Execution Control"). Of the
// attributes the cooperative launch is kept. That a kernel may start before the one ahead of it is
// done is not: on AMD the kernels of a stream run one after the other.
#pragma once

#include "hipx.h"

#if !defined(__HIPCC_RTC__)
namespace hipx {

enum launch_attribute_id {
  launch_attribute_cooperative = 2,
  launch_attribute_programmatic_stream_serialization = 6,
};

union launch_attribute_value {
  int cooperative;
  int programmaticStreamSerializationAllowed;
};

struct launch_attribute {
  launch_attribute_id id;
  launch_attribute_value val;
};

struct launch_config {
  dim3 gridDim;
  dim3 blockDim;
  size_t dynamicSmemBytes;
  hipStream_t stream;
  launch_attribute *attrs;
  unsigned numAttrs;
};

// The arguments become what the kernel takes, as in a call.
template <typename... Parameters, typename... Arguments>
inline hipError_t launch_kernel_ex(const launch_config *config, void (*kernel)(Parameters...),
                                   Arguments &&...arguments) {
  bool cooperative = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const launch_attribute &attribute = config->attrs[i];
    if (attribute.id == launch_attribute_cooperative && attribute.val.cooperative) {
      cooperative = true;
    }
  }
  const auto launch = [&](Parameters... parameters) {
    void *pointers[] = {(void *)&parameters..., nullptr};
    if (cooperative) {
      return hipLaunchCooperativeKernel((const void *)kernel, config->gridDim, config->blockDim,
                                        pointers, (unsigned)config->dynamicSmemBytes,
                                        config->stream);
    }
    return hipLaunchKernel((const void *)kernel, config->gridDim, config->blockDim, pointers,
                           config->dynamicSmemBytes, config->stream);
  };
  return launch(static_cast<Arguments &&>(arguments)...);
}

}  // namespace hipx
#endif
