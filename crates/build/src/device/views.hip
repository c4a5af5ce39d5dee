// What goes over views and rows, where the way through memory is all there is.
//
// - softmax: of rows, each read once: a block has a row, and a thread keeps eight of its values.
// - ucopy: a view in row-major order; what is transposed goes by tiles.
#include "hipx.h"
#include "hipx_block.h"
#include "hipx_strided.h"

namespace {

constexpr int THREADS = 1024;
constexpr int HELD = 8;  // values of a row that a thread keeps in registers

__device__ __forceinline__ float exponential(float value) { return expf(value); }
__device__ __forceinline__ double exponential(double value) { return exp(value); }

// `Wide` is what is added in. Warps are in y.
template <typename T, typename Wide>
__device__ __forceinline__ void softmax(const T *x, T *out, int columns) {
  x += static_cast<size_t>(blockIdx.x) * columns;
  out += static_cast<size_t>(blockIdx.x) * columns;
  const int start = threadIdx.x + blockDim.x * threadIdx.y, step = blockDim.x * blockDim.y;
  const auto greater = [](Wide a, Wide b) { return a > b ? a : b; };

  const Wide lowest = -INFINITY;
  Wide held[HELD], most = lowest;
#pragma unroll
  for (int i = 0; i < HELD && i * step < columns; ++i) {
    const int column = start + i * step;
    held[i] = column < columns ? static_cast<Wide>(x[column]) : lowest;
    most = greater(held[i], most);
  }
  for (int column = start + HELD * step; column < columns; column += step) {
    most = greater(static_cast<Wide>(x[column]), most);
  }
  most = hipx::block_reduce(most, lowest, greater);

  Wide sum = 0;
#pragma unroll
  for (int i = 0; i < HELD && i * step < columns; ++i) {
    held[i] = exponential(held[i] - most);
    if (start + i * step < columns) sum += held[i];
  }
  for (int column = start + HELD * step; column < columns; column += step) {
    sum += exponential(static_cast<Wide>(x[column]) - most);
  }
  const Wide scale = 1 / hipx::block_reduce(sum, Wide(0), [](Wide a, Wide b) { return a + b; });

#pragma unroll
  for (int i = 0; i < HELD && i * step < columns; ++i) {
    if (start + i * step < columns) out[start + i * step] = static_cast<T>(held[i] * scale);
  }
  for (int column = start + HELD * step; column < columns; column += step) {
    out[column] = static_cast<T>(exponential(static_cast<Wide>(x[column]) - most) * scale);
  }
}

template <typename T>
__device__ __forceinline__ void copy(
    size_t count, size_t number, const size_t *info, const T *in, T *out) {
  const size_t *strides = info + number;
  if (hipx::copy_transposed(count, number, info, strides, in, out)) return;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) {
    out[i] = in[hipx::strided_index(i, number, info, strides)];
  }
}

}  // namespace

#define SOFTMAX(NAME, TYPE, WIDE)                                                               \
  extern "C" __global__ void __launch_bounds__(THREADS) softmax_##NAME(                         \
      const TYPE *x, TYPE *out, int columns) {                                                  \
    softmax<TYPE, WIDE>(x, out, columns);                                                       \
  }

#define COPY(NAME, UNIT)                                                                        \
  extern "C" __global__ void ucopy_##NAME(                                                      \
      size_t count, size_t number, const size_t *info, const UNIT *in, UNIT *out) {             \
    copy(count, number, info, in, out);                                                         \
  }

SOFTMAX(f32, float, float)
SOFTMAX(f16, __half, float)
SOFTMAX(bf16, __hip_bfloat16, float)
SOFTMAX(f64, double, double)
COPY(u8, uint8_t)
COPY(u32, uint32_t)
COPY(i64, uint64_t)
COPY(bf16, uint16_t)
COPY(f16, uint16_t)
COPY(f32, uint32_t)
COPY(f64, uint64_t)
COPY(f8_e4m3, uint8_t)
