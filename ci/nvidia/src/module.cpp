// Code objects, which hold code for an NVIDIA GPU here, and the launches of their kernels: by name,
// and by the address of a host function that the compiler registered before main.
#include "module.h"

#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "code_object.h"
#include "driver.h"

namespace hipcuda {

namespace {

CUmodule load(const void *image) {
  require(image != nullptr, hipErrorInvalidValue);
  bind();
  CUmodule made;
  check(cuModuleLoadData(&made, hipcpu::code_object(image, architecture()).begin));
  return made;
}

// What nvcc registers (crt/fatbinary_section.h); the compiler wrapper has put a bundle into it.
struct FatBinary {
  int magic, version;
  const void *bundle;
  void *unused;
};

struct Binary {
  const void *bundle;
  std::unordered_map<int, CUmodule> loaded;  // by device
};

struct HostFunction {
  Binary *binary;
  std::string name;
  std::unordered_map<int, CUfunction> loaded;  // by device
};

struct Registered {
  std::mutex mutex;
  std::unordered_map<const void *, HostFunction> functions;
};

Registered &registered() {
  static auto *registered = new Registered;
  return *registered;
}

// The kernel behind a host function; null when there is none.
CUfunction kernel_of(const void *host_function) {
  const int device = bind();
  Registered &all = registered();
  std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.functions.find(host_function);
  if (found == all.functions.end()) return nullptr;
  HostFunction &function = found->second;
  CUfunction &kernel = function.loaded[device];
  if (kernel == nullptr) {
    CUmodule &module = function.binary->loaded[device];
    if (module == nullptr) module = load(function.binary->bundle);
    check(cuModuleGetFunction(&kernel, module, function.name.c_str()));
  }
  return kernel;
}

// HIP's functions on kernels take a kernel of a module as well as a host function.
CUfunction function_of(const void *function) {
  require(function != nullptr, hipErrorInvalidDeviceFunction);
  const CUfunction kernel = kernel_of(function);
  return kernel != nullptr ? kernel
                           : reinterpret_cast<CUfunction>(const_cast<void *>(function));
}

struct Geometry {
  unsigned grid[3], block[3], shared;
};

void launch(CUfunction kernel, const Geometry &g, hipStream_t stream, void **arguments,
            void **extra) {
  // AMD's GPUs give a kernel 64 KiB; CUDA gives more than 48 to who asks.
  constexpr unsigned without_asking = 48 * 1024;
  if (g.shared > without_asking) {
    check(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                             static_cast<int>(g.shared)));
  }
  check(cuLaunchKernel(kernel, g.grid[0], g.grid[1], g.grid[2], g.block[0], g.block[1], g.block[2],
                       g.shared, native(stream), arguments, extra));
}

int attribute(CUfunction_attribute what, CUfunction kernel) {
  int value = 0;
  check(cuFuncGetAttribute(&value, what, kernel));
  return value;
}

}  // namespace

}  // namespace hipcuda

using namespace hipcuda;

HIP_EXPORT hipError_t hipModuleLoadData(hipModule_t *module, const void *image) {
  return answer(__func__, [&] { *out<CUmodule>(module) = load(image); });
}

HIP_EXPORT hipError_t hipModuleLoad(hipModule_t *module, const char *path) {
  return answer(__func__, [&] {
    require(path != nullptr, hipErrorInvalidValue);
    std::ifstream file(path, std::ios::binary);
    require(file.good(), hipErrorFileNotFound);
    const std::vector<char> image{std::istreambuf_iterator<char>(file), {}};
    require(image.size() > 64, hipErrorInvalidImage);
    *out<CUmodule>(module) = load(image.data());
  });
}

HIP_EXPORT hipError_t hipModuleUnload(hipModule_t module) {
  return answer(__func__, [&] {
    bind();
    check(cuModuleUnload(native(module)));
  });
}

HIP_EXPORT hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module,
                                           const char *name) {
  return answer(__func__, [&] {
    bind();
    check(cuModuleGetFunction(out<CUfunction>(function), native(module), name));
  });
}

HIP_EXPORT hipError_t hipModuleGetGlobal(hipDeviceptr_t *pointer, size_t *bytes,
                                         hipModule_t module, const char *name) {
  return answer(__func__, [&] {
    bind();
    check(cuModuleGetGlobal(out<CUdeviceptr>(pointer), bytes, native(module), name));
  });
}

HIP_EXPORT hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x,
                                            unsigned grid_y, unsigned grid_z, unsigned block_x,
                                            unsigned block_y, unsigned block_z, unsigned shared,
                                            hipStream_t stream, void **arguments, void **extra) {
  return answer(__func__, [&] {
    bind();
    launch(reinterpret_cast<CUfunction>(function),
           {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared}, stream, arguments,
           extra);
  });
}

HIP_EXPORT hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned grid_x,
                                                       unsigned grid_y, unsigned grid_z,
                                                       unsigned block_x, unsigned block_y,
                                                       unsigned block_z, unsigned shared,
                                                       hipStream_t stream, void **arguments) {
  return answer(__func__, [&] {
    bind();
    check(cuLaunchCooperativeKernel(reinterpret_cast<CUfunction>(function), grid_x, grid_y, grid_z,
                                    block_x, block_y, block_z, shared, native(stream),
                                    arguments));
  });
}

HIP_EXPORT hipError_t hipLaunchKernel(const void *function, dim3 grid, dim3 block,
                                      void **arguments, size_t shared, hipStream_t stream) {
  return answer(__func__, [&] {
    const CUfunction kernel = kernel_of(function);
    require(kernel != nullptr, hipErrorInvalidDeviceFunction);
    launch(kernel,
           {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, static_cast<unsigned>(shared)},
           stream, arguments, nullptr);
  });
}

// HIP numbers the attributes of kernels as CUDA does.
HIP_EXPORT hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute what,
                                          hipFunction_t function) {
  return answer(__func__, [&] {
    require(value != nullptr, hipErrorInvalidValue);
    *value = attribute(static_cast<CUfunction_attribute>(what), function_of(function));
  });
}

HIP_EXPORT hipError_t hipFuncGetAttributes(hipFuncAttributes *attributes, const void *function) {
  return answer(__func__, [&] {
    require(attributes != nullptr, hipErrorInvalidValue);
    const CUfunction kernel = kernel_of(function);
    require(kernel != nullptr, hipErrorInvalidDeviceFunction);
    *attributes = {};
    attributes->maxThreadsPerBlock = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel);
    attributes->numRegs = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS, kernel);
    attributes->sharedSizeBytes =
        static_cast<size_t>(attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel));
    attributes->localSizeBytes =
        static_cast<size_t>(attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, kernel));
  });
}

HIP_EXPORT hipError_t hipFuncSetAttribute(const void *function, hipFuncAttribute what, int value) {
  return answer(__func__, [&] {
    check(cuFuncSetAttribute(function_of(function), static_cast<CUfunction_attribute>(what),
                             value));
  });
}

HIP_EXPORT hipError_t hipFuncSetCacheConfig(const void *function, hipFuncCache_t config) {
  return answer(__func__, [&] {
    check(cuFuncSetCacheConfig(function_of(function), static_cast<CUfunc_cache>(config)));
  });
}

HIP_EXPORT hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, hipFunction_t function, int block_size, size_t shared, unsigned flags) {
  return answer(__func__, [&] {
    check(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function_of(function),
                                                               block_size, shared, flags));
  });
}

HIP_EXPORT hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
    int *grid_size, int *block_size, hipFunction_t function, size_t shared, int limit,
    unsigned flags) {
  return answer(__func__, [&] {
    check(cuOccupancyMaxPotentialBlockSizeWithFlags(grid_size, block_size, function_of(function),
                                                    nullptr, shared, limit, flags));
  });
}

HIP_EXPORT void **__hipRegisterFatBinary(const void *data) {
  return reinterpret_cast<void **>(new Binary{static_cast<const FatBinary *>(data)->bundle, {}});
}

HIP_EXPORT void __hipRegisterFunction(void **binary, const void *function, char *device_function,
                                      const char *, unsigned, void *, void *, void *, void *,
                                      int *) {
  Registered &all = registered();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.functions[function] = {reinterpret_cast<Binary *>(binary), device_function, {}};
}
