// The compiler's built-in functions for AMD GPUs that sources use by name (clang,
// BuiltinsAMDGPU.td; "RDNA3 Instruction Set Architecture" for what the instructions do).
#pragma once

#include "wave.h"

// Accesses of memory are not moved over it; lanes do not wait for each other.
#define __builtin_amdgcn_fence(ORDER, SCOPE) __atomic_thread_fence(ORDER)
#define __builtin_amdgcn_sched_barrier(MASK) ((void)0)
#define __builtin_amdgcn_s_barrier() hipcpu_barrier()
#define __builtin_amdgcn_workgroup_id_x() (hipcpu_thread.block.x)

#define __builtin_amdgcn_wave_barrier() hipcpu_meet()
inline uint64_t __builtin_amdgcn_read_exec() { return hipcpu_ballot(true); }
inline unsigned __builtin_amdgcn_mbcnt_lo(unsigned mask, unsigned base) {
  const unsigned lane = __lane_id();
  const unsigned below = lane >= 32 ? ~0u : (1u << lane) - 1;
  return base + static_cast<unsigned>(__builtin_popcount(mask & below));
}
inline unsigned __builtin_amdgcn_mbcnt_hi(unsigned mask, unsigned base) {
  const unsigned lane = __lane_id();
  const unsigned below = lane < 32 ? 0 : (1u << (lane - 32)) - 1;
  return base + static_cast<unsigned>(__builtin_popcount(mask & below));
}

inline int __builtin_amdgcn_readlane(int value, int lane) {
  return hipcpu::shuffled(value, static_cast<unsigned>(lane));
}
inline int __builtin_amdgcn_readfirstlane(int value) {
  return hipcpu::shuffled(value, static_cast<unsigned>(__builtin_ctzll(hipcpu_ballot(true))));
}
// The address is that of a 32-bit word in a row of them, one for each lane.
inline int __builtin_amdgcn_ds_bpermute(int address, int value) {
  return hipcpu::shuffled(value, static_cast<unsigned>(address) / 4 % warpSize);
}

// v_perm_b32: each byte of the selector picks a byte of high:low (0 to 7), the sign of a half of it
// (8 to 11), zeros (12) or ones.
inline unsigned __builtin_amdgcn_perm(unsigned high, unsigned low, unsigned selector) {
  const uint64_t bytes = static_cast<uint64_t>(high) << 32 | low;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned pick = selector >> 8 * i & 0xff;
    unsigned byte = 0xff;
    if (pick < 8) {
      byte = bytes >> 8 * pick & 0xff;
    } else if (pick < 12) {
      byte = (bytes >> (16 * (pick - 8) + 15) & 1) != 0 ? 0xff : 0;
    } else if (pick == 12) {
      byte = 0;
    }
    result |= byte << 8 * i;
  }
  return result;
}

// The dot product of four bytes, signed or not, and a sum that wraps or saturates.
inline int __builtin_amdgcn_sudot4(bool a_signed, int a, bool b_signed, int b, int c, bool clamp) {
  int64_t sum = c;
  for (int i = 0; i < 32; i += 8) {
    const int left = a_signed ? static_cast<int8_t>(a >> i) : static_cast<uint8_t>(a >> i);
    const int right = b_signed ? static_cast<int8_t>(b >> i) : static_cast<uint8_t>(b >> i);
    sum += left * right;
  }
  if (clamp) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
  return static_cast<int>(sum);
}
inline int __builtin_amdgcn_sdot4(int a, int b, int c, bool clamp) {
  return __builtin_amdgcn_sudot4(true, a, true, b, c, clamp);
}
inline unsigned __builtin_amdgcn_udot4(unsigned a, unsigned b, unsigned c, bool) {
  for (int i = 0; i < 32; i += 8) c += (a >> i & 0xff) * (b >> i & 0xff);
  return c;
}
