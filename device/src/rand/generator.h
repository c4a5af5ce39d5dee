// Random numbers by counter: Philox 4x32-10 (J. Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", 2011). Number i of a seed depends on nothing but the seed and i.
#pragma once

#include <stdint.h>

namespace hipcpu::rand {

struct Four {
  uint32_t word[4];
};

// The `index`-th four words of a sequence.
inline Four philox(uint64_t seed, uint64_t index) {
  uint32_t key[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  uint32_t c[4] = {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), 0, 0};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    const uint32_t next[4] = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key[0],
                              static_cast<uint32_t>(b),
                              static_cast<uint32_t>(a >> 32) ^ c[3] ^ key[1],
                              static_cast<uint32_t>(a)};
    for (int i = 0; i < 4; ++i) c[i] = next[i];
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return {{c[0], c[1], c[2], c[3]}};
}

// Of a sequence of 32-bit words, the one at a place.
inline uint32_t word_at(uint64_t seed, uint64_t place) {
  return philox(seed, place / 4).word[place % 4];
}

// In (0, 1], as hipRAND gives it: zero is left out, one is not.
inline float uniform(uint32_t bits) { return (static_cast<float>(bits >> 8) + 1.0f) * 0x1p-24f; }
inline double uniform(uint32_t high, uint32_t low) {
  const uint64_t bits = static_cast<uint64_t>(high) << 32 | low;
  return (static_cast<double>(bits >> 11) + 1.0) * 0x1p-53;
}

}  // namespace hipcpu::rand
