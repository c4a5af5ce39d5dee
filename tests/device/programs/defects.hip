// Kernels with a defect, and a correct twin of each: `defects KIND` runs one, `defects KIND twin`
// the other. Results do not matter.
#include <hip/hip_runtime.h>

#include <stdio.h>
#include <string.h>

#include <map>
#include <string>

constexpr int n = 128;

static int *device_memory(bool written = true) {
  int *memory = nullptr;
  (void)hipMalloc(&memory, n * sizeof(int));
  if (written) (void)hipMemset(memory, 0, n * sizeof(int));
  return memory;
}

// ---- memory
__global__ void fill(int *x, int count) {
  if (threadIdx.x < count) x[threadIdx.x] = 1;
}

static void out_of_bounds(bool twin) { fill<<<1, n + 1>>>(device_memory(), twin ? n : n + 1); }

__global__ void wide(unsigned char *x, int at) { *reinterpret_cast<int *>(x + at) = 1; }

// Only the last of four bytes is outside.
static void partly_out_of_bounds(bool twin) {
  void *memory;
  (void)hipMalloc(&memory, twin ? 8 : 7);
  wide<<<1, 1>>>(static_cast<unsigned char *>(memory), 4);
}

template <bool Twin>
__global__ void neighbour(int *out) {
  __shared__ int row[n];
  const int t = threadIdx.x;
  row[t] = t;
  __syncthreads();
  out[t] = row[Twin ? (t + 1) % n : t + 1];
}

static void shared_out_of_bounds(bool twin) {
  if (twin) {
    neighbour<true><<<1, n>>>(device_memory());
  } else {
    neighbour<false><<<1, n>>>(device_memory());
  }
}

__global__ void dynamic(int *out) {
  extern __shared__ int row[];
  row[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = row[n - 1 - threadIdx.x];
}

static void dynamic_shared_out_of_bounds(bool twin) {
  dynamic<<<1, n, (twin ? n : n - 1) * sizeof(int)>>>(device_memory());
}

static void use_after_free(bool twin) {
  int *memory = device_memory();
  if (!twin) (void)hipFree(memory);
  fill<<<1, n>>>(memory, n);
  (void)hipDeviceSynchronize();
  if (twin) (void)hipFree(memory);
}

__global__ void copy(const int *from, int *to) { to[threadIdx.x] = from[threadIdx.x]; }

static void uninitialised(bool twin) { copy<<<1, n>>>(device_memory(twin), device_memory()); }

static void uninitialised_copy(bool twin) {
  int host[n];
  (void)hipMemcpy(host, device_memory(twin), sizeof host, hipMemcpyDeviceToHost);
}

// What was not initialised is not by being copied.
static void uninitialised_after_copy(bool twin) {
  int *from = device_memory(twin), *to = device_memory();
  (void)hipMemcpy(to, from, n * sizeof(int), hipMemcpyDeviceToDevice);
  copy<<<1, n>>>(to, device_memory());
}

template <bool Twin>
__global__ void sums(int *out) {
  __shared__ int sum;
  if (Twin && threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, 1);
  __syncthreads();
  out[threadIdx.x] = sum;
}

static void uninitialised_shared(bool twin) {
  if (twin) {
    sums<true><<<1, n>>>(device_memory());
  } else {
    sums<false><<<1, n>>>(device_memory());
  }
}

// ---- barriers and lanes
template <bool Twin>
__global__ void branch(int *out) {
  __shared__ int row[n];
  const int t = threadIdx.x;
  row[t] = t;
  if (Twin) {
    __syncthreads();
  } else if (t < 64) {
    __syncthreads();
  } else {
    row[t] += 1;
    __syncthreads();
  }
  out[t] = row[t];
}

static void divergent_barrier(bool twin) {
  if (twin) {
    branch<true><<<1, n>>>(device_memory());
  } else {
    branch<false><<<1, n>>>(device_memory());
  }
}

__global__ void early_end(int *out, int count) {
  if (threadIdx.x >= count) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

static void missed_barrier(bool twin) { early_end<<<1, n>>>(device_memory(), twin ? n : n - 1); }

template <bool Twin>
__global__ void half_of_the_lanes(int *out) {
  const int t = threadIdx.x;
  if (t % 32 < 16) out[t] = __shfl_xor(t, Twin ? 8 : 16, 32);
}

static void inactive_lane(bool twin) {
  if (twin) {
    half_of_the_lanes<true><<<1, n>>>(device_memory());
  } else {
    half_of_the_lanes<false><<<1, n>>>(device_memory());
  }
}

// ---- races
template <bool Twin>
__global__ void reversed(int *out) {
  __shared__ int row[n];
  const int t = threadIdx.x;
  row[t] = t;
  if (Twin) __syncthreads();
  out[t] = t == 0 ? 0 : row[t - 1];
}

static void shared_race(bool twin) {
  if (twin) {
    reversed<true><<<1, n>>>(device_memory());
  } else {
    reversed<false><<<1, n>>>(device_memory());
  }
}

// Two rounds in one buffer: the second overwrites what slower threads still read.
template <bool Twin>
__global__ void rounds(int *out) {
  __shared__ int row[n];
  const int t = threadIdx.x;
  for (int r = 0; r < 2; ++r) {
    row[t] = t + r;
    __syncthreads();
    out[t] = row[n - 1 - t];
    if (Twin) __syncthreads();
  }
}

static void missing_second_barrier(bool twin) {
  if (twin) {
    rounds<true><<<1, n>>>(device_memory());
  } else {
    rounds<false><<<1, n>>>(device_memory());
  }
}

// Neighbouring bytes of different threads are no race; one byte of two threads is.
template <bool Twin>
__global__ void bytes(int *out) {
  auto *x = reinterpret_cast<unsigned char *>(out);
  x[Twin ? threadIdx.x : threadIdx.x / 2] = 1;
}

static void byte_race(bool twin) {
  if (twin) {
    bytes<true><<<1, n>>>(device_memory());
  } else {
    bytes<false><<<1, n>>>(device_memory());
  }
}

// A block cannot wait for another.
template <bool Twin>
__global__ void between_blocks(int *out) {
  if (Twin) {
    atomicAdd(out, 1);
  } else {
    out[0] = blockIdx.x;
  }
}

static void global_race(bool twin) {
  if (twin) {
    between_blocks<true><<<4, 1>>>(device_memory());
  } else {
    between_blocks<false><<<4, 1>>>(device_memory());
  }
}

// Lanes of one wavefront that meet need no barrier of the block, however often they do.
template <bool Twin>
__global__ void lanes(int *out) {
  __shared__ int row[32];
  const int t = threadIdx.x;
  row[t] = t;
  for (int i = 0; Twin && i < 256; ++i) __builtin_amdgcn_wave_barrier();
  out[t] = row[31 - t];
}

static void lane_race(bool twin) {
  if (twin) {
    lanes<true><<<1, 32>>>(device_memory());
  } else {
    lanes<false><<<1, 32>>>(device_memory());
  }
}

// ---- the host
static void host_access(bool twin) {
  int *memory = device_memory(), host = 0;
  if (twin) {
    (void)hipMemcpy(&host, memory, sizeof host, hipMemcpyDeviceToHost);
  } else {
    host = *static_cast<volatile int *>(memory);
  }
}

static void missing_dependency(bool twin) {
  hipStream_t first, second;
  (void)hipStreamCreateWithFlags(&first, hipStreamNonBlocking);
  (void)hipStreamCreateWithFlags(&second, hipStreamNonBlocking);
  hipEvent_t event;
  (void)hipEventCreate(&event);
  int *memory = device_memory();
  (void)hipDeviceSynchronize();
  fill<<<1, n, 0, first>>>(memory, n);
  (void)hipEventRecord(event, first);
  if (twin) (void)hipStreamWaitEvent(second, event, 0);
  copy<<<1, n, 0, second>>>(memory, device_memory());
  (void)hipDeviceSynchronize();
}

// The host has to wait before it lets another stream go on.
static void missing_wait(bool twin) {
  hipStream_t first, second;
  (void)hipStreamCreateWithFlags(&first, hipStreamNonBlocking);
  (void)hipStreamCreateWithFlags(&second, hipStreamNonBlocking);
  int *memory = device_memory();
  (void)hipDeviceSynchronize();
  (void)hipMemsetAsync(memory, 0, n * sizeof(int), first);
  if (twin) (void)hipStreamSynchronize(first);
  (void)hipFreeAsync(memory, second);
  (void)hipDeviceSynchronize();
}

int main(int count, char **arguments) {
  const std::map<std::string, void (*)(bool)> all = {
#define ENTRY(NAME) {#NAME, NAME}
      ENTRY(out_of_bounds),
      ENTRY(partly_out_of_bounds),
      ENTRY(shared_out_of_bounds),
      ENTRY(dynamic_shared_out_of_bounds),
      ENTRY(use_after_free),
      ENTRY(uninitialised),
      ENTRY(uninitialised_copy),
      ENTRY(uninitialised_after_copy),
      ENTRY(uninitialised_shared),
      ENTRY(divergent_barrier),
      ENTRY(missed_barrier),
      ENTRY(inactive_lane),
      ENTRY(shared_race),
      ENTRY(missing_second_barrier),
      ENTRY(byte_race),
      ENTRY(global_race),
      ENTRY(lane_race),
      ENTRY(host_access),
      ENTRY(missing_dependency),
      ENTRY(missing_wait),
  };
  const auto found = all.find(count > 1 ? arguments[1] : "");
  if (found == all.end()) {
    for (const auto &entry : all) puts(entry.first.c_str());
    return 2;
  }
  found->second(count > 2);
  (void)hipDeviceSynchronize();
  const hipError_t status = hipGetLastError();
  if (status != hipSuccess) printf("%s\n", hipGetErrorName(status));
  return status != hipSuccess;
}
