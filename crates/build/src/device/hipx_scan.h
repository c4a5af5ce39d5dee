// A scan without a library: the exclusive prefix sum of counts, such as of each expert's tokens, with
// their total at its end.
#pragma once

#include "hipx_block.h"

// Launch with one block. offsets[i] becomes the sum of counts[0 .. i), for i up to and with n.
static __global__ void __launch_bounds__(256)
    expert_scan(const int32_t *__restrict__ counts, int32_t *__restrict__ offsets, int n) {
  __shared__ int32_t sums[256];
  const int t = threadIdx.x;
  int32_t before = 0;  // of all earlier rounds
  for (int start = 0; start < n; start += 256) {
    const int32_t own = start + t < n ? counts[start + t] : 0;
    const int32_t sum = before + hipx::exclusive_sum<256>(own, sums);
    if (start + t < n) offsets[start + t] = sum;
    before += sums[255];
    __syncthreads();
  }
  if (t == 0) offsets[n] = before;
}
