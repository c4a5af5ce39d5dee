// Two and four fp8 values at once, of which the first has the lowest bits (CUDA Math API, "FP8
// Intrinsics" and "FP8 Types"; numbers as in `hipx_fp8.h`).
#pragma once

#include "hipx.h"

#include "hipx_fp8.h"

namespace hipx {

typedef unsigned short fp8x2_storage;
typedef unsigned fp8x4_storage;

template <int Mantissa>
HIPX_BOTH fp8x2_storage fp8x2_encode(float x, float y) {
  return (fp8x2_storage)(fp8_encode<Mantissa>(x) | fp8_encode<Mantissa>(y) << 8);
}

HIPX_BOTH fp8x2_storage float2_to_fp8x2(float2 value, fp8_saturation, fp8_interpretation kind) {
  return kind == E4M3 ? fp8x2_encode<3>(value.x, value.y) : fp8x2_encode<2>(value.x, value.y);
}

HIPX_BOTH fp8x2_storage double2_to_fp8x2(double2 value, fp8_saturation mode,
                                         fp8_interpretation kind) {
  return (fp8x2_storage)(double_to_fp8(value.x, mode, kind) |
                         double_to_fp8(value.y, mode, kind) << 8);
}

HIPX_BOTH __half2 fp8x2_to_half2(fp8x2_storage codes, fp8_interpretation kind) {
  return __floats2half2_rn(fp8_to_float((fp8_storage)codes, kind),
                           fp8_to_float((fp8_storage)(codes >> 8), kind));
}

HIPX_BOTH __half2_raw fp8x2_to_halfraw2(fp8x2_storage codes, fp8_interpretation kind) {
  return __half2_raw(fp8x2_to_half2(codes, kind));
}

HIPX_BOTH fp8x2_storage halfraw2_to_fp8x2(__half2_raw value, fp8_saturation mode,
                                          fp8_interpretation kind) {
  return float2_to_fp8x2(__half22float2(__half2(value)), mode, kind);
}

HIPX_BOTH fp8_storage bfloat16raw_to_fp8(__hip_bfloat16_raw value, fp8_saturation mode,
                                         fp8_interpretation kind) {
  return float_to_fp8(__bfloat162float(__hip_bfloat16(value)), mode, kind);
}

HIPX_BOTH fp8x2_storage bfloat16raw2_to_fp8x2(__hip_bfloat162_raw value, fp8_saturation mode,
                                              fp8_interpretation kind) {
  return float2_to_fp8x2(__bfloat1622float2(__hip_bfloat162(value)), mode, kind);
}

// The classes behind __nv_fp8x2_e4m3 and its kin.
#define HIPX_MEMBER __host__ __device__ __forceinline__
template <int Mantissa>
struct fp8x2 {
  fp8x2_storage __x;

  fp8x2() = default;
  explicit HIPX_MEMBER fp8x2(float2 value) : __x(fp8x2_encode<Mantissa>(value.x, value.y)) {}
  explicit HIPX_MEMBER fp8x2(double2 value)
      : __x((fp8x2_storage)(fp8_encode<Mantissa>(value.x) | fp8_encode<Mantissa>(value.y) << 8)) {}
  explicit HIPX_MEMBER fp8x2(__half2 value) : fp8x2(__half22float2(value)) {}
  explicit HIPX_MEMBER fp8x2(__hip_bfloat162 value) : fp8x2(__bfloat1622float2(value)) {}

  explicit HIPX_MEMBER operator float2() const {
    return make_float2(fp8_decode<Mantissa>((fp8_storage)__x),
                       fp8_decode<Mantissa>((fp8_storage)(__x >> 8)));
  }
  explicit HIPX_MEMBER operator __half2() const {
    const float2 value = float2(*this);
    return __floats2half2_rn(value.x, value.y);
  }
};

template <int Mantissa>
struct fp8x4 {
  fp8x4_storage __x;

  fp8x4() = default;
  HIPX_MEMBER fp8x4(fp8x2<Mantissa> low, fp8x2<Mantissa> high)
      : __x(low.__x | (fp8x4_storage)high.__x << 16) {}
  explicit HIPX_MEMBER fp8x4(float4 value)
      : fp8x4(fp8x2<Mantissa>(make_float2(value.x, value.y)),
              fp8x2<Mantissa>(make_float2(value.z, value.w))) {}
  explicit HIPX_MEMBER fp8x4(double4 value)
      : fp8x4(fp8x2<Mantissa>(make_double2(value.x, value.y)),
              fp8x2<Mantissa>(make_double2(value.z, value.w))) {}
  explicit HIPX_MEMBER fp8x4(__half2 low, __half2 high)
      : fp8x4(fp8x2<Mantissa>(low), fp8x2<Mantissa>(high)) {}
  explicit HIPX_MEMBER fp8x4(__hip_bfloat162 low, __hip_bfloat162 high)
      : fp8x4(fp8x2<Mantissa>(low), fp8x2<Mantissa>(high)) {}

  explicit HIPX_MEMBER operator float4() const {
    return make_float4(fp8_decode<Mantissa>((fp8_storage)__x),
                       fp8_decode<Mantissa>((fp8_storage)(__x >> 8)),
                       fp8_decode<Mantissa>((fp8_storage)(__x >> 16)),
                       fp8_decode<Mantissa>((fp8_storage)(__x >> 24)));
  }
};
#undef HIPX_MEMBER

typedef fp8x2<3> fp8x2_e4m3;
typedef fp8x2<2> fp8x2_e5m2;
typedef fp8x4<3> fp8x4_e4m3;
typedef fp8x4<2> fp8x4_e5m2;

}  // namespace hipx
