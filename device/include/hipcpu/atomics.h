// Atomic functions (HIP, "Atomic functions"). Each gives what was there before.
#pragma once

#include <stdint.h>
#include <string.h>

#include <type_traits>

namespace hipcpu {

// The unsigned integer of the same size.
template <typename T>
using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// Replaces the value by a function of it.
template <typename T, typename Next>
inline T atomic_update(T *address, Next next) {
  auto *bits = reinterpret_cast<Bits<T> *>(address);
  Bits<T> seen = __atomic_load_n(bits, __ATOMIC_RELAXED);
  for (;;) {
    T before;
    memcpy(&before, &seen, sizeof before);
    const T after = next(before);
    Bits<T> wanted;
    memcpy(&wanted, &after, sizeof wanted);
    if (__atomic_compare_exchange_n(bits, &seen, wanted, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      return before;
    }
  }
}

}  // namespace hipcpu

#define HIPCPU_ATOMIC_INTEGER(T)                                                                \
  inline T atomicAdd(T *p, T v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }          \
  inline T atomicSub(T *p, T v) { return __atomic_fetch_sub(p, v, __ATOMIC_RELAXED); }          \
  inline T atomicAnd(T *p, T v) { return __atomic_fetch_and(p, v, __ATOMIC_RELAXED); }          \
  inline T atomicOr(T *p, T v) { return __atomic_fetch_or(p, v, __ATOMIC_RELAXED); }            \
  inline T atomicXor(T *p, T v) { return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED); }          \
  inline T atomicExch(T *p, T v) { return __atomic_exchange_n(p, v, __ATOMIC_RELAXED); }        \
  inline T atomicMin(T *p, T v) {                                                               \
    return hipcpu::atomic_update(p, [=](T seen) { return v < seen ? v : seen; });               \
  }                                                                                             \
  inline T atomicMax(T *p, T v) {                                                               \
    return hipcpu::atomic_update(p, [=](T seen) { return v > seen ? v : seen; });               \
  }                                                                                             \
  inline T atomicCAS(T *p, T compare, T v) {                                                    \
    __atomic_compare_exchange_n(p, &compare, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);     \
    return compare;                                                                             \
  }
HIPCPU_ATOMIC_INTEGER(int)
HIPCPU_ATOMIC_INTEGER(unsigned)
HIPCPU_ATOMIC_INTEGER(unsigned long)
HIPCPU_ATOMIC_INTEGER(unsigned long long)
HIPCPU_ATOMIC_INTEGER(long long)
#undef HIPCPU_ATOMIC_INTEGER

#define HIPCPU_ATOMIC_FLOAT(T)                                                                  \
  inline T atomicAdd(T *p, T v) {                                                               \
    return hipcpu::atomic_update(p, [=](T seen) { return seen + v; });                          \
  }                                                                                             \
  inline T atomicSub(T *p, T v) { return atomicAdd(p, -v); }                                    \
  inline T unsafeAtomicAdd(T *p, T v) { return atomicAdd(p, v); }                               \
  inline T safeAtomicAdd(T *p, T v) { return atomicAdd(p, v); }                                 \
  inline T atomicExch(T *p, T v) {                                                              \
    return hipcpu::atomic_update(p, [=](T) { return v; });                                      \
  }                                                                                             \
  inline T atomicMin(T *p, T v) {                                                               \
    return hipcpu::atomic_update(p, [=](T seen) { return v < seen ? v : seen; });               \
  }                                                                                             \
  inline T atomicMax(T *p, T v) {                                                               \
    return hipcpu::atomic_update(p, [=](T seen) { return v > seen ? v : seen; });               \
  }
HIPCPU_ATOMIC_FLOAT(float)
HIPCPU_ATOMIC_FLOAT(double)
#undef HIPCPU_ATOMIC_FLOAT

inline unsigned atomicInc(unsigned *p, unsigned limit) {
  return hipcpu::atomic_update(p, [=](unsigned seen) { return seen >= limit ? 0 : seen + 1; });
}
inline unsigned atomicDec(unsigned *p, unsigned limit) {
  return hipcpu::atomic_update(
      p, [=](unsigned seen) { return seen == 0 || seen > limit ? limit : seen - 1; });
}

// The whole system is the one process.
#define atomicAdd_system atomicAdd
#define atomicSub_system atomicSub
#define atomicAnd_system atomicAnd
#define atomicOr_system atomicOr
#define atomicXor_system atomicXor
#define atomicExch_system atomicExch
#define atomicMin_system atomicMin
#define atomicMax_system atomicMax
#define atomicCAS_system atomicCAS

// clang's builtins with a scope (Clang Language Extensions, "__hip_atomic"); every scope is the
// whole device here.
#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5

#if !__has_builtin(__hip_atomic_fetch_add)
#define HIPCPU_ATOMIC_SCOPED(NAME, ATOMIC)                                                      \
  template <typename T>                                                                         \
  inline T NAME(T *p, std::common_type_t<T> v, int, int) {                                      \
    __atomic_thread_fence(__ATOMIC_SEQ_CST);                                                    \
    const T before = ATOMIC(p, v);                                                              \
    __atomic_thread_fence(__ATOMIC_SEQ_CST);                                                    \
    return before;                                                                              \
  }
HIPCPU_ATOMIC_SCOPED(__hip_atomic_fetch_add, atomicAdd)
HIPCPU_ATOMIC_SCOPED(__hip_atomic_fetch_sub, atomicSub)
HIPCPU_ATOMIC_SCOPED(__hip_atomic_fetch_and, atomicAnd)
HIPCPU_ATOMIC_SCOPED(__hip_atomic_fetch_or, atomicOr)
HIPCPU_ATOMIC_SCOPED(__hip_atomic_fetch_xor, atomicXor)
HIPCPU_ATOMIC_SCOPED(__hip_atomic_fetch_min, atomicMin)
HIPCPU_ATOMIC_SCOPED(__hip_atomic_fetch_max, atomicMax)
HIPCPU_ATOMIC_SCOPED(__hip_atomic_exchange, atomicExch)
#undef HIPCPU_ATOMIC_SCOPED

template <typename T>
inline T __hip_atomic_load(const T *p, int, int) {
  T value;
  __atomic_load(p, &value, __ATOMIC_SEQ_CST);
  return value;
}
template <typename T>
inline void __hip_atomic_store(T *p, std::common_type_t<T> value, int, int) {
  __atomic_store(p, &value, __ATOMIC_SEQ_CST);
}
#endif

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
