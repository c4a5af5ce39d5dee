// PTX instructions that read and write memory (`hipx_ptx.h`). What they tell the caches is gone: it
// changes no result. Asynchronous copies are made at once by the thread itself, so that to wait for
// them is nothing.
#pragma once

#include "hipx.h"

#include "hipx_ptx_operand.h"

namespace hipx {
namespace ptx {

// ---- "State Spaces": an address of shared memory is a number of 32 bits ------------------------

#if __has_builtin(__builtin_amdgcn_is_shared)
// On AMD it is the place in the block's local data share.
HIPX_DEVICE b32 shared_address(const void *pointer) {
  return (b32)(size_t)(__attribute__((address_space(3))) const char *)pointer;
}
HIPX_DEVICE char *shared_pointer(b32 address) {
  return (char *)(__attribute__((address_space(3))) char *)(size_t)address;
}
#else
// Where it is memory like any other: what is above those bits is that of the dynamic memory's.
HIPX_DEVICE b32 shared_address(const void *pointer) { return (b32)(size_t)pointer; }
HIPX_DEVICE char *shared_pointer(b32 address) {
  extern __shared__ char hipx_dynamic[];
  const size_t near = (size_t)hipx_dynamic;
  return (char *)(near + (size_t)(long long)(int)(address - (b32)near));
}
#endif

// An operand in brackets as a pointer: a pointer is one, a number an address of its state space.
template <typename T>
HIPX_DEVICE char *shared(T *pointer) {
  return (char *)pointer;
}
template <typename T>
HIPX_DEVICE char *shared(T address) {
  return shared_pointer((b32)address);
}
template <typename T>
HIPX_DEVICE char *global(T *pointer) {
  return (char *)pointer;
}
template <typename T>
HIPX_DEVICE char *global(T address) {
  return as<char *>(address);
}

// The operand [address + bytes].
template <typename T>
HIPX_DEVICE const char *offset(T *pointer, int bytes) {
  return (const char *)pointer + bytes;
}
template <typename T>
HIPX_DEVICE T offset(T address, int bytes) {
  return (T)(address + (T)bytes);
}

// ---- "Data Movement and Conversion Instructions: ld, st" ---------------------------------------
// A register may be wider than what is loaded, which is widened with zeros or with its sign, and
// than what is stored, which is its lower part.

template <typename T>
struct plain {  // ld.weak, and what says nothing
  static HIPX_DEVICE T load(const char *from) {
    T value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
  }
  static HIPX_DEVICE void store(char *to, T value) { __builtin_memcpy(to, &value, sizeof value); }
  static HIPX_DEVICE void before() {}
  static HIPX_DEVICE void after() {}
};
template <typename T>
struct relaxed {  // ld.volatile too, which is ld.relaxed of the whole system with more order
  static HIPX_DEVICE T load(const char *from) {
    return __atomic_load_n((const T *)from, __ATOMIC_RELAXED);
  }
  static HIPX_DEVICE void store(char *to, T value) {
    __atomic_store_n((T *)to, value, __ATOMIC_RELAXED);
  }
  static HIPX_DEVICE void before() {}
  static HIPX_DEVICE void after() {}
};
template <typename T>
struct ordered : relaxed<T> {  // ld.acquire, st.release, of any scope
  static HIPX_DEVICE void before() { __threadfence_system(); }
  static HIPX_DEVICE void after() { __threadfence_system(); }
};

template <typename T, typename D>
HIPX_DEVICE void widened(D &d, T value) {
  static_assert(sizeof(D) >= sizeof(T), "a register is too small for what is loaded");
  const long long wide = (long long)value;
  __builtin_memcpy((void *)&d, &wide, sizeof d);
}
template <typename T>
HIPX_DEVICE void widened(ignored &, T) {}

template <typename T, typename X>
HIPX_DEVICE T narrowed(X x) {
  static_assert(sizeof(X) >= sizeof(T), "a register is too small for what is stored");
  T value;
  __builtin_memcpy(&value, &x, sizeof value);
  return value;
}

// Vectors are aligned as a whole, so that one instruction moves them.
template <template <typename> class Order, typename T, typename... D>
HIPX_DEVICE void load(const char *from, D &...d) {
  from = (const char *)__builtin_assume_aligned(from, sizeof...(D) * sizeof(T));
  T read[sizeof...(D)];
#pragma unroll
  for (unsigned i = 0; i < sizeof...(D); ++i) read[i] = Order<T>::load(from + i * sizeof(T));
  Order<T>::after();
  unsigned next = 0;
  (widened(d, read[next++]), ...);
}

template <template <typename> class Order, typename T, typename... X>
HIPX_DEVICE void store(char *to, X... x) {
  to = (char *)__builtin_assume_aligned(to, sizeof...(X) * sizeof(T));
  const T values[] = {narrowed<T>(x)...};
  Order<T>::before();
#pragma unroll
  for (unsigned i = 0; i < sizeof...(X); ++i) Order<T>::store(to + i * sizeof(T), values[i]);
}

#define HIPX_PTX_MOVE(NAME, SPACE, ORDER, TYPE, T)                         \
  template <typename D, typename A>                                        \
  HIPX_DEVICE void ld##NAME##_##TYPE(D &&d, A a) {                         \
    load<ORDER, T>(SPACE(a), d);                                           \
  }                                                                        \
  template <typename D, typename E, typename A>                            \
  HIPX_DEVICE void ld##NAME##_v2_##TYPE(D &&d, E &&e, A a) {               \
    load<ORDER, T>(SPACE(a), d, e);                                        \
  }                                                                        \
  template <typename D, typename E, typename F, typename G, typename A>    \
  HIPX_DEVICE void ld##NAME##_v4_##TYPE(D &&d, E &&e, F &&f, G &&g, A a) { \
    load<ORDER, T>(SPACE(a), d, e, f, g);                                  \
  }                                                                        \
  template <typename A, typename X>                                        \
  HIPX_DEVICE void st##NAME##_##TYPE(A a, X x) {                           \
    store<ORDER, T>(SPACE(a), x);                                          \
  }                                                                        \
  template <typename A, typename X, typename Y>                            \
  HIPX_DEVICE void st##NAME##_v2_##TYPE(A a, X x, Y y) {                   \
    store<ORDER, T>(SPACE(a), x, y);                                       \
  }                                                                        \
  template <typename A, typename X, typename Y, typename Z, typename W>    \
  HIPX_DEVICE void st##NAME##_v4_##TYPE(A a, X x, Y y, Z z, W w) {         \
    store<ORDER, T>(SPACE(a), x, y, z, w);                                 \
  }
#define HIPX_PTX_MOVES(NAME, SPACE, ORDER)             \
  HIPX_PTX_MOVE(NAME, SPACE, ORDER, b8, unsigned char) \
  HIPX_PTX_MOVE(NAME, SPACE, ORDER, s8, signed char)   \
  HIPX_PTX_MOVE(NAME, SPACE, ORDER, b16, b16)          \
  HIPX_PTX_MOVE(NAME, SPACE, ORDER, s16, short)        \
  HIPX_PTX_MOVE(NAME, SPACE, ORDER, b32, b32)          \
  HIPX_PTX_MOVE(NAME, SPACE, ORDER, b64, b64)
HIPX_PTX_MOVES(, global, plain)
HIPX_PTX_MOVES(_global, global, plain)
HIPX_PTX_MOVES(_shared, shared, plain)
HIPX_PTX_MOVES(_relaxed, global, relaxed)
HIPX_PTX_MOVES(_relaxed_global, global, relaxed)
HIPX_PTX_MOVES(_relaxed_shared, shared, relaxed)
HIPX_PTX_MOVES(_ordered, global, ordered)
HIPX_PTX_MOVES(_ordered_global, global, ordered)
HIPX_PTX_MOVES(_ordered_shared, shared, ordered)
#undef HIPX_PTX_MOVES
#undef HIPX_PTX_MOVE

// ---- "Data Movement and Conversion Instructions: cvta, prefetch" -------------------------------

template <typename D, typename A>
HIPX_DEVICE void cvta_to_shared(D &&d, A a) {
  widened(d, shared_address(global(a)));
}
template <typename D, typename A>
HIPX_DEVICE void cvta_shared(D &&d, A a) {
  set(d, shared(a));
}
template <typename D, typename A>
HIPX_DEVICE void cvta_global(D &&d, A a) {
  set(d, a);
}
template <typename A>
HIPX_DEVICE void prefetch(A) {}

// ---- "Data Movement and Conversion Instructions: Asynchronous copy, cp.async" ------------------
// From global to shared memory; where fewer bytes are given than copied, zeros follow them.

template <typename T>
HIPX_DEVICE void copied(char *to, const char *from) {
  const T *aligned = (const T *)__builtin_assume_aligned(from, sizeof(T));
  __builtin_memcpy(__builtin_assume_aligned(to, sizeof(T)), aligned, sizeof(T));
}

HIPX_DEVICE void copied(char *to, const char *from, unsigned bytes, unsigned given) {
  struct sixteen {
    b64 low, high;
  };
  if (given >= bytes) {
    if (bytes == 16) return copied<sixteen>(to, from);
    if (bytes == 8) return copied<b64>(to, from);
    if (bytes == 4) return copied<b32>(to, from);
  }
  for (unsigned i = 0; i < bytes; ++i) to[i] = i < given ? from[i] : (char)0;
}

template <typename A, typename B>
HIPX_DEVICE void cp_async_shared_global(A a, B b, unsigned bytes) {
  copied(shared(a), global(b), bytes, bytes);
}
template <typename A, typename B, typename N>
HIPX_DEVICE void cp_async_shared_global(A a, B b, unsigned bytes, N given) {
  copied(shared(a), global(b), bytes, as<unsigned>(given));
}
HIPX_DEVICE void cp_async_commit_group() {}
HIPX_DEVICE void cp_async_wait_group(unsigned) {}
HIPX_DEVICE void cp_async_wait_all() {}

// ---- "Parallel Synchronization and Communication Instructions: red, atom" ----------------------

#define HIPX_PTX_ATOMIC(OPERATION, TYPE, T, FUNCTION)                  \
  template <typename A, typename X>                                    \
  HIPX_DEVICE void red_global_##OPERATION##_##TYPE(A a, X x) {         \
    (void)FUNCTION((T *)global(a), as<T>(x));                          \
  }                                                                    \
  template <typename A, typename X>                                    \
  HIPX_DEVICE void red_shared_##OPERATION##_##TYPE(A a, X x) {         \
    (void)FUNCTION((T *)shared(a), as<T>(x));                          \
  }                                                                    \
  template <typename D, typename A, typename X>                        \
  HIPX_DEVICE void atom_global_##OPERATION##_##TYPE(D &&d, A a, X x) { \
    set(d, FUNCTION((T *)global(a), as<T>(x)));                        \
  }                                                                    \
  template <typename D, typename A, typename X>                        \
  HIPX_DEVICE void atom_shared_##OPERATION##_##TYPE(D &&d, A a, X x) { \
    set(d, FUNCTION((T *)shared(a), as<T>(x)));                        \
  }
#define HIPX_PTX_ATOMICS(TYPE, T)          \
  HIPX_PTX_ATOMIC(add, TYPE, T, atomicAdd) \
  HIPX_PTX_ATOMIC(min, TYPE, T, atomicMin) \
  HIPX_PTX_ATOMIC(max, TYPE, T, atomicMax) \
  HIPX_PTX_ATOMIC(and, TYPE, T, atomicAnd) \
  HIPX_PTX_ATOMIC(or, TYPE, T, atomicOr)   \
  HIPX_PTX_ATOMIC(xor, TYPE, T, atomicXor) \
  HIPX_PTX_ATOMIC(exch, TYPE, T, atomicExch)
HIPX_PTX_ATOMICS(s32, int)
HIPX_PTX_ATOMICS(u32, b32)
HIPX_PTX_ATOMIC(add, u64, b64, atomicAdd)
HIPX_PTX_ATOMIC(add, f32, float, atomicAdd)
#undef HIPX_PTX_ATOMICS
#undef HIPX_PTX_ATOMIC

}  // namespace ptx

// CUDA C++ Programming Guide, "Address Space Conversion Functions".
HIPX_DEVICE size_t generic_to_shared(const void *pointer) { return ptx::shared_address(pointer); }
HIPX_DEVICE size_t generic_to_global(const void *pointer) { return (size_t)pointer; }
HIPX_DEVICE void *shared_to_generic(size_t address) {
  return ptx::shared_pointer((unsigned)address);
}
HIPX_DEVICE void *global_to_generic(size_t address) { return (void *)address; }

}  // namespace hipx
