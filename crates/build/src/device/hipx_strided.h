// Where the elements of a view lie: sizes and strides of its dimensions as Rust has them, in 64 bits.
//
// Indices have 32 bits, and so has what they are divided by: no AMD GPU divides integers, and in 64 bits
// that takes several times the instructions.
#pragma once

#include "hipx.h"

namespace hipx {

// Memory that no kernel writes while another reads it, so that what all lanes read alike is read once,
// by the scalar unit (LLVM's manual, "AMDGPU Address Spaces").
#if defined(__AMDGCN__)
using Sizes = const __attribute__((address_space(4))) size_t *;
#else
using Sizes = const size_t *;
#endif

// Sizes that indices are divided by, in 32 bits.
struct Narrow {
  const size_t *sizes;
  __device__ Narrow(const size_t *sizes) : sizes(sizes) {}
  __device__ operator const size_t *() const { return sizes; }
  template <typename Index>
  __device__ unsigned operator[](Index d) const {
    return (unsigned)((Sizes)sizes)[d];
  }
};

// Takes a dimension's outer neighbours into it while they lie as one in memory, or are of one element.
HIPX_DEVICE void merge(Sizes sizes, Sizes steps, size_t &d, unsigned &size, unsigned &step) {
  size = (unsigned)sizes[d], step = (unsigned)steps[d];
  for (; d > 0; --d) {
    const unsigned outer = (unsigned)sizes[d - 1], outer_step = (unsigned)steps[d - 1];
    if (size == 1) {
      step = outer_step;
    } else if (outer != 1 && outer_step != step * size) {
      return;
    }
    size *= outer;
  }
}

// Returns where the element lies that is number `at` in row-major order; there have to be as many.
HIPX_DEVICE unsigned strided_index(
    unsigned at, size_t number, const size_t *dims, const size_t *strides) {
  const auto sizes = (Sizes)dims, steps = (Sizes)strides;
  unsigned index = 0, size, step;
  for (size_t d = number; d-- > 0;) {
    merge(sizes, steps, d, size, step);
    if (d == 0) return index + at * step;
    const unsigned outer = at / size;
    index += (at - outer * size) * step;
    at = outer;
  }
  return index;
}

// Copies a view into row-major order if its last dimension is far apart in memory and another one is not,
// as in a transposed matrix: by square tiles in group memory, so that both sides take neighbours together.
// Says whether it has. For blocks of 1024 threads, all of which have to come.
template <typename T>
HIPX_DEVICE bool copy_transposed(
    size_t count, size_t number, const size_t *dims, const size_t *strides, const T *in, T *out) {
  constexpr unsigned THREADS = 1024, SIDE = sizeof(T) > 4 ? 32 : 64, ROWS = THREADS / SIDE, LEAST = 16;
  const auto sizes = (Sizes)dims, steps = (Sizes)strides;
  if (blockDim.x != THREADS || number < 2) return false;

  size_t outer = number - 1;
  unsigned last, last_step;
  merge(sizes, steps, outer, last, last_step);
  if (last < LEAST || last_step < LEAST) return false;
  size_t near = 0;
  while (near < outer && (steps[near] != 1 || sizes[near] < LEAST)) ++near;
  if (near == outer) return false;

  __shared__ T tile[SIDE][SIDE + 1];
  const unsigned wide = (unsigned)sizes[near];
  const unsigned across = (wide + SIDE - 1) / SIDE, along = (last + SIDE - 1) / SIDE;
  const unsigned tiles = (unsigned)count / (wide * last) * across * along;
  const unsigned lane = threadIdx.x % SIDE, first = threadIdx.x / SIDE;
  for (unsigned number_of_tile = blockIdx.x; number_of_tile < tiles; number_of_tile += gridDim.x) {
    unsigned rest = number_of_tile;
    const unsigned column = rest % along * SIDE;
    rest /= along;
    const unsigned row = rest % across * SIDE;
    rest /= across;
    unsigned source = row + column * last_step, target = column, step = last, row_step = 0;
    for (size_t d = outer; d-- > 0;) {
      const unsigned size = (unsigned)sizes[d];
      if (d == near) {
        row_step = step;
        target += row * step;
      } else {
        const unsigned whole = rest / size, at = rest - whole * size;
        source += at * (unsigned)steps[d];
        target += at * step;
        rest = whole;
      }
      step *= size;
    }
#pragma unroll
    for (unsigned i = first; i < SIDE; i += ROWS) {
      if (row + lane < wide && column + i < last) tile[i][lane] = in[source + lane + i * last_step];
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = first; i < SIDE; i += ROWS) {
      if (row + i < wide && column + lane < last) out[target + i * row_step + lane] = tile[lane][i];
    }
    __syncthreads();
  }
  return true;
}

}  // namespace hipx
