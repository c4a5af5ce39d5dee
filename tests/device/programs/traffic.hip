// Work that reads and writes as many bytes as tests/device/test_device_traffic.py says: `traffic WHAT`.
#include <hip/hip_runtime.h>
#include <stdlib.h>
#include <string.h>

// Of rocblas.h (ROCm 7); 111 is `rocblas_operation_none`.
extern "C" {
int rocblas_create_handle(void **handle);
int rocblas_sgemm(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                  const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
                  int ldc);
}

#define OK(CALL) \
  if ((CALL) != 0) exit(2)

namespace {

constexpr int n = 256;

struct alignas(16) Four {
  float x[4];
};

__global__ void copy(float *to, const float *from) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[i];
}

// Sixteen bytes at a time, by a quarter of the threads.
__global__ void wide(Four *to, const Four *from) {
  if (threadIdx.x % 4 == 0) to[threadIdx.x / 4] = from[threadIdx.x / 4];
}

// What is kept in shared memory is read from the device's once.
__global__ void shared(float *to, const float *from) {
  __shared__ float kept[n];
  kept[threadIdx.x] = from[threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += kept[i];
  to[threadIdx.x] = sum;
}

// Each thread reads all of it.
__global__ void again(float *to, const float *from) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += from[i];
  to[threadIdx.x] = sum;
}

// One value of each line of a cache.
__global__ void one_of_a_line(float *to, const float *from) {
  if (threadIdx.x % 16 == 0) to[threadIdx.x] = from[threadIdx.x];
}

struct Many {
  float x[32];
};

// More than one instruction can: the compiler calls a function for it.
__global__ void large(Many *to, const Many *from) { to[threadIdx.x] = from[threadIdx.x]; }

__global__ void add(unsigned *to, const unsigned *from) { atomicAdd(to, from[threadIdx.x]); }

}  // namespace

int main(int count, char **words) {
  const char *what = count > 1 ? words[1] : "";
  float *a, *b;
  OK(hipMalloc(&a, n * sizeof(float)));
  OK(hipMalloc(&b, n * sizeof(float)));
  OK(hipMemset(a, 0, n * sizeof(float)));
  OK(hipMemset(b, 0, n * sizeof(float)));
  if (strcmp(what, "copy") == 0) copy<<<4, n / 4>>>(b, a);
  auto *four_of_a = reinterpret_cast<Four *>(a), *four_of_b = reinterpret_cast<Four *>(b);
  if (strcmp(what, "wide") == 0) wide<<<1, n>>>(four_of_b, four_of_a);
  if (strcmp(what, "shared") == 0) shared<<<1, n>>>(b, a);
  if (strcmp(what, "again") == 0) again<<<1, n>>>(b, a);
  if (strcmp(what, "one of a line") == 0) one_of_a_line<<<1, n>>>(b, a);
  if (strcmp(what, "twice") == 0) {  // a launch finds nothing of what another has fetched
    copy<<<4, n / 4>>>(b, a);
    copy<<<4, n / 4>>>(b, a);
  }
  if (strcmp(what, "large") == 0) {
    Many *fresh;
    OK(hipMalloc(&fresh, n * sizeof(float)));
    large<<<1, n / 32>>>(fresh, reinterpret_cast<Many *>(a));
  }
  if (strcmp(what, "add") == 0) {
    add<<<1, n>>>(reinterpret_cast<unsigned *>(b), reinterpret_cast<unsigned *>(a));
  }
  if (strcmp(what, "device to device") == 0) OK(hipMemcpy(b, a, 64, hipMemcpyDeviceToDevice));
  if (strcmp(what, "from the host") == 0) OK(hipMemcpy(b, words, 8, hipMemcpyHostToDevice));
  if (strcmp(what, "to the host") == 0) {
    float number;
    OK(hipMemcpy(&number, a, sizeof number, hipMemcpyDeviceToHost));
  }
  if (strcmp(what, "freed") == 0) {
    void *more;
    OK(hipMallocAsync(&more, 4096, nullptr));
    OK(hipFreeAsync(more, nullptr));
  }
  if (strcmp(what, "product") == 0) {
    void *handle;
    OK(rocblas_create_handle(&handle));
    const float one = 1, zero = 0;
    // 8 x 16 by 16 x 4.
    OK(rocblas_sgemm(handle, 111, 111, 8, 4, 16, &one, a, 8, a, 16, &zero, b, 8));
  }
  OK(hipDeviceSynchronize());
}
