// Memory that is allocated in the order of streams.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <map>
#include <mutex>
#include <vector>

#include "../check/checker.h"
#include "chaos.h"
#include "device.h"
#include "memory.h"
#include "stream.h"

namespace hipcpu {

namespace {

struct Block {
  const Stream *of;                  // for which it was allocated
  const Stream *freed_on = nullptr;  // while it is its stream's to hand out again
  size_t freed = 0;                  // the number of the latest hipFreeAsync
  bool may_be_lost = false;          // its memory was freed on another stream before
};

struct Pool {
  std::mutex mutex;
  std::map<char *, Block> blocks;
  // Where blocks were that another stream freed than the one they were allocated for.
  std::vector<Heap::Allocation> strays;
  size_t frees = 0;
  bool lost = false;
};

Pool &pool() {
  static Pool *pool = new Pool;
  return *pool;
}

// A block that the same stream has freed: it may have it before the work ahead of that is done.
void *freed_before(const Stream *stream, size_t bytes) {
  if (!may(Open::reuse) || check::enabled()) return nullptr;
  for (auto &[begin, block] : pool().blocks) {
    Heap &heap = device(stream->device).heap;
    if (block.freed_on != stream || heap.find(begin).bytes < bytes) continue;
    heap.resize(begin, bytes);
    block.freed_on = nullptr;
    return begin;
  }
  return nullptr;
}

// ROCm/rocm-systems 11642: what cannot be had takes all that is left, and the process does not end
// well.
void lose(Heap &heap) {
  if (!may(Open::lost_pool)) return;
  heap.lose();
  pool().lost = true;
}

__attribute__((destructor)) void end() {
  if (!pool().lost) return;
  fprintf(stderr, "HIP device: hipMallocAsync had no memory: the process ends as in"
                  " ROCm/rocm-systems 11642\n");
  abort();
}

// ROCm/rocm-systems 10943: memory that another stream has freed than had allocated it comes back,
// and reads zero after some wait.
bool is_stray(const char *begin, size_t bytes) {
  std::vector<Heap::Allocation> &strays = pool().strays;
  for (auto each = strays.begin(); each != strays.end(); ++each) {
    if (begin >= each->begin + each->bytes || each->begin >= begin + bytes) continue;
    strays.erase(each);
    return true;
  }
  return false;
}

void allocate(void **pointer, size_t bytes, hipStream_t stream) {
  require(pointer != nullptr, hipErrorInvalidValue);
  const std::shared_ptr<Stream> of = stream_of(stream);
  require(of->capture() == nullptr, hipErrorStreamCaptureUnsupported);
  *pointer = nullptr;
  if (bytes == 0) return;
  std::lock_guard<std::mutex> lock(pool().mutex);
  *pointer = freed_before(of.get(), bytes);
  if (*pointer != nullptr) return;
  Heap &heap = device(of->device).heap;
  *pointer = heap.allocate(bytes);
  if (*pointer == nullptr) lose(heap);
  require(*pointer != nullptr, hipErrorOutOfMemory);
  auto *begin = static_cast<char *>(*pointer);
  Block &block = pool().blocks[begin];
  block = Block{of.get()};
  block.may_be_lost = is_stray(begin, bytes);
}

// When a stream comes to where a block was freed.
void give_back(char *begin, size_t freed) {
  std::lock_guard<std::mutex> lock(pool().mutex);
  const auto found = pool().blocks.find(begin);
  if (found == pool().blocks.end() || found->second.freed != freed) return;
  Heap &heap = device(device_of(begin)).heap;
  if (found->second.freed_on == nullptr) {
    heap.overwrite(begin);  // its stream has handed it out again
    return;
  }
  if (may(Open::lost_pages) && found->second.freed_on != found->second.of) {
    pool().strays.push_back(heap.find(begin));
  }
  pool().blocks.erase(found);
  heap.free(begin);
}

// Every device has one pool, which is its heap.
hipMemPool_t pool_of(int ordinal) {
  return reinterpret_cast<hipMemPool_t>(&device(ordinal).heap);
}

int device_of_pool(hipMemPool_t pool) {
  for (int i = 0, count = 0; hipGetDeviceCount(&count) == hipSuccess && i < count; ++i) {
    if (pool_of(i) == pool) return i;
  }
  throw Failure{hipErrorInvalidValue};
}

}  // namespace

bool is_of_pool(const void *address) {
  const int ordinal = device_of(address);
  if (ordinal < 0) return false;
  char *begin = device(ordinal).heap.find(address).begin;
  std::lock_guard<std::mutex> lock(pool().mutex);
  return pool().blocks.count(begin) > 0;
}

void forget_block(void *pointer) {
  std::lock_guard<std::mutex> lock(pool().mutex);
  pool().blocks.erase(static_cast<char *>(pointer));
}

void lose_pages() {
  if (!may(Open::lost_pages)) return;
  std::lock_guard<std::mutex> lock(pool().mutex);
  for (auto &[begin, block] : pool().blocks) {
    if (!block.may_be_lost) continue;
    block.may_be_lost = false;
    // 151 of 600 times.
    if (any_below(600) >= 151) continue;
    const check::Reach reach;
    memset(begin, 0, device(device_of(begin)).heap.find(begin).bytes);
  }
}

}  // namespace hipcpu

using namespace hipcpu;

HIP_EXPORT hipError_t hipMallocAsync(void **pointer, size_t bytes, hipStream_t stream) {
  return answer(__func__, [&] { allocate(pointer, bytes, stream); });
}

HIP_EXPORT hipError_t hipMallocFromPoolAsync(void **pointer, size_t bytes, hipMemPool_t pool,
                                             hipStream_t stream) {
  return answer(__func__, [&] {
    require(device_of_pool(pool) == stream_of(stream)->device, hipErrorInvalidValue);
    allocate(pointer, bytes, stream);
  });
}

// Memory of hipMalloc's can be freed so as well.
HIP_EXPORT hipError_t hipFreeAsync(void *pointer, hipStream_t stream) {
  return answer(__func__, [&] {
    require(pointer != nullptr, hipErrorInvalidValue);
    require_allocation(pointer);
    const std::shared_ptr<Stream> on = stream_of(stream);
    require(on->capture() == nullptr, hipErrorStreamCaptureUnsupported);
    auto *begin = static_cast<char *>(pointer);
    const size_t bytes = device(device_of(begin)).heap.find(begin).bytes;
    size_t freed = 0;
    {
      std::lock_guard<std::mutex> lock(pool().mutex);
      Block &block = pool().blocks.emplace(begin, Block{on.get()}).first->second;
      require(block.freed_on == nullptr, hipErrorInvalidValue);
      block.freed_on = on.get();
      freed = block.freed = ++pool().frees;
    }
    submit(stream, [=] {
      check::gives_up(begin, bytes, "hipFreeAsync");
      give_back(begin, freed);
    });
  });
}

HIP_EXPORT hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t *pool, int device) {
  return answer(__func__, [&] {
    require(pool != nullptr, hipErrorInvalidValue);
    *pool = pool_of(device);
  });
}

HIP_EXPORT hipError_t hipDeviceGetMemPool(hipMemPool_t *pool, int device) {
  return answer(__func__, [&] {
    require(pool != nullptr, hipErrorInvalidValue);
    *pool = pool_of(device);
  });
}

// Nothing is kept that could be given back.
HIP_EXPORT hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t) {
  return answer(__func__, [&] { device_of_pool(pool); });
}
