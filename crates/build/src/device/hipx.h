// What CUDA's device headers offer and HIP's lack. Every translated source includes this first.
//
// The host can compile these headers too (a plain C++17 compiler, without HIP): each function then
// takes its generic path, which is how the generic paths are tested.
#pragma once

#if defined(__HIPCC__) || defined(__HIPCC_RTC__)
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <hip/hip_bf16.h>
#define HIPX_DEVICE __device__ __forceinline__
#define HIPX_BOTH __host__ __device__ __forceinline__
#else
#define HIPX_DEVICE static inline
#define HIPX_BOTH static inline
#endif

#if defined(__HIPCC_RTC__)
#include "hipx_rtc.h"
#else
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include <limits>
#include <type_traits>
#endif

// The feature level that sources see in place of __CUDA_ARCH__, in the device pass only, as in
// CUDA: the lowest at which every type (half 530, bfloat16 800, fp8 890) and every instruction
// that has a counterpart (dp4a 610) is compiled. Tensor-core code is switched by its own gates.
#if defined(__HIP_DEVICE_COMPILE__) && __HIP_DEVICE_COMPILE__
#define HIPX_CUDA_ARCH 890
#endif

#if defined(__HIPCC__) || defined(__HIPCC_RTC__)
#include "hipx_atomics.h"
#include "hipx_bytes.h"
#include "hipx_float.h"
#include "hipx_fp8.h"
#include "hipx_pairs.h"
#include "hipx_schedule.h"
#include "hipx_warp.h"
#endif
