// What HIP leaves open, and what AMD's runtime is known to do wrong, decided by a seed:
// PORTKIT_DEVICE_CHAOS. Without one nothing is.
#pragma once

#include <stddef.h>

namespace hipcpu {

// docs/device.md says of each what it is and where that is written.
enum class Open {
  streams,
  fresh,
  freed,
  reuse,
  shortage,
  unwaited_free,
  peers,
  lost_pages,
  lost_pool,
  late_reads,
};

// Whether the device does what is left open: with a seed, all but late reads, or what
// PORTKIT_DEVICE_BEHAVIOURS names.
bool may(Open behaviour);

// A number below `bound`, which is not 0; another one each time.
size_t any_below(size_t bound);

// The same number each time for the same two devices.
bool have_access(int device, int peer);

// Whether memory is refused that is there, as where other programs have it for a moment: never
// twice in a row to one thread.
bool refuses_memory();

}  // namespace hipcpu
