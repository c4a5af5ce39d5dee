// Code objects in memory.
#pragma once

#include <stddef.h>

#include "answer.h"
#include "arch.h"

namespace hipcpu {

struct Image {
  const char *begin;
  size_t bytes;
};

// That a bundle has no code for the device.
struct NoCode : Failure {};

// The code object for an architecture: `data` itself, or that entry of a bundle of them that suits
// the architecture best. HIP gets no length: an image says itself where it ends. Throws
// hipErrorInvalidImage for what is none. Where a bundle has none it throws NoCode: hipErrorNoBinaryForGpu
// if the bundle has generic targets, else hipErrorInvalidValue, as HIP 6.4.3 does.
Image code_object(const void *data, const Arch &arch);

}  // namespace hipcpu
