// Code objects in memory.
#pragma once

#include <stddef.h>

#include "arch.h"

namespace hipcpu {

struct Image {
  const char *begin;
  size_t bytes;
};

// The code object for an architecture: `data` itself, or that entry of a bundle of them that suits
// the architecture best. HIP gets no length: an image says itself where it ends. Throws
// hipErrorInvalidImage for what is none, hipErrorNoBinaryForGpu where a bundle has none.
Image code_object(const void *data, const Arch &arch);

}  // namespace hipcpu
