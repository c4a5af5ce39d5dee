// Words that mean something to one of the two compilers alone.
#pragma once

#include "hipx.h"

// HIP's headers leave these behind as macros of their own, though they are done with them
// (amd_device_functions.h): free again for sources that use them.
#undef MASK1
#undef MASK2

// A parameter that is not copied for each thread, which it is not on AMD anyway (CUDA C++
// Programming Guide, "__grid_constant__"; LLVM AMDGPU usage, "Kernel Arguments").
#if !defined(__grid_constant__)
#define __grid_constant__
#endif
