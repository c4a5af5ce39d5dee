// PTX instructions on the matrices of a warp (`hipx_ptx.h`): they compute what the PTX ISA says,
// by shuffles and with plain or dot-product arithmetic, and no matrix instruction of AMD's, whose
// tiles lie otherwise. They are right, and slow.
#pragma once

#include "hipx.h"

#include "hipx_bytes.h"
#include "hipx_ptx_memory.h"
#include "hipx_ptx_number.h"
#include "hipx_ptx_warp.h"

namespace hipx {
namespace ptx {

// ---- "Warp Level Matrix Instructions: ldmatrix, stmatrix, movmatrix" ---------------------------
// A matrix has eight rows of eight elements. Lane l holds row l / 4, elements 2 (l % 4) and the
// next. The row r of matrix m lies where lane 8 m + r says.

struct rows_in_shared {
  const b32 own;
  template <typename A>
  HIPX_DEVICE explicit rows_in_shared(A a) : own(shared_address(shared(a))) {}
  HIPX_DEVICE char *at(unsigned matrix, unsigned row) const {
    return shared_pointer(hipx::shfl(own, (int)(8 * matrix + row)));
  }
};
struct rows_anywhere {
  const b64 own;
  template <typename A>
  HIPX_DEVICE explicit rows_anywhere(A a) : own(as<b64>(global(a))) {}
  HIPX_DEVICE char *at(unsigned matrix, unsigned row) const {
    return as<char *>(hipx::shfl(own, (int)(8 * matrix + row)));
  }
};

template <typename Rows>
HIPX_DEVICE b32 loaded_row(Rows rows, unsigned matrix, bool transposed) {
  const b32 lane = own_lane(), row = lane / 4, column = 2 * (lane % 4);
  if (!transposed) return plain<b32>::load(rows.at(matrix, row) + 2 * column);
  const char *first = rows.at(matrix, column), *second = rows.at(matrix, column + 1);
  return packed(plain<b16>::load(first + 2 * row), plain<b16>::load(second + 2 * row));
}

template <typename Rows>
HIPX_DEVICE void stored_row(Rows rows, unsigned matrix, bool transposed, b32 value) {
  const b32 lane = own_lane(), row = lane / 4, column = 2 * (lane % 4);
  if (!transposed) return plain<b32>::store(rows.at(matrix, row) + 2 * column, value);
  char *first = rows.at(matrix, column), *second = rows.at(matrix, column + 1);
  plain<b16>::store(first + 2 * row, low(value));
  plain<b16>::store(second + 2 * row, high(value));
}

#define HIPX_PTX_LDMATRIX(NAME, ROWS, TRANSPOSED)                                          \
  template <typename D, typename A>                                                        \
  HIPX_DEVICE void ldmatrix_x1##NAME(D &&d, A a) {                                         \
    set(d, loaded_row(ROWS(a), 0, TRANSPOSED));                                            \
  }                                                                                        \
  template <typename D, typename E, typename A>                                            \
  HIPX_DEVICE void ldmatrix_x2##NAME(D &&d, E &&e, A a) {                                  \
    const ROWS rows(a);                                                                    \
    const b32 read[] = {loaded_row(rows, 0, TRANSPOSED), loaded_row(rows, 1, TRANSPOSED)}; \
    set(d, read[0]);                                                                       \
    set(e, read[1]);                                                                       \
  }                                                                                        \
  template <typename D, typename E, typename F, typename G, typename A>                    \
  HIPX_DEVICE void ldmatrix_x4##NAME(D &&d, E &&e, F &&f, G &&g, A a) {                    \
    const ROWS rows(a);                                                                    \
    const b32 read[] = {loaded_row(rows, 0, TRANSPOSED), loaded_row(rows, 1, TRANSPOSED),  \
                        loaded_row(rows, 2, TRANSPOSED), loaded_row(rows, 3, TRANSPOSED)}; \
    set(d, read[0]);                                                                       \
    set(e, read[1]);                                                                       \
    set(f, read[2]);                                                                       \
    set(g, read[3]);                                                                       \
  }                                                                                        \
  template <typename A, typename X>                                                        \
  HIPX_DEVICE void stmatrix_x1##NAME(A a, X x) {                                           \
    stored_row(ROWS(a), 0, TRANSPOSED, as<b32>(x));                                        \
  }                                                                                        \
  template <typename A, typename X, typename Y>                                            \
  HIPX_DEVICE void stmatrix_x2##NAME(A a, X x, Y y) {                                      \
    const ROWS rows(a);                                                                    \
    stored_row(rows, 0, TRANSPOSED, as<b32>(x));                                           \
    stored_row(rows, 1, TRANSPOSED, as<b32>(y));                                           \
  }                                                                                        \
  template <typename A, typename X, typename Y, typename Z, typename W>                    \
  HIPX_DEVICE void stmatrix_x4##NAME(A a, X x, Y y, Z z, W w) {                            \
    const ROWS rows(a);                                                                    \
    stored_row(rows, 0, TRANSPOSED, as<b32>(x));                                           \
    stored_row(rows, 1, TRANSPOSED, as<b32>(y));                                           \
    stored_row(rows, 2, TRANSPOSED, as<b32>(z));                                           \
    stored_row(rows, 3, TRANSPOSED, as<b32>(w));                                           \
  }
HIPX_PTX_LDMATRIX(, rows_anywhere, false)
HIPX_PTX_LDMATRIX(_trans, rows_anywhere, true)
HIPX_PTX_LDMATRIX(_shared, rows_in_shared, false)
HIPX_PTX_LDMATRIX(_trans_shared, rows_in_shared, true)
#undef HIPX_PTX_LDMATRIX

template <typename D, typename X>
HIPX_DEVICE void movmatrix_trans_b16(D &&d, X x) {
  const b32 a = as<b32>(x), lane = own_lane(), row = lane / 4, column = 2 * (lane % 4);
  const b32 first = hipx::shfl(a, (int)(4 * column + row / 2));
  const b32 second = hipx::shfl(a, (int)(4 * (column + 1) + row / 2));
  set(d, row % 2 ? packed(high(first), high(second)) : packed(low(first), low(second)));
}

// ---- "Warp Level Matrix Instructions: mma" -----------------------------------------------------
// In all shapes but m8n8k4 the fragments are alike. A register holds as many elements as it has
// room for, which follow each other along k, in A and in B: K of them at once for the four lanes
// of a row.
//   A: register 2 q + h (m8: q) of lane l is row l / 4 + 8 h, elements K q + K / 4 (l % 4) and on;
//   B: register q of lane l is column l / 4, those elements;
//   C and D: element 2 h + i is row l / 4 + 8 h, column 2 (l % 4) + i.

struct dot_f16 {
  static HIPX_DEVICE float add(b32 a, b32 b, float c) {
    return fmaf(f16_value(high(a)), f16_value(high(b)),
                fmaf(f16_value(low(a)), f16_value(low(b)), c));
  }
};
struct dot_bf16 {
  static HIPX_DEVICE float add(b32 a, b32 b, float c) {
    return fmaf(bf16_value(high(a)), bf16_value(high(b)),
                fmaf(bf16_value(low(a)), bf16_value(low(b)), c));
  }
};
struct dot_tf32 {  // of whose mantissa ten bits count
  static HIPX_DEVICE float add(b32 a, b32 b, float c) {
    return fmaf(float_of(a & 0xffffe000u), float_of(b & 0xffffe000u), c);
  }
};
template <int Mantissa>
struct dot_fp8 {
  static HIPX_DEVICE float add(b32 a, b32 b, float c) {
#pragma unroll
    for (unsigned i = 0; i < 32; i += 8) {
      c = fmaf(fp8_decode<Mantissa>((fp8_storage)(a >> i)),
               fp8_decode<Mantissa>((fp8_storage)(b >> i)), c);
    }
    return c;
  }
};
typedef dot_fp8<3> dot_e4m3;
typedef dot_fp8<2> dot_e5m2;
struct dot_s8 {
  static HIPX_DEVICE int add(b32 a, b32 b, int c) { return dp4a((int)a, (int)b, c); }
};
struct dot_u8 {
  static HIPX_DEVICE int add(b32 a, b32 b, int c) { return (int)dp4a(a, b, (b32)c); }
};

template <typename T, unsigned Count>
struct registers {
  T held[Count];
};

// The sums with the product added to them: of `Halves` times eight rows, and of `Blocks` times K
// elements of each. It is called and not inlined: a kernel has dozens of products, of a hundred
// instructions each.
template <typename Dot, unsigned Halves, unsigned Blocks, typename T>
__device__ __noinline__ registers<T, 2 * Halves> multiplied(registers<b32, Halves * Blocks> a,
                                                            registers<b32, Blocks> b,
                                                            registers<T, 2 * Halves> sums) {
  const b32 lane = own_lane(), row = lane & ~3u, column = 8 * (lane & 3u);
#pragma unroll
  for (unsigned block = 0; block < Blocks; ++block) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      const b32 left = hipx::shfl(b.held[block], (int)(column + i));
      const b32 right = hipx::shfl(b.held[block], (int)(column + 4 + i));
#pragma unroll
      for (unsigned half = 0; half < Halves; ++half) {
        const b32 own = hipx::shfl(a.held[Halves * block + half], (int)(row + i));
        sums.held[2 * half] = Dot::add(own, left, sums.held[2 * half]);
        sums.held[2 * half + 1] = Dot::add(own, right, sums.held[2 * half + 1]);
      }
    }
  }
  return sums;
}

// Operands as they stand in the instruction, D, A, B and C, with a register a word.
#define HIPX_PTX_MMA_16_4(NAME, DOT, T)                                                         \
  template <typename D0, typename D1, typename D2, typename D3, typename A, typename B,         \
            typename C, typename E, typename F, typename G, typename H, typename J, typename L, \
            typename K>                                                                         \
  HIPX_DEVICE void mma_##NAME(D0 &&d0, D1 &&d1, D2 &&d2, D3 &&d3, A a0, B a1, C a2, E a3, F b0, \
                              G b1, H c0, J c1, L c2, K c3) {                                   \
    const registers<b32, 4> a{as<b32>(a0), as<b32>(a1), as<b32>(a2), as<b32>(a3)};              \
    const registers<b32, 2> b{as<b32>(b0), as<b32>(b1)};                                        \
    const registers<T, 4> c{as<T>(c0), as<T>(c1), as<T>(c2), as<T>(c3)};                        \
    const auto sums = multiplied<DOT, 2, 2>(a, b, c);                                           \
    set(d0, sums.held[0]), set(d1, sums.held[1]), set(d2, sums.held[2]), set(d3, sums.held[3]); \
  }
#define HIPX_PTX_MMA_16_2(NAME, DOT, T)                                                         \
  template <typename D0, typename D1, typename D2, typename D3, typename A, typename B,         \
            typename C, typename E, typename F, typename G, typename H>                         \
  HIPX_DEVICE void mma_##NAME(D0 &&d0, D1 &&d1, D2 &&d2, D3 &&d3, A a0, B a1, C b0, E c0, F c1, \
                              G c2, H c3) {                                                     \
    const registers<b32, 2> a{as<b32>(a0), as<b32>(a1)};                                        \
    const registers<b32, 1> b{as<b32>(b0)};                                                     \
    const registers<T, 4> c{as<T>(c0), as<T>(c1), as<T>(c2), as<T>(c3)};                        \
    const auto sums = multiplied<DOT, 2, 1>(a, b, c);                                           \
    set(d0, sums.held[0]), set(d1, sums.held[1]), set(d2, sums.held[2]), set(d3, sums.held[3]); \
  }
#define HIPX_PTX_MMA_8(NAME, DOT, T)                                                  \
  template <typename D0, typename D1, typename A, typename B, typename C, typename E> \
  HIPX_DEVICE void mma_##NAME(D0 &&d0, D1 &&d1, A a0, B b0, C c0, E c1) {             \
    const registers<b32, 1> a{as<b32>(a0)}, b{as<b32>(b0)};                           \
    const registers<T, 2> c{as<T>(c0), as<T>(c1)};                                    \
    const auto sums = multiplied<DOT, 1, 1>(a, b, c);                                 \
    set(d0, sums.held[0]), set(d1, sums.held[1]);                                     \
  }
HIPX_PTX_MMA_16_4(m16n8k16_f32_f16_f16_f32, dot_f16, float)
HIPX_PTX_MMA_16_2(m16n8k8_f32_f16_f16_f32, dot_f16, float)
HIPX_PTX_MMA_16_4(m16n8k16_f32_bf16_bf16_f32, dot_bf16, float)
HIPX_PTX_MMA_16_2(m16n8k8_f32_bf16_bf16_f32, dot_bf16, float)
HIPX_PTX_MMA_16_4(m16n8k8_f32_tf32_tf32_f32, dot_tf32, float)
HIPX_PTX_MMA_16_2(m16n8k4_f32_tf32_tf32_f32, dot_tf32, float)
HIPX_PTX_MMA_16_4(m16n8k32_f32_e4m3_e4m3_f32, dot_e4m3, float)
HIPX_PTX_MMA_16_4(m16n8k32_f32_e5m2_e5m2_f32, dot_e5m2, float)
HIPX_PTX_MMA_16_4(m16n8k32_s32_s8_s8_s32, dot_s8, int)
HIPX_PTX_MMA_16_2(m16n8k16_s32_s8_s8_s32, dot_s8, int)
HIPX_PTX_MMA_8(m8n8k16_s32_s8_s8_s32, dot_s8, int)
HIPX_PTX_MMA_16_4(m16n8k32_s32_u8_u8_s32, dot_u8, int)
HIPX_PTX_MMA_16_2(m16n8k16_s32_u8_u8_s32, dot_u8, int)
HIPX_PTX_MMA_8(m8n8k16_s32_u8_u8_s32, dot_u8, int)
#undef HIPX_PTX_MMA_16_4
#undef HIPX_PTX_MMA_16_2
#undef HIPX_PTX_MMA_8

// With C and D of f16, two elements of a row in a register: summed in single precision, rounded
// once.
template <unsigned Blocks>
HIPX_DEVICE void multiplied_f16(registers<b32, 2 * Blocks> a, registers<b32, Blocks> b,
                                b32 (&c)[2]) {
  const registers<float, 4> before{f16_value(low(c[0])), f16_value(high(c[0])),
                                   f16_value(low(c[1])), f16_value(high(c[1]))};
  const auto sums = multiplied<dot_f16, 2, Blocks>(a, b, before);
  c[0] = packed(f16_bits(sums.held[0]), f16_bits(sums.held[1]));
  c[1] = packed(f16_bits(sums.held[2]), f16_bits(sums.held[3]));
}
template <typename D, typename E, typename A, typename B, typename C, typename F, typename G,
          typename H, typename J, typename K>
HIPX_DEVICE void mma_m16n8k16_f16_f16_f16_f16(D &&d0, E &&d1, A a0, B a1, C a2, F a3, G b0, H b1,
                                              J c0, K c1) {
  const registers<b32, 4> a{as<b32>(a0), as<b32>(a1), as<b32>(a2), as<b32>(a3)};
  const registers<b32, 2> b{as<b32>(b0), as<b32>(b1)};
  b32 c[] = {as<b32>(c0), as<b32>(c1)};
  multiplied_f16<2>(a, b, c);
  set(d0, c[0]), set(d1, c[1]);
}
template <typename D, typename E, typename A, typename B, typename C, typename F, typename G>
HIPX_DEVICE void mma_m16n8k8_f16_f16_f16_f16(D &&d0, E &&d1, A a0, B a1, C b0, F c0, G c1) {
  const registers<b32, 2> a{as<b32>(a0), as<b32>(a1)};
  const registers<b32, 1> b{as<b32>(b0)};
  b32 c[] = {as<b32>(c0), as<b32>(c1)};
  multiplied_f16<1>(a, b, c);
  set(d0, c[0]), set(d1, c[1]);
}

}  // namespace ptx
}  // namespace hipx
