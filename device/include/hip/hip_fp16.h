// Half precision.
#pragma once

#include <hipcpu/bits.h>
#include <hipcpu/narrow.h>

#if !defined(__FLT16_MANT_DIG__)
#error "the CPU device needs a compiler with _Float16: g++ 12 or clang++ 15, or newer"
#endif

struct __half_raw {
  unsigned short x;
};

struct __half {
  union {
    _Float16 data;
    unsigned short __x;
  };

  __half() = default;
  __half(const __half_raw &raw) : __x(raw.x) {}
  template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value ||
                                                    std::is_same<T, _Float16>::value>>
  __half(T value) : data(static_cast<_Float16>(value)) {}

  operator float() const { return static_cast<float>(data); }
  operator __half_raw() const { return {__x}; }
  HIPCPU_NARROW_CONVERSIONS(__half)
};
using half = __half;

HIPCPU_NARROW_FUNCTIONS(__half)

namespace hipcpu {

// Rounded towards zero (-1: down, 1: up), where rounding to the nearest went the other way.
inline __half half_towards(float value, int direction) {
  __half nearest(value);
  const float back = nearest;
  const bool away = direction == 0   ? fabsf(back) > fabsf(value)
                    : direction < 0 ? back > value
                                    : back < value;
  if (!away) return nearest;
  // The next code has the next larger magnitude.
  const bool grows = direction > 0 ? value > 0 : direction < 0 && value < 0;
  nearest.__x = static_cast<unsigned short>(grows ? nearest.__x + 1 : nearest.__x - 1);
  return nearest;
}

}  // namespace hipcpu

inline float __half2float(__half x) { return x; }
inline __half __float2half(float x) { return x; }
inline __half __float2half_rn(float x) { return x; }
inline __half __float2half_rz(float x) { return hipcpu::half_towards(x, 0); }
inline __half __float2half_rd(float x) { return hipcpu::half_towards(x, -1); }
inline __half __float2half_ru(float x) { return hipcpu::half_towards(x, 1); }
inline __half __double2half(double x) { return x; }
inline __half __int2half_rn(int x) { return x; }
inline __half __uint2half_rn(unsigned x) { return x; }
inline __half __short2half_rn(short x) { return x; }
inline __half __ushort2half_rn(unsigned short x) { return x; }
inline __half __ll2half_rn(long long x) { return x; }
inline __half __ull2half_rn(unsigned long long x) { return x; }
inline int __half2int_rn(__half x) { return __float2int_rn(x); }
inline int __half2int_rz(__half x) { return __float2int_rz(x); }
inline unsigned __half2uint_rn(__half x) { return __float2uint_rn(x); }
inline unsigned __half2uint_rz(__half x) { return __float2uint_rz(x); }
inline short __half_as_short(__half x) { return static_cast<short>(x.__x); }
inline unsigned short __half_as_ushort(__half x) { return x.__x; }
inline __half __short_as_half(short x) { return __half_raw{static_cast<unsigned short>(x)}; }
inline __half __ushort_as_half(unsigned short x) { return __half_raw{x}; }

struct alignas(4) __half2_raw {
  unsigned short x, y;
};

struct alignas(4) __half2 {
  __half x, y;

  __half2() = default;
  __half2(__half low, __half high) : x(low), y(high) {}
  __half2(const __half2_raw &raw) : x(__half_raw{raw.x}), y(__half_raw{raw.y}) {}
  operator __half2_raw() const { return {x.__x, y.__x}; }
};
using half2 = __half2;

HIPCPU_PAIR_FUNCTIONS(__half2)

inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half2 __float2half2_rn(float x) { return {x, x}; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline __half2 __float22half2_rn(float2 a) { return {a.x, a.y}; }
inline float2 __half22float2(__half2 a) { return {a.x, a.y}; }
inline __half __low2half(__half2 a) { return a.x; }
inline __half __high2half(__half2 a) { return a.y; }
inline __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
inline __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
inline __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
inline __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
