// What translated sources take from the standard headers, for hipRTC, which has none of them.
//
// hipRTC declares some of it itself, a different part in each release. So what stands here has
// names of its own, and the standard's names are macros for them, from here on: after HIP's headers.
#pragma once

#include "hipx.h"

#if defined(__HIPCC_RTC__)

namespace hipx {
namespace standard {

typedef __INT8_TYPE__ signed8;
typedef __INT16_TYPE__ signed16;
typedef __INT32_TYPE__ signed32;
typedef __INT64_TYPE__ signed64;
typedef __UINT8_TYPE__ unsigned8;
typedef __UINT16_TYPE__ unsigned16;
typedef __UINT32_TYPE__ unsigned32;
typedef __UINT64_TYPE__ unsigned64;
typedef __UINTPTR_TYPE__ address;

template <typename A, typename B>
struct is_same {
  static constexpr bool value = __is_same(A, B);
};

template <typename T>
struct is_integral {
  static constexpr bool value = __is_integral(T);
};

template <bool condition, typename T = void>
struct enable_if {};

template <typename T>
struct enable_if<true, T> {
  typedef T type;
};

template <bool condition, typename T = void>
using enable_if_t = typename enable_if<condition, T>::type;

// Of integers only.
template <typename T>
struct numeric_limits {
  static_assert(__is_integral(T), "the limits of integers are all that is known here");
  static constexpr bool is_signed = T(-1) < T(0);
  static constexpr __host__ __device__ T max() {
    constexpr T half = T(1) << (8 * sizeof(T) - 2);
    return is_signed ? T(half - 1 + half) : T(-1);
  }
  static constexpr __host__ __device__ T min() { return is_signed ? T(-max() - 1) : T(0); }
  static constexpr __host__ __device__ T lowest() { return min(); }
};

}  // namespace standard
}  // namespace hipx

#define std hipx::standard

#define int8_t hipx::standard::signed8
#define int16_t hipx::standard::signed16
#define int32_t hipx::standard::signed32
#define int64_t hipx::standard::signed64
#define uint8_t hipx::standard::unsigned8
#define uint16_t hipx::standard::unsigned16
#define uint32_t hipx::standard::unsigned32
#define uint64_t hipx::standard::unsigned64
#define uintptr_t hipx::standard::address

#undef assert
#define assert(condition) ((condition) ? (void)0 : __builtin_trap())

#if !defined(INFINITY)
#define INFINITY __builtin_inff()
#endif
#if !defined(NAN)
#define NAN __builtin_nanf("")
#endif
#if !defined(M_2_SQRTPI)
#define M_2_SQRTPI 1.12837916709551257390
#endif
#if !defined(M_SQRT1_2)
#define M_SQRT1_2 0.70710678118654752440
#endif

#endif
