// How many GPU threads a second the CPU device runs: kernels of the kinds that tensor libraries
// have. Writes a line for each, with its name, how many threads ran and how many seconds it took.
#include <hip/hip_runtime.h>

#include <chrono>
#include <cstdio>
#include <functional>

constexpr int n = 1 << 20;
constexpr int side = 256;
constexpr int tile = 16;
constexpr int row = 1024;

__global__ void affine(const float *x, float *y, float mul, float add) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] * mul + add;
}

// Of a transposed matrix: the index is computed, as for tensors that are not contiguous.
__global__ void strided(const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i % row * (n / row) + i / row];
}

__global__ void sum_rows(const float *x, float *sums) {
  __shared__ float part[256];
  float sum = 0;
  for (int i = threadIdx.x; i < row; i += blockDim.x) sum += x[blockIdx.x * row + i];
  part[threadIdx.x] = sum;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

__global__ void softmax_rows(const float *x, float *y) {
  float sum = 0;
  for (int i = threadIdx.x; i < row; i += 32) sum += expf(x[blockIdx.x * row + i]);
  for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor(sum, mask, 32);
  for (int i = threadIdx.x; i < row; i += 32) {
    y[blockIdx.x * row + i] = expf(x[blockIdx.x * row + i]) / sum;
  }
}

__global__ void multiply(const float *a, const float *b, float *c) {
  __shared__ float left[tile][tile], right[tile][tile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int column = blockIdx.x * tile + x, line = blockIdx.y * tile + y;
  float sum = 0;
  for (int k = 0; k < side; k += tile) {
    left[y][x] = a[line * side + k + x];
    right[y][x] = b[(k + y) * side + column];
    __syncthreads();
    for (int i = 0; i < tile; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  c[line * side + column] = sum;
}

static void measure(const char *name, long threads, const std::function<void()> &launch) {
  launch();
  (void)hipDeviceSynchronize();
  double seconds = 0;
  long times = 0;
  const auto begin = std::chrono::steady_clock::now();
  while (seconds < 0.5) {
    launch();
    (void)hipDeviceSynchronize();
    ++times;
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  printf("%s %ld %g\n", name, threads * times, seconds);
}

int main() {
  float *x, *y;
  (void)hipMalloc(&x, n * sizeof(float));
  (void)hipMalloc(&y, n * sizeof(float));
  (void)hipMemset(x, 0, n * sizeof(float));
  (void)hipDeviceSynchronize();
  measure("affine", n, [&] { affine<<<n / 256, 256>>>(x, y, 2, 1); });
  measure("strided copy", n, [&] { strided<<<n / 256, 256>>>(x, y); });
  measure("sum of rows", n / row * 256, [&] { sum_rows<<<n / row, 256>>>(x, y); });
  measure("softmax of rows", n / row * 32, [&] { softmax_rows<<<n / row, 32>>>(x, y); });
  measure("matrix product", side * side, [&] {
    multiply<<<dim3(side / tile, side / tile), dim3(tile, tile)>>>(x, x + side * side, y);
  });
  return hipGetLastError() != hipSuccess;
}
