// A wavefront on the host: one thread a lane, in step wherever lanes look at each other. It gives
// the prelude headers what they take from HIP.
//
// Shuffles: HIP headers, amd_warp_functions.h.
#pragma once

#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#ifndef WAVE
#define WAVE 32
#endif

typedef _Float16 __half;
struct __hip_bfloat16 {
  uint16_t bits;
  __hip_bfloat16() = default;
  explicit __hip_bfloat16(float value) {
    uint32_t word;
    std::memcpy(&word, &value, 4);
    bits = (uint16_t)(word >> 16);  // the tests use values that need no rounding
  }
  explicit operator float() const {
    const uint32_t word = (uint32_t)bits << 16;
    float value;
    std::memcpy(&value, &word, 4);
    return value;
  }
};
inline __hip_bfloat16 operator+(__hip_bfloat16 a, __hip_bfloat16 b) {
  return __hip_bfloat16((float)a + (float)b);
}

inline std::optional<std::barrier<>> in_step;
inline uint64_t slots[WAVE];
inline thread_local unsigned own_lane;

inline unsigned __lane_id() { return own_lane; }

template <typename T>
T from_lane(T value, int source) {
  static_assert(sizeof(T) <= 8);
  std::memcpy(&slots[own_lane], &value, sizeof(T));
  in_step->arrive_and_wait();
  T result;
  std::memcpy(&result, &slots[source], sizeof(T));
  in_step->arrive_and_wait();
  return result;
}

template <typename T>
T __shfl(T value, int source, int width = WAVE) {
  const int self = (int)own_lane;
  return from_lane(value, (source & (width - 1)) + (self & ~(width - 1)));
}
template <typename T>
T __shfl_xor(T value, int mask, int width = WAVE) {
  const int self = (int)own_lane, index = self ^ mask;
  return from_lane(value, index >= ((self + width) & ~(width - 1)) ? self : index);
}
template <typename T>
T __shfl_up(T value, unsigned delta, int width = WAVE) {
  const int self = (int)own_lane, index = self - (int)delta;
  return from_lane(value, index < (self & ~(width - 1)) ? self : index);
}
template <typename T>
T __shfl_down(T value, unsigned delta, int width = WAVE) {
  const int self = (int)own_lane;
  const bool outside = (self & (width - 1)) + (int)delta >= width;
  return from_lane(value, outside ? self : self + (int)delta);
}
inline unsigned long long __ballot(int predicate) {
  slots[own_lane] = predicate != 0;
  in_step->arrive_and_wait();
  unsigned long long mask = 0;
  for (int i = 0; i < WAVE; ++i) mask |= (unsigned long long)slots[i] << i;
  in_step->arrive_and_wait();
  return mask;
}

inline unsigned atomicCAS(unsigned *address, unsigned compare, unsigned value) {
  __atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return compare;
}

inline void lane_fence(int, const char *) {}
#define __builtin_amdgcn_fence lane_fence
#define __builtin_amdgcn_wave_barrier in_step->arrive_and_wait
#define __builtin_amdgcn_read_exec() (~0ull)
#define __builtin_amdgcn_readlane(value, lane) from_lane(value, lane)

// Ends a lane, which others read zero from afterwards, as the hardware's permutation gives.
inline void leave_kernel() {
  slots[own_lane] = 0;
  in_step->arrive_and_drop();
}

// Runs a function on every lane of one wavefront.
inline void run_wave(const std::function<void()> &kernel) {
  std::vector<std::thread> threads;
  in_step.emplace(WAVE);
  for (unsigned lane = 0; lane < WAVE; ++lane) {
    threads.emplace_back([lane, &kernel] {
      own_lane = lane;
      kernel();
    });
  }
  for (auto &thread : threads) thread.join();
}
