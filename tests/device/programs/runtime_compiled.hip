// As a source that a program hands to hipRTC: the prelude stands in for the standard headers.
#include "hipx.h"

extern "C" __global__ void limits(long long *out) {
  out[0] = std::numeric_limits<int32_t>::max();
  out[1] = std::numeric_limits<uint8_t>::max();
  out[2] = std::is_integral<float>::value;
}
