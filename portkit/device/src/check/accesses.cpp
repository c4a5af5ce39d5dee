// The functions that compiled-in checks call: those of ThreadSanitizer, which g++ and clang++ put
// before each access of memory (LLVM, compiler-rt/lib/tsan/rtl/tsan_interface.h). Code objects are
// not linked with its library, so they call these.
#include <string.h>

#include <type_traits>

#include "../exec/block.h"
#include "checker.h"

using hipcpu::BlockRunner;
using hipcpu::current_runner;
using hipcpu::check::Kind;

#define HOOK extern "C" __attribute__((visibility("default")))

namespace {

inline void note(const volatile void *address, size_t bytes, Kind kind, bool atomic,
                 const void *site) {
  BlockRunner *runner = current_runner();
  if (runner == nullptr || !hipcpu::check::enabled()) return;
  hipcpu::check::access(*runner, reinterpret_cast<uintptr_t>(address), bytes, kind, atomic, site);
}


}  // namespace

#define SIZE(BYTES)                                                                     \
  HOOK void __tsan_read##BYTES(void *p) {                                               \
    note(p, BYTES, Kind::read, false, __builtin_return_address(0));                          \
  }                                                                                     \
  HOOK void __tsan_write##BYTES(void *p) {                                              \
    note(p, BYTES, Kind::write, false, __builtin_return_address(0));                           \
  }                                                                                     \
  HOOK void __tsan_unaligned_read##BYTES(void *p) {                                     \
    note(p, BYTES, Kind::read, false, __builtin_return_address(0));                          \
  }                                                                                     \
  HOOK void __tsan_unaligned_write##BYTES(void *p) {                                    \
    note(p, BYTES, Kind::write, false, __builtin_return_address(0));                           \
  }                                                                                     \
  HOOK void __tsan_volatile_read##BYTES(void *p) {                                      \
    note(p, BYTES, Kind::read, false, __builtin_return_address(0));                          \
  }                                                                                     \
  HOOK void __tsan_volatile_write##BYTES(void *p) {                                     \
    note(p, BYTES, Kind::write, false, __builtin_return_address(0));                           \
  }                                                                                     \
  HOOK void __tsan_read_write##BYTES(void *p) {                                         \
    note(p, BYTES, Kind::change, false, __builtin_return_address(0));                           \
  }
SIZE(1)
SIZE(2)
SIZE(4)
SIZE(8)
SIZE(16)
#undef SIZE

HOOK void __tsan_read_range(void *p, size_t bytes) {
  note(p, bytes, Kind::read, false, __builtin_return_address(0));
}
HOOK void __tsan_write_range(void *p, size_t bytes) {
  note(p, bytes, Kind::change, false, __builtin_return_address(0));
}
HOOK void __tsan_vptr_update(void **, void *) {}
HOOK void __tsan_vptr_read(void **) {}
HOOK void __tsan_init() {}
HOOK void __tsan_func_entry(void *) {}
HOOK void __tsan_func_exit() {}

// Calls that the compiler does not turn into accesses of its own: code objects are linked so that
// they come here (ld's --wrap).
HOOK void *__wrap_memcpy(void *to, const void *from, size_t bytes) {
  note(from, bytes, Kind::read, false, __builtin_return_address(0));
  note(to, bytes, Kind::change, false, __builtin_return_address(0));
  return memcpy(to, from, bytes);
}
HOOK void *__wrap_memmove(void *to, const void *from, size_t bytes) {
  note(from, bytes, Kind::read, false, __builtin_return_address(0));
  note(to, bytes, Kind::change, false, __builtin_return_address(0));
  return memmove(to, from, bytes);
}
HOOK void *__wrap_memset(void *to, int value, size_t bytes) {
  note(to, bytes, Kind::change, false, __builtin_return_address(0));
  return memset(to, value, bytes);
}

// Atomic operations are done here, since the compiler leaves that to the hooks too.
#define ATOMIC(BITS, T)                                                                       \
  HOOK T __tsan_atomic##BITS##_load(const volatile T *p, int) {                               \
    note(p, sizeof(T), Kind::read, true, __builtin_return_address(0));                             \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                              \
  }                                                                                           \
  HOOK void __tsan_atomic##BITS##_store(volatile T *p, T v, int) {                            \
    note(p, sizeof(T), Kind::write, true, __builtin_return_address(0));                              \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                 \
  }                                                                                           \
  HOOK T __tsan_atomic##BITS##_exchange(volatile T *p, T v, int) {                            \
    note(p, sizeof(T), Kind::write, true, __builtin_return_address(0));                              \
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                       \
  }                                                                                           \
  HOOK int __tsan_atomic##BITS##_compare_exchange_strong(volatile T *p, T *seen, T v, int,    \
                                                         int) {                               \
    note(p, sizeof(T), Kind::change, true, __builtin_return_address(0));                              \
    return __atomic_compare_exchange_n(p, seen, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                           \
  HOOK int __tsan_atomic##BITS##_compare_exchange_weak(volatile T *p, T *seen, T v, int,      \
                                                       int) {                                 \
    note(p, sizeof(T), Kind::change, true, __builtin_return_address(0));                              \
    return __atomic_compare_exchange_n(p, seen, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                           \
  HOOK T __tsan_atomic##BITS##_compare_exchange_val(volatile T *p, T seen, T v, int, int) {   \
    note(p, sizeof(T), Kind::change, true, __builtin_return_address(0));                              \
    __atomic_compare_exchange_n(p, &seen, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);      \
    return seen;                                                                              \
  }                                                                                           \
  FETCH(BITS, T, add)                                                                         \
  FETCH(BITS, T, sub)                                                                         \
  FETCH(BITS, T, and)                                                                         \
  FETCH(BITS, T, or)                                                                          \
  FETCH(BITS, T, xor)                                                                         \
  FETCH(BITS, T, nand)
#define FETCH(BITS, T, OP)                                                                    \
  HOOK T __tsan_atomic##BITS##_fetch_##OP(volatile T *p, T v, int) {                          \
    note(p, sizeof(T), Kind::change, true, __builtin_return_address(0));                              \
    return __atomic_fetch_##OP(p, v, __ATOMIC_SEQ_CST);                                       \
  }
ATOMIC(8, unsigned char)
ATOMIC(16, unsigned short)
ATOMIC(32, unsigned)
ATOMIC(64, unsigned long)
#undef ATOMIC
#undef FETCH

HOOK void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
HOOK void __tsan_atomic_signal_fence(int) {}
