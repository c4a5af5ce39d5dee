// Multiplies tiles through the prelude's fragments, each logical warp its own, and compares with a
// plain product. Prints the number of wrong elements.
#include "hipx.h"
#include "lanes.h"
#if defined(__GFX11__) || defined(__GFX12__) || defined(__gfx90a__)
#include "matrix.h"
#endif

#include "hipx_wmma.h"

#include <cstdio>

using namespace nvcuda::wmma;

template <int M, int N, int K, typename T>
int wrong(layout_t layout) {
  constexpr int warps = WAVE / 32, stride_a = K + 4, stride_b = K + 8, stride_c = 40;
  static T a[warps][M * stride_a], b[warps][N * stride_b];
  static float c[warps][stride_c * stride_c], expected[warps][M][N];
  unsigned random = 12345;
  auto next = [&] { return (float)((int)((random = random * 1103515245u + 12345u) >> 16) % 17 - 8); };
  for (int w = 0; w < warps; ++w) {
    for (auto &x : a[w]) x = (T)next();
    for (auto &x : b[w]) x = (T)next();
    for (int r = 0; r < M; ++r)
      for (int n = 0; n < N; ++n) {
        expected[w][r][n] = 1.0f;
        for (int k = 0; k < 2 * K; ++k)  // every product is added twice
          expected[w][r][n] += (float)a[w][r * stride_a + k % K] * (float)b[w][n * stride_b + k % K];
      }
  }
  run_wave([&] {
    const int w = (int)own_lane / 32;
    fragment<matrix_a, M, N, K, T, row_major> fa;
    fragment<matrix_b, M, N, K, T, col_major> fb;
    fragment<accumulator, M, N, K, float> fc;
    fill_fragment(fc, 1.0f);
    load_matrix_sync(fa, a[w], stride_a);
    load_matrix_sync(fb, b[w], stride_b);
    mma_sync(fc, fa, fb, fc);
    mma_sync(fc, fa, fb, fc);
    store_matrix_sync(c[w], fc, stride_c, layout);
  });
  int count = 0;
  for (int w = 0; w < warps; ++w)
    for (int r = 0; r < M; ++r)
      for (int n = 0; n < N; ++n) {
        const float got = layout == mem_row_major ? c[w][r * stride_c + n] : c[w][n * stride_c + r];
        count += got != expected[w][r][n];
      }
  return count;
}

int main() {
  int count = 0;
  for (layout_t layout : {mem_row_major, mem_col_major}) {
    count += wrong<16, 16, 16, __half>(layout) + wrong<16, 16, 16, __hip_bfloat16>(layout);
    count += wrong<8, 32, 16, __half>(layout) + wrong<32, 8, 16, __hip_bfloat16>(layout);
  }
  std::printf("%d\n", count);
}
