// Eight-bit floating point as CUDA has it: the OCP formats, converted with saturation and rounding
// to nearest even (OCP 8-bit Floating Point Specification 1.0, tables 1 and 2; CUDA Math API,
// "FP8 Intrinsics", __NV_SATFINITE).
//
// Written out in integer arithmetic on every architecture: gfx940 to gfx942 convert to another
// encoding (fnuz) in hardware, and HIP's own OCP conversions trap there.
#pragma once

#include "hipx.h"

namespace hipx {

typedef unsigned char fp8_storage;

enum fp8_interpretation { E4M3 = 0, E5M2 = 1 };
enum fp8_saturation { NOSAT = 0, SATFINITE = 1 };

HIPX_BOTH unsigned bits_of(float value) {
  unsigned bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

HIPX_BOTH float float_of(unsigned bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// The code for a value in the format with so many bits of mantissa: 3 is E4M3 (largest value 448,
// no infinities), 2 is E5M2 (57344). Values beyond the largest, infinity too, become the largest;
// NaN stays NaN.
template <int Mantissa>
HIPX_BOTH fp8_storage fp8_encode(float value) {
  constexpr int bias = Mantissa == 3 ? 7 : 15;
  constexpr float largest = Mantissa == 3 ? 448.0f : 57344.0f;
  const unsigned bits = bits_of(value);
  const unsigned sign = (bits >> 24) & 0x80u;
  unsigned magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return (fp8_storage)(sign | 0x7fu);  // NaN
  if (magnitude > bits_of(largest)) magnitude = bits_of(largest);
  constexpr int dropped = 23 - Mantissa;
  constexpr unsigned least_normal = (unsigned)(127 - bias + 1) << 23;
  unsigned code;
  if (magnitude < least_normal) {
    // Subnormal: a multiple of 2^(1 - bias - Mantissa). Adding a power of two whose last place is
    // that step rounds to nearest even in hardware, and the sum's last bits are the multiple.
    const float step_at_one = float_of((unsigned)(127 + 24 - bias - Mantissa) << 23);
    code = bits_of(float_of(magnitude) + step_at_one) & 0xfu;
  } else {
    const unsigned odd = (magnitude >> dropped) & 1u;
    const unsigned rounded = magnitude + (1u << (dropped - 1)) - 1u + odd;
    code = (rounded >> dropped) - ((unsigned)(127 - bias) << Mantissa);
  }
  return (fp8_storage)(sign | code);
}

template <int Mantissa>
HIPX_BOTH fp8_storage fp8_encode(double value) {
  // Rounding twice would go wrong in ties: round to float by making inexact results odd.
  const double largest = 65536.0;
  if (value > largest) value = largest;
  if (value < -largest) value = -largest;
  float nearest = (float)value;
  unsigned bits = bits_of(nearest);
  if ((double)nearest != value && value == value) {
    const bool away = (nearest < 0 ? -(double)nearest : (double)nearest) >
                      (value < 0 ? -value : value);
    if (away) bits -= 1;
    bits |= 1u;
  }
  return fp8_encode<Mantissa>(float_of(bits));
}

template <int Mantissa>
HIPX_BOTH float fp8_decode(fp8_storage code) {
  constexpr int bias = Mantissa == 3 ? 7 : 15;
  const unsigned sign = (unsigned)(code & 0x80u) << 24;
  const unsigned magnitude = code & 0x7fu;
  const unsigned mantissa = magnitude & ((1u << Mantissa) - 1u);
  const unsigned exponent = magnitude >> Mantissa;
  if (Mantissa == 3 ? magnitude == 0x7fu : magnitude > 0x7cu) return float_of(sign | 0x7fc00000u);
  if (Mantissa == 2 && magnitude == 0x7cu) return float_of(sign | 0x7f800000u);
  if (exponent == 0) {
    const float step = float_of((unsigned)(127 + 1 - bias - Mantissa) << 23);
    return float_of(sign | bits_of((float)mantissa * step));
  }
  return float_of(sign | ((exponent + 127 - bias) << 23) | (mantissa << (23 - Mantissa)));
}

HIPX_BOTH fp8_storage float_to_fp8(float value, fp8_saturation, fp8_interpretation kind) {
  return kind == E4M3 ? fp8_encode<3>(value) : fp8_encode<2>(value);
}

HIPX_BOTH fp8_storage double_to_fp8(double value, fp8_saturation, fp8_interpretation kind) {
  return kind == E4M3 ? fp8_encode<3>(value) : fp8_encode<2>(value);
}

HIPX_BOTH float fp8_to_float(fp8_storage code, fp8_interpretation kind) {
  return kind == E4M3 ? fp8_decode<3>(code) : fp8_decode<2>(code);
}

#if defined(__HIPCC__) || defined(__HIPCC_RTC__)

HIPX_BOTH __half_raw fp8_to_halfraw(fp8_storage code, fp8_interpretation kind) {
  return __half_raw(__float2half(fp8_to_float(code, kind)));  // exact: half holds every value
}

HIPX_BOTH fp8_storage halfraw_to_fp8(__half_raw value, fp8_saturation saturation,
                                     fp8_interpretation kind) {
  return float_to_fp8(__half2float(__half(value)), saturation, kind);
}

#endif

// The class behind __nv_fp8_e4m3 and __nv_fp8_e5m2: explicit constructors from, and explicit
// conversions to, every arithmetic type.
template <int Mantissa>
struct fp8 {
  fp8_storage __x;

  fp8() = default;

#if defined(__HIPCC__) || defined(__HIPCC_RTC__)
#define HIPX_MEMBER __host__ __device__ __forceinline__
  explicit HIPX_MEMBER fp8(__half value) : __x(fp8_encode<Mantissa>(__half2float(value))) {}
  explicit HIPX_MEMBER fp8(__hip_bfloat16 value)
      : __x(fp8_encode<Mantissa>(__bfloat162float(value))) {}
  explicit HIPX_MEMBER operator __half() const { return __float2half(float(*this)); }
  explicit HIPX_MEMBER operator __hip_bfloat16() const { return __float2bfloat16(float(*this)); }
#else
#define HIPX_MEMBER inline
#endif
  explicit HIPX_MEMBER fp8(float value) : __x(fp8_encode<Mantissa>(value)) {}
  explicit HIPX_MEMBER fp8(double value) : __x(fp8_encode<Mantissa>(value)) {}
  template <typename T, typename = std::enable_if_t<std::is_integral<T>::value>>
  explicit HIPX_MEMBER fp8(T value) : __x(fp8_encode<Mantissa>((float)value)) {}

  explicit HIPX_MEMBER operator float() const { return fp8_decode<Mantissa>(__x); }
  explicit HIPX_MEMBER operator double() const { return (double)fp8_decode<Mantissa>(__x); }
  explicit HIPX_MEMBER operator bool() const { return (__x & 0x7f) != 0; }
  // Towards zero; what T cannot hold becomes its nearest value, NaN zero, or in 64 bits the top bit
  // alone (CUDA Math API, "FP8 Types", the conversion operators).
  template <typename T, typename = std::enable_if_t<std::is_integral<T>::value &&
                                                    !std::is_same<T, bool>::value>>
  explicit HIPX_MEMBER operator T() const {
    const float value = fp8_decode<Mantissa>(__x);
    if (value != value) return sizeof(T) == 8 ? (T)(1ull << 63) : (T)0;
    if (value >= (float)std::numeric_limits<T>::max()) return std::numeric_limits<T>::max();
    if (value <= (float)std::numeric_limits<T>::lowest()) return std::numeric_limits<T>::lowest();
    return (T)value;
  }
};
#undef HIPX_MEMBER

typedef fp8<3> fp8_e4m3;
typedef fp8<2> fp8_e5m2;

}  // namespace hipx
