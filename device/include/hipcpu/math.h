// Device math: the C library's functions, and what HIP has beyond them (HIP, "Math API"). The fast
// functions of HIP, such as __logf, are the exact ones here, but for the powers: their product is
// rounded first, which shows in more than the last place (clang, __clang_hip_math.h).
#pragma once

#include <math.h>

#include <cmath>
#include <type_traits>

// The C library declares functions of these names for itself, so they are macros.
#define __expf(X) exp2f(0x1.715476p+0f * (X))
#define __exp10f(X) exp2f(0x1.a934f0p+1f * (X))
#define __logf(X) logf(X)
#define __log2f(X) log2f(X)
#define __log10f(X) log10f(X)
#define __powf(X, Y) powf(X, Y)
#define __sinf(X) sinf(X)
#define __cosf(X) cosf(X)
#define __tanf(X) tanf(X)
#define __sincosf(X, SIN, COS) sincosf(X, SIN, COS)

// Of two numbers of any type: for floating-point ones, that which is a number.
template <typename A, typename B,
          typename = std::enable_if_t<std::is_arithmetic<A>::value && std::is_arithmetic<B>::value>>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using C = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point<C>::value) return std::fmin(C(a), C(b));
  return C(b) < C(a) ? C(b) : C(a);
}

template <typename A, typename B,
          typename = std::enable_if_t<std::is_arithmetic<A>::value && std::is_arithmetic<B>::value>>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using C = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point<C>::value) return std::fmax(C(a), C(b));
  return C(a) < C(b) ? C(b) : C(a);
}

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
inline double rcbrt(double x) { return 1.0 / cbrt(x); }
// In a wider type, since these functions make much of a small error of the argument: HIP's are within
// a few units in the last place (HIP documentation, "HIP math API").
inline float normcdff(float x) { return (float)(0.5 * erfc(-x * 0.707106781186547524400844)); }
inline double normcdf(double x) {
  return (double)(0.5L * erfcl(-x * 0.707106781186547524400844362104849L));
}
inline double hipcpu_half_turns(double x) { return x - 2 * round(x / 2); }
inline float sinpif(float x) { return (float)sin(3.14159265358979323846 * hipcpu_half_turns(x)); }
inline float cospif(float x) { return (float)cos(3.14159265358979323846 * hipcpu_half_turns(x)); }
inline double sinpi(double x) {
  return (double)sinl(3.14159265358979323846264338327950288L * hipcpu_half_turns(x));
}
inline double cospi(double x) {
  return (double)cosl(3.14159265358979323846264338327950288L * hipcpu_half_turns(x));
}

inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
inline float __fdividef(float a, float b) { return a / b; }
inline float fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __frsqrt_rn(float x) { return 1.0f / sqrtf(x); }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __drcp_rn(double x) { return 1.0 / x; }
inline double __dsqrt_rn(double x) { return sqrt(x); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
