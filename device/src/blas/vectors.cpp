// Matrix times vector, and sums of absolute values.
#include <math.h>

#include "answer.h"

namespace hipcpu::blas {

namespace {

// Element i of a vector; a negative step begins at the far end.
template <typename T>
T *element(T *x, rocblas_int n, rocblas_int step, rocblas_int i) {
  const int64_t from = step < 0 ? int64_t{1 - n} * step : 0;
  return x + from + int64_t{i} * step;
}

template <typename T>
void gemv(rocblas_handle handle, rocblas_operation op, rocblas_int m, rocblas_int n,
          const T *alpha_at, const T *a, rocblas_int lda, const T *x, rocblas_int step_x,
          const T *beta_at, T *y, rocblas_int step_y) {
  require(handle != nullptr, rocblas_status_invalid_handle);
  require(op >= rocblas_operation_none && op <= rocblas_operation_conjugate_transpose,
          rocblas_status_invalid_value);
  require(m >= 0 && n >= 0 && lda >= (m > 1 ? m : 1) && step_x != 0 && step_y != 0,
          rocblas_status_invalid_size);
  if (m == 0 || n == 0) return;
  require(alpha_at != nullptr && beta_at != nullptr && a != nullptr && x != nullptr && y != nullptr,
          rocblas_status_invalid_pointer);
  const Scalar<T> alpha(handle, alpha_at), beta(handle, beta_at);
  const bool plain = op == rocblas_operation_none;
  const rocblas_int rows = plain ? m : n, columns = plain ? n : m;
  enqueue(handle, [=] {
    constexpr const char *what = "a product of matrix and vector";
    for (rocblas_int j = 0; j < n; ++j) work_reads(a + int64_t{j} * lda, m * sizeof(T), what);
    for (rocblas_int i = 0; i < columns; ++i) {
      work_reads(element(x, columns, step_x, i), sizeof(T), what);
    }
    for (rocblas_int i = 0; i < rows; ++i) {
      if (beta.get() != T(0)) work_reads(element(y, rows, step_y, i), sizeof(T), what);
      work_writes(element(y, rows, step_y, i), sizeof(T), what);
    }
    for (rocblas_int i = 0; i < rows; ++i) {
      T sum = 0;
      for (rocblas_int j = 0; j < columns; ++j) {
        sum += (plain ? a[i + int64_t{j} * lda] : a[j + int64_t{i} * lda]) *
               *element(x, columns, step_x, j);
      }
      T *result = element(y, rows, step_y, i);
      const T kept = beta.get() == T(0) ? T(0) : beta.get() * *result;
      *result = alpha.get() * sum + kept;
    }
  });
}

template <typename T>
void asum(rocblas_handle handle, rocblas_int n, const T *x, rocblas_int step, T *result) {
  require(handle != nullptr, rocblas_status_invalid_handle);
  require(result != nullptr, rocblas_status_invalid_pointer);
  const bool empty = n <= 0 || step <= 0;
  require(empty || x != nullptr, rocblas_status_invalid_pointer);
  enqueue(handle, [=] {
    T sum = 0;
    for (rocblas_int i = 0; !empty && i < n; ++i) {
      work_reads(x + int64_t{i} * step, sizeof(T), "a sum of absolute values");
      sum += fabs(x[int64_t{i} * step]);
    }
    work_writes(result, sizeof(T), "a sum of absolute values");
    *result = sum;
  });
  // A result on the host is there when the function returns.
  if (handle->pointer_mode == rocblas_pointer_mode_host) {
    (void)hipStreamSynchronize(handle->stream);
  }
}

}  // namespace

}  // namespace hipcpu::blas

using namespace hipcpu::blas;

API rocblas_sgemv(rocblas_handle handle, rocblas_operation op, rocblas_int m, rocblas_int n,
                  const float *alpha, const float *a, rocblas_int lda, const float *x,
                  rocblas_int step_x, const float *beta, float *y, rocblas_int step_y) {
  return answer(__func__,
                [&] { gemv(handle, op, m, n, alpha, a, lda, x, step_x, beta, y, step_y); });
}

API rocblas_dgemv(rocblas_handle handle, rocblas_operation op, rocblas_int m, rocblas_int n,
                  const double *alpha, const double *a, rocblas_int lda, const double *x,
                  rocblas_int step_x, const double *beta, double *y, rocblas_int step_y) {
  return answer(__func__,
                [&] { gemv(handle, op, m, n, alpha, a, lda, x, step_x, beta, y, step_y); });
}

API rocblas_sasum(rocblas_handle handle, rocblas_int n, const float *x, rocblas_int step,
                  float *result) {
  return answer(__func__, [&] { asum(handle, n, x, step, result); });
}

API rocblas_dasum(rocblas_handle handle, rocblas_int n, const double *x, rocblas_int step,
                  double *result) {
  return answer(__func__, [&] { asum(handle, n, x, step, result); });
}
