// Views in the prelude: where their elements lie, and copies of them; and what a block makes of its values.
#include "check.h"

#include "hipx_block.h"
#include "hipx_strided.h"

#include <algorithm>

using Sizes64 = std::vector<size_t>;

static unsigned state = 1;
static unsigned below(unsigned end) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % end;
}

// A view of a contiguous tensor: permuted, with dimensions of one element, some of them repeated.
struct View {
  Sizes64 dims, strides;
  size_t count = 1, memory = 1;

  explicit View(unsigned longest) {
    const unsigned number = 1 + below(5);
    for (unsigned d = 0; d < number; ++d) dims.push_back(below(4) == 0 ? 1 : 1 + below(longest));
    strides.resize(number);
    for (unsigned d = number; d-- > 0;) strides[d] = memory, memory *= dims[d];
    count = memory;
    for (unsigned d = number; d-- > 1;) {
      const unsigned other = below(d + 1);
      if (below(2)) std::swap(dims[d], dims[other]), std::swap(strides[d], strides[other]);
    }
    if (below(4) == 0) {
      const unsigned d = below(number);
      strides[d] = 0;
    }
    // What a dimension of one element has for a stride says nothing.
    for (unsigned d = 0; d < number; ++d) {
      if (dims[d] == 1 && below(2)) strides[d] = below(1000);
    }
  }
  View(Sizes64 dims, Sizes64 strides) : dims(dims), strides(strides) {
    for (size_t d = 0; d < dims.size(); ++d) {
      count *= dims[d];
      memory += (dims[d] - 1) * strides[d];
    }
  }
  Sizes64 info() const {
    Sizes64 both = dims;
    both.insert(both.end(), strides.begin(), strides.end());
    return both;
  }
  // As its definition has it, a dimension after the other.
  size_t place(size_t at) const {
    size_t place = 0;
    for (size_t d = dims.size(); d-- > 0; at /= dims[d]) place += at % dims[d] * strides[d];
    return place;
  }
};

__global__ void place(size_t count, size_t number, const size_t *info, unsigned *out) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) {
    out[i] = hipx::strided_index(i, number, info, info + number);
  }
}

__global__ void narrow(const size_t *info, size_t *out) {
  const hipx::Narrow sizes = info;
  const size_t *whole = sizes;
  for (int d = 0; d < 2; ++d) out[d] = sizes[d], out[2 + d] = whole[d];
}

template <typename T>
__global__ void copy(size_t count, size_t number, const size_t *info, const T *in, T *out, int *taken) {
  const bool done = hipx::copy_transposed(count, number, info, info + number, in, out);
  if (threadIdx.x == 0 && blockIdx.x == 0) *taken = done;
}

static void test_places() {
  bool right = true;
  for (int i = 0; i < 150; ++i) {
    const View view(9);
    Device<size_t> info(view.info());
    Device<unsigned> out(view.count);
    place<<<3, 64>>>(view.count, view.dims.size(), info, out);
    const auto places = out.values();
    for (size_t at = 0; at < view.count; ++at) {
      right &= places[at] == view.place(at);
    }
  }
  CHECK(right);
  Device<size_t> info(Sizes64{7, (size_t(1) << 32) + 5}), out(4);
  narrow<<<1, 1>>>(info, out);
  CHECK((out.values() == Sizes64{7, 5, 7, (size_t(1) << 32) + 5}));
}

// Whether the copy was made by tiles; ends the program if it is wrong, or if one was made otherwise.
template <typename T>
static bool copied(const View &view, unsigned blocks, unsigned threads) {
  std::vector<T> values(view.memory);
  for (size_t i = 0; i < view.memory; ++i) values[i] = (T)(i * 2654435761u >> 7);
  Device<size_t> info(view.info());
  Device<T> in(values), out(std::vector<T>(view.count, (T)77));
  Device<int> taken(1);
  copy<T><<<blocks, threads>>>(view.count, view.dims.size(), info, in, out, taken);
  const bool by_tiles = taken.values()[0];
  const auto made = out.values();
  for (size_t at = 0; at < view.count; ++at) {
    if (made[at] != (by_tiles ? values[view.place(at)] : (T)77)) {
      printf("FAILED element %zu of a copy\n", at);
      exit(1);
    }
  }
  return by_tiles;
}

static void test_copies() {
  CHECK(copied<float>(View({64, 96}, {1, 64}), 6, 1024));
  CHECK(copied<double>(View({33, 70}, {1, 33}), 1, 1024));
  CHECK(copied<uint8_t>(View({16, 16}, {1, 16}), 1, 1024));
  CHECK(copied<uint16_t>(View({3, 40, 1, 50}, {2000, 1, 7, 40}), 2, 1024));
  // (batch, heads, time, values) with its last two exchanged, and channels that were last.
  CHECK(copied<float>(View({2, 3, 20, 17}, {17 * 60, 20, 1, 60}), 40, 1024));
  CHECK(copied<float>(View({2, 48, 7, 7}, {49 * 48, 1, 7 * 48, 48}), 5, 1024));
  CHECK(copied<float>(View({5, 32, 32}, {0, 1, 32}), 2, 1024));
  // Neighbours are together already, are few, or are not there.
  CHECK(!copied<float>(View({64, 96}, {96, 1}), 6, 1024));
  CHECK(!copied<float>(View({64, 8}, {1, 64}), 6, 1024));
  CHECK(!copied<float>(View({8, 64}, {1, 8}), 6, 1024));
  CHECK(!copied<float>(View({20, 20}, {2, 40}), 6, 1024));
  CHECK(!copied<float>(View({100}, {3}), 6, 1024));
  CHECK(!copied<float>(View({20, 20}, {1, 20}), 1, 512));
  int by_tiles = 0;
  for (int i = 0; i < 60; ++i) by_tiles += copied<float>(View(40), 1 + below(9), 1024);
  CHECK(by_tiles > 3 && by_tiles < 57);
}

__global__ void reduced(const int *values, int *sums, int *largest) {
  const int thread = threadIdx.y * blockDim.x + threadIdx.x, value = values[thread];
  const int sum = hipx::block_reduce(value, 0, [](int a, int b) { return a + b; });
  const int twice = hipx::block_reduce(2 * value, 0, [](int a, int b) { return a + b; });
  const int most = hipx::block_reduce(value, -1000, [](int a, int b) { return a > b ? a : b; });
  sums[thread] = twice - sum;
  largest[thread] = most;
}

static void test_blocks() {
  for (const dim3 block : {dim3(32), dim3(1, 64), dim3(32, 3), dim3(1024), dim3(1, 992)}) {
    const size_t threads = (size_t)block.x * block.y;
    std::vector<int> values(threads);
    int sum = 0, most = -1000;
    for (int &value : values) value = (int)below(500) - 499, sum += value, most = std::max(most, value);
    Device<int> in(values), sums(threads), largest(threads);
    reduced<<<1, block>>>(in, sums, largest);
    CHECK(sums.values() == std::vector<int>(threads, sum));
    CHECK(largest.values() == std::vector<int>(threads, most));
  }
}

int main() {
  test_places();
  test_copies();
  test_blocks();
}
