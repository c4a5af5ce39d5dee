#include "chaos.h"

#include <stdint.h>

#include <atomic>

#include "options.h"

namespace hipcpu {

bool is_chaotic() { return options().chaos != 0; }

// Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014: SplitMix.
size_t any_below(size_t bound) {
  static std::atomic<uint64_t> state{options().chaos};
  uint64_t z = state.fetch_add(0x9e3779b97f4a7c15) + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<size_t>((z ^ (z >> 31)) % bound);
}

bool refuses_memory() {
  static thread_local bool refused = false;
  refused = !refused && is_chaotic() && any_below(8) == 0;
  return refused;
}

}  // namespace hipcpu
