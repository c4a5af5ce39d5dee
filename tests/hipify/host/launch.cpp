// What hipx_launch.h gives to HIP: each launch is printed, with the arguments as the kernel takes them.
#include <cstddef>
#include <cstdio>

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
typedef int hipError_t;
typedef struct stream *hipStream_t;

static int print(const char *how, dim3 grid, dim3 block, void **arguments, size_t shared) {
  std::printf("%s %u %u %zu %g %d %d\n", how, grid.x, block.y, shared, *(double *)arguments[0],
              *(const int **)arguments[1] == nullptr, *(short *)arguments[2]);
  return 7;
}
inline int hipLaunchKernel(const void *, dim3 grid, dim3 block, void **arguments, size_t shared,
                           hipStream_t) {
  return print("plain", grid, block, arguments, shared);
}
inline int hipLaunchCooperativeKernel(const void *, dim3 grid, dim3 block, void **arguments,
                                      unsigned shared, hipStream_t) {
  return print("cooperative", grid, block, arguments, shared);
}

#include "hipx_launch.h"

void kernel(double, const int *, short) {}

int main() {
  hipx::launch_attribute attributes[2];
  attributes[0].id = hipx::launch_attribute_programmatic_stream_serialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = hipx::launch_attribute_cooperative;
  attributes[1].val.cooperative = 1;
  hipx::launch_config config = {};
  config.gridDim.x = 5;
  config.blockDim.y = 6;
  config.dynamicSmemBytes = 48;
  config.attrs = attributes;
  for (config.numAttrs = 0; config.numAttrs <= 2; ++config.numAttrs) {
    const char letter = 'A';  // becomes a short, as in a call
    if (hipx::launch_kernel_ex(&config, kernel, 3, nullptr, letter) != 7) return 1;
  }
}
