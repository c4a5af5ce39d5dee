// Atomics on 16-bit values, which CUDA has and HIP lacks. They are constrained templates: should
// a later HIP bring its own overloads, those win.
#pragma once

#include "hipx.h"

namespace hipx {

// Compare and swap of the 16 bits at `address`, by the aligned word that holds them.
HIPX_DEVICE unsigned short cas16(unsigned short *address, unsigned short compare,
                                 unsigned short value) {
  const bool upper = ((size_t)address & 2) != 0;
  unsigned *word = (unsigned *)((char *)address - ((size_t)address & 2));
  unsigned old = __atomic_load_n(word, __ATOMIC_RELAXED);
  for (;;) {
    const unsigned short current = (unsigned short)(upper ? old >> 16 : old & 0xffffu);
    if (current != compare) return current;
    const unsigned next =
        upper ? (old & 0xffffu) | ((unsigned)value << 16) : (old & 0xffff0000u) | value;
    const unsigned seen = atomicCAS(word, old, next);
    if (seen == old) return compare;
    old = seen;
  }
}

template <typename T>
constexpr bool is_narrow_float =
    std::is_same<T, __half>::value || std::is_same<T, __hip_bfloat16>::value;

}  // namespace hipx

template <typename T, typename = std::enable_if_t<std::is_same<T, unsigned short>::value>>
HIPX_DEVICE T atomicCAS(T *address, T compare, T value) {
  return hipx::cas16(address, compare, value);
}

template <typename T, typename = std::enable_if_t<hipx::is_narrow_float<T>>, typename = void>
HIPX_DEVICE T atomicAdd(T *address, T value) {
  unsigned short *bits = (unsigned short *)address;
  unsigned short old = __atomic_load_n(bits, __ATOMIC_RELAXED);
  for (;;) {
    T current;
    __builtin_memcpy(&current, &old, 2);
    const T next = current + value;
    unsigned short next_bits;
    __builtin_memcpy(&next_bits, &next, 2);
    const unsigned short seen = hipx::cas16(bits, old, next_bits);
    if (seen == old) return current;
    old = seen;
  }
}
