// Devices: an NVIDIA GPU that answers as one of AMD's of 32 lanes.
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <string>

#include "arch.h"
#include "driver.h"
#include "module.h"

namespace hipcpu {

// The CPU device counts calls; here they are not to cost anything.
void count_call(const char *) {}

}  // namespace hipcpu

namespace hipcuda {

namespace {

constexpr int most_devices = 16;
constexpr size_t shared_limit = 65536;  // bytes of local data share of a block, on every AMD GPU

thread_local int current = 0;
thread_local bool bound = false;

CUdevice device(int ordinal) {
  check(cuInit(0));
  require(ordinal >= 0 && ordinal < most_devices, hipErrorInvalidDevice);
  CUdevice found;
  check(cuDeviceGet(&found, ordinal));
  return found;
}

void make_current(int ordinal) {
  check(cuCtxSetCurrent(context_of(ordinal)));
  current = ordinal;
  bound = true;
}

int ask(CUdevice_attribute what, int ordinal) {
  int value = 0;
  check(cuDeviceGetAttribute(&value, what, device(ordinal)));
  return value;
}

// Attributes that both have, by HIP's number.
struct Pair {
  hipDeviceAttribute_t hip;
  CUdevice_attribute cuda;
};
constexpr Pair same[] = {
    {hipDeviceAttributeEccEnabled, CU_DEVICE_ATTRIBUTE_ECC_ENABLED},
    {hipDeviceAttributeAsyncEngineCount, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT},
    {hipDeviceAttributeCanMapHostMemory, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY},
    {hipDeviceAttributeClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
    {hipDeviceAttributeComputeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE},
    {hipDeviceAttributeConcurrentKernels, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS},
    {hipDeviceAttributeCooperativeLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH},
    {hipDeviceAttributeIntegrated, CU_DEVICE_ATTRIBUTE_INTEGRATED},
    {hipDeviceAttributeL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
    {hipDeviceAttributeManagedMemory, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY},
    {hipDeviceAttributeMaxBlockDimX, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X},
    {hipDeviceAttributeMaxBlockDimY, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y},
    {hipDeviceAttributeMaxBlockDimZ, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z},
    {hipDeviceAttributeMaxGridDimX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X},
    {hipDeviceAttributeMaxGridDimY, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y},
    {hipDeviceAttributeMaxGridDimZ, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z},
    {hipDeviceAttributeMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
    {hipDeviceAttributeMaxThreadsPerMultiProcessor,
     CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
    {hipDeviceAttributeMaxBlocksPerMultiProcessor,
     CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR},
    {hipDeviceAttributeMaxPitch, CU_DEVICE_ATTRIBUTE_MAX_PITCH},
    {hipDeviceAttributeMemoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
    {hipDeviceAttributeMemoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE},
    {hipDeviceAttributeMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    {hipDeviceAttributePciBusId, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID},
    {hipDeviceAttributePciDeviceId, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID},
    {hipDeviceAttributePciDomainID, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID},
    {hipDeviceAttributeMaxRegistersPerBlock, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK},
    {hipDeviceAttributeMaxRegistersPerMultiprocessor,
     CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
    {hipDeviceAttributeStreamPrioritiesSupported, CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED},
    {hipDeviceAttributeTotalConstantMemory, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY},
    {hipDeviceAttributeUnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING},
    {hipDeviceAttributeWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE},
    {hipDeviceAttributeMemoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED},
    {hipDeviceAttributeHostRegisterSupported, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED},
};

int attribute(hipDeviceAttribute_t what, int ordinal) {
  switch (what) {
    // As the architecture has it, since that is what sources were compiled for.
    case hipDeviceAttributeComputeCapabilityMajor: return architecture().major;
    case hipDeviceAttributeComputeCapabilityMinor: return architecture().minor;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
    case hipDeviceAttributeSharedMemPerBlockOptin:
    case hipDeviceAttributeSharedMemPerMultiprocessor:
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor: return shared_limit;
    default: break;
  }
  const auto found =
      std::find_if(std::begin(same), std::end(same), [&](Pair pair) { return pair.hip == what; });
  require(found != std::end(same), hipErrorInvalidValue);
  return ask(found->cuda, ordinal);
}

hipDeviceProp_t properties(int ordinal) {
  hipDeviceProp_t p{};
  check(cuDeviceGetName(p.name, sizeof p.name, device(ordinal)));
  snprintf(p.gcnArchName, sizeof p.gcnArchName, "%s", architecture().name.c_str());
  check(cuDeviceTotalMem(&p.totalGlobalMem, device(ordinal)));
  p.sharedMemPerBlock = p.sharedMemPerMultiprocessor = p.maxSharedMemoryPerMultiProcessor =
      shared_limit;
  p.major = architecture().major;
  p.minor = architecture().minor;
  p.warpSize = ask(CU_DEVICE_ATTRIBUTE_WARP_SIZE, ordinal);
  p.maxThreadsPerBlock = ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, ordinal);
  p.multiProcessorCount = ask(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, ordinal);
  p.maxThreadsPerMultiProcessor =
      ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, ordinal);
  p.regsPerBlock = ask(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, ordinal);
  p.memoryPoolsSupported = ask(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, ordinal);
  p.l2CacheSize = ask(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, ordinal);
  p.clockRate = ask(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, ordinal);
  p.concurrentKernels = p.unifiedAddressing = p.canMapHostMemory = 1;
  return p;
}

}  // namespace

void check(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  const auto status = static_cast<hipError_t>(result);
  const bool known = strcmp(hipGetErrorName(status), "hipErrorUnknown") != 0;
  throw Failure{known ? status : hipErrorUnknown};
}

CUcontext context_of(int ordinal) {
  static std::mutex mutex;
  static CUcontext contexts[most_devices];
  const CUdevice found = device(ordinal);
  std::lock_guard<std::mutex> lock(mutex);
  CUcontext &context = contexts[ordinal];
  if (context == nullptr) check(cuDevicePrimaryCtxRetain(&context, found));
  return context;
}

int bind() {
  if (!bound) make_current(current);
  return current;
}

const hipcpu::Arch &architecture() {
  static const auto *arch = new hipcpu::Arch(hipcpu::arch_of(HIPCUDA_ARCH));
  return *arch;
}

}  // namespace hipcuda

using namespace hipcuda;

// What functions that the stand-in does not have answer (portkit/device/stubs.py).
HIP_EXPORT int hipcpu_not_supported(const char *function, int status) {
  static std::mutex mutex;
  static auto *told = new std::set<std::string>;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (told->insert(function).second) {
      fprintf(stderr, "HIP over CUDA: %s is not supported\n", function);
    }
  }
  if (status == hipErrorNotSupported) hipcpu::last_error() = hipErrorNotSupported;
  return status;
}

HIP_EXPORT hipError_t hipInit(unsigned flags) {
  return answer(__func__, [&] { check(cuInit(flags)); });
}

HIP_EXPORT hipError_t hipRuntimeGetVersion(int *version) {
  return answer(__func__, [&] {
    require(version != nullptr, hipErrorInvalidValue);
    *version = 70000000;  // 7.0
  });
}

HIP_EXPORT hipError_t hipGetDeviceCount(int *count) {
  return answer(__func__, [&] {
    require(count != nullptr, hipErrorInvalidValue);
    *count = 0;
    check(cuInit(0));
    check(cuDeviceGetCount(count));
    *count = std::min(*count, most_devices);
    require(*count > 0, hipErrorNoDevice);
  });
}

HIP_EXPORT hipError_t hipDeviceGet(hipDevice_t *found, int ordinal) {
  return answer(__func__, [&] {
    require(found != nullptr, hipErrorInvalidValue);
    device(ordinal);
    *found = ordinal;
  });
}

HIP_EXPORT hipError_t hipGetDevice(int *ordinal) {
  return answer(__func__, [&] {
    require(ordinal != nullptr, hipErrorInvalidValue);
    *ordinal = current;
  });
}

HIP_EXPORT hipError_t hipSetDevice(int ordinal) {
  return answer(__func__, [&] { make_current(ordinal); });
}

HIP_EXPORT hipError_t hipSetDeviceFlags(unsigned flags) {
  return answer(__func__, [&] { check(cuDevicePrimaryCtxSetFlags(device(current), flags)); });
}

HIP_EXPORT hipError_t hipDeviceSynchronize() {
  return answer(__func__, [&] {
    bind();
    check(cuCtxSynchronize());
  });
}

HIP_EXPORT hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t what, int ordinal) {
  return answer(__func__, [&] {
    require(value != nullptr, hipErrorInvalidValue);
    *value = attribute(what, ordinal);
  });
}

HIP_EXPORT hipError_t hipDeviceGetName(char *name, int size, hipDevice_t ordinal) {
  return answer(__func__, [&] { check(cuDeviceGetName(name, size, device(ordinal))); });
}

HIP_EXPORT hipError_t hipDeviceGetUuid(hipUUID *uuid, hipDevice_t ordinal) {
  return answer(__func__, [&] { check(cuDeviceGetUuid(out<CUuuid>(uuid), device(ordinal))); });
}

HIP_EXPORT hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t ordinal) {
  return answer(__func__, [&] { check(cuDeviceTotalMem(bytes, device(ordinal))); });
}

HIP_EXPORT hipError_t hipGetDeviceProperties(hipDeviceProp_t *of, int ordinal) {
  return answer(__func__, [&] {
    require(of != nullptr, hipErrorInvalidValue);
    *of = properties(ordinal);
  });
}

HIP_EXPORT hipError_t hipDeviceGetLimit(size_t *value, hipLimit_t limit) {
  return answer(__func__, [&] {
    bind();
    check(cuCtxGetLimit(value, static_cast<CUlimit>(limit)));
  });
}

HIP_EXPORT hipError_t hipDeviceSetLimit(hipLimit_t limit, size_t value) {
  return answer(__func__, [&] {
    bind();
    check(cuCtxSetLimit(static_cast<CUlimit>(limit), value));
  });
}

HIP_EXPORT hipError_t hipDeviceCanAccessPeer(int *can, int ordinal, int peer) {
  return answer(__func__, [&] {
    require(can != nullptr, hipErrorInvalidValue);
    check(cuDeviceCanAccessPeer(can, device(ordinal), device(peer)));
  });
}

HIP_EXPORT hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return answer(__func__, [&] {
    bind();
    check(cuCtxEnablePeerAccess(context_of(peer), flags));
  });
}

HIP_EXPORT hipError_t hipDeviceDisablePeerAccess(int peer) {
  return answer(__func__, [&] {
    bind();
    check(cuCtxDisablePeerAccess(context_of(peer)));
  });
}

HIP_EXPORT hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest) {
  return answer(__func__, [&] {
    bind();
    check(cuCtxGetStreamPriorityRange(least, greatest));
  });
}
