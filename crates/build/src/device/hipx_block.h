// Values of all threads of a block made into one, for each of them.
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

}  // namespace hipx
