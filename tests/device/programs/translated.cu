// What hipify writes for shuffles among some lanes, braces and member templates, on wavefronts of 32
// and of 64: a warp has 32 lanes.
#include "check.h"

#include <cuda_fp16.h>

constexpr int threads = 64;

__device__ int summed(int value, int width, unsigned mask) {
  for (int offset = width / 2; offset > 0; offset /= 2) {
    value += __shfl_down_sync(mask, value, offset, width);
  }
  return value;
}

// Each group of lanes goes its own rounds, and leaves some out.
__global__ void groups(int width, int *to) {
  const int lane = threadIdx.x % width, group = threadIdx.x / width;
  const int in_warp = threadIdx.x % 32 / width;
  const unsigned mask = width == 32 ? 0xffffffffu : ((1u << width) - 1u) << (in_warp * width);
  int total = 0;
  for (int round = 0; round <= group; ++round) {
    if ((round + group) % 3 == 1) continue;
    const int sum = summed(round * 100 + lane, width, mask);
    if (lane == 0) total += sum;
  }
  to[threadIdx.x] = total;
}

__global__ void halves(int *to) {
  const unsigned mask = threadIdx.x & 16 ? 0xffff0000u : 0x0000ffffu;
  int most = (int)(threadIdx.x * 7 % 64);
  for (int by = 8; by > 0; by /= 2) most = max(most, __shfl_xor_sync(mask, most, by));
  to[threadIdx.x] = most;
  if (threadIdx.x % 32 < 4) to[threadIdx.x] += __shfl_sync(0xf, 1000 + (int)threadIdx.x, 2, 4);
}

template <typename T>
struct Scaled {
  template <int by>
  __device__ static T of(T x) {
    return x * by;
  }
  template <int by>
  __device__ T and_more(T x) const {
    return x * by + more;
  }
  T more;
};
template <typename T>
__device__ T scaled(T x) {
  const Scaled<T> more{5};
  return Scaled<T>::of<3>(x) + more.and_more<2>(x);
}

__global__ void emptied(half2 *pairs, half *single, int *to) {
  half2 x = pairs[0];
  x = {};
  pairs[0] = x;
  pairs[1] = {};
  single[0] = {};
  to[0] = scaled(7);
}

int main() {
  Device<int> to(threads);
  for (int width = 8; width <= 32; width *= 2) {
    groups<<<1, threads>>>(width, to);
    const std::vector<int> got = to.values();
    bool same = true;
    for (int t = 0; t < threads; ++t) {
      int total = 0;
      for (int round = 0; round <= t / width && t % width == 0; ++round) {
        if ((round + t / width) % 3 != 1) total += width * (round * 100) + width * (width - 1) / 2;
      }
      same &= got[t] == total;
    }
    check(width == 8 ? "groups of 8" : width == 16 ? "groups of 16" : "groups of 32", same);
  }

  halves<<<1, threads>>>(to);
  const std::vector<int> got = to.values();
  bool same = true;
  for (int t = 0; t < threads; ++t) {
    int most = 0;
    for (int i = t / 16 * 16; i < t / 16 * 16 + 16; ++i) most = i * 7 % 64 > most ? i * 7 % 64 : most;
    same &= got[t] == most + (t % 32 < 4 ? 1000 + t / 4 * 4 + 2 : 0);
  }
  check("halves", same);

  Device<half2> pairs(2);
  Device<half> single(1);
  emptied<<<1, 1>>>(pairs, single, to);
  for (const half2 each : pairs.values()) {
    CHECK(__low2float(each) == 0.0f);
    CHECK(__high2float(each) == 0.0f);
  }
  CHECK(__half2float(single.values()[0]) == 0.0f);
  CHECK(to.values()[0] == 3 * 7 + 2 * 7 + 5);
}
