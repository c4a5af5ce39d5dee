// Names that one of the two compilers lacks, or that HIP's headers have in another form.
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

// CUDA has one function for all integers of 64 bits; of HIP's two neither is better for a uint64_t,
// which is an unsigned long (CUDA Math API, "Integer Intrinsics").
HIPX_DEVICE int __ffsll(long value) { return __ffsll((long long)value); }
HIPX_DEVICE int __ffsll(unsigned long value) { return __ffsll((long long)value); }
