// Scaled dot-product attention: softmax(q k^T * scale + mask) v, without the scores in memory.
//
// Two ways, both without matrix cores, so that they run on every architecture:
//
// - decode, for a few queries: a block reads a part of the keys and values once, for all query heads
//   of one head of these, and leaves unfinished sums; a second kernel combines the parts.
// - prefill: a block makes 64 rows of the output, and passes 64 keys after the other through LDS.
//
// A row is one query of one head. Rows of the heads that share keys and values are numbered together,
// query by query, so that neighbours read the same. The softmax is the online one of FlashAttention
// (Dao et al. 2022, algorithm 1; Milakov and Gimelshein 2018): of each row the largest score so far
// and the sum of exponentials below it. All arithmetic is in f32. Logical warps have 32 lanes or
// fewer, so that wavefronts of 32 and of 64 do the same.
#include "hipx.h"

// What a launch is about; `Launch` in candle-nn/src/ops.rs is the same. Strides are in elements,
// those of the last dimension are 1, but for the mask's.
struct Launch {
  int64_t q_stride[3];  // batch, head, query
  int64_t k_stride[3];  // batch, head, key
  int64_t v_stride[3];
  int64_t mask_stride[4];  // batch, head, query, key
  int32_t heads;           // of the queries
  int32_t shared_by;       // how many of them share one of the keys' heads
  int32_t queries;
  int32_t keys;
  int32_t width;    // of q and k, a multiple of 8
  int32_t v_width;  // of v, a multiple of 8
  int32_t keys_each;  // that one of the parts has, a multiple of 64
  int32_t parts;      // that the keys are in
  int32_t causal;     // the last query sees all keys, the one before all but one, and so on
  float scale;
  float cap;  // 1 for none
};

namespace {

constexpr int THREADS = 256;
constexpr int MOST_WIDTH = 256;

// Elements in memory: eight neighbours as floats, and a float as one of them. Rows need not begin at
// multiples of 16 bytes: AMD GPUs read vectors from any address, and memcpy says so to the compiler.
struct F32 {
  typedef float Stored;
  static __device__ __forceinline__ float get(float x) { return x; }
  static __device__ __forceinline__ float put(float x) { return x; }
  static __device__ __forceinline__ void load(const float *from, float (&x)[8]) {
    __builtin_memcpy(x, from, sizeof(x));
  }
};

template <typename Format>
struct Short {
  typedef uint16_t Stored;
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
  static __device__ __forceinline__ float get(uint16_t x) {
    return __half2float(__ushort_as_half(x));
  }
  static __device__ __forceinline__ uint16_t put(float x) {
    return __half_as_ushort(__float2half_rn(x));
  }
};

struct BF16 : Short<BF16> {
  static __device__ __forceinline__ float get(uint16_t x) {
    return __uint_as_float(static_cast<uint32_t>(x) << 16);
  }
  static __device__ __forceinline__ uint16_t put(float x) {
    const uint32_t bits = __float_as_uint(x);
    if (x != x) return 0x7fc0;
    return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);  // to nearest, even
  }
};

__device__ __forceinline__ bool sees(const Launch &a, int query, int key) {
  return key < a.keys && (!a.causal || key - a.keys <= query - a.queries);
}

// What a product of a query and a key becomes before the softmax.
template <typename Type>
__device__ __forceinline__ float score(const Launch &a, const typename Type::Stored *mask,
                                       int query, int key, float product) {
  float x = product * a.scale;
  if (a.cap != 1.0f) x = tanhf(x / a.cap) * a.cap;
  if (!sees(a, query, key)) return -INFINITY;
  if (mask != nullptr) x += Type::get(mask[query * a.mask_stride[2] + key * a.mask_stride[3]]);
  return x;
}

// exp(x - most). A row of which nothing has been seen yet has no largest score; nothing is in it.
__device__ __forceinline__ float below(float x, float most) {
  return x == -INFINITY ? 0.0f : __expf(x - most);
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
__device__ __forceinline__ float *state_of(const Launch &a, float *parts, int64_t rows,
                                           int64_t place) {
  return parts + rows * a.parts * a.v_width + 2 * place;
}

// One part of the keys for ROWS rows. The blocks of x: the parts of each head of the keys of each
// batch; y: groups of rows.
template <typename Type, int ROWS>
__device__ void decode(const typename Type::Stored *q, const typename Type::Stored *k,
                       const typename Type::Stored *v, const typename Type::Stored *mask,
                       typename Type::Stored *out, float *parts, const Launch &a) {
  constexpr int KEYS = 64;
  constexpr int LANES = 8;  // that share a key: 64 elements, or 128 bytes of f16, at a time
  constexpr int SLOTS = THREADS / LANES;
  __shared__ float query_rows[ROWS][MOST_WIDTH];
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
  const int rows = a.queries * a.shared_by;
  const int row0 = blockIdx.y * ROWS;
  const int first = part * a.keys_each;
  const int last = min(first + a.keys_each, a.keys);
  k += batch * a.k_stride[0] + kv_head * a.k_stride[1];
  v += batch * a.v_stride[0] + kv_head * a.v_stride[1];

  for (int i = t; i < ROWS * (a.width / 8); i += THREADS) {
    const int r = i / (a.width / 8), d = i % (a.width / 8) * 8, row = row0 + r;
    float x[8] = {};
    if (row < rows) {
      const int head = kv_head * a.shared_by + row % a.shared_by;
      Type::load(q + batch * a.q_stride[0] + head * a.q_stride[1] +
                     row / a.shared_by * a.q_stride[2] + d,
                 x);
    }
#pragma unroll
    for (int e = 0; e < 8; ++e) query_rows[r][d + e] = x[e];
  }

  // Of products: eight lanes to a key. Of the softmax: 32 to a row. Of sums: one to eight columns.
  const int lane = t % LANES, slot = t / LANES;
  const int own = t / 32, own_row = row0 + own;
  const int own_query = min(own_row, rows - 1) / a.shared_by;
  const int columns = a.v_width / 8, column = t % columns * 8;
  const int groups = THREADS / columns, group = t / columns;
  if (mask != nullptr) {
    const int head = kv_head * a.shared_by + min(own_row, rows - 1) % a.shared_by;
    mask += batch * a.mask_stride[0] + head * a.mask_stride[1];
  }
  float most = -INFINITY, total = 0.0f;
  float sum[ROWS][8] = {};
  __syncthreads();

  int turn = 0;
  for (int start = first; start < last; start += KEYS, turn ^= 1) {
    float product[2][ROWS] = {};
    const auto *one = k + min(start + slot, last - 1) * a.k_stride[2];
    const auto *other = k + min(start + slot + SLOTS, last - 1) * a.k_stride[2];
    for (int d = lane * 8; d < a.width; d += LANES * 8) {
      float x[2][8];
      Type::load(one + d, x[0]);
      Type::load(other + d, x[1]);
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
#pragma unroll
        for (int e = 0; e < 8; ++e) {
          const float y = query_rows[r][d + e];
          product[0][r] += y * x[0][e];
          product[1][r] += y * x[1][e];
        }
      }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const float x = sum_of<LANES>(product[0][r]), y = sum_of<LANES>(product[1][r]);
      if (lane == r) {
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
        x[i] = key < last ? score<Type>(a, mask, own_query, key, weights[turn][own][at])
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
        Type::load(v + (start + at) * a.v_stride[2] + column, x);
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
  const int64_t all_rows = static_cast<int64_t>(gridDim.x / a.parts) * rows;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    __syncthreads();
    if (group < groups) {
#pragma unroll
      for (int e = 0; e < 8; ++e) sums[group * a.v_width + column + e] = sum[r][e];
    }
    __syncthreads();
    const int row = row0 + r;
    if (row >= rows) continue;
    const int head = kv_head * a.shared_by + row % a.shared_by;
    const int64_t place = (batch * a.heads + head) * a.queries + row / a.shared_by;
    for (int d = t; d < a.v_width; d += THREADS) {
      float x = 0.0f;
      for (int g = 0; g < groups; ++g) x += sums[g * a.v_width + d];
      if (a.parts == 1) {
        out[place * a.v_width + d] = Type::put(x / states[r][1]);
      } else {
        parts[(place * a.parts + part) * a.v_width + d] = x;
      }
    }
    if (a.parts > 1 && t < 2) {
      state_of(a, parts, all_rows, place * a.parts + part)[t] = states[r][t];
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
  const float *state = state_of(a, parts, gridDim.x, row * a.parts);
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
  const float finished[4] = {sum.x, sum.y, sum.z, sum.w};
  out += row * a.v_width + 4 * column;
#pragma unroll
  for (int e = 0; e < 4; ++e) out[e] = Type::put(finished[e] / total);
}

// 64 rows. Each thread has four of them and four keys, or four of 64 columns, at a time.
template <typename Type>
__device__ void prefill(const typename Type::Stored *q, const typename Type::Stored *k,
                        const typename Type::Stored *v, const typename Type::Stored *mask,
                        typename Type::Stored *out, const Launch &a) {
  constexpr int SIDE = 64;
  constexpr int DEPTH = 32;          // of the products' tiles
  constexpr int PITCH = SIDE / 4 + 1;  // in fours of floats: rows of a tile begin in other banks
  constexpr int CHUNKS = MOST_WIDTH / SIDE;
  __shared__ float4 weights[SIDE][PITCH];  // by key, then row
  // Queries and keys by depth, or after them values by key.
  __shared__ float4 tile[2 * DEPTH * PITCH];
  static_assert(2 * DEPTH * PITCH >= SIDE * SIDE / 4, "the values have room");
  float4 *const query_tile = tile, *const key_tile = tile + DEPTH * PITCH;

  const int t = threadIdx.x, tx = t % 16, ty = t / 16;
  const int kv_heads = a.heads / a.shared_by;
  const int rows = a.queries * a.shared_by;
  const int tiles = (rows + SIDE - 1) / SIDE;
  const int row0 = blockIdx.x % tiles * SIDE;
  const int kv_head = blockIdx.x / tiles % kv_heads;
  const int64_t batch = blockIdx.x / tiles / kv_heads;
  q += batch * a.q_stride[0] + static_cast<int64_t>(kv_head) * a.shared_by * a.q_stride[1];
  k += batch * a.k_stride[0] + kv_head * a.k_stride[1];
  v += batch * a.v_stride[0] + kv_head * a.v_stride[1];
  if (mask != nullptr) {
    mask += batch * a.mask_stride[0] +
            static_cast<int64_t>(kv_head) * a.shared_by * a.mask_stride[1];
  }

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
  int end = a.keys;  // no row sees keys from here on
  if (a.causal) {
    const int latest = min(row0 + SIDE, rows) - 1;
    end = min(end, max(0, latest / a.shared_by + a.keys - a.queries + 1));
  }

  float most[4], total[4] = {};
  float sum[CHUNKS][4][4] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) most[i] = -INFINITY;

  for (int start = 0; start < end; start += SIDE) {
    float x[4][4] = {};
    for (int d0 = 0; d0 < a.width; d0 += DEPTH) {
      const int d = d0 + depth;
      float row[8] = {}, key[8] = {};
      if (row_there && d < a.width) Type::load(q + d, row);
      if (start + loaded < a.keys && d < a.width) {
        Type::load(k + (start + loaded) * a.k_stride[2] + d, key);
      }
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
      const auto *of_head = mask == nullptr ? mask : mask + head[i] * a.mask_stride[1];
      float next = most[i];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        x[i][j] = score<Type>(a, of_head, query[i], start + tx * 4 + j, x[i][j]);
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
        const int key = t / 8 + 32 * half, column = t % 8 * 8;
        float y[8] = {};
        if (start + key < a.keys && c * SIDE + column < a.v_width) {
          Type::load(v + (start + key) * a.v_stride[2] + c * SIDE + column, y);
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
        (batch * a.heads + kv_head * a.shared_by + head[i]) * a.queries + query[i];
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      const int column = c * SIDE + tx * 4;
      if (column >= a.v_width) break;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        out[place * a.v_width + column + j] = Type::put(sum[c][i][j] / divisor);
      }
    }
  }
}

}  // namespace

#define DECODE(NAME, TYPE, ROWS)                                                                \
  extern "C" __global__ void __launch_bounds__(THREADS) sdpa_decode##ROWS##_##NAME(             \
      const TYPE::Stored *q, const TYPE::Stored *k, const TYPE::Stored *v,                      \
      const TYPE::Stored *mask, TYPE::Stored *out, float *parts, const Launch launch) {         \
    decode<TYPE, ROWS>(q, k, v, mask, out, parts, launch);                                      \
  }

#define KERNELS(NAME, TYPE)                                                                     \
  DECODE(NAME, TYPE, 1)                                                                         \
  DECODE(NAME, TYPE, 2)                                                                         \
  DECODE(NAME, TYPE, 4)                                                                         \
  DECODE(NAME, TYPE, 8)                                                                         \
  extern "C" __global__ void __launch_bounds__(THREADS)                                         \
      sdpa_combine_##NAME(float *parts, TYPE::Stored *out, const Launch launch) {               \
    combine<TYPE>(parts, out, launch);                                                          \
  }                                                                                             \
  extern "C" __global__ void __launch_bounds__(THREADS) sdpa_prefill_##NAME(                    \
      const TYPE::Stored *q, const TYPE::Stored *k, const TYPE::Stored *v,                      \
      const TYPE::Stored *mask, TYPE::Stored *out, const Launch launch) {                       \
    prefill<TYPE>(q, k, v, mask, out, launch);                                                  \
  }

KERNELS(f32, F32)
KERNELS(f16, F16)
KERNELS(bf16, BF16)
