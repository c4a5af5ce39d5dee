// The matrix instructions of one family, in the layouts that AMD publishes: "layouts.h" is made of
// layouts.txt, and says which row and column each place of each lane's registers holds.
#pragma once

#include "lanes.h"
#include "layouts.h"

#include <cstdio>
#include <cstdlib>

inline float whole_a[16][16], whole_b[16][16], whole_c[16][16];

// Puts a lane's elements where they belong. Where two lanes hold one element, as on gfx11, the
// instruction wants the same of both.
template <typename E, typename V, int Lanes, int Held>
void gather(float (&matrix)[16][16], const V &v, const Entry (&layout)[Lanes][Held]) {
  static_assert(sizeof(v) == Held * sizeof(E), "registers");
  E elements[Held];
  std::memcpy(elements, &v, sizeof elements);
  for (int turn = 0; turn < Lanes; ++turn) {
    in_step->arrive_and_wait();
    if (turn != (int)own_lane) continue;
    for (int i = 0; i < Held; ++i) {
      const Entry entry = layout[turn][i];
      bool first = true;
      for (int other = 0; other < turn; ++other)
        for (const Entry &held : layout[other])
          first = first && !(held.row == entry.row && held.column == entry.column);
      const float value = (float)elements[i];
      float &place = matrix[entry.row][entry.column];
      if (!first && place != value) {
        std::printf("lanes disagree on row %d, column %d\n", entry.row, entry.column);
        std::exit(1);
      }
      place = value;
    }
  }
  in_step->arrive_and_wait();
}

template <typename E, typename AB, typename C>
C matrix_instruction(const AB &a, const AB &b, C c) {
  gather<E>(whole_a, a, layout_a);
  gather<E>(whole_b, b, layout_b);
  gather<float>(whole_c, c, layout_c);
  for (unsigned i = 0; i < sizeof(C) / sizeof(float); ++i) {
    const Entry to = layout_c[own_lane][i];
    float sum = whole_c[to.row][to.column];
    for (int k = 0; k < 16; ++k) sum += whole_a[to.row][k] * whole_b[k][to.column];
    c[i] = sum;
  }
  in_step->arrive_and_wait();
  return c;
}

#define __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, x, y, z) \
  (matrix_instruction<__half>(a, b, c))
#define __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, x, y, z) \
  (matrix_instruction<__hip_bfloat16>(a, b, c))
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c) \
  (matrix_instruction<__half>(a, b, c))
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c) \
  (matrix_instruction<__hip_bfloat16>(a, b, c))
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c) \
  (matrix_instruction<__half>(a, b, c))
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, c) \
  (matrix_instruction<__hip_bfloat16>(a, b, c))
