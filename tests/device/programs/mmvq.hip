// Blocks of ggml's mmvq: what one table says of them.
#include "check.h"

#include "hipx_mmvq.h"

using namespace hipx::mmvq;

constexpr int GFX = 0x1000000;

int main() {
  bool fits = true;
  for (const int arch : {0x0, 0x803, 0x906, 0x908, 0x90a, 0x942, 0x950, 0x1010, 0x1012, 0x1030, 0x1036,
                         0x1100, 0x1102, 0x1103, 0x1150, 0x1200, 0x1201, 0x1250}) {
    for (int columns = 1; columns <= 8; ++columns) {
      for (int type = q4_0; type <= q6_k; ++type) {
        const int found = warps(GFX + arch, (Type)type, columns);
        fits &= found >= 1 && found <= most_warps(columns) && (found & (found - 1)) == 0;
      }
    }
  }
  CHECK(fits);
  // As measured: a row by eight warps, two and one.
  CHECK(warps(GFX + 0x1201, q4_0, 1) == 8 && warps(GFX + 0x1201, q4_k, 1) == 8);
  CHECK(warps(GFX + 0x1100, q8_0, 1) == 8 && warps(GFX + 0x1100, q6_k, 1) == 2);
  CHECK(warps(GFX + 0x1100, q4_k, 1) == 1 && warps(GFX + 0x1103, q4_0, 1) == 1);
  CHECK(warps(GFX + 0x1030, q4_0, 1) == 1 && warps(GFX + 0x942, q4_0, 1) == 4);
  // As on CUDA.
  CHECK(warps(GFX + 0x1100, q4_k, 4) == 4 && warps(GFX + 0x1100, q4_k, 5) == 2);
}
