// ggml's names for AMD architectures, which its kernels look at, and the number that its host code
// takes for one (llama.cpp: vendors/hip.h and common.cuh name them the same).
#pragma once

#include "hipx.h"

#define GGML_USE_HIP 1

#if defined(__GFX12__)
#define RDNA4
#elif defined(__GFX11__)
#define RDNA3
#elif defined(__gfx1030__) || defined(__gfx1031__) || defined(__gfx1032__) ||                       \
    defined(__gfx1033__) || defined(__gfx1034__) || defined(__gfx1035__) ||                        \
    defined(__gfx1036__) || defined(__gfx10_3_generic__)
#define RDNA2
#elif defined(__GFX10__)
#define RDNA1
#elif defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__) ||  \
    defined(__gfx9_4_generic__)
#define CDNA3
#elif defined(__gfx90a__)
#define CDNA2
#elif defined(__gfx908__)
#define CDNA1
#elif defined(__GFX9__)
#define GCN
#endif

#if defined(CDNA1) || defined(CDNA2) || defined(CDNA3)
#define CDNA
#define AMD_MFMA_AVAILABLE
#endif

#if defined(RDNA3) || defined(RDNA4)
#define AMD_WMMA_AVAILABLE
#endif

// Lanes of a wavefront, for device code; host code takes them from its caller.
#if defined(__GFX9__)
#define GGML_AMD_WAVE 64
#else
#define GGML_AMD_WAVE 32
#endif

#if defined(__HIPCC__)
// ggml's number for the current device: 0x1000000 and the digits of its gfx name, read as
// hexadecimal. A caller may know it; major and minor version do not tell gfx90a from gfx900. When the
// device cannot be asked, the caller's number is all there is.
static inline int ggml_amd_cc(int from_caller) {
  if (from_caller > 0x1000000) return from_caller;
  constexpr int known_devices = 64;
  static int known[known_devices];
  int device = 0;
  if (hipGetDevice(&device) != hipSuccess || device < 0 || device >= known_devices) {
    return from_caller;
  }
  if (known[device] == 0) {
    hipDeviceProp_t properties;
    if (hipGetDeviceProperties(&properties, device) != hipSuccess) return from_caller;
    int digits = 0;
    for (const char *c = properties.gcnArchName; *c != '\0' && *c != ':'; ++c) {
      const bool decimal = *c >= '0' && *c <= '9';
      if (!decimal && (digits == 0 || *c < 'a' || *c > 'f')) continue;
      digits = digits * 16 + (decimal ? *c - '0' : *c - 'a' + 10);
    }
    known[device] = 0x1000000 + digits;
  }
  return known[device];
}
#endif
