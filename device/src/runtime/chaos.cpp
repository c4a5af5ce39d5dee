#include "chaos.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <atomic>
#include <sstream>
#include <string>

#include "options.h"

namespace hipcpu {

namespace {

struct Behaviour {
  Open which;
  const char *name;
};

constexpr Behaviour behaviours[] = {
    {Open::streams, "streams"},       {Open::fresh, "fresh"},
    {Open::freed, "freed"},           {Open::reuse, "reuse"},
    {Open::shortage, "shortage"},     {Open::unwaited_free, "unwaited-free"},
    {Open::peers, "peers"},           {Open::lost_pages, "lost-pages"},
    {Open::lost_pool, "lost-pool"},   {Open::late_reads, "late-reads"},
};

constexpr unsigned bit(Open behaviour) { return 1u << static_cast<unsigned>(behaviour); }

// HIP promises that memory is read in time which is not page-locked (hipMemcpyAsync).
constexpr unsigned usual = bit(Open::late_reads) - 1;

unsigned chosen() {
  if (options().chaos == 0) return 0;
  if (options().behaviours.empty()) return usual;
  unsigned found = 0;
  std::istringstream names(options().behaviours);
  for (std::string name; std::getline(names, name, ',');) {
    const unsigned before = found;
    for (const Behaviour &each : behaviours) {
      if (name == each.name) found |= bit(each.which);
    }
    if (found != before || name.empty()) continue;
    fprintf(stderr, "HIP device: PORTKIT_DEVICE_BEHAVIOURS names %s, which is none:", name.c_str());
    for (const Behaviour &each : behaviours) fprintf(stderr, " %s", each.name);
    fprintf(stderr, "\n");
    _Exit(2);
  }
  return found;
}

// Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014: SplitMix.
uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}
constexpr uint64_t step = 0x9e3779b97f4a7c15;

}  // namespace

bool may(Open behaviour) {
  static const unsigned all = chosen();
  return (all & bit(behaviour)) != 0;
}

size_t any_below(size_t bound) {
  static std::atomic<uint64_t> state{options().chaos};
  return static_cast<size_t>(mixed(state.fetch_add(step) + step) % bound);
}

bool have_access(int device, int peer) {
  const auto pair = static_cast<uint64_t>(device) << 32 | static_cast<uint64_t>(peer);
  return mixed(options().chaos + (pair + 1) * step) % 2 == 0;
}

bool refuses_memory() {
  static thread_local bool refused = false;
  refused = !refused && may(Open::shortage) && any_below(8) == 0;
  return refused;
}

}  // namespace hipcpu
