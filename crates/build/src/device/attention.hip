// Scaled dot-product attention: softmax(q k^T * scale + mask) v, without the scores in memory.
//
// Two ways:
//
// - decode, for a few queries: a block reads a part of the keys and values once, for all query heads
//   of one head of these, and leaves unfinished sums; a second kernel combines the parts.
// - prefill: a block makes 64 rows of the output, and passes 64 keys after the other through LDS. In
//   half precision matrix cores do the products, on architectures that have them.
//
// A row is one query of one head. Rows of the heads that share keys and values are numbered together,
// query by query, so that neighbours read the same. The softmax is the online one of FlashAttention
// (Dao et al. 2022, algorithm 1; Milakov and Gimelshein 2018): of each row the largest score so far
// and the sum of exponentials below it. All arithmetic is in f32; matrix cores take the weights of the
// values rounded to the type, as FlashAttention's do. Logical warps have 32 lanes or fewer, so that
// wavefronts of 32 and of 64 do the same.
//
// A query stands beside a key: the last query of a sequence beside its last key. From there it sees
// so many keys before and behind (FlashAttention's windows, Dao 2023; causal is none behind). Biases
// that grow with the distance are ALiBi's (Press et al. 2021). Sequences of several lengths lie one
// after the other, and keys and values may lie in pages that a table lists (Kwon et al. 2023).
#include "hipx_wmma.h"

// What a launch is about; what launches the kernels has the same. Strides are in elements, those of
// the last dimension are 1, but for the mask's; the output's are in rows.
struct Launch {
  int64_t q_stride[3];  // batch, head, query
  int64_t k_stride[3];  // batch or page, head, key
  int64_t v_stride[3];
  int64_t mask_stride[4];  // batch, head, query, key
  int32_t out_stride[3];  // batch, head, query
  int32_t rows;           // of the output
  int32_t batches;
  int32_t heads;      // of the queries
  int32_t shared_by;  // how many of them share one of the keys' heads
  int32_t queries;    // of each sequence, or of all where they have ends
  int32_t keys;       // the same; with pages, the most that the table has for a sequence
  int32_t width;      // of q and k, a multiple of 8
  int32_t v_width;    // of v, a multiple of 8
  int32_t keys_each;  // that one of the parts has, a multiple of 64; the last has what is left
  int32_t parts;      // that the keys are in
  int32_t before;     // how many keys before its own a query sees
  int32_t behind;
  int32_t page;      // keys of a page
  int32_t pages;     // that the table lists for each sequence
  int32_t ranges;    // of each sequence
  int32_t unseeing;  // what a row is that sees no key: 0 for NaN, 1 for zeros
  float scale;
  float cap;  // 0 for none
};

namespace {

// A pointer into global memory, as all are that a kernel is given. Of one that is chosen, null or not,
// or that a loop moves, the compiler would not find that out, and wait for group memory with each load.
template <typename T>
using Global = const __attribute__((address_space(1))) T *;

// What a launch may have besides; null for what it has not.
struct Besides {
  const float *slopes;     // of ALiBi, for each head
  const uint32_t *q_ends;  // where the queries of each sequence end; a zero before them
  const uint32_t *k_ends;
  const int32_t *pages;   // where each page of the keys and values of a sequence is
  const int32_t *ranges;  // pairs: within one of them, all see each other

  // What all lanes have alike, in a vector register: there are too few scalar ones for all of it.
  static __device__ __forceinline__ int held(int value) { return hipx::opaque(value); }
  static __device__ __forceinline__ Global<int32_t> held(Global<int32_t> pointer) {
    int words[2];
    __builtin_memcpy(words, &pointer, sizeof(pointer));
    words[0] = hipx::opaque(words[0]), words[1] = hipx::opaque(words[1]);
    __builtin_memcpy(&pointer, words, sizeof(pointer));
    return pointer;
  }
};

// Nothing of that, which the compiler knows: most calls are such, and have the registers for more.
struct Nothing {
  static constexpr const float *slopes = nullptr;
  static constexpr const uint32_t *q_ends = nullptr, *k_ends = nullptr;
  static constexpr const int32_t *pages = nullptr, *ranges = nullptr;
  template <typename T>
  static __device__ __forceinline__ T held(T value) {
    return value;
  }
};

constexpr int THREADS = 256;
constexpr auto ENGINE = nvcuda::wmma::engine_for<16, 16, 16>();

// Elements in memory: eight neighbours as floats, and a float as one of them. Rows need not begin at
// multiples of 16 bytes: AMD GPUs read vectors from any address, and memcpy says so to the compiler.
struct F32 {
  typedef float Stored;
  static constexpr bool MATRICES = false;
  static __device__ __forceinline__ float get(float x) { return x; }
  static __device__ __forceinline__ float put(float x) { return x; }
  static __device__ __forceinline__ void load(const float *from, float (&x)[8]) {
    __builtin_memcpy(x, from, sizeof(x));
  }
};

template <typename Format>
struct Short {
  typedef uint16_t Stored;
  static constexpr bool MATRICES = ENGINE != nvcuda::wmma::engine::plain;
  static __device__ __forceinline__ void load(const uint16_t *from, float (&x)[8]) {
    uint32_t words[4];
    __builtin_memcpy(words, from, sizeof(words));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      x[2 * i] = Format::get(static_cast<uint16_t>(words[i] & 0xffff));
      x[2 * i + 1] = Format::get(static_cast<uint16_t>(words[i] >> 16));
    }
  }
};

struct F16 : Short<F16> {
  typedef __half Element;
  // What the largest weight of a row is in matrices: with 1 the small ones had fewer digits.
  static constexpr float LARGEST = 32768.0f;
  static __device__ __forceinline__ float get(uint16_t x) {
    return __half2float(__ushort_as_half(x));
  }
  static __device__ __forceinline__ uint16_t put(float x) {
    return __half_as_ushort(__float2half_rn(x));
  }
};

struct BF16 : Short<BF16> {
  typedef __hip_bfloat16 Element;
  static constexpr float LARGEST = 1.0f;
  static __device__ __forceinline__ float get(uint16_t x) {
    return __uint_as_float(static_cast<uint32_t>(x) << 16);
  }
  static __device__ __forceinline__ uint16_t put(float x) {
    const uint32_t bits = __float_as_uint(x);
    if (x != x) return 0x7fc0;
    return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);  // to nearest, even
  }
};

// One sequence of a launch.
struct Sequence {
  int first_query;  // where its queries begin among those of its batch
  int first_key;
  int queries;
  int keys;
  int offset;  // the key that its first query stands beside
  int before;  // how many keys before its own a query sees
  int behind;
  int page;  // keys of a page
  Global<int32_t> pages;
  Global<int32_t> ranges;
};

// Where one ends is held within what there is, so that nothing else is read, whatever it says.
__device__ __forceinline__ int end_of(const uint32_t *ends, int64_t which, int most) {
  return static_cast<int>(min(ends[which], static_cast<uint32_t>(most)));
}

template <typename Also>
__device__ __forceinline__ Sequence sequence(const Launch &a, const Also &also, int64_t batch) {
  Sequence s = {0, 0, a.queries, a.keys, 0, 0, 0, 0, nullptr, nullptr};
  if (also.q_ends != nullptr) {
    s.first_query = end_of(also.q_ends, batch, a.queries);
    s.queries = max(0, end_of(also.q_ends, batch + 1, a.queries) - static_cast<int>(s.first_query));
  }
  if (also.pages != nullptr) {
    s.pages = (Global<int32_t>)also.pages + batch * a.pages;
    s.keys = static_cast<int>(
        min(also.k_ends[batch + 1] - also.k_ends[batch], static_cast<uint32_t>(a.keys)));
  } else if (also.k_ends != nullptr) {
    s.first_key = end_of(also.k_ends, batch, a.keys);
    s.keys = max(0, end_of(also.k_ends, batch + 1, a.keys) - static_cast<int>(s.first_key));
  }
  if (also.ranges != nullptr) s.ranges = (Global<int32_t>)also.ranges + batch * a.ranges * 2;
  s.offset = also.held(s.keys - s.queries);
  s.before = also.held(a.before);
  s.behind = also.held(a.behind);
  s.page = also.held(a.page);
  return s;
}

// Where a key lies, from the first of its sequence, or from the first page.
__device__ __forceinline__ int64_t place_of(const Launch &a, const Sequence &s,
                                            const int64_t (&stride)[3], int key) {
  if (s.pages == nullptr) return key * stride[2];
  return s.pages[key / s.page] * stride[0] + key % s.page * stride[2];
}

__device__ __forceinline__ bool sees(const Launch &a, const Sequence &s, int query, int key) {
  if (key >= s.keys) return false;
  const int own = query + s.offset;
  if (key - own <= s.behind && own - key <= s.before) return true;
  if (s.ranges == nullptr) return false;
  for (int i = 0; i < a.ranges; ++i) {
    const int first = s.ranges[2 * i], end = s.ranges[2 * i + 1];
    if (min(own, key) >= first && max(own, key) < end) return true;
  }
  return false;
}

// The keys that some of the queries from one to another may see: from the first number on, to
// before the second.
__device__ __forceinline__ int2 seen_by(const Launch &a, const Sequence &s, int from, int to) {
  if (s.ranges != nullptr) return make_int2(0, s.keys);
  const int offset = s.keys - s.queries;
  return make_int2(max(0, from + offset - a.before),
                   min(s.keys, max(0, to + offset + a.behind + 1)));
}

// What a product of a query and a key becomes before the softmax.
template <typename Type>
__device__ __forceinline__ float score(const Launch &a, const Sequence &s,
                                       Global<typename Type::Stored> mask, float slope, int query,
                                       int key, float product) {
  float x = product * a.scale;
  if (a.cap != 0.0f) x = tanhf(x / a.cap) * a.cap;
  if (!sees(a, s, query, key)) return -INFINITY;
  if (slope != 0.0f) x -= slope * static_cast<float>(abs(query + s.offset - key));
  if (mask != nullptr) x += Type::get(mask[query * a.mask_stride[2] + key * a.mask_stride[3]]);
  return x;
}

// exp(x - most). A row of which nothing has been seen yet has no largest score; nothing is in it.
__device__ __forceinline__ float below(float x, float most) {
  return x == -INFINITY ? 0.0f : __expf(x - most);
}

// A finished sum; where nothing is in it, what the launch says.
__device__ __forceinline__ float finished(const Launch &a, float sum, float total) {
  return total == 0.0f && a.unseeing ? 0.0f : sum / total;
}

template <int LANES>
__device__ __forceinline__ float sum_of(float x) {
#pragma unroll
  for (int reach = LANES / 2; reach > 0; reach /= 2) x += __shfl_xor(x, reach, LANES);
  return x;
}

template <int LANES>
__device__ __forceinline__ float most_of(float x) {
#pragma unroll
  for (int reach = LANES / 2; reach > 0; reach /= 2) x = fmaxf(x, __shfl_xor(x, reach, LANES));
  return x;
}

// The parts' sums lie one after the other, then for each its largest score and sum of exponentials.
__device__ __forceinline__ float *state_of(const Launch &a, float *parts, int64_t place) {
  return parts + static_cast<int64_t>(a.rows) * a.parts * a.v_width + 2 * place;
}

// One part of the keys for ROWS rows. The blocks of x: the parts of each head of the
// keys of each batch; y: groups of rows. Eight rows are no wider than 256, fewer than 512.
template <typename Type, int ROWS, typename Also>
__device__ void decode(const typename Type::Stored *q, const typename Type::Stored *k,
                       const typename Type::Stored *v, Global<typename Type::Stored> mask,
                       typename Type::Stored *out, float *parts, const Also &also,
                       const Launch &a) {
  constexpr int KEYS = 64;
  constexpr int LANES = 8;  // that share a key: 64 elements, or 128 bytes of f16, at a time
  constexpr int SLOTS = THREADS / LANES;
  __shared__ float query_rows[(ROWS < 8 ? ROWS : 4) * 512];
  // Two of each, so that a round need not wait for the slowest thread of the last one.
  __shared__ float weights[2][ROWS][KEYS];
  __shared__ float shrink[2][ROWS];
  __shared__ float states[ROWS][2];
  __shared__ float sums[THREADS * 8];

  const int t = threadIdx.x;
  const int kv_heads = a.heads / a.shared_by;
  const int part = blockIdx.x % a.parts;
  const int kv_head = blockIdx.x / a.parts % kv_heads;
  const int64_t batch = blockIdx.x / a.parts / kv_heads;
  const Sequence s = sequence(a, also, batch);
  const int rows = s.queries * a.shared_by;
  q += batch * a.q_stride[0] + s.first_query * a.q_stride[2];
  k += kv_head * a.k_stride[1] + s.first_key * a.k_stride[2];
  v += kv_head * a.v_stride[1] + s.first_key * a.v_stride[2];
  if (s.pages == nullptr) k += batch * a.k_stride[0], v += batch * a.v_stride[0];

  // Of products: eight lanes to a key. Of the softmax: 32 to a row. Of sums: one to eight columns.
  const int lane = t % LANES, slot = t / LANES, own = t / 32;
  const int columns = a.v_width / 8, column = t % columns * 8;
  const int groups = THREADS / columns, group = t / columns;

  const int row0 = blockIdx.y * ROWS;
  if (row0 >= rows) return;
  const int last_row = min(row0 + ROWS, rows) - 1;
  const int2 seen = seen_by(a, s, row0 / a.shared_by, last_row / a.shared_by);
  const int first = max(part * a.keys_each, seen.x);
  const int last = min(part + 1 < a.parts ? (part + 1) * a.keys_each : s.keys, seen.y);
  for (int i = t; i < ROWS * (a.width / 8); i += THREADS) {
    const int r = i / (a.width / 8), d = i % (a.width / 8) * 8, row = row0 + r;
    float x[8] = {};
    if (row < rows) {
      const int head = kv_head * a.shared_by + row % a.shared_by;
      Type::load(q + head * a.q_stride[1] + row / a.shared_by * a.q_stride[2] + d, x);
    }
#pragma unroll
    for (int e = 0; e < 8; ++e) query_rows[r * a.width + d + e] = x[e];
  }

  const int own_row = min(row0 + own, last_row), own_query = own_row / a.shared_by;
  const int own_head = kv_head * a.shared_by + own_row % a.shared_by;
  const auto own_mask =
      mask == nullptr ? mask : mask + batch * a.mask_stride[0] + own_head * a.mask_stride[1];
  const float slope = also.slopes == nullptr ? 0.0f : also.slopes[own_head];
  float most = -INFINITY, total = 0.0f;
  float sum[ROWS][8] = {};
  __syncthreads();

  int turn = 0;
  for (int start = first; start < last; start += KEYS, turn ^= 1) {
    float product[2][ROWS] = {};
    const auto *one = k + place_of(a, s, a.k_stride, min(start + slot, last - 1));
    const auto *other = k + place_of(a, s, a.k_stride, min(start + slot + SLOTS, last - 1));
    for (int d = lane * 8; d < a.width; d += LANES * 8) {
      float x[2][8];
      Type::load(one + d, x[0]);
      Type::load(other + d, x[1]);
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
#pragma unroll
        for (int e = 0; e < 8; ++e) {
          const float y = query_rows[r * a.width + d + e];
          product[0][r] += y * x[0][e];
          product[1][r] += y * x[1][e];
        }
      }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const float x = sum_of<LANES>(product[0][r]), y = sum_of<LANES>(product[1][r]);
      if (also.held(lane) == r) {
        weights[turn][r][slot] = x;
        weights[turn][r][slot + SLOTS] = y;
      }
    }
    __syncthreads();
    if (own < ROWS) {
      float x[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int at = t % 32 + 32 * i, key = start + at;
        const float product = weights[turn][own][at];
        x[i] = key < last ? score<Type>(a, s, own_mask, slope, own_query, key, product)
                          : -INFINITY;
      }
      const float next = fmaxf(most, most_of<32>(fmaxf(x[0], x[1])));
      const float less = below(most, next);
      x[0] = below(x[0], next);
      x[1] = below(x[1], next);
      total = total * less + sum_of<32>(x[0] + x[1]);
      most = next;
      weights[turn][own][t % 32] = x[0];
      weights[turn][own][t % 32 + 32] = x[1];
      if (t % 32 == 0) shrink[turn][own] = less;
    }
    __syncthreads();
    if (group < groups) {
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const float less = shrink[turn][r];
#pragma unroll
        for (int e = 0; e < 8; ++e) sum[r][e] *= less;
      }
      const int count = min(KEYS, last - start);
      for (int at = group; at < count; at += groups) {
        float x[8];
        Type::load(v + place_of(a, s, a.v_stride, start + at) + column, x);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
          const float weight = weights[turn][r][at];
#pragma unroll
          for (int e = 0; e < 8; ++e) sum[r][e] += weight * x[e];
        }
      }
    }
  }

  if (own < ROWS && t % 32 == 0) {
    states[own][0] = most;
    states[own][1] = total;
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    __syncthreads();
    if (group < groups) {
#pragma unroll
      for (int e = 0; e < 8; ++e) sums[group * a.v_width + column + e] = sum[r][e];
    }
    __syncthreads();
    const int row = hipx::opaque(row0) + r;
    if (row >= rows) continue;
    const int head = kv_head * a.shared_by + row % a.shared_by;
    const int64_t place = batch * a.out_stride[0] + head * a.out_stride[1] +
                          (s.first_query + row / a.shared_by) * a.out_stride[2];
    for (int d = t; d < a.v_width; d += THREADS) {
      float x = 0.0f;
      for (int g = 0; g < groups; ++g) x += sums[g * a.v_width + d];
      if (a.parts == 1) {
        out[place * a.v_width + d] = Type::put(finished(a, x, states[r][1]));
      } else {
        parts[(place * a.parts + part) * a.v_width + d] = x;
      }
    }
    if (a.parts > 1 && t < 2) {
      state_of(a, parts, place * a.parts + part)[t] = states[r][t];
    }
  }
}

// The parts of one row, which is the block's: groups of threads share them out, a thread four columns.
template <typename Type>
__device__ void combine(float *parts, typename Type::Stored *out, const Launch &a) {
  __shared__ float across[THREADS / 32];
  __shared__ float4 sums[THREADS];
  __shared__ float totals[THREADS];
  const int t = threadIdx.x;
  const int64_t row = blockIdx.x;
  const float *state = state_of(a, parts, row * a.parts);
  float most = -INFINITY;
  for (int i = t; i < a.parts; i += THREADS) most = fmaxf(most, state[2 * i]);
  most = most_of<32>(most);
  if (t % 32 == 0) across[t / 32] = most;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < THREADS / 32; ++i) most = fmaxf(most, across[i]);

  const int columns = a.v_width / 4, column = t % columns;
  const int groups = THREADS / columns, group = t / columns;
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  float total = 0.0f;
  for (int i = group; i < a.parts && group < groups; i += groups) {
    const float weight = below(state[2 * i], most);
    const float4 x =
        reinterpret_cast<const float4 *>(parts + (row * a.parts + i) * a.v_width)[column];
    total += weight * state[2 * i + 1];
    sum.x += weight * x.x, sum.y += weight * x.y, sum.z += weight * x.z, sum.w += weight * x.w;
  }
  sums[t] = sum;
  totals[t] = total;
  __syncthreads();
  if (group > 0) return;
  for (int g = 1; g < groups; ++g) {
    const float4 x = sums[g * columns + column];
    total += totals[g * columns + column];
    sum.x += x.x, sum.y += x.y, sum.z += x.z, sum.w += x.w;
  }
  const float all[4] = {sum.x, sum.y, sum.z, sum.w};
  out += row * a.v_width + 4 * column;
#pragma unroll
  for (int e = 0; e < 4; ++e) out[e] = Type::put(finished(a, all[e], total));
}

constexpr int SIDE = 64;

// The rows of a block, where it has many.
struct Rows {
  Sequence s;
  int64_t batch;
  int kv_head;
  int row0;
  int rows;   // of the sequence
  int2 seen;  // the keys that some of them may see
};

// Finds a block's own, and says whether it has any. The blocks: the sequences' rows, for each head of
// the keys. Where sequences have ends each block looks for its own, and there may be more blocks than
// rows for them.
template <typename Also>
__device__ __forceinline__ bool found(const Launch &a, const Also &also, Rows &own) {
  const int kv_heads = a.heads / a.shared_by;
  own.kv_head = blockIdx.x % kv_heads;
  own.batch = 0;
  own.s = sequence(a, also, 0);
  int tile_of_rows = blockIdx.x / kv_heads;
  for (;;) {
    const int tiles = (own.s.queries * a.shared_by + SIDE - 1) / SIDE;
    if (tile_of_rows < tiles) break;
    const int passed = also.q_ends == nullptr ? tile_of_rows / tiles : 1;
    own.batch += passed;
    tile_of_rows -= passed * tiles;
    if (own.batch >= a.batches) return false;
    own.s = sequence(a, also, own.batch);
  }
  own.rows = own.s.queries * a.shared_by;
  own.row0 = tile_of_rows * SIDE;
  const int last_row = min(own.row0 + SIDE, own.rows) - 1;
  own.seen = seen_by(a, own.s, own.row0 / a.shared_by, last_row / a.shared_by);
  return true;
}

// From the first head and row of a block's sequence on.
template <typename T>
__device__ __forceinline__ void move_to(const Launch &a, const Rows &own, const T *&q, const T *&k,
                                        const T *&v, Global<T> &mask) {
  const Sequence &s = own.s;
  q += own.batch * a.q_stride[0] + s.first_query * a.q_stride[2] +
       static_cast<int64_t>(own.kv_head) * a.shared_by * a.q_stride[1];
  k += own.kv_head * a.k_stride[1] + s.first_key * a.k_stride[2];
  v += own.kv_head * a.v_stride[1] + s.first_key * a.v_stride[2];
  if (s.pages == nullptr) k += own.batch * a.k_stride[0], v += own.batch * a.v_stride[0];
  if (mask != nullptr) {
    mask += own.batch * a.mask_stride[0] +
            static_cast<int64_t>(own.kv_head) * a.shared_by * a.mask_stride[1];
  }
}

// 64 rows of a sequence, of WIDTH elements or fewer, without matrix cores. Each thread has four rows
// and four keys, or four of 64 columns, at a time.
template <typename Type, int WIDTH, typename Also>
__device__ void prefill(const typename Type::Stored *q, const typename Type::Stored *k,
                        const typename Type::Stored *v, Global<typename Type::Stored> mask,
                        typename Type::Stored *out, const Also &also, const Launch &a) {
  constexpr int DEPTH = 32;          // of the products' tiles
  constexpr int PITCH = SIDE / 4 + 1;  // in fours of floats: rows of a tile begin in other banks
  constexpr int CHUNKS = WIDTH / SIDE;
  __shared__ float4 weights[SIDE][PITCH];  // by key, then row
  // Queries and keys by depth, or after them values by key.
  __shared__ float4 tile[2 * DEPTH * PITCH];
  static_assert(2 * DEPTH * PITCH >= SIDE * SIDE / 4, "the values have room");
  float4 *const query_tile = tile, *const key_tile = tile + DEPTH * PITCH;

  const int t = threadIdx.x, tx = t % 16, ty = t / 16;
  Rows own;
  if (!found(a, also, own)) return;
  move_to(a, own, q, k, v, mask);
  const Sequence &s = own.s;
  const int rows = own.rows, row0 = own.row0, kv_head = own.kv_head;

  // What the thread loads for all: a quarter of a row, and the same of a key.
  const int loaded = t / 4, depth = t % 4 * 8;
  const bool row_there = row0 + loaded < rows;
  q += (row0 + loaded) % a.shared_by * a.q_stride[1] +
       (row0 + loaded) / a.shared_by * a.q_stride[2];
  int query[4], head[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = min(row0 + ty * 4 + i, rows - 1);
    query[i] = row / a.shared_by;
    head[i] = row % a.shared_by;
  }

  float most[4], total[4] = {};
  float sum[CHUNKS][4][4] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) most[i] = -INFINITY;

  for (int start = own.seen.x; start < own.seen.y; start += SIDE) {
    const int64_t key_place =
        place_of(a, s, a.k_stride, min(start + loaded, s.keys - 1)) + depth;
    float x[4][4] = {};
    for (int d0 = 0; d0 < a.width; d0 += DEPTH) {
      const int d = d0 + depth;
      float row[8] = {}, key[8] = {};
      if (row_there && d < a.width) Type::load(q + d, row);
      if (start + loaded < s.keys && d < a.width) Type::load(k + key_place + d0, key);
      __syncthreads();
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        reinterpret_cast<float *>(query_tile + (depth + e) * PITCH)[loaded] = row[e];
        reinterpret_cast<float *>(key_tile + (depth + e) * PITCH)[loaded] = key[e];
      }
      __syncthreads();
#pragma unroll 4
      for (int e = 0; e < DEPTH; ++e) {
        const float4 m = query_tile[e * PITCH + ty], n = key_tile[e * PITCH + tx];
        const float mine[4] = {m.x, m.y, m.z, m.w}, theirs[4] = {n.x, n.y, n.z, n.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
          for (int j = 0; j < 4; ++j) x[i][j] += mine[i] * theirs[j];
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const auto of_head = mask == nullptr ? mask : mask + head[i] * a.mask_stride[1];
      const float slope =
          also.slopes == nullptr ? 0.0f : also.slopes[kv_head * a.shared_by + head[i]];
      float next = most[i];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        x[i][j] = score<Type>(a, s, of_head, slope, query[i], start + tx * 4 + j, x[i][j]);
        next = fmaxf(next, x[i][j]);
      }
      next = most_of<16>(next);
      const float less = below(most[i], next);
      most[i] = next;
      total[i] *= less;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        x[i][j] = below(x[i][j], next);
        total[i] += x[i][j];
      }
#pragma unroll
      for (int c = 0; c < CHUNKS; ++c) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[c][i][j] *= less;
      }
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      weights[tx * 4 + j][ty] = make_float4(x[0][j], x[1][j], x[2][j], x[3][j]);
    }
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      if (c * SIDE >= a.v_width) break;
      __syncthreads();
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int key = t / 8 + 32 * half, column = also.held(t % 8 * 8);
        float y[8] = {};
        if (start + key < s.keys && c * SIDE + column < a.v_width) {
          Type::load(v + place_of(a, s, a.v_stride, start + key) + c * SIDE + column, y);
        }
        tile[key * (SIDE / 4) + column / 4] = make_float4(y[0], y[1], y[2], y[3]);
        tile[key * (SIDE / 4) + column / 4 + 1] = make_float4(y[4], y[5], y[6], y[7]);
      }
      __syncthreads();
#pragma unroll 4
      for (int key = 0; key < SIDE; ++key) {
        const float4 m = weights[key][ty], n = tile[key * (SIDE / 4) + tx];
        const float mine[4] = {m.x, m.y, m.z, m.w}, theirs[4] = {n.x, n.y, n.z, n.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
          for (int j = 0; j < 4; ++j) sum[c][i][j] += mine[i] * theirs[j];
        }
      }
    }
  }

#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float divisor = sum_of<16>(total[i]);
    if (row0 + ty * 4 + i >= rows) continue;
    const int64_t place =
        own.batch * a.out_stride[0] + (kv_head * a.shared_by + head[i]) * a.out_stride[1] +
        (s.first_query + query[i]) * a.out_stride[2];
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      const int column = c * SIDE + tx * 4;
      if (column >= a.v_width) break;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        out[place * a.v_width + column + j] = Type::put(finished(a, sum[c][i][j], divisor));
      }
    }
  }
}

// The same on matrix cores, in tiles of 16 by 16. A logical warp has two of the scores, and every
// second of the columns; neighbours have the same rows, so that sums that lie in either shrink alike.
// Four threads have a row of the softmax.
template <typename Type, int WIDTH, typename Also>
__device__ void prefill_in_matrices(const typename Type::Stored *q, const typename Type::Stored *k,
                                    const typename Type::Stored *v,
                                    Global<typename Type::Stored> mask, typename Type::Stored *out,
                                    const Also &also, const Launch &a) {
  namespace wmma = nvcuda::wmma;
  typedef typename Type::Stored T;
  typedef typename Type::Element Element;
  typedef wmma::fragment<wmma::matrix_a, 16, 16, 16, Element, wmma::row_major> Left;
  typedef wmma::fragment<wmma::accumulator, 16, 16, 16, float> Sums;
  constexpr int SPAN = 128;  // of a row of keys, or of columns, that is in LDS at a time
  constexpr int CHUNKS = WIDTH / SPAN;
  constexpr int OF_WARP = SPAN / 32;  // tiles of columns
  // Rows begin in other banks, and at multiples of 16 bytes.
  constexpr int QUERY = WIDTH + 8, KEY = SPAN + 8, COLUMN = SIDE + 8, SCORES = SIDE + 4;
  constexpr int LANES = THREADS / SIDE, EACH = SIDE / LANES;  // of a row
  // A warp keeps its rows of the queries in registers where they have room: a compute unit has LDS for
  // two blocks then, and not for one.
  constexpr bool HELD = CHUNKS == 1;
  __shared__ uint4 queries_of_block[HELD ? 1 : SIDE * QUERY / 8];
  __shared__ uint4 weights_of_block[SIDE * COLUMN / 8];
  // Keys, then their scores, then values by column.
  __shared__ uint4 tile[SPAN * COLUMN / 8];
  static_assert(sizeof(tile) >= SIDE * KEY * sizeof(T), "the keys have room");
  static_assert(sizeof(tile) >= SIDE * SCORES * sizeof(float), "the scores have room");
  static_assert(!HELD || sizeof(tile) >= SIDE * QUERY * sizeof(T), "the queries have room");
  __shared__ float of_rows[SIDE];  // by what a row's sums shrink, at last its divisor
  uint4 *const loaded = HELD ? tile : queries_of_block;
  T *const queries = reinterpret_cast<T *>(loaded);
  T *const weights = reinterpret_cast<T *>(weights_of_block);
  T *const keys = reinterpret_cast<T *>(tile), *const values = keys;
  float *const scores = reinterpret_cast<float *>(tile);
  const auto matrix = [](const T *from) { return reinterpret_cast<const Element *>(from); };

  const int t = threadIdx.x, half = t / 32 % 2, top = t / 64 * 16;
  Rows own;
  if (!found(a, also, own)) return;
  move_to(a, own, q, k, v, mask);
  Sequence s = own.s;
  s.pages = also.held(s.pages), s.ranges = also.held(s.ranges);
  const int row0 = also.held(own.row0), rows = also.held(own.rows);
  const int first_head = also.held(own.kv_head * a.shared_by);
  const int first_place = also.held(own.batch * a.out_stride[0] + s.first_query * a.out_stride[2]);

  for (int i = t; i < SIDE * (WIDTH / 8); i += THREADS) {
    const int r = i / (WIDTH / 8), d = i % (WIDTH / 8) * 8, row = row0 + r;
    uint4 x = {};
    if (row < rows && d < a.width) {
      __builtin_memcpy(&x, q + row % a.shared_by * a.q_stride[1] + row / a.shared_by * a.q_stride[2] + d,
                       sizeof(x));
    }
    loaded[(r * QUERY + d) / 8] = x;
  }
  Left held[HELD ? WIDTH / 16 : 1];
  if constexpr (HELD) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < WIDTH / 16; ++i) {
      wmma::load_matrix_sync(held[i], matrix(queries + top * QUERY + 16 * i), QUERY);
    }
  }

  const int own_row = min(row0 + t / LANES, rows - 1), own_query = own_row / a.shared_by;
  const int own_head = own_row % a.shared_by;
  if (mask != nullptr) mask += own_head * a.mask_stride[1];
  const float slope =
      also.slopes == nullptr ? 0.0f : also.slopes[first_head + own_head];
  float most = -INFINITY, total = 0.0f;
  Sums sums[CHUNKS][OF_WARP];
#pragma unroll
  for (int c = 0; c < CHUNKS; ++c) {
#pragma unroll
    for (int n = 0; n < OF_WARP; ++n) wmma::fill_fragment(sums[c][n], 0.0f);
  }

  for (int start = own.seen.x; start < own.seen.y; start += SIDE) {
    Sums products[2];
    wmma::fill_fragment(products[0], 0.0f);
    wmma::fill_fragment(products[1], 0.0f);
    for (int first = 0; first < a.width; first += SPAN) {
      const int depth = min(SPAN, a.width - first);
      __syncthreads();
      for (int i = t; i < SIDE * (SPAN / 8); i += THREADS) {
        const int key = i / (SPAN / 8), d = i % (SPAN / 8) * 8;
        uint4 x = {};
        if (start + key < s.keys && d < depth) {
          __builtin_memcpy(&x, k + place_of(a, s, a.k_stride, start + key) + first + d,
                           sizeof(x));
        }
        tile[(key * KEY + d) / 8] = x;
      }
      __syncthreads();
      const auto multiply = [&](const Left &left, int d) {
#pragma unroll
        for (int n = 0; n < 2; ++n) {
          wmma::fragment<wmma::matrix_b, 16, 16, 16, Element, wmma::col_major> right;
          wmma::load_matrix_sync(right, matrix(keys + (2 * half + n) * 16 * KEY + d), KEY);
          wmma::mma_sync(products[n], left, right, products[n]);
        }
      };
      if constexpr (HELD) {
#pragma unroll
        for (int i = 0; i < SPAN / 16; ++i) {
          if (16 * i >= depth) break;
          multiply(held[i], 16 * i);
        }
      } else {
        for (int d = 0; d < depth; d += 16) {
          Left left;
          wmma::load_matrix_sync(left, matrix(queries + top * QUERY + first + d), QUERY);
          multiply(left, d);
        }
      }
    }
    __syncthreads();
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      wmma::store_matrix_sync(scores + top * SCORES + (2 * half + n) * 16, products[n], SCORES,
                              wmma::mem_row_major);
    }
    __syncthreads();
    float x[EACH], next = most;
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
      const int at = i * LANES + t % LANES;
      x[i] = score<Type>(a, s, mask, slope, own_query, start + at, scores[t / LANES * SCORES + at]);
      next = fmaxf(next, x[i]);
    }
    next = most_of<LANES>(next);
    const float less = below(most, next);
    most = next;
    total *= less;
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
      const float weight = below(x[i], next) * Type::LARGEST;
      total += weight;
      weights[t / LANES * COLUMN + i * LANES + t % LANES] = Type::put(weight);
    }
    if (t % LANES == 0) of_rows[t / LANES] = less;
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      if (c * SPAN >= a.v_width) break;
      const int columns = min(SPAN, a.v_width - c * SPAN);
      __syncthreads();
      // A lane a key, so that neighbours write neighbours.
      for (int n = t / SIDE * 8; n < (columns + 31) / 32 * 32; n += THREADS / SIDE * 8) {
        const int key = t % SIDE;
        T y[8] = {};
        if (start + key < s.keys && n < columns) {
          __builtin_memcpy(y, v + place_of(a, s, a.v_stride, start + key) + c * SPAN + n, sizeof(y));
        }
#pragma unroll
        for (int e = 0; e < 8; ++e) values[(n + e) * COLUMN + key] = y[e];
      }
      __syncthreads();
#pragma unroll
      for (int n = 0; n < OF_WARP; ++n) {
#pragma unroll
        for (int i = 0; i < Sums::num_elements; ++i) {
          sums[c][n].x[i] *= of_rows[top + wmma::row_of<ENGINE>(i)];
        }
      }
#pragma unroll 1
      for (int key = 0; key < SIDE; key += 16) {
        Left left;
        wmma::load_matrix_sync(left, matrix(weights + top * COLUMN + key), COLUMN);
#pragma unroll
        for (int n = 0; n < OF_WARP; ++n) {
          // For both neighbours alike: their matrix instructions are one.
          if (n * 32 >= columns) break;
          wmma::fragment<wmma::matrix_b, 16, 16, 16, Element, wmma::col_major> right;
          wmma::load_matrix_sync(right, matrix(values + (2 * n + half) * 16 * COLUMN + key), COLUMN);
          wmma::mma_sync(sums[c][n], left, right, sums[c][n]);
        }
      }
    }
  }

  __syncthreads();
  total = sum_of<LANES>(total);
  if (t % LANES == 0) of_rows[t / LANES] = total;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Sums::num_elements; ++i) {
    const int r = top + wmma::row_of<ENGINE>(i), row = row0 + r;
    if (row >= rows) continue;
    const int head = first_head + row % a.shared_by;
    const int64_t place =
        first_place + head * a.out_stride[1] + row / a.shared_by * a.out_stride[2];
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
#pragma unroll
      for (int n = 0; n < OF_WARP; ++n) {
        const int column = c * SPAN + (2 * n + wmma::warp_of<ENGINE>(i, half)) * 16 + t % 16;
        if (column >= a.v_width) continue;
        out[place * a.v_width + column] = Type::put(finished(a, sums[c][n].x[i], of_rows[r]));
      }
    }
  }
}

template <typename Type, int WIDTH, typename Also>
__device__ __forceinline__ void prefill_as_it_can(
    const typename Type::Stored *q, const typename Type::Stored *k, const typename Type::Stored *v,
    Global<typename Type::Stored> mask, typename Type::Stored *out, const Also &also,
    const Launch &a) {
  if constexpr (Type::MATRICES) {
    prefill_in_matrices<Type, WIDTH>(q, k, v, mask, out, also, a);
  } else {
    prefill<Type, WIDTH>(q, k, v, mask, out, also, a);
  }
}

}  // namespace

#define DECODE(NAME, TYPE, ROWS)                                                                \
  extern "C" __global__ void __launch_bounds__(THREADS) sdpa_decode##ROWS##_##NAME(             \
      const TYPE::Stored *q, const TYPE::Stored *k, const TYPE::Stored *v,                      \
      const TYPE::Stored *mask, TYPE::Stored *out, float *parts, const Launch launch) {         \
    decode<TYPE, ROWS>(q, k, v, (Global<TYPE::Stored>)mask, out, parts, Nothing(), launch);     \
  }                                                                                             \
  extern "C" __global__ void __launch_bounds__(THREADS) flash_decode##ROWS##_##NAME(            \
      const TYPE::Stored *q, const TYPE::Stored *k, const TYPE::Stored *v, TYPE::Stored *out,   \
      float *parts, const Besides besides, const Launch launch) {                               \
    decode<TYPE, ROWS>(q, k, v, nullptr, out, parts, besides, launch);                             \
  }

#define PREFILL(NAME, TYPE, WIDTH)                                                              \
  extern "C" __global__ void __launch_bounds__(THREADS) sdpa_prefill##WIDTH##_##NAME(           \
      const TYPE::Stored *q, const TYPE::Stored *k, const TYPE::Stored *v,                      \
      const TYPE::Stored *mask, TYPE::Stored *out, const Launch launch) {                       \
    const Global<TYPE::Stored> added = (Global<TYPE::Stored>)mask;                              \
    prefill_as_it_can<TYPE, WIDTH>(q, k, v, added, out, Nothing(), launch);                     \
  }                                                                                             \
  extern "C" __global__ void __launch_bounds__(THREADS) flash_prefill##WIDTH##_##NAME(          \
      const TYPE::Stored *q, const TYPE::Stored *k, const TYPE::Stored *v, TYPE::Stored *out,   \
      const Besides besides, const Launch launch) {                                             \
    prefill_as_it_can<TYPE, WIDTH>(q, k, v, nullptr, out, besides, launch);                     \
  }

#define KERNELS(NAME, TYPE)                                                                     \
  DECODE(NAME, TYPE, 1)                                                                         \
  DECODE(NAME, TYPE, 2)                                                                         \
  DECODE(NAME, TYPE, 4)                                                                         \
  DECODE(NAME, TYPE, 8)                                                                         \
  PREFILL(NAME, TYPE, 128)                                                                      \
  PREFILL(NAME, TYPE, 256)                                                                      \
  extern "C" __global__ void __launch_bounds__(THREADS)                                         \
      sdpa_combine_##NAME(float *parts, TYPE::Stored *out, const Launch launch) {               \
    combine<TYPE>(parts, out, launch);                                                          \
  }

KERNELS(f32, F32)
KERNELS(f16, F16)
KERNELS(bf16, BF16)
