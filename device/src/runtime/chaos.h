// What HIP leaves open, decided by a seed: PORTKIT_DEVICE_CHAOS. Without one nothing is.
#pragma once

#include <stddef.h>

namespace hipcpu {

bool is_chaotic();

// A number below `bound`, which is not 0.
size_t any_below(size_t bound);

// Whether memory is refused that is there, as where other programs have it for a moment: never
// twice in a row to one thread.
bool refuses_memory();

}  // namespace hipcpu
