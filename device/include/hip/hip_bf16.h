// bfloat16: the upper half of a single-precision number.
#pragma once

#include <hip/hip_fp16.h>
#include <hipcpu/bits.h>
#include <hipcpu/narrow.h>

struct __hip_bfloat16_raw {
  unsigned short x;
};

struct __hip_bfloat16 {
  unsigned short __x;

  __hip_bfloat16() = default;
  __hip_bfloat16(const __hip_bfloat16_raw &raw) : __x(raw.x) {}
  template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value>>
  __hip_bfloat16(T value) : __x(nearest(to_odd(value))) {}

  operator float() const { return __uint_as_float(static_cast<unsigned>(__x) << 16); }
  operator __hip_bfloat16_raw() const { return {__x}; }
  HIPCPU_NARROW_CONVERSIONS(__hip_bfloat16)

 private:
  // As single precision, its last bit set where that is not exact: rounded once more it is what the
  // value rounded once would be (S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded
  // sums: proved algorithms using rounding to odd", 2008; AMD's double_2_bfloatraw means the same).
  static float to_odd(float value) { return value; }
  template <typename T>
  static float to_odd(T value) {
    using Wide = std::conditional_t<(std::is_integral<T>::value && sizeof(T) > 4), long double, double>;
    const Wide exact = static_cast<Wide>(value);
    const float near = static_cast<float>(exact);
    if (static_cast<Wide>(near) == exact || exact != exact || std::isinf(near)) return near;
    const bool away = std::fabs(static_cast<Wide>(near)) > std::fabs(exact);
    return __uint_as_float((__float_as_uint(near) - away) | 1);
  }
  // To the nearest, ties to even; a NaN stays one, and is quiet.
  static unsigned short nearest(float value) {
    const unsigned bits = __float_as_uint(value);
    if (value != value) return static_cast<unsigned short>(bits >> 16 | 0x40);
    return static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
};
using hip_bfloat16 = __hip_bfloat16;

HIPCPU_NARROW_FUNCTIONS(__hip_bfloat16)

inline float __bfloat162float(__hip_bfloat16 x) { return x; }
inline __hip_bfloat16 __float2bfloat16(float x) { return x; }
inline __hip_bfloat16 __float2bfloat16_rn(float x) { return x; }
inline __hip_bfloat16 __double2bfloat16(double x) { return x; }
inline __hip_bfloat16 __int2bfloat16_rn(int x) { return x; }
inline __hip_bfloat16 __uint2bfloat16_rn(unsigned x) { return x; }
inline int __bfloat162int_rn(__hip_bfloat16 x) { return __float2int_rn(x); }
inline int __bfloat162int_rz(__hip_bfloat16 x) { return __float2int_rz(x); }
inline short __bfloat16_as_short(__hip_bfloat16 x) { return static_cast<short>(x.__x); }
inline unsigned short __bfloat16_as_ushort(__hip_bfloat16 x) { return x.__x; }
inline __hip_bfloat16 __short_as_bfloat16(short x) {
  return __hip_bfloat16_raw{static_cast<unsigned short>(x)};
}
inline __hip_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __hip_bfloat16_raw{x}; }

struct alignas(4) __hip_bfloat162_raw {
  unsigned short x, y;
};

struct alignas(4) __hip_bfloat162 {
  __hip_bfloat16 x, y;

  __hip_bfloat162() = default;
  __hip_bfloat162(__hip_bfloat16 low, __hip_bfloat16 high) : x(low), y(high) {}
  __hip_bfloat162(const __hip_bfloat162_raw &raw)
      : x(__hip_bfloat16_raw{raw.x}), y(__hip_bfloat16_raw{raw.y}) {}
  operator __hip_bfloat162_raw() const { return {x.__x, y.__x}; }
};

HIPCPU_PAIR_FUNCTIONS(__hip_bfloat162)

inline __hip_bfloat162 make_bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) { return {x, y}; }
inline __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) { return {x, y}; }
inline __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 x) { return {x, x}; }
inline __hip_bfloat162 __float2bfloat162_rn(float x) { return {x, x}; }
inline __hip_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline __hip_bfloat162 __float22bfloat162_rn(float2 a) { return {a.x, a.y}; }
inline float2 __bfloat1622float2(__hip_bfloat162 a) { return {a.x, a.y}; }
inline __hip_bfloat16 __low2bfloat16(__hip_bfloat162 a) { return a.x; }
inline __hip_bfloat16 __high2bfloat16(__hip_bfloat162 a) { return a.y; }
