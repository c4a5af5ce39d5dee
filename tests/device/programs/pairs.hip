// Pairs of 16-bit floats in the prelude: what CUDA has and HIP lacks.
#include "check.h"

#include "hipx_pairs.h"

#include <math.h>

static __half2 half2_of(float x, float y) { return __floats2half2_rn(x, y); }
static __hip_bfloat162 bf162_of(float x, float y) { return __floats2bfloat162_rn(x, y); }
static bool is(float2 v, float x, float y) { return v.x == x && v.y == y; }

static void test_comparison() {
  CHECK(is(__half22float2(__hmax2(half2_of(1, -3), half2_of(2, -4))), 2, -3));
  CHECK(is(__half22float2(__hmin2(half2_of(1, -3), half2_of(2, -4))), 1, -4));
  // NaN is left out of the plain functions, and is the result of the others.
  CHECK(is(__half22float2(__hmax2(half2_of(NAN, 5), half2_of(2, NAN))), 2, 5));
  const float2 nan = __half22float2(__hmax2_nan(half2_of(NAN, 5), half2_of(2, 6)));
  CHECK(isnan(nan.x) && nan.y == 6);
  CHECK(isnan(__half22float2(__hmin2_nan(half2_of(1, 5), half2_of(2, NAN))).y));
  CHECK(is(__bfloat1622float2(__hmax2(bf162_of(1, -3), bf162_of(2, -4))), 2, -3));
  CHECK(is(__bfloat1622float2(__hmin2_nan(bf162_of(1, -3), bf162_of(2, -4))), 1, -4));
}

template <typename T>
__global__ void add(T *sum, T *before, T value) {
  before[threadIdx.x] = atomicAdd(sum, value);
}

template <typename T>
static void test_sum(T zero, T value, float2 (*of)(T)) {
  Device<T> sum(std::vector<T>{zero}), before(64);
  add<T><<<1, 64>>>(sum, before, value);
  CHECK(is(of(sum.values()[0]), 64, -128));
  std::vector<bool> seen(64);
  for (const T each : before.values()) seen[(int)of(each).x] = true;
  CHECK(seen == std::vector<bool>(64, true));  // each thread is told what another left there
}

int main() {
  test_comparison();
  test_sum(half2_of(0, 0), half2_of(1, -2), __half22float2);
  test_sum(bf162_of(0, 0), bf162_of(1, -2), __bfloat1622float2);
}
