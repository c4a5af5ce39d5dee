#include "device.h"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "../check/checker.h"
#include "../exec/launch.h"
#include "answer.h"
#include "chaos.h"
#include "options.h"
#include "stream.h"

namespace hipcpu {

namespace {

constexpr int version = 70000000;  // of HIP: 7.0

// Registers of a compute unit (512 vector registers of 64 lanes for each of four SIMDs, as HIP
// reports them).
constexpr int registers = 65536;

std::vector<std::unique_ptr<Device>> &devices() {
  static auto *devices = [] {
    const size_t each = options().memory, all = each * static_cast<size_t>(options().devices);
    void *base = mmap(nullptr, all, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    check::watch(base, all);
    auto *made = new std::vector<std::unique_ptr<Device>>;
    for (int i = 0; i < options().devices; ++i) {
      char *begin = static_cast<char *>(base) + each * static_cast<size_t>(i);
      made->emplace_back(new Device{arch_of(options().arch), Heap(begin, each)});
    }
    return made;
  }();
  return *devices;
}

int &current() {
  static thread_local int ordinal = 0;
  return ordinal;
}

hipDeviceProp_t properties_of(int ordinal) {
  const Device &d = device(ordinal);
  hipDeviceProp_t p{};
  snprintf(p.name, sizeof p.name, "portkit CPU device as %s", d.arch.name.c_str());
  snprintf(p.uuid.bytes, sizeof p.uuid.bytes, "portkit-cpu-%03d", ordinal);
  snprintf(p.gcnArchName, sizeof p.gcnArchName, "%s%s", d.arch.name.c_str(),
           d.arch.major == 9 ? ":sramecc+:xnack-" : "");
  p.totalGlobalMem = d.heap.total();
  p.sharedMemPerBlock = p.sharedMemPerMultiprocessor = p.maxSharedMemoryPerMultiProcessor =
      shared_limit;
  p.regsPerBlock = p.regsPerMultiprocessor = registers;
  p.warpSize = static_cast<int>(d.arch.wavefront);
  p.memPitch = 0x7fffffff;
  p.maxThreadsPerBlock = block_limit;
  std::fill_n(p.maxThreadsDim, 3, static_cast<int>(block_limit));
  p.maxGridSize[0] = 0x7fffffff;
  p.maxGridSize[1] = p.maxGridSize[2] = 65536;
  p.clockRate = 2000000;
  p.totalConstMem = 0x7fffffff;
  p.major = d.arch.major;
  p.minor = d.arch.minor;
  p.multiProcessorCount = d.arch.compute_units;
  p.canMapHostMemory = p.concurrentKernels = p.unifiedAddressing = p.memoryPoolsSupported =
      p.streamPrioritiesSupported = p.hostRegisterSupported = 1;
  p.pciBusID = ordinal + 1;
  p.asyncEngineCount = 2;
  p.memoryClockRate = 1000000;
  p.memoryBusWidth = 1024;
  p.l2CacheSize = 8 << 20;
  p.maxThreadsPerMultiProcessor = threads_per_unit;
  p.maxBlocksPerMultiProcessor = threads_per_unit / static_cast<int>(d.arch.wavefront);
  p.arch = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 1, 0};
  return p;
}

int attribute(const hipDeviceProp_t &p, hipDeviceAttribute_t which) {
  switch (which) {
    case hipDeviceAttributeAsyncEngineCount: return p.asyncEngineCount;
    case hipDeviceAttributeCanMapHostMemory: return p.canMapHostMemory;
    case hipDeviceAttributeClockRate: return p.clockRate;
    case hipDeviceAttributeConcurrentKernels: return p.concurrentKernels;
    case hipDeviceAttributeL2CacheSize: return p.l2CacheSize;
    case hipDeviceAttributeComputeCapabilityMajor: return p.major;
    case hipDeviceAttributeComputeCapabilityMinor: return p.minor;
    case hipDeviceAttributeMaxBlocksPerMultiProcessor: return p.maxBlocksPerMultiProcessor;
    case hipDeviceAttributeMaxBlockDimX: return p.maxThreadsDim[0];
    case hipDeviceAttributeMaxBlockDimY: return p.maxThreadsDim[1];
    case hipDeviceAttributeMaxBlockDimZ: return p.maxThreadsDim[2];
    case hipDeviceAttributeMaxGridDimX: return p.maxGridSize[0];
    case hipDeviceAttributeMaxGridDimY: return p.maxGridSize[1];
    case hipDeviceAttributeMaxGridDimZ: return p.maxGridSize[2];
    case hipDeviceAttributeMaxThreadsPerBlock: return p.maxThreadsPerBlock;
    case hipDeviceAttributeMaxThreadsPerMultiProcessor: return p.maxThreadsPerMultiProcessor;
    case hipDeviceAttributeMaxPitch: return static_cast<int>(p.memPitch);
    case hipDeviceAttributeMemoryBusWidth: return p.memoryBusWidth;
    case hipDeviceAttributeMemoryClockRate: return p.memoryClockRate;
    case hipDeviceAttributeMultiprocessorCount: return p.multiProcessorCount;
    case hipDeviceAttributePciBusId: return p.pciBusID;
    case hipDeviceAttributeMaxRegistersPerBlock: return p.regsPerBlock;
    case hipDeviceAttributeMaxRegistersPerMultiprocessor: return p.regsPerMultiprocessor;
    case hipDeviceAttributeMaxSharedMemoryPerBlock: return static_cast<int>(p.sharedMemPerBlock);
    case hipDeviceAttributeSharedMemPerMultiprocessor:
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor:
      return static_cast<int>(p.sharedMemPerMultiprocessor);
    case hipDeviceAttributeStreamPrioritiesSupported: return p.streamPrioritiesSupported;
    case hipDeviceAttributeTotalConstantMemory: return static_cast<int>(p.totalConstMem);
    case hipDeviceAttributeTotalGlobalMem:
      return static_cast<int>(std::min<size_t>(p.totalGlobalMem, 0x7fffffff));
    case hipDeviceAttributeUnifiedAddressing: return p.unifiedAddressing;
    case hipDeviceAttributeWarpSize: return p.warpSize;
    case hipDeviceAttributeMemoryPoolsSupported: return p.memoryPoolsSupported;
    case hipDeviceAttributeHostRegisterSupported: return p.hostRegisterSupported;
    // What the device does not have: cooperative launches, managed memory, images, and so on; and
    // what AMD's runtime answers 0 for, such as hipDeviceAttributeSharedMemPerBlockOptin.
    default: return 0;
  }
}

// hipSetDevice and others create no context, so there is nothing to remember but the number.
void require_device(int ordinal) {
  require(ordinal >= 0 && ordinal < options().devices, hipErrorInvalidDevice);
}

// Whether a device has access to the memory of another.
bool reaches(int device, int peer) {
  return options().peers && (!may(Open::peers) || have_access(device, peer));
}

void copy_text(char *to, int size, const std::string &text) {
  require(to != nullptr && size > 0, hipErrorInvalidValue);
  snprintf(to, static_cast<size_t>(size), "%s", text.c_str());
}

}  // namespace

Device &device(int ordinal) {
  require_device(ordinal);
  return *devices()[static_cast<size_t>(ordinal)];
}

int current_device() { return current(); }

int device_of(const void *address) {
  for (int i = 0; i < options().devices; ++i) {
    if (device(i).heap.contains(address)) return i;
  }
  return -1;
}

}  // namespace hipcpu

using namespace hipcpu;

HIP_EXPORT hipError_t hipInit(unsigned flags) {
  return answer(__func__, [&] { require(flags == 0, hipErrorInvalidValue); });
}

HIP_EXPORT hipError_t hipDriverGetVersion(int *number) {
  return answer(__func__, [&] {
    require(number != nullptr, hipErrorInvalidValue);
    *number = version;
  });
}

HIP_EXPORT hipError_t hipRuntimeGetVersion(int *number) {
  return answer(__func__, [&] {
    require(number != nullptr, hipErrorInvalidValue);
    *number = version;
  });
}

HIP_EXPORT hipError_t hipGetDeviceCount(int *count) {
  return answer(__func__, [&] {
    require(count != nullptr, hipErrorInvalidValue);
    *count = options().devices;
  });
}

HIP_EXPORT hipError_t hipDeviceGet(hipDevice_t *device, int ordinal) {
  return answer(__func__, [&] {
    require(device != nullptr, hipErrorInvalidValue);
    require_device(ordinal);
    *device = ordinal;
  });
}

HIP_EXPORT hipError_t hipGetDevice(int *device) {
  return answer(__func__, [&] {
    require(device != nullptr, hipErrorInvalidValue);
    *device = current();
  });
}

HIP_EXPORT hipError_t hipSetDevice(int device) {
  return answer(__func__, [&] {
    require_device(device);
    current() = device;
  });
}

HIP_EXPORT hipError_t hipGetDeviceFlags(unsigned *flags) {
  return answer(__func__, [&] {
    require(flags != nullptr, hipErrorInvalidValue);
    *flags = hipDeviceScheduleAuto;
  });
}

HIP_EXPORT hipError_t hipSetDeviceFlags(unsigned flags) {
  return answer(__func__, [&] { require(flags < 32, hipErrorInvalidValue); });
}

HIP_EXPORT hipError_t hipDeviceSynchronize() {
  return answer(__func__, [&] {
    // In whatever mode: the device has the captured stream too (CUDA C++ Programming Guide, "Prohibited
    // and Unhandled Operations").
    require_none_captured(hipErrorStreamCaptureUnsupported);
    wait_for_device(current());
  });
}

HIP_EXPORT hipError_t hipDeviceReset() {
  return answer(__func__, [&] { wait_for_device(current()); });
}

HIP_EXPORT hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t which, int device) {
  return answer(__func__, [&] {
    require(value != nullptr, hipErrorInvalidValue);
    *value = attribute(properties_of(device), which);
  });
}

HIP_EXPORT hipError_t hipDeviceGetName(char *name, int size, hipDevice_t device) {
  return answer(__func__, [&] { copy_text(name, size, properties_of(device).name); });
}

HIP_EXPORT hipError_t hipDeviceGetUuid(hipUUID *uuid, hipDevice_t device) {
  return answer(__func__, [&] {
    require(uuid != nullptr, hipErrorInvalidValue);
    *uuid = properties_of(device).uuid;
  });
}

HIP_EXPORT hipError_t hipDeviceGetPCIBusId(char *id, int size, int device) {
  return answer(__func__, [&] {
    char text[16];
    snprintf(text, sizeof text, "0000:%02x:00.0", properties_of(device).pciBusID);
    copy_text(id, size, text);
  });
}

HIP_EXPORT hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device) {
  return answer(__func__, [&] {
    require(bytes != nullptr, hipErrorInvalidValue);
    *bytes = hipcpu::device(device).heap.total();
  });
}

HIP_EXPORT hipError_t hipDeviceComputeCapability(int *major, int *minor, hipDevice_t device) {
  return answer(__func__, [&] {
    require(major != nullptr && minor != nullptr, hipErrorInvalidValue);
    const Arch &arch = hipcpu::device(device).arch;
    *major = arch.major;
    *minor = arch.minor;
  });
}

HIP_EXPORT hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device) {
  return answer("hipGetDeviceProperties", [&] {
    require(properties != nullptr, hipErrorInvalidValue);
    *properties = properties_of(device);
  });
}

HIP_EXPORT hipError_t hipDeviceGetLimit(size_t *value, hipLimit_t limit) {
  return answer(__func__, [&] {
    require(value != nullptr, hipErrorInvalidValue);
    switch (limit) {
      case hipLimitStackSize: *value = 1024; break;
      case hipLimitPrintfFifoSize: *value = size_t{1} << 20; break;
      case hipLimitMallocHeapSize: *value = size_t{8} << 20; break;
      default: throw Failure{hipErrorUnsupportedLimit};
    }
  });
}

// Private memory, printf's buffer and malloc's heap are the host's: there is nothing to set.
HIP_EXPORT hipError_t hipDeviceSetLimit(hipLimit_t limit, size_t) {
  return answer(__func__,
                [&] { require(limit <= hipLimitMallocHeapSize, hipErrorUnsupportedLimit); });
}

HIP_EXPORT hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest) {
  return answer(__func__, [&] {
    if (least != nullptr) *least = least_priority;
    if (greatest != nullptr) *greatest = greatest_priority;
  });
}

HIP_EXPORT hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer) {
  return answer(__func__, [&] {
    require(can != nullptr, hipErrorInvalidValue);
    require_device(device);
    require_device(peer);
    *can = device != peer && reaches(device, peer);
  });
}

HIP_EXPORT hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return answer(__func__, [&] {
    require_device(peer);
    require(flags == 0, hipErrorInvalidValue);
    require(peer != current(), hipErrorInvalidDevice);
    require(reaches(current(), peer), hipErrorPeerAccessUnsupported);
  });
}

HIP_EXPORT hipError_t hipDeviceDisablePeerAccess(int peer) {
  return answer(__func__, [&] { require_device(peer); });
}
