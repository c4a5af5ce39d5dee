// The arithmetic: by columns and a product of matrices, or place by place.
#include <string.h>

#include <array>

#include "answer.h"
#include "problem.h"

namespace hipcpu::conv {

namespace {

constexpr const char *what = "a convolution";

using Index = std::array<int, most_dimensions>;

// The index of the n-th place among some sizes, which begin behind batch and channels.
Index index(const std::vector<int> &sizes, size_t n) {
  Index at{};
  for (size_t i = sizes.size() - 2; i-- > 0;) {
    at[i] = static_cast<int>(n % static_cast<size_t>(sizes[i + 2]));
    n /= static_cast<size_t>(sizes[i + 2]);
  }
  return at;
}

int64_t offset(const miopenTensorDescriptor &of, int first, int second, const Index &at) {
  int64_t found = int64_t{first} * of.strides[0] + int64_t{second} * of.strides[1];
  for (size_t i = 2; i < of.sizes.size(); ++i) found += int64_t{at[i - 2]} * of.strides[i];
  return found;
}

// Where the input of a place of the output is that a place of the filter reaches; false for padding.
bool reach(const Problem &of, const Index &out, const Index &tap, Index &in) {
  for (size_t i = 0; i < of.dimensions(); ++i) {
    const miopenConvolutionDescriptor &by = of.convolution;
    in[i] = out[i] * by.stride[i] - by.padding[i] + tap[i] * by.dilation[i];
    if (in[i] < 0 || in[i] >= of.x.sizes[i + 2]) return false;
  }
  return true;
}

// Tells the checker of each element of a tensor, in whatever order it lies.
template <typename T, typename Note>
void note(const miopenTensorDescriptor &of, T *data, size_t places, Note note_range) {
  for (int n = 0; n < of.sizes[0]; ++n) {
    for (int c = 0; c < of.sizes[1]; ++c) {
      for (size_t p = 0; p < places; ++p) {
        note_range(data + offset(of, n, c, index(of.sizes, p)), sizeof(T), what);
      }
    }
  }
}

// Sums in double precision, one place after the other.
template <typename T>
void place_by_place(const Problem &of, const T *x, const T *w, T *y) {
  const size_t channels = static_cast<size_t>(of.y.sizes[0]) * static_cast<size_t>(of.y.sizes[1]);
  for_each_piece(channels, [&](size_t piece) {
    const int n = static_cast<int>(piece) / of.y.sizes[1],
              k = static_cast<int>(piece) % of.y.sizes[1];
    const int first = k / of.given() * of.taken();
    for (size_t p = 0; p < of.places(); ++p) {
      const Index out = index(of.y.sizes, p);
      double sum = 0;
      for (int c = 0; c < of.taken(); ++c) {
        for (size_t q = 0; q < of.window(); ++q) {
          const Index tap = index(of.w.sizes, q);
          Index in{};
          if (!reach(of, out, tap, in)) continue;
          sum += static_cast<double>(static_cast<float>(x[offset(of.x, n, first + c, in)])) *
                 static_cast<double>(static_cast<float>(w[offset(of.w, k, c, tap)]));
        }
      }
      y[offset(of.y, n, k, out)] = static_cast<T>(static_cast<float>(sum));
    }
  });
}

// The columns of one image after the other in the workspace, and their product with the filter, in
// single precision.
template <typename T>
void by_columns(const Problem &of, const T *x, const T *w, T *y, T *columns) {
  const size_t rows = static_cast<size_t>(of.x.sizes[1]) * of.window(), places = of.places();
  work_writes(columns, rows * places * sizeof(T), "the workspace of a convolution");
  for (int n = 0; n < of.x.sizes[0]; ++n) {
    for_each_piece(rows, [&](size_t row) {
      const Index tap = index(of.w.sizes, row % of.window());
      const int c = static_cast<int>(row / of.window());
      for (size_t p = 0; p < places; ++p) {
        Index in{};
        const bool inside = reach(of, index(of.y.sizes, p), tap, in);
        columns[row * places + p] = inside ? x[offset(of.x, n, c, in)] : static_cast<T>(0.f);
      }
    });
    for_each_piece(static_cast<size_t>(of.y.sizes[1]), [&](size_t piece) {
      const int k = static_cast<int>(piece);
      const size_t first = static_cast<size_t>(k / of.given() * of.taken()) * of.window();
      for (size_t p = 0; p < places; ++p) {
        float sum = 0;
        for (size_t l = 0; l < static_cast<size_t>(of.taken()) * of.window(); ++l) {
          const Index tap = index(of.w.sizes, l % of.window());
          const int c = static_cast<int>(l / of.window());
          sum += static_cast<float>(w[offset(of.w, k, c, tap)]) *
                 static_cast<float>(columns[(first + l) * places + p]);
        }
        y[offset(of.y, n, k, index(of.y.sizes, p))] = static_cast<T>(sum);
      }
    });
  }
}

template <typename T>
void enqueue(hipStream_t stream, const Problem &of, bool columns, const void *x_at, const void *w_at,
             void *y_at, void *space) {
  const T *x = static_cast<const T *>(x_at), *w = static_cast<const T *>(w_at);
  T *y = static_cast<T *>(y_at);
  const bool done = do_in_stream(stream, [=] {
    size_t pixels = 1;
    for (size_t i = 2; i < of.x.sizes.size(); ++i) pixels *= static_cast<size_t>(of.x.sizes[i]);
    note(of.x, x, pixels, work_reads);
    note(of.w, w, of.window(), work_reads);
    note(of.y, y, of.places(), work_writes);
    if (columns) {
      by_columns(of, x, w, y, static_cast<T *>(space));
    } else {
      place_by_place(of, x, w, y);
    }
  });
  require(done, miopenStatusInternalError);
}

}  // namespace

size_t workspace(const Problem &problem, const Solution &solution) {
  if (solution.id != gemm.id) return 0;
  return static_cast<size_t>(problem.x.sizes[1]) * problem.window() * problem.places() *
         problem.element();
}

void compute(hipStream_t stream, const Problem &problem, const Solution &solution, const void *x,
             const void *w, void *y, void *space) {
  const bool columns = solution.id == gemm.id;
  switch (problem.x.type) {
    case miopenHalf:
      return enqueue<__half>(stream, problem, columns, x, w, y, space);
    case miopenBFloat16:
      return enqueue<__hip_bfloat16>(stream, problem, columns, x, w, y, space);
    default:
      return enqueue<float>(stream, problem, columns, x, w, y, space);
  }
}

}  // namespace hipcpu::conv
