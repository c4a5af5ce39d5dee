// Kernels that a program is linked with: what compilers register before main, and the two halves
// of <<<>>>.
#include <algorithm>
#include <map>
#include <mutex>

#include "module.h"

namespace hipcpu {

namespace {

// What compilers register (clang, CodeGen/CGCUDANV.cpp).
struct FatBinary {
  unsigned magic, version;
  const void *bundle;
  void *unused;
};
constexpr unsigned fat_binary_magic = 0x48495046;  // "HIPF"

struct Binary {
  const void *bundle;
  std::map<int, std::unique_ptr<LoadedModule>> loaded;  // by device
};

struct HostFunction {
  Binary *binary;
  std::string signature;
};

struct Registered {
  std::mutex mutex;
  std::map<const void *, HostFunction> functions;
};

Registered &registered() {
  static Registered *registered = new Registered;
  return *registered;
}

struct Configuration {
  dim3 grid, block;
  size_t shared = 0;
  hipStream_t stream = nullptr;
};

thread_local Configuration configuration;

}  // namespace

const Function &registered_function(const void *host_function, int device) {
  Registered &all = registered();
  std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.functions.find(host_function);
  require(found != all.functions.end(), hipErrorInvalidDeviceFunction);
  const auto &[binary, signature] = found->second;
  std::unique_ptr<LoadedModule> &module = binary->loaded[device];
  if (module == nullptr) {
    try {
      module = std::make_unique<LoadedModule>(binary->bundle, device);
    } catch (const NoCode &) {
      // Whatever a bundle without code is to who loads it, its kernels are none of the device
      // (`ihipLaunchKernel`, clr's hip_platform.cpp, HIP 6.4.3).
      throw Failure{hipErrorInvalidDeviceFunction};
    }
  }
  const Function *function = module->by_signature(signature.c_str());
  require(function != nullptr, hipErrorInvalidDeviceFunction);
  return *function;
}

}  // namespace hipcpu

using namespace hipcpu;

HIP_EXPORT void **__hipRegisterFatBinary(const void *data) {
  const auto *fat = static_cast<const FatBinary *>(data);
  if (fat == nullptr || fat->magic != fat_binary_magic) return nullptr;
  return reinterpret_cast<void **>(new Binary{fat->bundle, {}});
}

HIP_EXPORT void __hipRegisterFunction(void **binary, const void *function, char *device_function,
                                      const char *, unsigned, void *, void *, void *, void *,
                                      int *) {
  if (binary == nullptr) return;
  Registered &all = registered();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.functions[function] = {reinterpret_cast<Binary *>(binary), device_function};
}

// Host programs cannot reach variables of the device.
HIP_EXPORT void __hipRegisterVar(void **, void *, char *, char *, int, size_t, int, int) {}

// What was registered stays until the process ends: other libraries may still run.
HIP_EXPORT void __hipUnregisterFatBinary(void **) {}

HIP_EXPORT hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                                 hipStream_t stream) {
  configuration = {grid, block, shared, stream};
  return hipSuccess;
}

HIP_EXPORT hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared,
                                                hipStream_t *stream) {
  *grid = configuration.grid;
  *block = configuration.block;
  *shared = configuration.shared;
  *stream = configuration.stream;
  return hipSuccess;
}
