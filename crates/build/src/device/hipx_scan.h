// A scan without a library: the exclusive prefix sum of counts, such as of each expert's tokens, with
// their total at its end.
#pragma once

#include "hipx.h"

// Launch with one block. offsets[i] becomes the sum of counts[0 .. i), for i up to and with n.
static __global__ void __launch_bounds__(256)
    expert_scan(const int32_t *__restrict__ counts, int32_t *__restrict__ offsets, int n) {
  __shared__ int32_t sums[256];
  const int t = threadIdx.x;
  int32_t before = 0;  // of all earlier rounds
  for (int start = 0; start < n; start += 256) {
    const int32_t own = start + t < n ? counts[start + t] : 0;
    sums[t] = own;
    __syncthreads();
    for (int reach = 1; reach < 256; reach *= 2) {
      const int32_t left = t >= reach ? sums[t - reach] : 0;
      __syncthreads();
      sums[t] += left;
      __syncthreads();
    }
    if (start + t < n) offsets[start + t] = before + sums[t] - own;
    before += sums[255];
    __syncthreads();
  }
  if (t == 0) offsets[n] = before;
}
