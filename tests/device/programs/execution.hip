// The execution model: indices, barriers, lanes, shared memory, atomics, launch limits.
#include "check.h"

static int wavefront() {
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, 0));
  return properties.warpSize;
}

// ---- indices
__global__ void indices(unsigned *out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * (blockDim.x * blockDim.y * blockDim.z) + thread] =
      threadIdx.x | threadIdx.y << 4 | threadIdx.z << 8 | blockIdx.x << 12 | blockIdx.y << 16 |
      blockIdx.z << 20;
}

static void test_indices() {
  const dim3 grid(3, 2, 2), block(4, 3, 2);
  Device<unsigned> out(12 * 24);
  indices<<<grid, block>>>(out);
  HIP(hipGetLastError());
  const auto got = out.values();
  bool right = true;
  size_t i = 0;
  for (unsigned bz = 0; bz < 2; ++bz)
    for (unsigned by = 0; by < 2; ++by)
      for (unsigned bx = 0; bx < 3; ++bx)
        for (unsigned z = 0; z < 2; ++z)
          for (unsigned y = 0; y < 3; ++y)
            for (unsigned x = 0; x < 4; ++x)
              right &= got[i++] == (x | y << 4 | z << 8 | bx << 12 | by << 16 | bz << 20);
  check("indices in three dimensions", right);
}

// ---- barriers
__global__ void rotate(int *values, int rounds) {
  extern __shared__ int row[];
  const int t = threadIdx.x, n = blockDim.x;
  row[t] = values[blockIdx.x * n + t];
  for (int r = 0; r < rounds; ++r) {
    __syncthreads();
    const int next = row[(t + 1) % n];
    __syncthreads();
    row[t] = next;
  }
  values[blockIdx.x * n + t] = row[t];
}

static void test_barriers() {
  const int n = 200, blocks = 50, rounds = 7;
  std::vector<int> start(n * blocks);
  for (size_t i = 0; i < start.size(); ++i) start[i] = static_cast<int>(i);
  Device<int> values(start);
  rotate<<<blocks, n, n * sizeof(int)>>>(values, rounds);
  HIP(hipGetLastError());
  const auto got = values.values();
  bool right = true;
  for (int b = 0; b < blocks; ++b)
    for (int t = 0; t < n; ++t) right &= got[b * n + t] == start[b * n + (t + rounds) % n];
  check("barriers order shared memory", right);
}

// ---- shared memory
template <typename T, int N>
__device__ T *scratch() {
  __shared__ T own[N];
  return own;
}

template <int N>
__global__ void several(int *out) {
  __shared__ int a[N], b[N][2];
  __shared__ double once;
  int *c = scratch<int, N>();
  const int t = threadIdx.x;
  a[t] = t;
  b[t][0] = 10 * t;
  b[t][1] = 20 * t;
  c[t] = 1000 * t;
  if (t == 0) once = 0.5;
  __syncthreads();
  const int o = N - 1 - t;
  out[t] = a[o] + b[o][0] + b[o][1] + c[o] + static_cast<int>(2 * once);
}

static void test_shared() {
  Device<int> out(64);
  several<64><<<1, 64>>>(out);
  HIP(hipGetLastError());
  const auto got = out.values();
  bool right = true;
  for (int t = 0; t < 64; ++t) right &= got[t] == 1031 * (63 - t) + 1;
  check("several shared variables, in templates and device functions", right);
}

// ---- lanes
__global__ void lanes(int *shfl, int *up, int *down, int *xor_, int width) {
  const int t = threadIdx.x;
  shfl[t] = __shfl(t, 5, width);
  up[t] = __shfl_up(t, 3, width);
  down[t] = __shfl_down(t, 3, width);
  xor_[t] = __shfl_xor(t, 6, width);
}

static void test_lanes(int width) {
  const int n = 128;
  Device<int> shfl(n), up(n), down(n), xor_(n);
  lanes<<<1, n>>>(shfl, up, down, xor_, width);
  HIP(hipGetLastError());
  const auto a = shfl.values(), b = up.values(), c = down.values(), d = xor_.values();
  bool right = true;
  for (int t = 0; t < n; ++t) {
    const int group = t / width * width, own = t - group;
    right &= a[t] == group + 5 % width;
    right &= b[t] == (own < 3 ? t : t - 3);
    right &= c[t] == (own + 3 >= width ? t : t + 3);
    right &= d[t] == group + ((own ^ 6) < width ? own ^ 6 : own);
  }
  char what[64];
  snprintf(what, sizeof what, "shuffles of %d lanes", width);
  check(what, right);
}

__global__ void types(double *d, unsigned char *c, long long *l) {
  const int t = threadIdx.x;
  d[t] = __shfl_xor(t + 0.25, 1);
  c[t] = __shfl_xor(static_cast<unsigned char>(t), 1);
  l[t] = __shfl_xor((static_cast<long long>(t) << 40), 1);
}

static void test_types() {
  Device<double> d(32);
  Device<unsigned char> c(32);
  Device<long long> l(32);
  types<<<1, 32>>>(d, c, l);
  HIP(hipGetLastError());
  bool right = true;
  for (int t = 0; t < 32; ++t) {
    right &= d.values()[t] == (t ^ 1) + 0.25 && c.values()[t] == (t ^ 1) &&
             l.values()[t] == static_cast<long long>(t ^ 1) << 40;
  }
  check("shuffles of one, eight and eight bytes", right);
}

__global__ void votes(unsigned long long *out) {
  const int t = threadIdx.x;
  unsigned long long *own = out + 4 * t;
  own[0] = __ballot(t % 3 == 0);
  own[1] = __any(t == 7);
  own[2] = __all(t < 1000);
  own[3] = __all(t != 7);
}

static void test_votes() {
  const int n = 96, wave = wavefront();
  Device<unsigned long long> out(4 * n);
  votes<<<1, n>>>(out);
  HIP(hipGetLastError());
  const auto got = out.values();
  bool right = true;
  for (int t = 0; t < n; ++t) {
    const int first = t / wave * wave, last = first + wave < n ? first + wave : n;
    unsigned long long ballot = 0;
    bool seven = false;
    for (int i = first; i < last; ++i) {
      if (i % 3 == 0) ballot |= 1ull << (i - first);
      seven |= i == 7;
    }
    right &= got[4 * t] == ballot && got[4 * t + 1] == seven && got[4 * t + 2] == 1 &&
             got[4 * t + 3] == !seven;
  }
  check("votes see the lanes that are there", right);
}

// Lanes part at branches and loops, and meet again.
__global__ void parted(int *out) {
  const int t = threadIdx.x, lane = t % warpSize;
  int sum = 0;
  if (lane < 8) {
    for (int m = 4; m > 0; m /= 2) sum += __shfl_xor(lane, m, 8);
  } else if (lane < 16) {
    sum = 100 + __shfl(lane, 3, 8);
  }
  for (int i = 0; i <= lane / 8; ++i) sum += __popcll(__ballot(1)) > 0;
  sum += 1000 * __shfl(t, 0);
  out[t] = sum;
}

static void test_parted() {
  const int n = 64, wave = wavefront();
  Device<int> out(n);
  parted<<<1, n>>>(out);
  HIP(hipGetLastError());
  const auto got = out.values();
  bool right = true;
  for (int t = 0; t < n; ++t) {
    const int lane = t % wave;
    int want = 0;
    if (lane < 8) {
      want = (lane ^ 4) + (lane ^ 2) + (lane ^ 1);
    } else if (lane < 16) {
      want = 100 + 8 + 3;
    }
    want += lane / 8 + 1 + 1000 * (t / wave * wave);
    right &= got[t] == want;
  }
  check("lanes that part meet again", right);
}

// A barrier that half of a wavefront reaches later, after shuffles of its own.
__global__ void late(int *out) {
  __shared__ int seen[64];
  const int t = threadIdx.x;
  int value = t;
  if (t < 32) {
    for (int m = 16; m > 0; m /= 2) value += __shfl_xor(value, m, 32);
  }
  seen[t] = value;
  __syncthreads();
  out[t] = seen[63 - t];
}

static void test_late() {
  Device<int> out(64);
  late<<<1, 64>>>(out);
  HIP(hipGetLastError());
  const auto got = out.values();
  bool right = true;
  for (int t = 0; t < 64; ++t) right &= got[t] == (63 - t < 32 ? 32 * 31 / 2 : 63 - t);
  check("one half of the threads shuffles before a barrier", right);
}

// ---- atomics
__global__ void count(int *i, unsigned *u, unsigned long long *l, float *f, double *d, int *least,
                      int *most, unsigned *wrapped, int *exchanged) {
  const int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(i, 1);
  atomicOr(u, 1u << t % 32);
  atomicAdd(l, static_cast<unsigned long long>(t));
  atomicAdd(f, 0.5f);
  atomicAdd(d, 0.25);
  atomicMin(least, -t);
  atomicMax(most, t);
  atomicInc(wrapped, 9);
  if (atomicCAS(exchanged, 0, t + 1) == 0) atomicAdd(exchanged + 1, 1);
}

__global__ void scoped(int *values) {
  constexpr int order = __ATOMIC_ACQ_REL, scope = __HIP_MEMORY_SCOPE_AGENT;
  __hip_atomic_fetch_add(values, 2, __ATOMIC_RELEASE, scope);
  __hip_atomic_fetch_max(values + 1, (int)threadIdx.x, order, scope);
  __hip_atomic_fetch_or(values + 2, 1 << threadIdx.x % 8, order, __HIP_MEMORY_SCOPE_WORKGROUP);
  if (threadIdx.x == 0) {
    __hip_atomic_store(values + 3, 7, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    values[4] = __hip_atomic_exchange(values + 3, 9, order, scope);
    values[5] = __hip_atomic_load(values + 3, __ATOMIC_ACQUIRE, scope);
  }
}

// A member that has the name of the type that it stands for, as clang takes it.
struct Named {};
template <typename T>
struct Naming {
  Named first;
  using Named = Named;
};
static_assert(sizeof(Naming<int>) == 1);

static void test_scopes() {
  Device<int> values(6);
  scoped<<<1, 100>>>(values);
  CHECK((values.values() == std::vector<int>{200, 99, 255, 9, 7, 9}));
}

static void test_atomics() {
  const int blocks = 40, threads = 250, n = blocks * threads;
  Device<int> i(1), least(1), most(1), exchanged(2);
  Device<unsigned> u(1), wrapped(1);
  Device<unsigned long long> l(1);
  Device<float> f(1);
  Device<double> d(1);
  count<<<blocks, threads>>>(i, u, l, f, d, least, most, wrapped, exchanged);
  HIP(hipGetLastError());
  CHECK(i.values()[0] == n);
  CHECK(u.values()[0] == 0xffffffffu);
  CHECK(l.values()[0] == static_cast<unsigned long long>(n) * (n - 1) / 2);
  CHECK(f.values()[0] == n * 0.5f);
  CHECK(d.values()[0] == n * 0.25);
  CHECK(least.values()[0] == 1 - n);
  CHECK(most.values()[0] == n - 1);
  CHECK(wrapped.values()[0] == n % 10);
  CHECK(exchanged.values()[1] == 1);
}

// ---- launches
__global__ void __launch_bounds__(64) bounded(int *out) { out[threadIdx.x] = 1; }
__global__ void unbounded(int *out, char, double value) { out[threadIdx.x] = static_cast<int>(value); }

static hipError_t last() { return hipGetLastError(); }

static void test_launches() {
  Device<int> out(1024);
  bounded<<<1, 64>>>(out);
  CHECK(last() == hipSuccess);
  bounded<<<1, 65>>>(out);
  CHECK(last() == hipErrorLaunchFailure);
  CHECK(last() == hipSuccess);
  unbounded<<<1, 1024>>>(out, 'x', 7.5);
  CHECK(last() == hipSuccess);
  CHECK(out.values()[1023] == 7);
  unbounded<<<1, dim3(1024, 2)>>>(out, 'x', 1);
  CHECK(last() == hipErrorInvalidConfiguration);
  unbounded<<<0, 64>>>(out, 'x', 1);
  CHECK(last() == hipErrorInvalidConfiguration);
  unbounded<<<dim3(1, 70000), 64>>>(out, 'x', 1);
  CHECK(last() == hipErrorInvalidConfiguration);
  unbounded<<<1, 64, 65537>>>(out, 'x', 1);
  CHECK(last() == hipErrorInvalidValue);
  hipLaunchKernelGGL(unbounded, dim3(1), dim3(1), 0, nullptr, out, 'x', 3.0);
  CHECK(last() == hipSuccess);
  CHECK(out.values()[0] == 3);
}

// Divisions of integers by zero give a number on a GPU.
__global__ void divide(unsigned *u, long long *l, const int *zero) {
  u[0] = 7u / static_cast<unsigned>(*zero);
  u[1] = 7u % static_cast<unsigned>(*zero);
  l[0] = 7ll / static_cast<long long>(*zero);
  l[1] = 7ll % static_cast<long long>(*zero);
}

static void test_division() {
  Device<unsigned> u(2);
  Device<long long> l(2);
  Device<int> zero(1);
  divide<<<1, 1>>>(u, l, zero);
  HIP(hipGetLastError());
  CHECK(u.values()[0] == 0xffffffffu);
  CHECK(u.values()[1] == 7);
  CHECK(l.values()[0] == -1);
  CHECK(l.values()[1] == 7);
}

int main() {
  test_indices();
  test_barriers();
  test_shared();
  for (int width = 8; width <= wavefront(); width *= 2) test_lanes(width);
  test_types();
  test_votes();
  test_parted();
  test_late();
  test_atomics();
  test_scopes();
  test_launches();
  test_division();
}
