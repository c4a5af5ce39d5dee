// Blocks of a quantized matrix's product with one column, ggml's mmvq: how many warps of 32 lanes share a row.
//
// The numbers are those that llama.cpp's users measured on GPUs, as its mmvq.cu of September 2026 chooses
// them (calc_nwarps), but for gfx1103, where one warp was 22 to 36 % faster than four.
#pragma once

#include "hipx_ggml.h"

namespace hipx {
namespace mmvq {

enum Type { q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k, q4_k, q5_k, q6_k };

// What a block has room for: a kernel takes as many warps as it is launched with.
constexpr HIPX_BOTH int most_warps(int columns) { return columns == 1 ? 8 : columns <= 4 ? 4 : 2; }

// `cc` is ggml's number of an architecture (ggml_amd_cc): what follows "gfx" in its name, read as hexadecimal.
// With more columns, and on gfx9 and gfx101x, as many as on CUDA.
constexpr HIPX_BOTH int warps(int cc, Type type, int columns) {
  const int gfx = cc & 0xffff, generation = gfx >> 8;
  if (columns > 1 || generation < 0x10 || (gfx >= 0x1010 && gfx <= 0x1013)) return columns <= 4 ? 4 : 2;
  if (generation == 0x12) return type == q3_k ? 1 : 8;
  if (gfx >= 0x1100 && gfx <= 0x1102) return type == q6_k ? 2 : type < q2_k ? 8 : 1;
  return 1;
}

}  // namespace mmvq
}  // namespace hipx
