// Products of matrices: D = alpha op(A) op(B) + beta C, column by column.
#pragma once

#include <stddef.h>

#include <algorithm>
#include <vector>

#include "../runtime/device_work.h"
#include "types.h"

namespace hipcpu::blas {

// A matrix as BLAS has it, and the next one of a batch `stride` elements on.
template <typename T>
struct Matrices {
  T *data;
  rocblas_int leading;
  rocblas_stride stride;

  T *of(size_t batch) const { return data + static_cast<rocblas_stride>(batch) * stride; }
};

struct Shape {
  rocblas_operation a, b;
  rocblas_int m, n, k, batch;
};

// An element of A or B in the type that is computed in.
template <typename C, typename T>
inline C widened(T value) {
  if constexpr (std::is_same<T, __half>::value || std::is_same<T, __hip_bfloat16>::value) {
    return static_cast<C>(static_cast<float>(value));
  } else {
    return static_cast<C>(value);
  }
}

// Columns [first, last) of one product. Sums are in type C, as on the GPU, whose order of summation
// is not known.
template <typename In, typename Out, typename C>
void columns(const Shape &s, const std::vector<C> &left, const In *b, rocblas_int ldb, C alpha,
             C beta, const Out *c, rocblas_int ldc, Out *d, rocblas_int ldd, size_t first,
             size_t last) {
  constexpr size_t wide = 4, tall = 64;
  const size_t m = static_cast<size_t>(s.m), k = static_cast<size_t>(s.k);
  std::vector<C> right(wide * k);
  for (size_t j = first; j < last; j += wide) {
    const size_t width = std::min(wide, last - j);
    for (size_t q = 0; q < width; ++q) {
      for (size_t l = 0; l < k; ++l) {
        right[l * wide + q] = widened<C>(s.b == rocblas_operation_none
                                             ? b[l + (j + q) * static_cast<size_t>(ldb)]
                                             : b[j + q + l * static_cast<size_t>(ldb)]);
      }
    }
    for (size_t i = 0; i < m; i += tall) {
      const size_t height = std::min(tall, m - i);
      C sum[wide][tall] = {};
      if (alpha != C(0)) {
        const C *panel = left.data() + i * k;  // `tall` rows at a time, padded with zeros
        for (size_t l = 0; l < k; ++l) {
          for (size_t q = 0; q < wide; ++q) {
            const C factor = right[l * wide + q];
            for (size_t p = 0; p < tall; ++p) sum[q][p] += panel[l * tall + p] * factor;
          }
        }
      }
      for (size_t q = 0; q < width; ++q) {
        for (size_t p = 0; p < height; ++p) {
          C value = alpha == C(0) ? C(0) : alpha * sum[q][p];
          // What is multiplied by zero is not read: it may not be a number.
          if (beta != C(0)) {
            value += beta * widened<C>(c[i + p + (j + q) * static_cast<size_t>(ldc)]);
          }
          d[i + p + (j + q) * static_cast<size_t>(ldd)] = static_cast<Out>(value);
        }
      }
    }
  }
}

// op(A), in panels of 64 rows, column by column inside of each.
template <typename C, typename In>
std::vector<C> packed(const Shape &s, const In *a, rocblas_int lda) {
  constexpr size_t tall = 64;
  const size_t m = static_cast<size_t>(s.m), k = static_cast<size_t>(s.k);
  std::vector<C> left((m + tall - 1) / tall * tall * k);
  for (size_t i = 0; i < m; ++i) {
    C *panel = left.data() + i / tall * tall * k + i % tall;
    for (size_t l = 0; l < k; ++l) {
      panel[l * tall] = widened<C>(s.a == rocblas_operation_none
                                       ? a[i + l * static_cast<size_t>(lda)]
                                       : a[l + i * static_cast<size_t>(lda)]);
    }
  }
  return left;
}

// Tells the checker of the elements of matrices: `rows` of each of `columns`.
template <typename T, typename Note>
void note(const Matrices<T> &of, rocblas_int rows, rocblas_int columns, rocblas_int batch,
          Note note_range) {
  for (size_t z = 0; z < static_cast<size_t>(batch); ++z) {
    for (rocblas_int j = 0; j < columns; ++j) {
      note_range(of.of(z) + int64_t{j} * of.leading, static_cast<size_t>(rows) * sizeof(T),
                 "a matrix product");
    }
  }
}

template <typename In, typename Out, typename C>
void products(const Shape &s, C alpha, Matrices<const In> a, Matrices<const In> b, C beta,
              Matrices<const Out> c, Matrices<Out> d) {
  const bool plain_a = s.a == rocblas_operation_none, plain_b = s.b == rocblas_operation_none;
  if (alpha != C(0)) {
    note(a, plain_a ? s.m : s.k, plain_a ? s.k : s.m, s.batch, work_reads);
    note(b, plain_b ? s.k : s.n, plain_b ? s.n : s.k, s.batch, work_reads);
  }
  if (beta != C(0)) note(c, s.m, s.n, s.batch, work_reads);
  note(d, s.m, s.n, s.batch, work_writes);
  constexpr size_t piece = 32;  // columns
  const size_t n = static_cast<size_t>(s.n), batch = static_cast<size_t>(s.batch);
  // A small batch shares the columns of each product, a large one the products.
  for_each_piece(batch, [&](size_t z) {
    const std::vector<C> left =
        alpha == C(0) ? std::vector<C>() : packed<C>(s, a.of(z), a.leading);
    const auto part = [&](size_t first, size_t last) {
      columns<In, Out, C>(s, left, b.of(z), b.leading, alpha, beta, c.of(z), c.leading, d.of(z),
                          d.leading, first, last);
    };
    const double work = static_cast<double>(s.m) * s.n * s.k;
    if (batch > 1 || work < 1e6) {
      part(0, n);
    } else {
      for_each_piece((n + piece - 1) / piece,
                     [&](size_t p) { part(p * piece, std::min(n, (p + 1) * piece)); });
    }
  });
}

}  // namespace hipcpu::blas
