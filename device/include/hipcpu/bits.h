// Integer intrinsics, casts of bits, conversions with a rounding mode (HIP, "Device functions").
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <cmath>
#include <limits>

namespace hipcpu {

template <typename To, typename From>
inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "a cast keeps the bits");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

// GPUs saturate where C++ says nothing; what is not a number becomes zero.
template <typename To, typename From>
inline To saturated(From from) {
  // One more than the largest: a power of two, which floating point has.
  constexpr From end = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
  if (from != from) return 0;
  if (from >= end) return std::numeric_limits<To>::max();
  if (from <= static_cast<From>(std::numeric_limits<To>::min())) {
    return std::numeric_limits<To>::min();
  }
  return static_cast<To>(from);
}

}  // namespace hipcpu

inline int __float_as_int(float x) { return hipcpu::bits_as<int>(x); }
inline unsigned __float_as_uint(float x) { return hipcpu::bits_as<unsigned>(x); }
inline float __int_as_float(int x) { return hipcpu::bits_as<float>(x); }
inline float __uint_as_float(unsigned x) { return hipcpu::bits_as<float>(x); }
inline long long __double_as_longlong(double x) { return hipcpu::bits_as<long long>(x); }
inline double __longlong_as_double(long long x) { return hipcpu::bits_as<double>(x); }
inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(
      static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 | static_cast<uint32_t>(low)));
}

// From floating point to integer: to the nearest (ties to even), towards zero, up, down.
#define HIPCPU_ROUNDED(FROM, FROM_NAME, TO, TO_NAME)                                       \
  inline TO __##FROM_NAME##2##TO_NAME##_rn(FROM x) {                                       \
    return hipcpu::saturated<TO>(std::nearbyint(x));                                       \
  }                                                                                        \
  inline TO __##FROM_NAME##2##TO_NAME##_rz(FROM x) {                                       \
    return hipcpu::saturated<TO>(std::trunc(x));                                           \
  }                                                                                        \
  inline TO __##FROM_NAME##2##TO_NAME##_ru(FROM x) {                                       \
    return hipcpu::saturated<TO>(std::ceil(x));                                            \
  }                                                                                        \
  inline TO __##FROM_NAME##2##TO_NAME##_rd(FROM x) {                                       \
    return hipcpu::saturated<TO>(std::floor(x));                                           \
  }
HIPCPU_ROUNDED(float, float, int, int)
HIPCPU_ROUNDED(float, float, unsigned, uint)
HIPCPU_ROUNDED(float, float, long long, ll)
HIPCPU_ROUNDED(float, float, unsigned long long, ull)
HIPCPU_ROUNDED(double, double, int, int)
HIPCPU_ROUNDED(double, double, unsigned, uint)
HIPCPU_ROUNDED(double, double, long long, ll)
HIPCPU_ROUNDED(double, double, unsigned long long, ull)
#undef HIPCPU_ROUNDED

inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
inline double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __ffsll(unsigned long long x) { return __builtin_ffsll((long long)x); }
inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1) << (31 - i);
  return reversed;
}
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}

inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
inline int __mulhi(int a, int b) {
  return static_cast<int>(static_cast<int64_t>(a) * b >> 32);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline unsigned __sad(int a, int b, unsigned c) {
  return c + (a > b ? static_cast<unsigned>(a) - static_cast<unsigned>(b)
                    : static_cast<unsigned>(b) - static_cast<unsigned>(a));
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a > b ? a - b : b - a); }

inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}

// Each half byte of `selector` picks one of the eight bytes of y:x.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const uint64_t bytes = static_cast<uint64_t>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    result |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  }
  return result;
}
