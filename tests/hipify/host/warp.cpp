// Calls every warp function and the 16-bit atomics on one wavefront and prints what each lane got,
// one line a function.
#include "hipx.h"
#include "lanes.h"

#include "hipx_atomics.h"
#include "hipx_warp.h"

#include <cstdio>

static long long results[WAVE];

// What the lanes get that stay when each third of them has left the kernel; 0 for those.
template <typename F>
void show_after_exits(const char *name, F function) {
  run_wave([&] {
    results[own_lane] = 0;
    if (own_lane % 3 == 0) return leave_kernel();
    results[own_lane] = (long long)function((int)own_lane);
  });
  std::printf("%s", name);
  for (long long result : results) std::printf(" %lld", result);
  std::printf("\n");
}

template <typename F>
void show(const char *name, F function) {
  run_wave([&] { results[own_lane] = (long long)function((int)own_lane); });
  std::printf("%s", name);
  for (long long result : results) std::printf(" %lld", result);
  std::printf("\n");
}

int main() {
  show("shfl", [](int l) { return hipx::shfl(l, 3); });
  show("shfl8", [](int l) { return hipx::shfl(l, 3, 8); });
  show("shfl_xor", [](int l) { return hipx::shfl_xor(l, 16); });
  show("shfl_up", [](int l) { return hipx::shfl_up(l, 1u); });
  show("shfl_down", [](int l) { return hipx::shfl_down(l, 2u); });
  show("shfl_half", [](int l) { return hipx::shfl_xor((__half)l, 1); });
  show("shfl_double", [](int l) { return hipx::shfl_xor((double)l, 1); });
  show("ballot", [](int l) { return hipx::ballot(l % 3 == 0); });
  show("activemask", [](int) { return hipx::activemask(); });
  show("any", [](int l) { return hipx::any(l == 40); });
  show("all", [](int l) { return hipx::all(l < 32); });
  show("reduce_add", [](int l) { return hipx::reduce_add(l); });
  show("reduce_max", [](int l) { return hipx::reduce_max(l * 7 % 64); });
  show("reduce_min", [](int l) { return hipx::reduce_min(l * 7 % 64 + 1); });
  show("reduce_and", [](int l) { return hipx::reduce_and(l | 64); });
  show("reduce_or", [](int l) { return hipx::reduce_or(l); });
  show("reduce_xor", [](int l) { return hipx::reduce_xor(1u << (l % 32)); });

  show_after_exits("left_add", [](int l) { return hipx::reduce_add(l); });
  show_after_exits("left_max", [](int l) { return hipx::reduce_max(-1 - l); });
  show_after_exits("left_min", [](int l) { return hipx::reduce_min(l + 1); });
  show_after_exits("left_and", [](int l) { return hipx::reduce_and(l | 64); });
  show_after_exits("left_or", [](int l) { return hipx::reduce_or(l); });
  show_after_exits("left_xor", [](int l) { return hipx::reduce_xor(1u << (l % 32)); });

  alignas(4) static unsigned short words[2] = {100, 7};
  show("cas16", [](int l) {
    for (unsigned short old = words[1];;) {  // adds the lane to the upper half
      const unsigned short seen = atomicCAS(&words[1], old, (unsigned short)(old + l));
      if (seen == old) return 0;
      old = seen;
    }
  });
  std::printf("words %d %d\n", words[0], words[1]);
  alignas(4) static __half halves[2] = {(__half)0.5f, (__half)0.0f};
  show("atomic_add", [](int) {
    atomicAdd(&halves[1], (__half)1.0f);
    return 0;
  });
  std::printf("halves %g %g\n", (double)halves[0], (double)halves[1]);
  alignas(4) static __hip_bfloat16 bfloats[2] = {__hip_bfloat16(0.0f), __hip_bfloat16(0.5f)};
  show("atomic_add", [](int) {
    atomicAdd(&bfloats[0], __hip_bfloat16(1.0f));
    return 0;
  });
  std::printf("bfloats %g %g\n", (double)(float)bfloats[0], (double)(float)bfloats[1]);
}
