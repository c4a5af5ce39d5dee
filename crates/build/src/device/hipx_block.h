// Values of all threads of a block made into one for each of them, and their sums.
#pragma once

#include "hipx.h"

namespace hipx {

// For blocks of whole logical warps, all of whose threads come here; `neutral` changes no value that it is
// combined with.
template <typename T, typename Combine>
HIPX_DEVICE T block_reduce(T value, T neutral, Combine combine) {
  __shared__ T of_warps[1024 / warp_size];
  const int threads = blockDim.x * blockDim.y * blockDim.z;
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  value = reduce(value, combine);
  if (threads <= warp_size) return value;
  __syncthreads();  // those that still read of an earlier call
  if (thread % warp_size == 0) of_warps[thread / warp_size] = value;
  __syncthreads();
  const int lane = thread % warp_size;
  return reduce(lane < threads / warp_size ? of_warps[lane] : neutral, combine);
}

// The sum of the values of the threads before the calling one, in a block of `threads` in one
// dimension, all of which come here. `sums` is shared and has room for as many; afterwards each entry
// holds the sum up to and with its thread. Whoever writes there again waits for the block first.
template <int threads>
HIPX_DEVICE int exclusive_sum(int own, int *sums) {
  const int t = threadIdx.x;
  sums[t] = own;
  __syncthreads();
  for (int reach = 1; reach < threads; reach *= 2) {
    const int left = t >= reach ? sums[t - reach] : 0;
    __syncthreads();
    sums[t] += left;
    __syncthreads();
  }
  return sums[t] - own;
}

}  // namespace hipx
