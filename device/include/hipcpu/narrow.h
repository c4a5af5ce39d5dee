// What half and bfloat16 have in common: arithmetic in single precision, rounded after each
// operation, which gives what hardware gives (single precision has more than twice the digits).
#pragma once

#include <math.h>

#include <hip/hip_vector_types.h>

#include <type_traits>

#include "atomics.h"

// Conversions of a class that has a constructor from float and a conversion to it.
#define HIPCPU_NARROW_CONVERSIONS(H)                                                   \
  explicit operator double() const { return static_cast<float>(*this); }               \
  explicit operator bool() const { return static_cast<float>(*this) != 0; }            \
  template <typename T, typename = std::enable_if_t<std::is_integral<T>::value>>       \
  explicit operator T() const {                                                        \
    return static_cast<T>(static_cast<float>(*this));                                  \
  }                                                                                    \
  template <typename T>                                                                \
  H &operator+=(const T &b) {                                                          \
    return *this = H(static_cast<float>(*this) + static_cast<float>(b));               \
  }                                                                                    \
  template <typename T>                                                                \
  H &operator-=(const T &b) {                                                          \
    return *this = H(static_cast<float>(*this) - static_cast<float>(b));               \
  }                                                                                    \
  template <typename T>                                                                \
  H &operator*=(const T &b) {                                                          \
    return *this = H(static_cast<float>(*this) * static_cast<float>(b));               \
  }                                                                                    \
  template <typename T>                                                                \
  H &operator/=(const T &b) {                                                          \
    return *this = H(static_cast<float>(*this) / static_cast<float>(b));               \
  }                                                                                    \
  H &operator++() { return *this += 1; }                                               \
  H &operator--() { return *this -= 1; }

#define HIPCPU_NARROW_BINARY(H, NAME, VALUE) \
  inline H NAME(H left, H right) {           \
    const float a = left, b = right;         \
    return H(VALUE);                         \
  }
#define HIPCPU_NARROW_COMPARE(H, NAME, OP) \
  inline bool NAME(H a, H b) { return static_cast<float>(a) OP static_cast<float>(b); }
#define HIPCPU_NARROW_UNARY(H, NAME, VALUE) \
  inline H NAME(H x) {                      \
    const float a = x;                      \
    return H(VALUE);                        \
  }

#define HIPCPU_NARROW_FUNCTIONS(H)                                                        \
  HIPCPU_NARROW_BINARY(H, operator+, a + b)                                               \
  HIPCPU_NARROW_BINARY(H, operator-, a - b)                                               \
  HIPCPU_NARROW_BINARY(H, operator*, a * b)                                               \
  HIPCPU_NARROW_BINARY(H, operator/, a / b)                                               \
  HIPCPU_NARROW_UNARY(H, operator-, -a)                                                   \
  HIPCPU_NARROW_COMPARE(H, operator==, ==)                                                \
  HIPCPU_NARROW_COMPARE(H, operator!=, !=)                                                \
  HIPCPU_NARROW_COMPARE(H, operator<, <)                                                  \
  HIPCPU_NARROW_COMPARE(H, operator<=, <=)                                                \
  HIPCPU_NARROW_COMPARE(H, operator>, >)                                                  \
  HIPCPU_NARROW_COMPARE(H, operator>=, >=)                                                \
  HIPCPU_NARROW_BINARY(H, __hadd, a + b)                                                  \
  HIPCPU_NARROW_BINARY(H, __hsub, a - b)                                                  \
  HIPCPU_NARROW_BINARY(H, __hmul, a * b)                                                  \
  HIPCPU_NARROW_BINARY(H, __hdiv, a / b)                                                  \
  HIPCPU_NARROW_BINARY(H, __hmax, fmaxf(a, b))                                            \
  HIPCPU_NARROW_BINARY(H, __hmin, fminf(a, b))                                            \
  HIPCPU_NARROW_BINARY(H, __hmax_nan, a != a ? a : b != b ? b : fmaxf(a, b))              \
  HIPCPU_NARROW_BINARY(H, __hmin_nan, a != a ? a : b != b ? b : fminf(a, b))              \
  HIPCPU_NARROW_COMPARE(H, __heq, ==)                                                     \
  HIPCPU_NARROW_COMPARE(H, __hne, !=)                                                     \
  HIPCPU_NARROW_COMPARE(H, __hlt, <)                                                      \
  HIPCPU_NARROW_COMPARE(H, __hle, <=)                                                     \
  HIPCPU_NARROW_COMPARE(H, __hgt, >)                                                      \
  HIPCPU_NARROW_COMPARE(H, __hge, >=)                                                     \
  inline bool __hisnan(H x) { return static_cast<float>(x) != static_cast<float>(x); }    \
  inline int __hisinf(H x) {                                                              \
    const float a = x;                                                                    \
    return std::isinf(a) ? (a > 0 ? 1 : -1) : 0;                                          \
  }                                                                                       \
  inline H __hfma(H a, H b, H c) {                                                        \
    return H(fmaf(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));  \
  }                                                                                       \
  HIPCPU_NARROW_UNARY(H, __hneg, -a)                                                      \
  HIPCPU_NARROW_UNARY(H, __habs, fabsf(a))                                                \
  HIPCPU_NARROW_UNARY(H, hsqrt, sqrtf(a))                                                 \
  HIPCPU_NARROW_UNARY(H, hrsqrt, 1.0f / sqrtf(a))                                         \
  HIPCPU_NARROW_UNARY(H, hrcp, 1.0f / a)                                                  \
  HIPCPU_NARROW_UNARY(H, hexp, expf(a))                                                   \
  HIPCPU_NARROW_UNARY(H, hexp2, exp2f(a))                                                 \
  HIPCPU_NARROW_UNARY(H, hexp10, powf(10.0f, a))                                          \
  HIPCPU_NARROW_UNARY(H, hlog, logf(a))                                                   \
  HIPCPU_NARROW_UNARY(H, hlog2, log2f(a))                                                 \
  HIPCPU_NARROW_UNARY(H, hlog10, log10f(a))                                               \
  HIPCPU_NARROW_UNARY(H, hsin, sinf(a))                                                   \
  HIPCPU_NARROW_UNARY(H, hcos, cosf(a))                                                   \
  HIPCPU_NARROW_UNARY(H, htanh, tanhf(a))                                                 \
  HIPCPU_NARROW_UNARY(H, hfloor, floorf(a))                                               \
  HIPCPU_NARROW_UNARY(H, hceil, ceilf(a))                                                 \
  HIPCPU_NARROW_UNARY(H, htrunc, truncf(a))                                               \
  HIPCPU_NARROW_UNARY(H, hrint, rintf(a))

// The same for a pair of them, element by element.
#define HIPCPU_PAIR_BINARY(P, NAME, FUNCTION) \
  inline P NAME(P a, P b) { return P{FUNCTION(a.x, b.x), FUNCTION(a.y, b.y)}; }
#define HIPCPU_PAIR_UNARY(P, NAME, FUNCTION) \
  inline P NAME(P a) { return P{FUNCTION(a.x), FUNCTION(a.y)}; }

#define HIPCPU_PAIR_FUNCTIONS(P)                                                      \
  HIPCPU_PAIR_BINARY(P, operator+, __hadd)                                            \
  HIPCPU_PAIR_BINARY(P, operator-, __hsub)                                            \
  HIPCPU_PAIR_BINARY(P, operator*, __hmul)                                            \
  HIPCPU_PAIR_BINARY(P, operator/, __hdiv)                                            \
  HIPCPU_PAIR_UNARY(P, operator-, __hneg)                                             \
  inline P &operator+=(P &a, P b) { return a = a + b; }                               \
  inline P &operator-=(P &a, P b) { return a = a - b; }                               \
  inline P &operator*=(P &a, P b) { return a = a * b; }                               \
  HIPCPU_PAIR_BINARY(P, __hadd2, __hadd)                                              \
  HIPCPU_PAIR_BINARY(P, __hsub2, __hsub)                                              \
  HIPCPU_PAIR_BINARY(P, __hmul2, __hmul)                                              \
  HIPCPU_PAIR_BINARY(P, __h2div, __hdiv)                                              \
  HIPCPU_PAIR_BINARY(P, __hmax2, __hmax)                                              \
  HIPCPU_PAIR_BINARY(P, __hmin2, __hmin)                                              \
  HIPCPU_PAIR_BINARY(P, __heq2, __heq)                                                \
  HIPCPU_PAIR_BINARY(P, __hne2, __hne)                                                \
  HIPCPU_PAIR_BINARY(P, __hlt2, __hlt)                                                \
  HIPCPU_PAIR_BINARY(P, __hle2, __hle)                                                \
  HIPCPU_PAIR_BINARY(P, __hgt2, __hgt)                                                \
  HIPCPU_PAIR_BINARY(P, __hge2, __hge)                                                \
  HIPCPU_PAIR_UNARY(P, __hneg2, __hneg)                                               \
  HIPCPU_PAIR_UNARY(P, __habs2, __habs)                                               \
  HIPCPU_PAIR_UNARY(P, h2exp, hexp)                                                   \
  HIPCPU_PAIR_UNARY(P, h2log, hlog)                                                   \
  HIPCPU_PAIR_UNARY(P, h2sqrt, hsqrt)                                                 \
  HIPCPU_PAIR_UNARY(P, h2rsqrt, hrsqrt)                                               \
  HIPCPU_PAIR_UNARY(P, h2rcp, hrcp)                                                   \
  inline P __hfma2(P a, P b, P c) {                                                   \
    return P{__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};                           \
  }                                                                                   \
  inline float __low2float(P a) { return a.x; }                                       \
  inline float __high2float(P a) { return a.y; }                                      \
  inline P __lowhigh2highlow(P a) { return P{a.y, a.x}; }                             \
  inline P atomicAdd(P *address, P value) {                                           \
    return hipcpu::atomic_update(address, [=](P seen) { return seen + value; });      \
  }                                                                                   \
  inline P unsafeAtomicAdd(P *address, P value) { return atomicAdd(address, value); }
