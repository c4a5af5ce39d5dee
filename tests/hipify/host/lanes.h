// A wavefront on the host: one thread a lane, in step wherever lanes look at each other. It gives
// the prelude headers what they take from HIP.
//
// Shuffles: HIP headers, amd_warp_functions.h. Matrix instructions: the operand layouts that AMD
// publishes ("AMD Matrix Instruction Calculator"; "RDNA3" and "RDNA4 Instruction Set Architecture",
// WMMA), written here as from row, column to lane, register; they are multiplied as plain numbers.
#pragma once

#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <functional>
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

inline std::barrier<> in_step(WAVE);
inline uint64_t slots[WAVE];
inline thread_local unsigned own_lane;

inline unsigned __lane_id() { return own_lane; }

template <typename T>
T from_lane(T value, int source) {
  static_assert(sizeof(T) <= 8);
  std::memcpy(&slots[own_lane], &value, sizeof(T));
  in_step.arrive_and_wait();
  T result;
  std::memcpy(&result, &slots[source], sizeof(T));
  in_step.arrive_and_wait();
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
  in_step.arrive_and_wait();
  unsigned long long mask = 0;
  for (int i = 0; i < WAVE; ++i) mask |= (unsigned long long)slots[i] << i;
  in_step.arrive_and_wait();
  return mask;
}

inline unsigned atomicCAS(unsigned *address, unsigned compare, unsigned value) {
  __atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return compare;
}

inline void lane_fence(int, const char *) {}
#define __builtin_amdgcn_fence lane_fence
#define __builtin_amdgcn_wave_barrier in_step.arrive_and_wait
#define __builtin_amdgcn_read_exec() (~0ull)
#define __builtin_amdgcn_readlane(value, lane) from_lane(value, lane)

// The value of any lane's operand: lane, then element of its registers.
inline float operand_a[WAVE][16], operand_b[WAVE][16], operand_c[WAVE][8];

template <typename V, typename E>
void publish(float (&rows)[WAVE][16], V v, E) {
  for (unsigned j = 0; j < sizeof(V) / 2; ++j) {
    E element;
    short raw;
    if constexpr (sizeof(v[0]) == 2) {
      auto part = v[j];
      std::memcpy(&raw, &part, 2);
    }
    std::memcpy(&element, &raw, 2);
    rows[own_lane][j] = (float)element;
  }
}

// Where an element of A (row, k) and of B (k, column) lies, and an element of C and D.
struct Place {
  int lane, element;
};
struct Mfma {
  static constexpr int registers = 4;
  static Place a(int row, int k) { return {row + 16 * (k / 4), k % 4}; }
  static Place c(int row, int column) { return {column + 16 * (row / 4), row % 4}; }
};
struct WmmaRdna3 {
  static constexpr int registers = 8;
  static Place a(int row, int k) { return {row, k}; }
  static Place c(int row, int column) { return {column + 16 * (row % 2), row / 2}; }
};
struct WmmaRdna4 {
  static constexpr int registers = 8;
  static Place a(int row, int k) { return {row + 16 * (k / 8), k % 8}; }
  static Place c(int row, int column) { return {column + 16 * (row / 8), row % 8}; }
};

template <typename Layout, typename E, typename AB, typename C>
C matrix_instruction(AB a, AB b, C c) {
  publish(operand_a, a, E{});
  publish(operand_b, b, E{});
  for (int i = 0; i < Layout::registers; ++i) operand_c[own_lane][i] = c[i];
  in_step.arrive_and_wait();
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) {
      const Place to = Layout::c(row, column);
      if (to.lane != (int)own_lane % (Layout::registers == 4 ? 64 : 32)) continue;
      float sum = operand_c[own_lane][to.element];
      for (int k = 0; k < 16; ++k) {
        // A wave of 32 lanes is all that v_wmma sees; B is A's layout with columns for rows.
        const Place pa = Layout::a(row, k), pb = Layout::a(column, k);
        sum += operand_a[pa.lane][pa.element] * operand_b[pb.lane][pb.element];
      }
      c[to.element] = sum;
    }
  }
  in_step.arrive_and_wait();
  return c;
}

#define __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, x, y, z) \
  (matrix_instruction<Mfma, __half>(a, b, c))
#define __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, x, y, z) \
  (matrix_instruction<Mfma, __hip_bfloat16>(a, b, c))
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c) \
  (matrix_instruction<WmmaRdna3, __half>(a, b, c))
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c) \
  (matrix_instruction<WmmaRdna3, __hip_bfloat16>(a, b, c))
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c) \
  (matrix_instruction<WmmaRdna4, __half>(a, b, c))
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, c) \
  (matrix_instruction<WmmaRdna4, __hip_bfloat16>(a, b, c))

// Runs a function on every lane of one wavefront.
inline void run_wave(const std::function<void()> &kernel) {
  std::vector<std::thread> threads;
  for (unsigned lane = 0; lane < WAVE; ++lane) {
    threads.emplace_back([lane, &kernel] {
      own_lane = lane;
      kernel();
    });
  }
  for (auto &thread : threads) thread.join();
}
