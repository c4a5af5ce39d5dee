// Half, bfloat16, conversions and integer intrinsics, against what their definitions say.
#include "check.h"

#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>

#include <math.h>
#include <string.h>

#include <limits>

static double half_of_bits(unsigned short bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double magnitude = exponent == 31  ? (mantissa ? NAN : INFINITY)
                           : exponent == 0 ? ldexp(mantissa, -24)
                                           : ldexp(1024 + mantissa, exponent - 25);
  return bits >> 15 ? -magnitude : magnitude;
}

static double bfloat_of_bits(unsigned short bits) {
  const int exponent = bits >> 7 & 255, mantissa = bits & 127;
  const double magnitude = exponent == 255 ? (mantissa ? NAN : INFINITY)
                           : exponent == 0 ? ldexp(mantissa, -133)
                                           : ldexp(128 + mantissa, exponent - 134);
  return bits >> 15 ? -magnitude : magnitude;
}

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

// Every code is read right, and written back to itself.
static void test_codes() {
  bool half_right = true, bfloat_right = true;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto code = static_cast<unsigned short>(bits);
    const __half h = __ushort_as_half(code);
    half_right &= same(__half2float(h), half_of_bits(code));
    half_right &= isnan(half_of_bits(code)) ||
                  __half_as_ushort(__float2half(static_cast<float>(h))) == code;
    const __hip_bfloat16 b = __ushort_as_bfloat16(code);
    bfloat_right &= same(__bfloat162float(b), bfloat_of_bits(code));
    bfloat_right &= isnan(bfloat_of_bits(code)) ||
                    __bfloat16_as_ushort(__float2bfloat16(static_cast<float>(b))) == code;
  }
  check("every code of half", half_right);
  check("every code of bfloat16", bfloat_right);
}

// Between two neighbours the nearer is taken, and the even one of two that are equally near.
static void test_rounding() {
  bool half_right = true, bfloat_right = true;
  for (unsigned short code = 0; code < 0x7bff; ++code) {
    const double low = half_of_bits(code), high = half_of_bits(code + 1), middle = (low + high) / 2;
    const unsigned short even = code % 2 == 0 ? code : code + 1;
    half_right &= __half_as_ushort(__float2half(static_cast<float>(middle))) == even;
    half_right &= __half_as_ushort(__float2half(nextafterf(middle, INFINITY))) == code + 1;
    half_right &= __half_as_ushort(__float2half(nextafterf(middle, -INFINITY))) == code;
    half_right &= __half_as_ushort(__float2half_rz(nextafterf(high, 0))) == code;
    half_right &= __half_as_ushort(__float2half_ru(nextafterf(low, INFINITY))) == code + 1;
  }
  for (unsigned short code = 128; code < 0x7f7f; ++code) {
    const double low = bfloat_of_bits(code), high = bfloat_of_bits(code + 1);
    const float middle = static_cast<float>((low + high) / 2);
    const unsigned short even = code % 2 == 0 ? code : code + 1;
    bfloat_right &= __bfloat16_as_ushort(__float2bfloat16(middle)) == even;
    bfloat_right &= __bfloat16_as_ushort(__float2bfloat16(nextafterf(middle, INFINITY))) == code + 1;
    // Closer to the middle than single precision can tell.
    const double wide = middle;
    bfloat_right &= __bfloat16_as_ushort(__double2bfloat16(wide)) == even;
    bfloat_right &= __bfloat16_as_ushort(__double2bfloat16(nextafter(wide, INFINITY))) == code + 1;
    bfloat_right &= __bfloat16_as_ushort(__double2bfloat16(nextafter(wide, -INFINITY))) == code;
    bfloat_right &=
        __bfloat16_as_ushort(__double2bfloat16(-nextafter(wide, INFINITY))) == (code + 1 | 0x8000);
  }
  check("rounding to half", half_right);
  bfloat_right &= __bfloat16_as_ushort(__int2bfloat16_rn((1 << 24) + (1 << 16) + 1)) == 0x4b81;
  bfloat_right &= __bfloat16_as_ushort(__double2bfloat16(1e300)) == 0x7f80;
  bfloat_right &= __bfloat16_as_ushort(__double2bfloat16(-1e-300)) == 0x8000;
  check("rounding to bfloat16", bfloat_right);
  CHECK(__half_as_ushort(__float2half(65520.0f)) == 0x7c00);
  CHECK(__half_as_ushort(__float2half(65519.0f)) == 0x7bff);
  CHECK(__half_as_ushort(__double2half(1.0 + 0x1p-11 + 0x1p-40)) == 0x3c01);
}

// Of functions that make much of a small error of the argument, within two units in the last place
// of the value in a wider type.
static void test_functions() {
  const long double pi = 3.14159265358979323846264338327950288L, root = sqrtl(2);
  const auto near = [](auto found, long double exact) {
    const auto value = static_cast<decltype(found)>(exact);
    const auto step = nextafter(fabs(value), decltype(found)(INFINITY)) - fabs(value);
    return fabsl(found - exact) <= 2 * static_cast<long double>(step);
  };
  bool single = true, both = true;
  for (int i = -4000; i <= 4000; ++i) {
    const float x = i * 1.25e-3f + 1e-5f;
    const double y = i * 1.25e-3 + 1e-5;
    single &= near(normcdff(x), 0.5L * erfcl(-x / root)) && near(sinpif(x), sinl(pi * remainderl(x, 2))) &&
              near(cospif(x), cosl(pi * remainderl(x, 2)));
    both &= near(normcdf(y), 0.5L * erfcl(-y / root)) && near(sinpi(y), sinl(pi * remainderl(y, 2))) &&
            near(cospi(y), cosl(pi * remainderl(y, 2)));
  }
  check("functions of a float", single);
  check("functions of a double", both);
  // The product is rounded before the power is taken (clang, __clang_hip_math.h): e to 11 is
  // 59874.1417, and 11 times the logarithm is 15.86964511871 in this type.
  check("fast powers", near(__expf(11.0f), exp2l(15.869645118713379L)) &&
                           near(__exp10f(2.5f), exp2l(0x1.a934f0p+1f * 2.5f)));
}

static void test_arithmetic() {
  CHECK(__half_as_ushort(__half(1.0f) + __half(0x1p-11f)) == 0x3c00);
  CHECK(__half_as_ushort(__hfma(__half(3.0f), __half(5.0f), __half(0.5f))) ==
        __half_as_ushort(__half(15.5f)));
  CHECK(isnan(__half2float(__hmax_nan(__half(NAN), __half(1.0f)))));
  CHECK(__half2float(__hmax(__half(NAN), __half(1.0f))) == 1.0f);
  __half2 pair = __hadd2(__floats2half2_rn(1, 2), __halves2half2(__half(10), __half(20)));
  CHECK(__low2float(pair) == 11 && __high2float(pair) == 22);
  __hip_bfloat16 b = 1.0f;
  b += 0x1p-9f;
  CHECK(__bfloat16_as_ushort(b) == 0x3f80);
  float2 v = make_float2(1, 2) * 3.0f;
  v += make_float2(0.5f, 0.25f);
  CHECK(v.x == 3.5f && v.y == 6.25f);
}

static void test_conversions() {
  CHECK(__float2int_rn(2.5f) == 2 && __float2int_rn(3.5f) == 4 && __float2int_rn(-2.5f) == -2);
  CHECK(__float2int_rz(-2.9f) == -2 && __float2int_rd(-2.1f) == -3 && __float2int_ru(2.1f) == 3);
  CHECK(__float2int_rn(1e20f) == INT32_MAX && __float2int_rn(-1e20f) == INT32_MIN);
  CHECK(__float2int_rn(NAN) == 0);
  CHECK(__float2uint_rn(-1.0f) == 0 && __float2uint_rn(5e9f) == UINT32_MAX);
  CHECK(__double2ll_rz(1e300) == INT64_MAX);
  CHECK(__float_as_uint(1.0f) == 0x3f800000 && __uint_as_float(0xc0000000) == -2.0f);
  CHECK(__hiloint2double(0x40090000, 0) == 3.125);
}

static void test_integers() {
  CHECK(__popc(0xf0f0u) == 8 && __popcll(~0ull) == 64);
  CHECK(__clz(1) == 31 && __clz(0) == 32 && __clzll(0) == 64 && __ffs(8) == 4 && __ffs(0) == 0);
  CHECK(__brev(1u) == 0x80000000u && __brevll(1ull) == 1ull << 63);
  CHECK(__umulhi(0xffffffffu, 0xffffffffu) == 0xfffffffeu && __mulhi(-1, 1) == -1);
  CHECK(__umul64hi(~0ull, ~0ull) == ~0ull - 1 && __mul24(-3, 5) == -15);
  CHECK(__byte_perm(0x33221100, 0x77665544, 0x7410) == 0x77441100);
  CHECK(__funnelshift_l(0x80000000, 1, 1) == 3 && __funnelshift_r(0, 1, 1) == 0x80000000);
  CHECK(__builtin_amdgcn_perm(0x77665544, 0x33221100, 0x0c0d0007) == 0x00ff0077);
  CHECK(__builtin_amdgcn_sdot4(0x01ff0203, 0x02030405, 10, false) == 2 - 3 + 8 + 15 + 10);
  CHECK(__builtin_amdgcn_sudot4(false, 0xff, true, 0xff, 0, false) == -255);
  CHECK(__builtin_amdgcn_sdot4(0x7f, 0x7f, INT32_MAX, true) == INT32_MAX);
  CHECK(max(2, 3u) == 3 && min(1.0f, NAN) == 1.0f && max(-1LL, 1) == 1);
}

int main() {
  test_codes();
  test_rounding();
  test_functions();
  test_arithmetic();
  test_conversions();
  test_integers();
}
