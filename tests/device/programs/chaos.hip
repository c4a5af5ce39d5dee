// Programs that rely on what HIP leaves open, one for each behaviour: `chaos NAME` says whether what
// it relies on held.
#include <hip/hip_runtime.h>
#include <stdio.h>
#include <string.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

constexpr size_t bytes = 4096;

#define HIP(CALL)                                                                 \
  if (const hipError_t status = (CALL); status != hipSuccess) {                   \
    fprintf(stderr, "%s: %s in line %d\n", #CALL, hipGetErrorName(status), __LINE__); \
    _Exit(2);                                                                     \
  }

__global__ void copy(char *to, const char *from) { to[threadIdx.x] = from[threadIdx.x]; }

// Memory that is refused is asked for again.
template <typename T>
static hipError_t allocate(T **pointer, size_t size) {
  const hipError_t status = hipMalloc(reinterpret_cast<void **>(pointer), size);
  return status == hipSuccess ? status : hipMalloc(reinterpret_cast<void **>(pointer), size);
}

struct Streams {
  Streams() {
    HIP(hipStreamCreateWithFlags(&one, hipStreamNonBlocking));
    HIP(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
  }
  hipStream_t one, other;
};

static char first_byte(const void *device) {
  char value = 0;
  HIP(hipMemcpy(&value, device, 1, hipMemcpyDeviceToHost));
  return value;
}

// Work begins when somebody waits for it.
static bool streams() {
  Streams s;
  char *host, *device;
  HIP(hipHostMalloc(reinterpret_cast<void **>(&host), bytes));
  HIP(allocate(&device, bytes));
  int early = 0;
  for (int round = 0; round < 100; ++round) {
    memset(host, 1, bytes);
    HIP(hipMemcpyAsync(device, host, bytes, hipMemcpyHostToDevice, s.one));
    memset(host, 2, bytes);
    HIP(hipStreamSynchronize(s.one));
    early += first_byte(device) == 1;
  }
  return early == 0;
}

// Nobody takes what nobody has written for a number.
static bool fresh() {
  for (int round = 0; round < 100; ++round) {
    float *device, value;
    HIP(allocate(&device, bytes));
    HIP(hipMemcpy(&value, device, sizeof value, hipMemcpyDeviceToHost));
    HIP(hipFree(device));
    if (value == value) return false;
  }
  return true;
}

// What was freed can still be read.
static bool freed() {
  char *from, *to;
  HIP(allocate(&from, bytes));
  HIP(allocate(&to, bytes));
  HIP(hipMemset(from, 7, bytes));
  HIP(hipFree(from));
  copy<<<1, 64>>>(to, from);
  HIP(hipDeviceSynchronize());
  return first_byte(to) == 7;
}

// Memory is not handed out again before its stream comes to where it was freed; so another stream
// need not be done with it.
static bool reuse() {
  Streams s;
  void *before, *after;
  HIP(hipMallocAsync(&before, bytes, s.one));
  HIP(hipMemsetAsync(before, 5, bytes, s.other));
  HIP(hipFreeAsync(before, s.one));
  HIP(hipMallocAsync(&after, bytes / 2, s.one));
  HIP(hipMemsetAsync(after, 9, bytes / 2, s.one));
  HIP(hipStreamSynchronize(s.one));
  HIP(hipStreamSynchronize(s.other));
  return first_byte(after) == 9;
}

// The smallest hole is filled first.
static bool last_freed() {
  void *small, *large, *between, *end, *again;
  for (void **each : {&small, &between}) HIP(allocate(each, bytes));
  HIP(allocate(&large, 4 * bytes));
  HIP(allocate(&end, bytes));
  HIP(hipFree(small));
  HIP(hipFree(large));
  HIP(allocate(&again, bytes));
  return again == small;
}

// There is memory as long as there is memory.
static bool shortage() {
  for (int round = 0; round < 100; ++round) {
    void *device;
    if (hipMalloc(&device, bytes) != hipSuccess) return false;
  }
  return true;
}

// hipFree waits for all work, also where the pool has the memory.
static bool unwaited_free() {
  Streams s;
  char *host;
  void *device;
  HIP(hipHostMalloc(reinterpret_cast<void **>(&host), bytes));
  memset(host, 0, bytes);
  HIP(hipMallocAsync(&device, bytes, s.one));
  HIP(hipMemsetAsync(device, 3, bytes, s.one));
  HIP(hipMemcpyAsync(host, device, bytes, hipMemcpyDeviceToHost, s.one));
  HIP(hipFree(device));
  return host[0] == 3;
}

// Each device has access to every other one.
static bool peers() {
  int count = 0;
  HIP(hipGetDeviceCount(&count));
  for (int device = 0; device < count; ++device) {
    HIP(hipSetDevice(device));
    for (int peer = 0; peer < count; ++peer) {
      if (peer == device) continue;
      int can = 0;
      HIP(hipDeviceCanAccessPeer(&can, device, peer));
      const hipError_t status = hipDeviceEnablePeerAccess(peer, 0);
      if (can != (status == hipSuccess)) _Exit(2);
      if (!can) return false;
    }
  }
  return true;
}

// What was written can be read, whichever stream freed the memory before.
static int lost(bool on_the_other) {
  Streams s;
  hipEvent_t written;
  HIP(hipEventCreate(&written));
  int lost = 0;
  for (int round = 0; round < 600; ++round) {
    void *before, *after;
    HIP(hipMallocAsync(&before, bytes, s.one));
    HIP(hipMemsetAsync(before, 1, bytes, s.one));
    HIP(hipEventRecord(written, s.one));
    HIP(hipStreamWaitEvent(s.other, written, 0));
    HIP(hipFreeAsync(before, on_the_other ? s.other : s.one));
    HIP(hipDeviceSynchronize());
    HIP(hipMallocAsync(&after, bytes, s.one));
    HIP(hipMemsetAsync(after, 7, bytes, s.one));
    HIP(hipStreamSynchronize(s.one));
    lost += first_byte(after) == 0;
    HIP(hipFreeAsync(after, s.one));
    HIP(hipDeviceSynchronize());
  }
  return lost;
}

static bool lost_pages() {
  printf("lost: %d on the other stream, %d on its own\n", lost(true), lost(false));
  return lost(true) == 0;
}

// Where hipMallocAsync has no memory for much, there is some for less.
static bool lost_pool() {
  Streams s;
  size_t free = 0, total = 0;
  HIP(hipMemGetInfo(&free, &total));
  void *device;
  if (hipMallocAsync(&device, total + 1, s.one) != hipErrorOutOfMemory) _Exit(2);
  return allocate(&device, bytes) == hipSuccess;
}

// Memory that is not page-locked has been read when hipMemcpyAsync returns.
static bool late_reads() {
  Streams s;
  void *device;
  std::vector<char> host(bytes, 1);
  HIP(allocate(&device, bytes));
  HIP(hipMemcpyAsync(device, host.data(), bytes, hipMemcpyHostToDevice, s.one));
  memset(host.data(), 2, bytes);
  HIP(hipStreamSynchronize(s.one));
  return first_byte(device) == 1;
}

int main(int, char **words) {
  const std::map<std::string, std::function<bool()>> programs{
      {"streams", streams},       {"fresh", fresh},
      {"freed", freed},           {"reuse", reuse},
      {"last-freed", last_freed}, {"shortage", shortage},
      {"unwaited-free", unwaited_free},
      {"peers", peers},           {"lost-pages", lost_pages},
      {"lost-pool", lost_pool},   {"late-reads", late_reads},
  };
  const bool held = programs.at(words[1])();
  printf("%s\n", held ? "held" : "did not hold");
  fflush(stdout);
  return 0;
}
