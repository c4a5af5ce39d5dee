// CUDA's integer intrinsics on the four bytes of a word (CUDA Math API, "SIMD Intrinsics", and
// "Integer Intrinsics" for dp4a).
#pragma once

#include "hipx.h"

namespace hipx {

HIPX_BOTH int signed_byte(unsigned word, int index) { return (int8_t)(word >> (8 * index)); }

HIPX_BOTH unsigned unsigned_byte(unsigned word, int index) { return (uint8_t)(word >> (8 * index)); }

// c plus the dot product of the signed bytes of a and b; wraps.
HIPX_BOTH int dp4a(int a, int b, int c) {
#if defined(__GFX11__) || defined(__GFX12__)
  return __builtin_amdgcn_sudot4(true, a, true, b, c, false);
#elif defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx940__) ||  \
    defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__) ||                           \
    defined(__gfx9_4_generic__) || defined(__gfx1011__) || defined(__gfx1012__) ||                 \
    defined(__gfx1030__) || defined(__gfx1031__) || defined(__gfx1032__) ||                        \
    defined(__gfx1033__) || defined(__gfx1034__) || defined(__gfx1035__) ||                        \
    defined(__gfx1036__) || defined(__gfx10_3_generic__)
  return __builtin_amdgcn_sdot4(a, b, c, false);
#else
  unsigned sum = (unsigned)c;
  for (int i = 0; i < 4; ++i) {
    sum += (unsigned)(signed_byte((unsigned)a, i) * signed_byte((unsigned)b, i));
  }
  return (int)sum;
#endif
}

// The same with unsigned bytes.
HIPX_BOTH unsigned dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) {
    c += unsigned_byte(a, i) * unsigned_byte(b, i);
  }
  return c;
}

// Byte by byte: difference, wrapping.
HIPX_BOTH unsigned vsub4(unsigned a, unsigned b) {
  // Set each top bit so that no byte borrows from its neighbour, then put the right bit there.
  return ((a | 0x80808080u) - (b & 0x7f7f7f7fu)) ^ ((a ^ ~b) & 0x80808080u);
}

// Byte by byte: sum, wrapping.
HIPX_BOTH unsigned vadd4(unsigned a, unsigned b) {
  return ((a & 0x7f7f7f7fu) + (b & 0x7f7f7f7fu)) ^ ((a ^ b) & 0x80808080u);
}

// The bytes of `wrapped`, but where `over` has a byte's top bit set the signed limit next to a's.
HIPX_BOTH unsigned saturated_bytes(unsigned wrapped, unsigned over, unsigned a) {
  over &= 0x80808080u;
  unsigned limit = 0x7f7f7f7fu + ((a >> 7) & 0x01010101u);  // 127, or -128 where a is negative
  unsigned mask = (over << 1) - (over >> 7);                // 0xff for each such byte
  return (wrapped & ~mask) | (limit & mask);
}

// Byte by byte: signed difference, saturated. It leaves the range where the signs of a and b differ
// and that of the wrapped result is not a's.
HIPX_BOTH unsigned vsubss4(unsigned a, unsigned b) {
  unsigned wrapped = vsub4(a, b);
  return saturated_bytes(wrapped, (a ^ b) & (a ^ wrapped), a);
}

// Byte by byte: signed sum, saturated. It leaves the range where the signs of a and b are equal and
// that of the wrapped result is not.
HIPX_BOTH unsigned vaddss4(unsigned a, unsigned b) {
  unsigned wrapped = vadd4(a, b);
  return saturated_bytes(wrapped, ~(a ^ b) & (a ^ wrapped), a);
}

// Byte by byte: 0xff where the bytes differ.
HIPX_BOTH unsigned vcmpne4(unsigned a, unsigned b) {
  unsigned x = a ^ b;
  x = ((x & 0x7f7f7f7fu) + 0x7f7f7f7fu) | x;  // the top bit of each byte that is not zero
  return ((x >> 7) & 0x01010101u) * 0xffu;
}

// Byte by byte: 0xff where the bytes are equal.
HIPX_BOTH unsigned vcmpeq4(unsigned a, unsigned b) { return ~vcmpne4(a, b); }

}  // namespace hipx
