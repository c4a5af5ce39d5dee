// Barriers, and functions of the lanes of a wavefront (HIP, "Warp cross-lane functions").
#pragma once

#include <stdint.h>
#include <string.h>
#include <time.h>

#include "keywords.h"

inline void __syncthreads() { hipcpu_barrier(); }

inline unsigned __lane_id() { return hipcpu_thread.lane; }

namespace hipcpu {

template <typename T>
inline T shuffled(T value, unsigned source) {
  static_assert(sizeof(T) <= 8, "what a shuffle moves has at most 64 bits");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  bits = hipcpu_shuffle(bits, source);
  memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace hipcpu

// Groups of `width` lanes, a power of two, each by itself. A lane whose source lies outside of its
// group keeps its own value.
template <typename T>
inline T __shfl(T value, int source, int width = warpSize) {
  const int own = static_cast<int>(__lane_id());
  return hipcpu::shuffled(value, static_cast<unsigned>((own & -width) | (source & (width - 1))));
}

template <typename T>
inline T __shfl_up(T value, unsigned delta, int width = warpSize) {
  const int own = static_cast<int>(__lane_id()), source = own - static_cast<int>(delta);
  return hipcpu::shuffled(value, static_cast<unsigned>(source < (own & -width) ? own : source));
}

template <typename T>
inline T __shfl_down(T value, unsigned delta, int width = warpSize) {
  const int own = static_cast<int>(__lane_id()), source = own + static_cast<int>(delta);
  return hipcpu::shuffled(value,
                          static_cast<unsigned>(source >= (own & -width) + width ? own : source));
}

template <typename T>
inline T __shfl_xor(T value, int mask, int width = warpSize) {
  const int own = static_cast<int>(__lane_id()), source = own ^ mask;
  return hipcpu::shuffled(value,
                          static_cast<unsigned>(source >= (own & -width) + width ? own : source));
}

inline uint64_t __ballot(int predicate) { return hipcpu_ballot(predicate != 0); }
inline uint64_t __ballot64(int predicate) { return hipcpu_ballot(predicate != 0); }
inline uint64_t __activemask() { return hipcpu_ballot(true); }
inline int __any(int predicate) { return hipcpu_ballot(predicate != 0) != 0; }
inline int __all(int predicate) { return hipcpu_ballot(predicate == 0) == 0; }

inline int __syncthreads_count(int predicate) {
  static hipcpu::Shared slot{{0, "__syncthreads_count"}};
  int &count = slot;
  if (hipcpu_thread.thread.x + hipcpu_thread.thread.y + hipcpu_thread.thread.z == 0) count = 0;
  hipcpu_barrier();
  if (predicate != 0) __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
  hipcpu_barrier();
  const int result = count;
  hipcpu_barrier();
  return result;
}
inline int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
inline int __syncthreads_and(int predicate) { return __syncthreads_count(predicate == 0) == 0; }

// Nanoseconds stand for clock ticks.
inline long long clock64() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}
inline long long wall_clock64() { return clock64(); }
