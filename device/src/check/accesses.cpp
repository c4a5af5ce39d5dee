// The functions that compiled-in checks call: those of ThreadSanitizer, which g++ and clang++ put
// before each access of memory (LLVM, compiler-rt/lib/tsan/rtl/tsan_interface.h). Code objects are
// not linked with its library, so they call these.
#include <string.h>

#include <type_traits>

#include "../exec/block.h"
#include "checker.h"
#include "traffic.h"

using hipcpu::BlockRunner;
using hipcpu::check::Access;
using hipcpu::check::Kind;
using hipcpu::check::Shadow;

#define HOOK extern "C" __attribute__((visibility("default")))
// Where in the code object the hook was called.
#define HERE __builtin_return_address(0)

namespace {

// Of what is no memory of a device, such as the stack of a thread, nothing is known.
inline __attribute__((always_inline)) void note(const volatile void *pointer, size_t bytes,
                                                Kind kind, bool atomic, const void *site) {
  // No fiber is switched to in here, so the variable of the host thread can be read.
  auto *runner = static_cast<BlockRunner *>(hipcpu_thread.runner);
  Shadow *shadow = hipcpu::check::device_shadow;
  if (runner == nullptr || shadow == nullptr) return;
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (shadow->contains(address)) {
    if (kind != Kind::write) {
      hipcpu::check::traffic.kernel_reads(address, bytes, runner->cell(atomic).work());
    }
    if (kind != Kind::read) hipcpu::check::traffic.writes(bytes);
  } else {
    shadow = &runner->shared_shadow();
    if (!shadow->contains(address)) return;
  }
  const Access access{address, bytes, kind, runner->cell(atomic)};
  if (!shadow->note_ordered(address, bytes, access.writes(), access.by, runner->known_before())) {
    hipcpu::check::access(*runner, *shadow, access, site);
  }
}

}  // namespace

#define SIZE(BYTES)                                                                           \
  HOOK void __tsan_read##BYTES(void *p) {                                                     \
    note(p, BYTES, Kind::read, false, HERE);                                                  \
  }                                                                                           \
  HOOK void __tsan_write##BYTES(void *p) {                                                    \
    note(p, BYTES, Kind::write, false, HERE);                                                 \
  }                                                                                           \
  HOOK void __tsan_unaligned_read##BYTES(void *p) {                                           \
    note(p, BYTES, Kind::read, false, HERE);                                                  \
  }                                                                                           \
  HOOK void __tsan_unaligned_write##BYTES(void *p) {                                          \
    note(p, BYTES, Kind::write, false, HERE);                                                 \
  }                                                                                           \
  HOOK void __tsan_volatile_read##BYTES(void *p) {                                            \
    note(p, BYTES, Kind::read, false, HERE);                                                  \
  }                                                                                           \
  HOOK void __tsan_volatile_write##BYTES(void *p) {                                           \
    note(p, BYTES, Kind::write, false, HERE);                                                 \
  }                                                                                           \
  HOOK void __tsan_read_write##BYTES(void *p) {                                               \
    note(p, BYTES, Kind::change, false, HERE);                                                \
  }
SIZE(1)
SIZE(2)
SIZE(4)
SIZE(8)
SIZE(16)
#undef SIZE

HOOK void __tsan_read_range(void *p, size_t bytes) {
  note(p, bytes, Kind::read, false, HERE);
}
HOOK void __tsan_write_range(void *p, size_t bytes) {
  note(p, bytes, Kind::write, false, HERE);
}
HOOK void __tsan_vptr_update(void **, void *) {}
HOOK void __tsan_vptr_read(void **) {}
HOOK void __tsan_init() {}
HOOK void __tsan_func_entry(void *) {}
HOOK void __tsan_func_exit() {}

// Calls that the compiler does not turn into accesses of its own: code objects are linked so that
// they come here (ld's --wrap).
HOOK void *__wrap_memcpy(void *to, const void *from, size_t bytes) {
  note(from, bytes, Kind::read, false, HERE);
  note(to, bytes, Kind::write, false, HERE);
  return memcpy(to, from, bytes);
}
HOOK void *__wrap_memmove(void *to, const void *from, size_t bytes) {
  note(from, bytes, Kind::read, false, HERE);
  note(to, bytes, Kind::write, false, HERE);
  return memmove(to, from, bytes);
}
HOOK void *__wrap_memset(void *to, int value, size_t bytes) {
  note(to, bytes, Kind::write, false, HERE);
  return memset(to, value, bytes);
}

// Atomic operations are done here, since the compiler leaves that to the hooks too.
#define ATOMIC(BITS, T)                                                                       \
  HOOK T __tsan_atomic##BITS##_load(const volatile T *p, int) {                               \
    note(p, sizeof(T), Kind::read, true, HERE);                                               \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                              \
  }                                                                                           \
  HOOK void __tsan_atomic##BITS##_store(volatile T *p, T v, int) {                            \
    note(p, sizeof(T), Kind::write, true, HERE);                                              \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                 \
  }                                                                                           \
  HOOK T __tsan_atomic##BITS##_exchange(volatile T *p, T v, int) {                            \
    note(p, sizeof(T), Kind::write, true, HERE);                                              \
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                       \
  }                                                                                           \
  HOOK int __tsan_atomic##BITS##_compare_exchange_strong(volatile T *p, T *seen, T v, int,    \
                                                         int) {                               \
    note(p, sizeof(T), Kind::change, true, HERE);                                             \
    return __atomic_compare_exchange_n(p, seen, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);\
  }                                                                                           \
  HOOK int __tsan_atomic##BITS##_compare_exchange_weak(volatile T *p, T *seen, T v, int,      \
                                                       int) {                                 \
    note(p, sizeof(T), Kind::change, true, HERE);                                             \
    return __atomic_compare_exchange_n(p, seen, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);\
  }                                                                                           \
  HOOK T __tsan_atomic##BITS##_compare_exchange_val(volatile T *p, T seen, T v, int, int) {   \
    note(p, sizeof(T), Kind::change, true, HERE);                                             \
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
    note(p, sizeof(T), Kind::change, true, HERE);                                             \
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
