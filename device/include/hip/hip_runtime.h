// HIP for sources that the compiler wrapper compiles: the host's side and the kernels'.
#pragma once

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hip/hip_runtime_api.h>
#include <hip/hip_vector_types.h>

#include <hipcpu/amdgcn.h>
#include <hipcpu/atomics.h>
#include <hipcpu/bits.h>
#include <hipcpu/keywords.h>
#include <hipcpu/launch.h>
#include <hipcpu/math.h>
#include <hipcpu/matrix.h>
#include <hipcpu/wave.h>

#define hipLaunchKernelGGL(KERNEL, GRID, BLOCK, SHARED, STREAM, ...) \
  KERNEL<<<GRID, BLOCK, SHARED, STREAM>>>(__VA_ARGS__)
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(TYPE, NAME) extern __shared__ TYPE NAME[];
