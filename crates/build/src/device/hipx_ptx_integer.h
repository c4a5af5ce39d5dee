// PTX instructions on integers (`hipx_ptx.h`).
#pragma once

#include "hipx.h"

#include "hipx_bytes.h"
#include "hipx_ptx_operand.h"

namespace hipx {
namespace ptx {

// ---- "Logic and Shift Instructions" ------------------------------------------------------------

HIPX_PTX_BINARY(and_b32, b32, b32, a & b)
HIPX_PTX_BINARY(or_b32, b32, b32, a | b)
HIPX_PTX_BINARY(xor_b32, b32, b32, a ^ b)
HIPX_PTX_UNARY(not_b32, b32, ~a)

// A shift by more than 31 is one by 32.
HIPX_PTX_BINARY(shl_b32, b32, b32, b > 31 ? 0u : a << b)
HIPX_PTX_BINARY(shr_b32, b32, b32, b > 31 ? 0u : a >> b)
HIPX_PTX_BINARY(shr_s32, int, b32, a >> (b > 31 ? 31 : b))

// The upper (left) or lower (right) half of [b, a] shifted, by c modulo 32 or by 32 at most.
HIPX_DEVICE b32 funnel_left(b32 a, b32 b, b32 c) { return (b32)((((b64)b << 32 | a) << c) >> 32); }
HIPX_DEVICE b32 funnel_right(b32 a, b32 b, b32 c) { return (b32)(((b64)b << 32 | a) >> c); }
HIPX_PTX_TERNARY(shf_l_wrap_b32, b32, b32, b32, funnel_left(a, b, c & 31))
HIPX_PTX_TERNARY(shf_r_wrap_b32, b32, b32, b32, funnel_right(a, b, c & 31))
HIPX_PTX_TERNARY(shf_l_clamp_b32, b32, b32, b32, funnel_left(a, b, c > 32 ? 32 : c))
HIPX_PTX_TERNARY(shf_r_clamp_b32, b32, b32, b32, funnel_right(a, b, c > 32 ? 32 : c))

// Bit by bit what the table says: its bit 4 a + 2 b + c.
template <typename D, typename X, typename Y, typename Z>
HIPX_DEVICE void lop3_b32(D &&d, X x, Y y, Z z, unsigned table) {
  const b32 a = as<b32>(x), b = as<b32>(y), c = as<b32>(z);
  b32 result = 0;
#pragma unroll
  for (unsigned i = 0; i < 8; ++i) {
    if (table >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  }
  set(d, result);
}

// ---- "Data Movement and Conversion Instructions: prmt" -----------------------------------------

// Each byte is that of [b, a] which four bits of c name, or eight times its sign with the highest.
HIPX_DEVICE b32 permuted(b32 a, b32 b, b32 c) {
  const b64 bytes = (b64)b << 32 | a;
  b32 result = 0;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const b32 selector = c >> 4 * i;
    b32 byte = (b32)(bytes >> 8 * (selector & 7)) & 0xffu;
    if (selector & 8) byte = byte & 0x80u ? 0xffu : 0u;
    result |= byte << 8 * i;
  }
  return result;
}
HIPX_PTX_TERNARY(prmt_b32, b32, b32, b32, permuted(a, b, c))

// ---- "Integer Arithmetic Instructions" ---------------------------------------------------------

HIPX_PTX_BINARY(add_b32, b32, b32, a + b)
HIPX_PTX_BINARY(sub_b32, b32, b32, a - b)
HIPX_PTX_BINARY(mul_lo_b32, b32, b32, a * b)
HIPX_PTX_BINARY(mul_hi_u32, b32, b32, (b32)((b64)a * b >> 32))
HIPX_PTX_BINARY(mul_hi_s32, int, int, (b32)((b64)((long long)a * b) >> 32))
HIPX_PTX_TERNARY(mad_lo_b32, b32, b32, b32, a * b + c)
HIPX_PTX_BINARY(min_u32, b32, b32, a < b ? a : b)
HIPX_PTX_BINARY(max_u32, b32, b32, a < b ? b : a)
HIPX_PTX_BINARY(min_s32, int, int, a < b ? a : b)
HIPX_PTX_BINARY(max_s32, int, int, a < b ? b : a)
HIPX_PTX_UNARY(popc_b32, b32, (b32)__builtin_popcount(a))
HIPX_PTX_UNARY(popc_b64, b64, (b32)__builtin_popcountll(a))
HIPX_PTX_UNARY(clz_b32, b32, a ? (b32)__builtin_clz(a) : 32u)
HIPX_PTX_UNARY(clz_b64, b64, a ? (b32)__builtin_clzll(a) : 64u)
HIPX_PTX_TERNARY(dp4a_s32_s32, int, int, int, dp4a(a, b, c))
HIPX_PTX_TERNARY(dp4a_u32_u32, b32, b32, b32, dp4a(a, b, c))

// In the opposite order: pairs of bits change places, then pairs of pairs, and so on.
HIPX_DEVICE b32 reversed(b32 a) {
  a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
  a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
  a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(a);
}
HIPX_PTX_UNARY(brev_b32, b32, reversed(a))
HIPX_PTX_UNARY(brev_b64, b64, (b64)reversed((b32)a) << 32 | reversed((b32)(a >> 32)))

// The bits from position b on, so many as c says; of b and c eight bits count. Beyond the register
// are zeros, or copies of the sign: the field's highest bit, or the register's where it reaches
// over.
HIPX_DEVICE b32 field(b32 a, b32 b, b32 c) {
  const unsigned position = b & 0xff, length = c & 0xff;
  const b32 moved = position > 31 ? 0u : a >> position;
  return length > 31 ? moved : moved & ((1u << length) - 1u);
}
HIPX_DEVICE b32 signed_field(int a, b32 b, b32 c) {
  const unsigned position = b & 0xff, length = c & 0xff;
  if (length == 0) return 0;
  const unsigned last = position + length - 1 > 31 ? 31 : position + length - 1;
  const b32 sign = (b32)a >> last & 1 ? ~0u : 0u;
  const b32 moved = position > 31 ? 0u : (b32)a >> position;
  const unsigned held = position > 31 ? 0 : last - position + 1;
  const b32 mask = held > 31 ? ~0u : (1u << held) - 1u;
  return (moved & mask) | (sign & ~mask);
}
HIPX_PTX_TERNARY(bfe_u32, b32, b32, b32, field(a, b, c))
HIPX_PTX_TERNARY(bfe_s32, int, b32, b32, signed_field(a, b, c))

// b with so many of its bits as `length` says, from `position` on, those of a.
template <typename D, typename X, typename Y, typename P, typename L>
HIPX_DEVICE void bfi_b32(D &&d, X x, Y y, P p, L l) {
  const b32 a = as<b32>(x), b = as<b32>(y);
  const unsigned position = as<b32>(p) & 0xff, length = as<b32>(l) & 0xff;
  const b32 ones = length > 31 ? ~0u : (1u << length) - 1u;
  const b32 mask = position > 31 ? 0u : ones << position;
  set(d, (b & ~mask) | ((position > 31 ? 0u : a << position) & mask));
}

// ---- "Comparison and Selection Instructions: setp", of which a predicate is made ---------------

#define HIPX_PTX_SETP(NAME, TYPE, COMPARISON) \
  template <typename X, typename Y>           \
  HIPX_DEVICE bool NAME(X x, Y y) { return as<TYPE>(x) COMPARISON as<TYPE>(y); }
HIPX_PTX_SETP(setp_eq_b32, b32, ==)
HIPX_PTX_SETP(setp_ne_b32, b32, !=)
HIPX_PTX_SETP(setp_lt_s32, int, <)
HIPX_PTX_SETP(setp_le_s32, int, <=)
HIPX_PTX_SETP(setp_gt_s32, int, >)
HIPX_PTX_SETP(setp_ge_s32, int, >=)
HIPX_PTX_SETP(setp_lt_u32, b32, <)
HIPX_PTX_SETP(setp_le_u32, b32, <=)
HIPX_PTX_SETP(setp_gt_u32, b32, >)
HIPX_PTX_SETP(setp_ge_u32, b32, >=)
#undef HIPX_PTX_SETP

}  // namespace ptx
}  // namespace hipx
