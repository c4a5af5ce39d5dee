// PTX instructions on floating-point numbers (`hipx_ptx.h`).
#pragma once

#include "hipx.h"

#include "hipx_fp8.h"
#include "hipx_ptx_operand.h"

namespace hipx {
namespace ptx {

// ---- 16-bit numbers ----------------------------------------------------------------------------

HIPX_DEVICE float f16_value(b16 bits) { return (float)as<_Float16>(bits); }
HIPX_DEVICE b16 f16_bits(float value) { return as<b16>((_Float16)value); }

// Towards zero: the code before the nearest one where that is farther from zero than the value.
HIPX_DEVICE b16 f16_bits_rz(float value) {
  const b16 nearest = f16_bits(value);
  return (b16)(nearest - (fabsf(f16_value(nearest)) > fabsf(value)));
}

HIPX_DEVICE float bf16_value(b16 bits) { return float_of((unsigned)bits << 16); }

// To nearest even; NaN is 0x7fff, as the ISA says.
HIPX_DEVICE b16 bf16_bits(float value) {
  const unsigned bits = bits_of(value);
  if (value != value) return 0x7fff;
  return (b16)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
HIPX_DEVICE b16 bf16_bits_rz(float value) {
  return value != value ? (b16)0x7fff : (b16)(bits_of(value) >> 16);
}

// a * b + c, rounded once. In double precision the product is exact, and so is the sum but where
// one of its terms is too small to reach a middle between two f16.
HIPX_DEVICE b16 f16_fma(b16 a, b16 b, b16 c) {
#if defined(__clang__)
  return as<b16>(__builtin_fmaf16(as<_Float16>(a), as<_Float16>(b), as<_Float16>(c)));
#else
  return as<b16>((_Float16)((double)f16_value(a) * f16_value(b) + f16_value(c)));
#endif
}

// The same of bf16, whose terms may be so far apart that the smaller one decides a middle: what the
// sum in double precision leaves out makes its last bit odd, and rounding to float does likewise.
HIPX_DEVICE b16 bf16_fma(b16 a, b16 b, b16 c) {
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
  const double product = (double)bf16_value(a) * bf16_value(b), term = bf16_value(c);
  double sum = product + term;
  const double part = sum - product, rest = (product - (sum - part)) + (term - part);
  if (rest == rest && rest != 0) {
    b64 bits = as<b64>(sum);
    if ((rest < 0) != (sum < 0)) bits -= 1;  // it was rounded away from zero
    sum = as<double>(bits | 1);
  }
  const float nearest = (float)sum;
  unsigned bits = bits_of(nearest);
  if ((double)nearest != sum && sum == sum) {
    if (fabs((double)nearest) > fabs(sum)) bits -= 1;
    bits |= 1u;
  }
  return bf16_bits(float_of(bits));
}

HIPX_DEVICE b32 packed(b16 low, b16 high) { return low | (b32)high << 16; }
HIPX_DEVICE b16 low(b32 pair) { return (b16)pair; }
HIPX_DEVICE b16 high(b32 pair) { return (b16)(pair >> 16); }

// A function of each half of pairs.
template <typename F>
HIPX_DEVICE b32 each(F function, b32 a) {
  return packed(function(low(a)), function(high(a)));
}
template <typename F>
HIPX_DEVICE b32 each(F function, b32 a, b32 b) {
  return packed(function(low(a), low(b)), function(high(a), high(b)));
}
template <typename F>
HIPX_DEVICE b32 each(F function, b32 a, b32 b, b32 c) {
  return packed(function(low(a), low(b), low(c)), function(high(a), high(b), high(c)));
}

// ---- "Data Movement and Conversion Instructions: cvt" ------------------------------------------

HIPX_PTX_UNARY(cvt_rn_f16_f32, float, f16_bits(a))
HIPX_PTX_UNARY(cvt_rz_f16_f32, float, f16_bits_rz(a))
HIPX_PTX_UNARY(cvt_f32_f16, b16, f16_value(a))
HIPX_PTX_UNARY(cvt_rn_bf16_f32, float, bf16_bits(a))
HIPX_PTX_UNARY(cvt_rz_bf16_f32, float, bf16_bits_rz(a))
HIPX_PTX_UNARY(cvt_f32_bf16, b16, bf16_value(a))

// Of two inputs the first becomes the upper half.
HIPX_PTX_BINARY(cvt_rn_f16x2_f32, float, float, packed(f16_bits(b), f16_bits(a)))
HIPX_PTX_BINARY(cvt_rz_f16x2_f32, float, float, packed(f16_bits_rz(b), f16_bits_rz(a)))
HIPX_PTX_BINARY(cvt_rn_bf16x2_f32, float, float, packed(bf16_bits(b), bf16_bits(a)))
HIPX_PTX_BINARY(cvt_rz_bf16x2_f32, float, float, packed(bf16_bits_rz(b), bf16_bits_rz(a)))

// fp8 is OCP's; .satfinite makes the largest value of what is beyond it.
template <int Mantissa>
HIPX_DEVICE b16 fp8x2_bits(float low, float high) {
  return (b16)(fp8_encode<Mantissa>(low) | fp8_encode<Mantissa>(high) << 8);
}
template <int Mantissa>
HIPX_DEVICE b32 fp8x2_f16x2(b16 codes) {
  return packed(f16_bits(fp8_decode<Mantissa>((fp8_storage)codes)),
                f16_bits(fp8_decode<Mantissa>((fp8_storage)(codes >> 8))));
}
HIPX_PTX_BINARY(cvt_rn_satfinite_e4m3x2_f32, float, float, fp8x2_bits<3>(b, a))
HIPX_PTX_BINARY(cvt_rn_satfinite_e5m2x2_f32, float, float, fp8x2_bits<2>(b, a))
HIPX_PTX_UNARY(cvt_rn_satfinite_e4m3x2_f16x2, b32,
               fp8x2_bits<3>(f16_value(low(a)), f16_value(high(a))))
HIPX_PTX_UNARY(cvt_rn_satfinite_e5m2x2_f16x2, b32,
               fp8x2_bits<2>(f16_value(low(a)), f16_value(high(a))))
HIPX_PTX_UNARY(cvt_rn_f16x2_e4m3x2, b16, fp8x2_f16x2<3>(a))
HIPX_PTX_UNARY(cvt_rn_f16x2_e5m2x2, b16, fp8x2_f16x2<2>(a))

// Integers from numbers: what they cannot hold becomes their limit, and NaN zero.
HIPX_DEVICE int s32_of(float whole) {
  if (whole != whole) return 0;
  return whole >= 0x1p31f ? 0x7fffffff : whole < -0x1p31f ? (int)0x80000000u : (int)whole;
}
HIPX_DEVICE unsigned u32_of(float whole) {
  return !(whole > 0) ? 0u : whole >= 0x1p32f ? 0xffffffffu : (unsigned)whole;
}
HIPX_PTX_UNARY(cvt_rni_s32_f32, float, s32_of(rintf(a)))
HIPX_PTX_UNARY(cvt_rzi_s32_f32, float, s32_of(truncf(a)))
HIPX_PTX_UNARY(cvt_rni_u32_f32, float, u32_of(rintf(a)))
HIPX_PTX_UNARY(cvt_rzi_u32_f32, float, u32_of(truncf(a)))
HIPX_PTX_UNARY(cvt_rn_f32_s32, int, (float)a)
HIPX_PTX_UNARY(cvt_rn_f32_u32, b32, (float)a)

// ---- "Data Movement and Conversion Instructions: mov", copies, and parts of a register ---------

HIPX_PTX_UNARY(mov_b16, b16, a)
HIPX_PTX_UNARY(mov_b32, b32, a)
HIPX_PTX_UNARY(mov_b64, b64, a)
HIPX_PTX_BINARY(mov_b32_pack, b16, b16, packed(a, b))
HIPX_PTX_BINARY(mov_b64_pack, b32, b32, a | (b64)b << 32)

template <typename D, typename E, typename X>
HIPX_DEVICE void mov_b32_unpack(D &&d, E &&e, X x) {
  const b32 a = as<b32>(x);
  set(d, low(a));
  set(e, high(a));
}
template <typename D, typename E, typename X>
HIPX_DEVICE void mov_b64_unpack(D &&d, E &&e, X x) {
  const b64 a = as<b64>(x);
  set(d, (b32)a);
  set(e, (b32)(a >> 32));
}

// ---- "Half Precision Floating Point Instructions": add, sub, mul, fma --------------------------
// bf16 is computed in single precision and rounded once more, which gives the nearest all the same:
// that has more than twice the digits.

HIPX_DEVICE b16 f16_add(b16 a, b16 b) { return f16_bits(f16_value(a) + f16_value(b)); }
HIPX_DEVICE b16 f16_sub(b16 a, b16 b) { return f16_bits(f16_value(a) - f16_value(b)); }
HIPX_DEVICE b16 f16_mul(b16 a, b16 b) { return f16_bits(f16_value(a) * f16_value(b)); }
HIPX_DEVICE b16 bf16_add(b16 a, b16 b) { return bf16_bits(bf16_value(a) + bf16_value(b)); }
HIPX_DEVICE b16 bf16_sub(b16 a, b16 b) { return bf16_bits(bf16_value(a) - bf16_value(b)); }
HIPX_DEVICE b16 bf16_mul(b16 a, b16 b) { return bf16_bits(bf16_value(a) * bf16_value(b)); }

#define HIPX_PTX_HALF(OPERATION, TYPE)                                    \
  HIPX_PTX_BINARY(OPERATION##_##TYPE, b16, b16, TYPE##_##OPERATION(a, b)) \
  HIPX_PTX_BINARY(OPERATION##_##TYPE##x2, b32, b32, each(TYPE##_##OPERATION, a, b))
HIPX_PTX_HALF(add, f16)
HIPX_PTX_HALF(sub, f16)
HIPX_PTX_HALF(mul, f16)
HIPX_PTX_HALF(add, bf16)
HIPX_PTX_HALF(sub, bf16)
HIPX_PTX_HALF(mul, bf16)
#undef HIPX_PTX_HALF
HIPX_PTX_TERNARY(fma_rn_f16, b16, b16, b16, f16_fma(a, b, c))
HIPX_PTX_TERNARY(fma_rn_f16x2, b32, b32, b32, each(f16_fma, a, b, c))
HIPX_PTX_TERNARY(fma_rn_bf16, b16, b16, b16, bf16_fma(a, b, c))
HIPX_PTX_TERNARY(fma_rn_bf16x2, b32, b32, b32, each(bf16_fma, a, b, c))

// ---- "Floating-Point Instructions": add, sub, mul, div, fma, and the approximations ------------

// Each is rounded by itself: clang would make one instruction of a product and a sum.
#if defined(__clang__)
#define HIPX_PTX_ROUNDED _Pragma("clang fp contract(off)")
#else
#define HIPX_PTX_ROUNDED
#endif
HIPX_DEVICE float f32_add(float a, float b) { HIPX_PTX_ROUNDED return a + b; }
HIPX_DEVICE float f32_sub(float a, float b) { HIPX_PTX_ROUNDED return a - b; }
HIPX_DEVICE float f32_mul(float a, float b) { HIPX_PTX_ROUNDED return a * b; }
#undef HIPX_PTX_ROUNDED

// With .ftz a subnormal number is a zero of its sign, going in and coming out.
HIPX_DEVICE float ftz(float value) {
  return fabsf(value) < 0x1p-126f ? copysignf(0.0f, value) : value;
}

#define HIPX_PTX_F32(NAME, VALUE)                   \
  HIPX_PTX_UNARY(NAME##_f32, float, (float)(VALUE)) \
  template <typename D, typename X>                 \
  HIPX_DEVICE void NAME##_ftz_f32(D &&d, X x) {     \
    const float a = ftz(as<float>(x));              \
    set(d, ftz(VALUE));                             \
  }
#define HIPX_PTX_F32_BINARY(NAME, VALUE)                      \
  HIPX_PTX_BINARY(NAME##_f32, float, float, (float)(VALUE))   \
  template <typename D, typename X, typename Y>               \
  HIPX_DEVICE void NAME##_ftz_f32(D &&d, X x, Y y) {          \
    const float a = ftz(as<float>(x)), b = ftz(as<float>(y)); \
    set(d, ftz(VALUE));                                       \
  }
HIPX_PTX_F32_BINARY(add, f32_add(a, b))
HIPX_PTX_F32_BINARY(sub, f32_sub(a, b))
HIPX_PTX_F32_BINARY(mul, f32_mul(a, b))
HIPX_PTX_F32_BINARY(div, a / b)
HIPX_PTX_TERNARY(fma_rn_f32, float, float, float, fmaf(a, b, c))
template <typename D, typename X, typename Y, typename Z>
HIPX_DEVICE void fma_rn_ftz_f32(D &&d, X x, Y y, Z z) {
  set(d, ftz(fmaf(ftz(as<float>(x)), ftz(as<float>(y)), ftz(as<float>(z)))));
}
HIPX_PTX_TERNARY(fma_rn_f64, double, double, double, fma(a, b, c))
HIPX_PTX_F32(ex2_approx, exp2f(a))
HIPX_PTX_F32(lg2_approx, log2f(a))
HIPX_PTX_F32(rcp_approx, 1.0f / a)
HIPX_PTX_F32(rsqrt_approx, rsqrtf(a))
HIPX_PTX_F32(sqrt_approx, sqrtf(a))
HIPX_PTX_F32(sin_approx, sinf(a))
HIPX_PTX_F32(cos_approx, cosf(a))
HIPX_PTX_UNARY(tanh_approx_f32, float, tanhf(a))
#undef HIPX_PTX_F32
#undef HIPX_PTX_F32_BINARY

// ---- "Half Precision Floating Point Instructions: ex2, tanh" -----------------------------------

HIPX_DEVICE b16 f16_ex2(b16 a) { return f16_bits(exp2f(f16_value(a))); }
HIPX_DEVICE b16 f16_tanh(b16 a) { return f16_bits(tanhf(f16_value(a))); }
HIPX_DEVICE b16 bf16_tanh(b16 a) { return bf16_bits(tanhf(bf16_value(a))); }
HIPX_PTX_UNARY(ex2_approx_f16, b16, f16_ex2(a))
HIPX_PTX_UNARY(ex2_approx_f16x2, b32, each(f16_ex2, a))
HIPX_PTX_UNARY(tanh_approx_f16, b16, f16_tanh(a))
HIPX_PTX_UNARY(tanh_approx_f16x2, b32, each(f16_tanh, a))
HIPX_PTX_UNARY(tanh_approx_bf16, b16, bf16_tanh(a))
HIPX_PTX_UNARY(tanh_approx_bf16x2, b32, each(bf16_tanh, a))

}  // namespace ptx
}  // namespace hipx
