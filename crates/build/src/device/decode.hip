// What a step of decoding launches around its products, where each launch costs more than its work.
//
// - rms_norm: root mean square norm of rows (Zhang and Sennrich 2019), each read once.
// - join: two tensors in one, as keys and values are with those before them.
#include "hipx.h"
#include "hipx_block.h"

namespace {

constexpr int THREADS = 1024;
constexpr int HELD = 8;  // values of a row that a thread keeps in registers

// A block has a row.
template <typename T>
__device__ __forceinline__ void rms_norm(
    const T *x, T *out, const T *weights, int columns, float eps) {
  x += static_cast<size_t>(blockIdx.x) * columns;
  out += static_cast<size_t>(blockIdx.x) * columns;
  const int step = blockDim.x;

  float held[HELD], squares = 0.0f;
  int column = threadIdx.x;
#pragma unroll
  for (int i = 0; i < HELD; ++i, column += step) {
    held[i] = column < columns ? static_cast<float>(x[column]) : 0.0f;
    squares += held[i] * held[i];
  }
  for (; column < columns; column += step) {
    const float value = static_cast<float>(x[column]);
    squares += value * value;
  }
  const float sum = hipx::block_reduce(squares, 0.0f, [](float a, float b) { return a + b; });
  const float scale = rsqrtf(sum / columns + eps);

  const auto put = [&](int at, float value) {
    if (at < columns) out[at] = static_cast<T>(scale * value * static_cast<float>(weights[at]));
  };
  column = threadIdx.x;
#pragma unroll
  for (int i = 0; i < HELD; ++i, column += step) put(column, held[i]);
  for (; column < columns; column += step) put(column, static_cast<float>(x[column]));
}

// Blocks in y have rows, threads in x the units of one.
template <typename Unit>
__device__ __forceinline__ void join(
    const Unit *first, const Unit *second, Unit *out, uint32_t rows, uint32_t width,
    uint32_t more, uint32_t stride, uint32_t stride_of_more) {
  const uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= width + more) return;
  for (size_t row = blockIdx.y; row < rows; row += gridDim.y) {
    out[row * (width + more) + at] =
        at < width ? first[row * stride + at] : second[row * stride_of_more + (at - width)];
  }
}

}  // namespace

#define NORM(NAME, TYPE)                                                                        \
  extern "C" __global__ void __launch_bounds__(THREADS) rms_norm_##NAME(                        \
      const TYPE *x, TYPE *out, const TYPE *weights, int columns, float eps) {                  \
    rms_norm<TYPE>(x, out, weights, columns, eps);                                              \
  }

#define JOIN(BYTES, UNIT)                                                                       \
  extern "C" __global__ void join_##BYTES(                                                      \
      const UNIT *first, const UNIT *second, UNIT *out, uint32_t rows, uint32_t width,          \
      uint32_t more, uint32_t stride, uint32_t stride_of_more) {                                \
    join<UNIT>(first, second, out, rows, width, more, stride, stride_of_more);                  \
  }

NORM(f32, float)
NORM(f16, __half)
NORM(bf16, __hip_bfloat16)
NORM(f64, double)
JOIN(2, uint16_t)
JOIN(4, uint32_t)
JOIN(8, uint64_t)
JOIN(16, uint4)
