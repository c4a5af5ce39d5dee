// Blocks of a quantized matrix's products with up to eight columns, ggml's mmvq: how many warps of 32 lanes
// share a row, and how many rows a block has.
//
// The numbers are those that llama.cpp's users measured on GPUs, as its mmvq.cu of September 2026 chooses
// them (calc_nwarps, calc_rows_per_block), but for gfx1103, where one warp was 22 to 36 % faster than four.
#pragma once

#include "hipx_ggml.h"

namespace hipx {
namespace mmvq {

enum Type { q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k, q4_k, q5_k, q6_k };

// What a block has room for: a kernel takes as many warps as it is launched with.
constexpr HIPX_BOTH int most_warps(int columns) { return columns == 1 ? 8 : columns <= 4 ? 4 : 2; }

// Host and device have to agree on it, so that it does not tell more of an architecture than that.
constexpr HIPX_BOTH int rows(bool gfx9, int columns) { return gfx9 && columns > 1 ? 2 : 1; }

#if defined(__GFX9__)
constexpr bool GFX9 = true;
#else
constexpr bool GFX9 = false;
#endif

// `cc` is ggml's number of an architecture (ggml_amd_cc): what follows "gfx" in its name, read as hexadecimal.
constexpr HIPX_BOTH bool is_gfx9(int cc) { return (cc & 0xffff) >> 8 == 9; }

constexpr HIPX_BOTH int warps(int cc, Type type, int columns) {
  const int gfx = cc & 0xffff, generation = gfx >> 8;
  if (generation < 0x10 || (gfx >= 0x1010 && gfx <= 0x1013)) return columns <= 4 ? 4 : 2;
  if (columns > 1) return 1;
  if (generation == 0x12) return type == q3_k ? 1 : 8;
  if (gfx >= 0x1100 && gfx <= 0x1102) return type == q6_k ? 2 : type < q2_k ? 8 : 1;
  return 1;
}

}  // namespace mmvq
}  // namespace hipx
