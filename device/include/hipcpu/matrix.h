// Matrix instructions: products of small matrices that lie spread over the lanes of a wavefront.
//
// Where an element lies is said by the "RDNA3" and "RDNA4 Instruction Set Architecture" (WMMA) and
// by AMD's matrix instruction calculator (MFMA). Products are added in order of k, in single
// precision or in 32-bit integers; hardware may round sums otherwise.
#pragma once

#include <stdint.h>
#include <string.h>

#include "wave.h"

// The type of clang, as far as matrix instructions take it: bits.
using hipcpu_bf16 = unsigned short;
#define __bf16 hipcpu_bf16

namespace hipcpu {

// What the wrapper makes of `T __attribute__((ext_vector_type(N)))`.
template <typename T, int N>
struct Vector {
  typedef T Type __attribute__((vector_size(N * sizeof(T))));
};

// An M x K matrix A, row by row, or a K x N matrix B, column by column: lane l holds `held`
// neighbours of line l % lines.
template <int Lines, int K, int Lanes>
struct LinesInLanes {
  static constexpr int lines = Lines, depth = K, lanes = Lanes;
  static constexpr int held = Lines * K / Lanes;
  static constexpr int line(int lane, int) { return lane % Lines; }
  static constexpr int k(int lane, int element) { return lane / Lines * held + element; }
};

// As RDNA3 has it: both halves of the wavefront hold whole lines, the same ones.
struct LinesInHalves {
  static constexpr int lines = 16, depth = 16, lanes = 32, held = 16;
  static constexpr int line(int lane, int) { return lane % 16; }
  static constexpr int k(int, int element) { return element; }
};

// Where the elements of the result lie: always in the lane of their column.
struct ResultRdna3 {
  static constexpr int size = 16, held = 8;
  static constexpr int row(int lane, int element) { return 2 * element + lane / 16; }
};
struct ResultRdna4 {
  static constexpr int size = 16, held = 8;
  static constexpr int row(int lane, int element) { return lane / 16 * 8 + element; }
};
struct ResultCdna16 {
  static constexpr int size = 16, held = 4;
  static constexpr int row(int lane, int element) { return lane / 16 * 4 + element; }
};
struct ResultCdna32 {
  static constexpr int size = 32, held = 16;
  static constexpr int row(int lane, int element) {
    return element / 4 * 8 + lane / 32 * 4 + element % 4;
  }
};

// What the bits of an element say.
struct HalfBits {
  using Bits = unsigned short;
  static float value(Bits bits) {
    _Float16 half;
    memcpy(&half, &bits, sizeof half);
    return half;
  }
};
struct Bfloat16Bits {
  using Bits = unsigned short;
  static float value(Bits bits) {
    const unsigned upper = static_cast<unsigned>(bits) << 16;
    float value;
    memcpy(&value, &upper, sizeof value);
    return value;
  }
};
struct SignedByte {
  using Bits = int8_t;
  static int value(Bits bits) { return bits; }
};
struct UnsignedByte {
  using Bits = uint8_t;
  static int value(Bits bits) { return bits; }
};
struct Single {
  using Bits = float;
  static float value(Bits bits) { return bits; }
};
// Single precision with ten digits of mantissa.
struct ShortSingle {
  using Bits = uint32_t;
  static float value(Bits bits) {
    bits &= ~uint32_t{0x1fff};
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
  }
};

// d = a b + c, each given as the registers of the calling lane.
template <typename Lines, typename Result, typename A, typename B, typename Sum>
inline void multiply(const void *a, const void *b, const Sum *c, Sum *d) {
  struct Brought {
    const void *a, *b;
    const Sum *c;
    Sum *d;
  } brought{a, b, c, d};
  const auto together = [](void *const *all, unsigned) {
    constexpr int size = Result::size;
    static_assert(size == Lines::lines, "the result is square");
    using Left = decltype(A::value(typename A::Bits()));
    using Right = decltype(B::value(typename B::Bits()));
    Left left[size][Lines::depth] = {};
    Right right[size][Lines::depth] = {};
    for (int lane = 0; lane < Lines::lanes; ++lane) {
      const auto *own = static_cast<const Brought *>(all[lane]);
      if (own == nullptr) continue;
      typename A::Bits a_bits[Lines::held];
      typename B::Bits b_bits[Lines::held];
      memcpy(a_bits, own->a, sizeof a_bits);
      memcpy(b_bits, own->b, sizeof b_bits);
      for (int e = 0; e < Lines::held; ++e) {
        left[Lines::line(lane, e)][Lines::k(lane, e)] = A::value(a_bits[e]);
        right[Lines::line(lane, e)][Lines::k(lane, e)] = B::value(b_bits[e]);
      }
    }
    for (int lane = 0; lane < Lines::lanes; ++lane) {
      const auto *own = static_cast<const Brought *>(all[lane]);
      if (own == nullptr) continue;
      for (int e = 0; e < Result::held; ++e) {
        Sum sum = own->c[e];
        const Left *row = left[Result::row(lane, e)];
        const Right *column = right[lane % size];
        for (int k = 0; k < Lines::depth; ++k) sum += row[k] * column[k];
        own->d[e] = sum;
      }
    }
  };
  hipcpu_collective(together, &brought, true);
}

template <typename Lines, typename Result, typename A, typename B = A, typename Sum, typename Left,
          typename Right, typename C>
inline C multiplied(const Left &a, const Right &b, const C &c) {
  Sum before[Result::held], after[Result::held];
  static_assert(sizeof(C) == sizeof before, "the registers of the result");
  static_assert(sizeof(Left) == sizeof(typename A::Bits) * Lines::held, "the registers of A");
  memcpy(before, &c, sizeof before);
  multiply<Lines, Result, A, B>(&a, &b, before, after);
  C result;
  memcpy(&result, after, sizeof result);
  return result;
}

}  // namespace hipcpu

#define HIPCPU_WMMA_FLOAT(NAME, LINES, RESULT, ELEMENT)                                         \
  template <typename V, typename C>                                                             \
  inline C __builtin_amdgcn_wmma_##NAME(const V &a, const V &b, const C &c) {                   \
    return hipcpu::multiplied<LINES, RESULT, ELEMENT, ELEMENT, float>(a, b, c);                 \
  }
#define HIPCPU_RDNA4_LINES hipcpu::LinesInLanes<16, 16, 32>
HIPCPU_WMMA_FLOAT(f32_16x16x16_f16_w32, hipcpu::LinesInHalves, hipcpu::ResultRdna3,
                  hipcpu::HalfBits)
HIPCPU_WMMA_FLOAT(f32_16x16x16_bf16_w32, hipcpu::LinesInHalves, hipcpu::ResultRdna3,
                  hipcpu::Bfloat16Bits)
HIPCPU_WMMA_FLOAT(f32_16x16x16_f16_w32_gfx12, HIPCPU_RDNA4_LINES, hipcpu::ResultRdna4,
                  hipcpu::HalfBits)
HIPCPU_WMMA_FLOAT(f32_16x16x16_bf16_w32_gfx12, HIPCPU_RDNA4_LINES, hipcpu::ResultRdna4,
                  hipcpu::Bfloat16Bits)
#undef HIPCPU_WMMA_FLOAT

// The result in half precision: rounded once, at the end.
template <typename V>
inline V __builtin_amdgcn_wmma_f16_16x16x16_f16_w32_gfx12(const V &a, const V &b, const V &c) {
  _Float16 halves[8];
  float before[8], after[8];
  memcpy(halves, &c, sizeof halves);
  for (int i = 0; i < 8; ++i) before[i] = halves[i];
  hipcpu::multiply<HIPCPU_RDNA4_LINES, hipcpu::ResultRdna4, hipcpu::HalfBits, hipcpu::HalfBits>(
      &a, &b, before, after);
  for (int i = 0; i < 8; ++i) halves[i] = static_cast<_Float16>(after[i]);
  V result;
  memcpy(&result, halves, sizeof result);
  return result;
}

// Integers: whether each side is signed is said for each call; sums wrap where they do not fit.
#define HIPCPU_WMMA_INTEGER(NAME, LINES, RESULT)                                                \
  template <typename V, typename C>                                                             \
  inline C __builtin_amdgcn_wmma_##NAME(bool a_signed, const V &a, bool b_signed, const V &b,   \
                                        const C &c, bool) {                                     \
    using S = hipcpu::SignedByte;                                                               \
    using U = hipcpu::UnsignedByte;                                                             \
    if (a_signed && b_signed) return hipcpu::multiplied<LINES, RESULT, S, S, int>(a, b, c);     \
    if (a_signed) return hipcpu::multiplied<LINES, RESULT, S, U, int>(a, b, c);                 \
    if (b_signed) return hipcpu::multiplied<LINES, RESULT, U, S, int>(a, b, c);                 \
    return hipcpu::multiplied<LINES, RESULT, U, U, int>(a, b, c);                               \
  }
HIPCPU_WMMA_INTEGER(i32_16x16x16_iu8_w32, hipcpu::LinesInHalves, hipcpu::ResultRdna3)
HIPCPU_WMMA_INTEGER(i32_16x16x16_iu8_w32_gfx12, HIPCPU_RDNA4_LINES, hipcpu::ResultRdna4)
#undef HIPCPU_WMMA_INTEGER
#undef HIPCPU_RDNA4_LINES

#define HIPCPU_MFMA(NAME, SIZE, DEPTH, ELEMENT, SUM)                                            \
  template <typename V, typename C>                                                             \
  inline C __builtin_amdgcn_mfma_##NAME(const V &a, const V &b, const C &c, int, int, int) {    \
    return hipcpu::multiplied<hipcpu::LinesInLanes<SIZE, DEPTH, 64>, hipcpu::ResultCdna##SIZE,  \
                              hipcpu::ELEMENT, hipcpu::ELEMENT, SUM>(a, b, c);                  \
  }
HIPCPU_MFMA(f32_16x16x16f16, 16, 16, HalfBits, float)
HIPCPU_MFMA(f32_16x16x16bf16_1k, 16, 16, Bfloat16Bits, float)
HIPCPU_MFMA(f32_16x16x8bf16, 16, 8, Bfloat16Bits, float)
HIPCPU_MFMA(f32_16x16x4f32, 16, 4, Single, float)
HIPCPU_MFMA(f32_16x16x8_xf32, 16, 8, ShortSingle, float)
HIPCPU_MFMA(i32_16x16x16i8, 16, 16, SignedByte, int)
HIPCPU_MFMA(i32_16x16x32_i8, 16, 32, SignedByte, int)
HIPCPU_MFMA(i32_32x32x8i8, 32, 8, SignedByte, int)
HIPCPU_MFMA(i32_32x32x16_i8, 32, 16, SignedByte, int)
#undef HIPCPU_MFMA
