// CUDA's nvcuda::wmma on AMD matrix cores, for a row-major A, a column-major B and a float
// accumulator, on logical warps of 32 lanes, so that blocks keep their CUDA geometry.
//
// Where a tile lies, by architecture (AMD matrix instruction calculator; LLVM AMDGPU usage):
//   gfx11, 16x16x16, v_wmma: lane l and lane l + 16 both hold row l % 16 of A (column of B), all k;
//     x[i] of the accumulator is row 2 i + l / 16, column l % 16.
//   gfx12, 16x16x16, v_wmma: lane l holds half of row l % 16 of A. AMD numbers its eight k from
//     4 (l / 16) and from 8 + 4 (l / 16), four each; here they are 8 (l / 16) to 8 (l / 16) + 7, in
//     one load instead of two: A and B order k alike, so that the sum has the same terms.
//     x[i] is row 8 (l / 16) + i, column l % 16.
//   gfx90a and gfx94x, 16x16x16, v_mfma: works on the 64 lanes of a wavefront, which are two
//     logical warps, each with its own tile. All 64 lanes load and multiply the tile of the first,
//     then that of the second. Lane l of 64 holds k = 4 (l / 16) to 4 (l / 16) + 3 of row l % 16;
//     x[4 t + i] is tile t, row 4 (l / 16) + i, column l % 16. Both logical warps must come here
//     together, and x may only be changed by what is the same for both.
//   elsewhere, and for other shapes, plain arithmetic: element e of A (row by row), of B (column
//     by column) and of the accumulator (row by row) lies in lane e / (elements / 32) for A and B,
//     in lane e % 32 for the accumulator.
#pragma once

#include "hipx.h"

namespace nvcuda {
namespace wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

#if defined(__GFX11__)
#define HIPX_WMMA_GFX11 1
#elif defined(__GFX12__)
#define HIPX_WMMA_GFX12 1
#elif defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || \
    defined(__gfx950__) || defined(__gfx9_4_generic__)
#define HIPX_WMMA_MFMA 1
#endif

enum class engine { plain, gfx11, gfx12, mfma };

template <int M, int N, int K>
constexpr engine engine_for() {
#if defined(HIPX_WMMA_GFX11)
  return M == 16 && N == 16 && K == 16 ? engine::gfx11 : engine::plain;
#elif defined(HIPX_WMMA_GFX12)
  return M == 16 && N == 16 && K == 16 ? engine::gfx12 : engine::plain;
#elif defined(HIPX_WMMA_MFMA)
  return M == 16 && N == 16 && K == 16 ? engine::mfma : engine::plain;
#else
  return engine::plain;
#endif
}

// How many elements of a tile with `Elements` elements one lane holds.
template <engine E>
constexpr int elements_held(int elements) {
  return E == engine::gfx11 ? 16 : E == engine::gfx12 || E == engine::mfma ? 8 : elements / 32;
}

template <typename Use, int M, int N, int K, typename T, typename Layout = void>
struct fragment;

template <int M, int N, int K, typename T>
struct fragment<matrix_a, M, N, K, T, row_major> {
  static constexpr int num_elements = elements_held<engine_for<M, N, K>()>(M * K);
  T x[num_elements];
};

template <int M, int N, int K, typename T>
struct fragment<matrix_b, M, N, K, T, col_major> {
  static constexpr int num_elements = elements_held<engine_for<M, N, K>()>(K * N);
  T x[num_elements];
};

template <int M, int N, int K, typename T>
struct fragment<accumulator, M, N, K, T, void> {
  static constexpr int num_elements = M * N / 32;
  T x[num_elements];
};

HIPX_DEVICE unsigned lane() { return __lane_id() & 31u; }

// A matrix instruction of a whole wavefront reads lanes that left the kernel or were never there.
// Where a sum begins and where it ends it is looked at: a look between two instructions keeps the
// compiler from moving what loads their operands.
HIPX_DEVICE void require_whole_wave() {
  if (__builtin_amdgcn_read_exec() != ~0ull) __builtin_trap();
}

template <int M, int N, int K, typename T>
HIPX_DEVICE void fill_fragment(fragment<accumulator, M, N, K, T> &f, T value) {
  if constexpr (engine_for<M, N, K>() == engine::mfma) require_whole_wave();
#pragma unroll
  for (int i = 0; i < f.num_elements; ++i) f.x[i] = value;
}

// The pointer that the lanes of logical warp `half` of this wavefront hold. It is said as a distance
// from the own one, so that the compiler still knows what memory that points into: an instruction
// that could go to either kind of memory waits for both.
template <typename P>
HIPX_DEVICE P *pointer_of(P *pointer, int half) {
  const unsigned long long own = (unsigned long long)pointer;
  const unsigned low = __builtin_amdgcn_readlane((int)own, 32 * half);
  const unsigned high = __builtin_amdgcn_readlane((int)(own >> 32), 32 * half);
  const unsigned long long other = ((unsigned long long)high << 32) | low;
  return (P *)((const char *)pointer + (long long)(other - own));
}

// Loads `Lines` lines (rows of A, columns of B) of K elements, `stride` apart.
template <engine E, int Lines, int K, typename T>
HIPX_DEVICE void load_lines(T *x, const T *p, unsigned stride) {
  const unsigned l = lane();
  if constexpr (E == engine::gfx11) {
    __builtin_memcpy(x, p + (l & 15u) * stride, 16 * sizeof(T));
  } else if constexpr (E == engine::gfx12) {
    __builtin_memcpy(x, p + (l & 15u) * stride + (l >> 4) * 8, 8 * sizeof(T));
  } else if constexpr (E == engine::mfma) {
    const unsigned w = __lane_id();
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      const T *q = pointer_of(p, tile) + (w & 15u) * stride + (w >> 4) * 4;
      __builtin_memcpy(x + 4 * tile, q, 4 * sizeof(T));
    }
  } else {
    constexpr int held = Lines * K / 32;
#pragma unroll
    for (int i = 0; i < held; ++i) {
      const unsigned e = l * held + i;
      x[i] = p[e / K * stride + e % K];
    }
  }
}

template <int M, int N, int K, typename T>
HIPX_DEVICE void load_matrix_sync(fragment<matrix_a, M, N, K, T, row_major> &f, const T *p,
                                  unsigned stride) {
  load_lines<engine_for<M, N, K>(), M, K>(f.x, p, stride);
}

template <int M, int N, int K, typename T>
HIPX_DEVICE void load_matrix_sync(fragment<matrix_b, M, N, K, T, col_major> &f, const T *p,
                                  unsigned stride) {
  load_lines<engine_for<M, N, K>(), N, K>(f.x, p, stride);
}

template <int N>
using float_vector = float __attribute__((ext_vector_type(N)));
template <int N>
using half_vector = _Float16 __attribute__((ext_vector_type(N)));
template <int N>
using short_vector = short __attribute__((ext_vector_type(N)));

template <typename V, typename T>
HIPX_DEVICE V as_vector(const T *x) {
  V v;
  __builtin_memcpy(&v, x, sizeof v);
  return v;
}

template <typename T>
HIPX_DEVICE void multiply_16x16x16(float *d, const T *a, const T *b, const float *c) {
  [[maybe_unused]] constexpr bool is_half = std::is_same<T, __half>::value;
#if defined(HIPX_WMMA_GFX11)
  float_vector<8> v = as_vector<float_vector<8>>(c);
  if constexpr (is_half) {
    v = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(as_vector<half_vector<16>>(a),
                                                   as_vector<half_vector<16>>(b), v);
  } else {
    v = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(as_vector<short_vector<16>>(a),
                                                    as_vector<short_vector<16>>(b), v);
  }
  __builtin_memcpy(d, &v, sizeof v);
#elif defined(HIPX_WMMA_GFX12)
  float_vector<8> v = as_vector<float_vector<8>>(c);
  if constexpr (is_half) {
    v = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(as_vector<half_vector<8>>(a),
                                                         as_vector<half_vector<8>>(b), v);
  } else {
    v = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(as_vector<short_vector<8>>(a),
                                                          as_vector<short_vector<8>>(b), v);
  }
  __builtin_memcpy(d, &v, sizeof v);
#elif defined(HIPX_WMMA_MFMA)
#pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    float_vector<4> v = as_vector<float_vector<4>>(c + 4 * tile);
    if constexpr (is_half) {
      v = __builtin_amdgcn_mfma_f32_16x16x16f16(as_vector<half_vector<4>>(a + 4 * tile),
                                                as_vector<half_vector<4>>(b + 4 * tile), v, 0, 0,
                                                0);
    } else {
      v = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(as_vector<short_vector<4>>(a + 4 * tile),
                                                    as_vector<short_vector<4>>(b + 4 * tile), v,
                                                    0, 0, 0);
    }
    __builtin_memcpy(d + 4 * tile, &v, sizeof v);
  }
#endif
}

template <int M, int N, int K, typename T>
HIPX_DEVICE void mma_sync(fragment<accumulator, M, N, K, float> &d,
                          const fragment<matrix_a, M, N, K, T, row_major> &a,
                          const fragment<matrix_b, M, N, K, T, col_major> &b,
                          const fragment<accumulator, M, N, K, float> &c) {
  if constexpr (engine_for<M, N, K>() != engine::plain) {
    multiply_16x16x16(d.x, a.x, b.x, c.x);
  } else {
    const int l = (int)lane();
    constexpr int a_held = M * K / 32, b_held = K * N / 32;
    // So that step k reads the same element in whichever lane owns it.
    static_assert(K % a_held == 0 && K % b_held == 0, "shape");
    float sum[M * N / 32];
#pragma unroll
    for (int i = 0; i < M * N / 32; ++i) sum[i] = c.x[i];
#pragma unroll
    for (int k = 0; k < K; ++k) {
#pragma unroll
      for (int i = 0; i < M * N / 32; ++i) {
        const int ea = (i * 32 + l) / N * K + k, eb = (i * 32 + l) % N * K + k;
        const float va = __shfl((float)a.x[k % a_held], ea / a_held, 32);
        const float vb = __shfl((float)b.x[k % b_held], eb / b_held, 32);
        sum[i] += va * vb;
      }
    }
#pragma unroll
    for (int i = 0; i < M * N / 32; ++i) d.x[i] = sum[i];
  }
}

template <int M, int N, int K>
HIPX_DEVICE void store_matrix_sync(float *p, const fragment<accumulator, M, N, K, float> &f,
                                   unsigned stride, layout_t layout) {
  constexpr engine e = engine_for<M, N, K>();
  const int l = (int)lane();
  const auto put = [&](float *q, int row, int column, float value) {
    q[layout == mem_row_major ? row * stride + column : column * stride + row] = value;
  };
  if constexpr (e == engine::mfma) {
    require_whole_wave();
    const int w = (int)__lane_id();
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      float *q = pointer_of(p, tile);
#pragma unroll
      for (int i = 0; i < 4; ++i) put(q, 4 * (w >> 4) + i, w & 15, f.x[4 * tile + i]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < f.num_elements; ++i) {
      if constexpr (e == engine::gfx11) {
        put(p, 2 * i + (l >> 4), l & 15, f.x[i]);
      } else if constexpr (e == engine::gfx12) {
        put(p, 8 * (l >> 4) + i, l & 15, f.x[i]);
      } else {
        put(p, (i * 32 + l) / N, (i * 32 + l) % N, f.x[i]);
      }
    }
  }
}

// Where x[i] of an accumulator of 16 columns lies, which CUDA leaves open: its row, and with MFMA the
// logical warp of the wavefront, 0 or 1, whose tile it is in; elsewhere that is the lane's own. Its
// column is lane() % 16.
template <engine E>
HIPX_DEVICE int row_of(int i) {
  if constexpr (E == engine::mfma) return 4 * ((int)__lane_id() >> 4) + i % 4;
  const int upper = (int)lane() >> 4;
  return E == engine::gfx12 ? 8 * upper + i : 2 * i + upper;
}

template <engine E>
HIPX_DEVICE int warp_of(int i, int own) {
  return E == engine::mfma ? i / 4 : own;
}

}  // namespace wmma
}  // namespace nvcuda
