// bfloat16 from integers, rounded to nearest even (CUDA Math API, "Bfloat16 Precision Conversion
// and Data Movement", the functions with _rn). By way of float they would be rounded twice.
#pragma once

#include "hipx.h"

namespace hipx {

// The bits of the bfloat16 nearest to an integer of any type.
template <typename T>
HIPX_BOTH unsigned short bfloat16_bits_of_integer(T value) {
  const bool negative = value < T(0);
  const unsigned long long widened = (unsigned long long)value;
  const unsigned long long magnitude = negative ? 0ull - widened : widened;
  if (magnitude == 0) return 0;
  const int bits = 64 - __builtin_clzll(magnitude);
  unsigned long long mantissa;  // eight bits; nine where it is rounded up to the next power of two
  if (bits <= 8) {
    mantissa = magnitude << (8 - bits);
  } else {
    const int dropped = bits - 8;
    const unsigned long long half = 1ull << (dropped - 1);
    mantissa = magnitude >> dropped;
    const unsigned long long rest = magnitude & ((half << 1) - 1);
    if (rest > half || (rest == half && (mantissa & 1))) mantissa += 1;
  }
  // The mantissa's first bit, or the carry, counts in the exponent.
  const unsigned code = ((unsigned)(126 + bits - 1) << 7) + (unsigned)mantissa;
  return (unsigned short)(code | (negative ? 0x8000u : 0u));
}

template <typename T>
HIPX_BOTH __hip_bfloat16 to_bfloat16(T value) {
  const unsigned short bits = bfloat16_bits_of_integer(value);
  __hip_bfloat16 result;
  __builtin_memcpy((void *)&result, &bits, sizeof bits);
  return result;
}

HIPX_BOTH __hip_bfloat162 float_to_bfloat162(float value) {
  return __hip_bfloat162{__float2bfloat16(value), __float2bfloat16(value)};
}

}  // namespace hipx
