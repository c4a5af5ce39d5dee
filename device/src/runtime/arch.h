// GPU architectures, as far as a program sees them.
#pragma once

#include <string>

namespace hipcpu {

struct Arch {
  std::string name;
  int major, minor;  // as hipDeviceAttributeComputeCapability… give them
  unsigned wavefront;
  int compute_units;
};

// Takes a name such as gfx90a apart: `gfx`, the major version in decimal, minor version and
// stepping as one hexadecimal digit each (LLVM, "User Guide for AMDGPU Backend", "Processors").
// A name that is none is gfx1100.
Arch arch_of(const std::string &name);

// How well code for a target suits an architecture: 2 for its own name, 1 for the generic target of
// its family, 0 for not at all. Target features (":xnack-") do not count.
int suits(const std::string &target, const Arch &arch);

}  // namespace hipcpu
