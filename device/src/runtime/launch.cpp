// Launches of kernels, and what can be asked about kernels.
#include "../exec/launch.h"

#include <string.h>

#include <algorithm>
#include <vector>

#include "../check/checker.h"
#include "device.h"
#include "module.h"
#include "stream.h"

namespace hipcpu {

namespace {

// The arguments of one launch, kept until it runs.
class Arguments {
 public:
  Arguments(const Kernel &kernel, void **arguments, void **extra) {
    require(kernel.count == 0 || arguments != nullptr || extra != nullptr, hipErrorInvalidValue);
    require(arguments == nullptr || extra == nullptr, hipErrorInvalidValue);
    const char *packed = nullptr;
    size_t packed_bytes = 0;
    if (extra != nullptr) {
      require(extra[0] == HIP_LAUNCH_PARAM_BUFFER_POINTER &&
                  extra[2] == HIP_LAUNCH_PARAM_BUFFER_SIZE && extra[4] == HIP_LAUNCH_PARAM_END,
              hipErrorInvalidValue);
      packed = static_cast<const char *>(extra[1]);
      packed_bytes = *static_cast<const size_t *>(extra[3]);
    }
    size_t offset = 0;
    for (unsigned i = 0; i < kernel.count; ++i) {
      const size_t size = kernel.sizes[i];
      const size_t align = kernel.aligns[i];
      offset = (offset + align - 1) / align * align;
      require(packed == nullptr || offset + size <= packed_bytes, hipErrorInvalidValue);
      offsets_.push_back(offset);
      offset += size;
    }
    values_.resize(offset / sizeof(Chunk) + 1);
    for (unsigned i = 0; i < kernel.count; ++i) {
      memcpy(at(i), packed == nullptr ? arguments[i] : packed + offsets_[i], kernel.sizes[i]);
    }
  }

  // Pointers to the arguments, for a run.
  std::vector<void *> pointers() {
    std::vector<void *> result;
    for (unsigned i = 0; i < offsets_.size(); ++i) result.push_back(at(i));
    return result;
  }

 private:
  struct alignas(16) Chunk {
    char bytes[16];
  };
  char *at(unsigned i) { return values_[0].bytes + offsets_[i]; }

  std::vector<size_t> offsets_;
  std::vector<Chunk> values_;
};

void launch(const Function &function, const Launch &shape, void **arguments, void **extra,
            hipStream_t stream) {
  const std::shared_ptr<Stream> of = stream_of(stream);
  require(of->device == current_device(), hipErrorInvalidHandle);
  const Kernel &kernel = *function.kernel;
  if (shape.threads_per_block() > kernel.bounds) {
    fprintf(stderr,
            "HIP device: kernel %s has launch bounds of %u threads and is launched with %u\n",
            kernel.name, kernel.bounds, shape.threads_per_block());
    throw Failure{hipErrorLaunchFailure};
  }
  submit(stream, [shape, copied = Arguments(kernel, arguments, extra)]() mutable {
    std::vector<void *> pointers = copied.pointers();
    Launch launch = shape;
    launch.arguments = pointers.data();
    count_launch(launch.kernel->name, launch.blocks() * launch.threads_per_block());
    const check::Reach reach;
    run_blocks(launch);
  });
}

Launch shape_of(const Function &function, dim3 grid, dim3 block, size_t shared) {
  return {function.kernel,           nullptr, {grid.x, grid.y, grid.z},
          {block.x, block.y, block.z}, shared,  function.module->wavefront()};
}

// The limits of both kinds of launch; they answer differently what is beyond them
// (ihipLaunchKernel_validate and hipModuleLaunchKernel in clr's hip_module.cpp).
void require_limits(dim3 grid, dim3 block, size_t shared, hipError_t otherwise) {
  const auto within = [](dim3 d, uint64_t x, uint64_t y, uint64_t z) {
    return d.x > 0 && d.y > 0 && d.z > 0 && d.x <= x && d.y <= y && d.z <= z;
  };
  require(within(grid, 0x7fffffff, 65536, 65536), otherwise);
  require(uint64_t{grid.x} * block.x <= 0xffffffff, hipErrorInvalidConfiguration);
  require(within(block, block_limit, block_limit, block_limit) &&
              uint64_t{block.x} * block.y * block.z <= block_limit,
          otherwise);
  require(shared <= shared_limit, hipErrorInvalidValue);
}

// Blocks of a kernel that a compute unit holds, by its threads and its shared memory.
int blocks_per_unit(const Function &function, int block_size, size_t shared) {
  require(block_size > 0, hipErrorInvalidValue);
  if (static_cast<unsigned>(block_size) > function.kernel->bounds) return 0;
  const int wavefront = static_cast<int>(function.module->wavefront());
  const int threads = (block_size + wavefront - 1) / wavefront * wavefront;
  int blocks = threads_per_unit / threads;
  if (shared > 0) blocks = std::min(blocks, static_cast<int>(shared_limit / shared));
  return blocks;
}

void potential_block_size(int *grid_size, int *block_size, const Function &function, size_t shared,
                          int limit) {
  require(grid_size != nullptr && block_size != nullptr, hipErrorInvalidValue);
  const int bounds = static_cast<int>(function.kernel->bounds);
  *block_size = limit > 0 ? std::min(limit, bounds) : bounds;
  *grid_size = blocks_per_unit(function, *block_size, shared) *
               device(function.module->device).arch.compute_units;
}

// What is not known of a kernel that runs on a CPU is 0, such as the number of its registers.
int attribute_of(const Kernel &kernel, hipFunction_attribute attribute) {
  switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return static_cast<int>(kernel.bounds);
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: return static_cast<int>(shared_limit);
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case HIP_FUNC_ATTRIBUTE_NUM_REGS:
    case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
    case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
    case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return 0;
  }
  throw Failure{hipErrorInvalidValue};
}

}  // namespace

}  // namespace hipcpu

using namespace hipcpu;

HIP_EXPORT hipError_t hipModuleLaunchKernel(hipFunction_t handle, unsigned grid_x, unsigned grid_y,
                                            unsigned grid_z, unsigned block_x, unsigned block_y,
                                            unsigned block_z, unsigned shared, hipStream_t stream,
                                            void **arguments, void **extra) {
  return answer(__func__, [&] {
    const dim3 grid(grid_x, grid_y, grid_z), block(block_x, block_y, block_z);
    require_limits(grid, block, shared, hipErrorInvalidValue);
    const Function &function = function_of(handle);
    launch(function, shape_of(function, grid, block, shared), arguments, extra, stream);
  });
}

HIP_EXPORT hipError_t hipLaunchKernel(const void *host_function, dim3 grid, dim3 block,
                                      void **arguments, size_t shared, hipStream_t stream) {
  return answer(__func__, [&] {
    require_limits(grid, block, shared, hipErrorInvalidConfiguration);
    const Function &function = registered_function(host_function, stream_of(stream)->device);
    launch(function, shape_of(function, grid, block, shared), arguments, nullptr, stream);
  });
}

HIP_EXPORT hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute attribute,
                                          hipFunction_t handle) {
  return answer(__func__, [&] {
    require(value != nullptr, hipErrorInvalidValue);
    *value = attribute_of(*function_of(handle).kernel, attribute);
  });
}

HIP_EXPORT hipError_t hipFuncGetAttributes(hipFuncAttributes *attributes,
                                           const void *host_function) {
  return answer(__func__, [&] {
    require(attributes != nullptr, hipErrorInvalidValue);
    const Kernel &kernel = *registered_function(host_function, current_device()).kernel;
    *attributes = {};
    attributes->maxThreadsPerBlock = static_cast<int>(kernel.bounds);
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(shared_limit);
  });
}

// AMD GPUs need no permission for more shared memory, and have no balance to set: as in clr, only
// the arguments are looked at. Both take a function of the host or one of a module.
HIP_EXPORT hipError_t hipFuncSetAttribute(const void *function, hipFuncAttribute, int value) {
  return answer(__func__, [&] {
    require(function != nullptr, hipErrorInvalidDeviceFunction);
    require(value >= 0, hipErrorInvalidValue);
  });
}

HIP_EXPORT hipError_t hipFuncSetCacheConfig(const void *function, hipFuncCache_t) {
  return answer(__func__, [&] { require(function != nullptr, hipErrorInvalidDeviceFunction); });
}

HIP_EXPORT hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                                         hipFunction_t function,
                                                                         int block_size,
                                                                         size_t shared) {
  return answer(__func__, [&] {
    require(blocks != nullptr, hipErrorInvalidValue);
    *blocks = blocks_per_unit(function_of(function), block_size, shared);
  });
}

HIP_EXPORT hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, hipFunction_t function, int block_size, size_t shared, unsigned) {
  return hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, shared);
}

// The same of a kernel that the program itself launches.
HIP_EXPORT hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                                   const void *host_function,
                                                                   int block_size,
                                                                   size_t shared) {
  return answer(__func__, [&] {
    require(blocks != nullptr, hipErrorInvalidValue);
    const Function &function = registered_function(host_function, current_device());
    *blocks = blocks_per_unit(function, block_size, shared);
  });
}

HIP_EXPORT hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, const void *host_function, int block_size, size_t shared, unsigned) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, host_function, block_size, shared);
}

HIP_EXPORT hipError_t hipModuleOccupancyMaxPotentialBlockSize(int *grid_size, int *block_size,
                                                              hipFunction_t function,
                                                              size_t shared, int limit) {
  return answer(__func__, [&] {
    potential_block_size(grid_size, block_size, function_of(function), shared, limit);
  });
}

HIP_EXPORT hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
    int *grid_size, int *block_size, hipFunction_t function, size_t shared, int limit, unsigned) {
  return hipModuleOccupancyMaxPotentialBlockSize(grid_size, block_size, function, shared, limit);
}
