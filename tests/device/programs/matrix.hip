// Matrix instructions, through the prelude that ported sources use: products of tiles that are
// loaded, multiplied and stored by it, against plain sums.
#include "check.h"

#include "hipx_wmma.h"

template <typename T>
__global__ void product(const T *a, const T *b, float *c) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  const int tile = threadIdx.x / 32;
  wmma::fill_fragment(sum, 0.5f);
  for (int k = 0; k < 32; k += 16) {
    wmma::load_matrix_sync(left, a + tile * 16 * 32 + k, 32);
    wmma::load_matrix_sync(right, b + tile * 16 * 32 + k, 32);
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::store_matrix_sync(c + tile * 256, sum, 16, wmma::mem_row_major);
}

template <typename T>
static void test(const char *what) {
  constexpr int tiles = 2;
  std::vector<T> a(tiles * 16 * 32), b(tiles * 16 * 32);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = T(static_cast<float>(static_cast<int>(i * 7 % 13) - 6));
    b[i] = T(static_cast<float>(static_cast<int>(i * 5 % 11) - 5) * 0.5f);
  }
  Device<T> on_a(a), on_b(b);
  Device<float> c(tiles * 256);
  product<T><<<1, tiles * 32>>>(on_a, on_b, c);
  HIP(hipGetLastError());
  const auto got = c.values();
  bool right = true;
  for (int t = 0; t < tiles; ++t)
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j) {
        float want = 0.5f;
        for (int k = 0; k < 32; ++k) {
          want += static_cast<float>(a[(t * 16 + i) * 32 + k]) *
                  static_cast<float>(b[(t * 16 + j) * 32 + k]);
        }
        right &= got[t * 256 + i * 16 + j] == want;
      }
  check(what, right);
}

int main() {
  test<__half>("products of half");
  test<__hip_bfloat16>("products of bfloat16");
}
