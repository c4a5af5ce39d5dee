// Products of matrices, in all their spellings.
#include "answer.h"
#include "product.h"

namespace hipcpu::blas {

namespace {

struct Operand {
  const void *data;
  rocblas_datatype type;
  rocblas_int leading;
  rocblas_stride stride;
};

void require_valid(rocblas_handle handle, const Shape &s, const Operand &a, const Operand &b,
                   const Operand &c, const Operand &d) {
  require(handle != nullptr, rocblas_status_invalid_handle);
  for (const rocblas_operation op : {s.a, s.b}) {
    require(op >= rocblas_operation_none && op <= rocblas_operation_conjugate_transpose,
            rocblas_status_invalid_value);
  }
  require(s.m >= 0 && s.n >= 0 && s.k >= 0 && s.batch >= 0, rocblas_status_invalid_size);
  const rocblas_int rows_a = s.a == rocblas_operation_none ? s.m : s.k;
  const rocblas_int rows_b = s.b == rocblas_operation_none ? s.k : s.n;
  require(a.leading >= std::max(rows_a, 1) && b.leading >= std::max(rows_b, 1) &&
              c.leading >= std::max(s.m, 1) && d.leading >= std::max(s.m, 1),
          rocblas_status_invalid_size);
}

template <typename In, typename Out, typename C>
void enqueue_products(rocblas_handle handle, const Shape &s, const void *alpha_at,
                      const Operand &a, const Operand &b, const void *beta_at, const Operand &c,
                      const Operand &d) {
  // Half precision as the type to compute in: numbers are given in it, sums are single precision.
  using Given = C;
  using Sum = std::conditional_t<std::is_same<C, __half>::value, float, C>;
  const Scalar<Given> alpha(handle, alpha_at), beta(handle, beta_at);
  enqueue(handle, [=] {
    const auto read = [](const Operand &operand, auto *of) {
      using T = std::remove_pointer_t<decltype(of)>;
      return Matrices<T>{static_cast<T *>(const_cast<void *>(operand.data)), operand.leading,
                         operand.stride};
    };
    products<In, Out, Sum>(s, widened<Sum>(alpha.get()), read(a, static_cast<const In *>(nullptr)),
                           read(b, static_cast<const In *>(nullptr)), widened<Sum>(beta.get()),
                           read(c, static_cast<const Out *>(nullptr)),
                           read(d, static_cast<Out *>(nullptr)));
  });
}

void gemm(rocblas_handle handle, const Shape &s, const void *alpha, const Operand &a,
          const Operand &b, const void *beta, const Operand &c, const Operand &d,
          rocblas_datatype compute) {
  require_valid(handle, s, a, b, c, d);
  if (s.m == 0 || s.n == 0 || s.batch == 0) return;
  require(alpha != nullptr && beta != nullptr && d.data != nullptr && c.data != nullptr,
          rocblas_status_invalid_pointer);
  require(s.k == 0 || (a.data != nullptr && b.data != nullptr), rocblas_status_invalid_pointer);
  require(a.type == b.type && c.type == d.type, rocblas_status_not_implemented);
  const auto is = [&](rocblas_datatype in, rocblas_datatype out, rocblas_datatype sum) {
    return a.type == in && c.type == out && compute == sum;
  };
  constexpr auto f16 = rocblas_datatype_f16_r, f32 = rocblas_datatype_f32_r,
                 f64 = rocblas_datatype_f64_r, bf16 = rocblas_datatype_bf16_r,
                 i8 = rocblas_datatype_i8_r, i32 = rocblas_datatype_i32_r;
  if (is(f32, f32, f32)) {
    enqueue_products<float, float, float>(handle, s, alpha, a, b, beta, c, d);
  } else if (is(f64, f64, f64)) {
    enqueue_products<double, double, double>(handle, s, alpha, a, b, beta, c, d);
  } else if (is(f16, f16, f32)) {
    enqueue_products<__half, __half, float>(handle, s, alpha, a, b, beta, c, d);
  } else if (is(f16, f32, f32)) {
    enqueue_products<__half, float, float>(handle, s, alpha, a, b, beta, c, d);
  } else if (is(f16, f16, f16)) {
    enqueue_products<__half, __half, __half>(handle, s, alpha, a, b, beta, c, d);
  } else if (is(bf16, bf16, f32)) {
    enqueue_products<__hip_bfloat16, __hip_bfloat16, float>(handle, s, alpha, a, b, beta, c, d);
  } else if (is(bf16, f32, f32)) {
    enqueue_products<__hip_bfloat16, float, float>(handle, s, alpha, a, b, beta, c, d);
  } else if (is(i8, i32, i32)) {
    enqueue_products<int8_t, int32_t, int32_t>(handle, s, alpha, a, b, beta, c, d);
  } else {
    throw Failure{rocblas_status_not_implemented};
  }
}

template <typename T>
constexpr rocblas_datatype datatype = std::is_same<T, double>::value ? rocblas_datatype_f64_r
                                      : std::is_same<T, float>::value ? rocblas_datatype_f32_r
                                                                      : rocblas_datatype_f16_r;

template <typename T>
void gemm_of(rocblas_handle handle, const Shape &s, const T *alpha, const T *a, rocblas_int lda,
             rocblas_stride stride_a, const T *b, rocblas_int ldb, rocblas_stride stride_b,
             const T *beta, T *c, rocblas_int ldc, rocblas_stride stride_c) {
  const Operand d{c, datatype<T>, ldc, stride_c};
  gemm(handle, s, alpha, {a, datatype<T>, lda, stride_a}, {b, datatype<T>, ldb, stride_b}, beta, d,
       d, datatype<T>);
}

}  // namespace

}  // namespace hipcpu::blas

using namespace hipcpu::blas;

#define GEMM(NAME, T)                                                                             \
  API rocblas_##NAME(rocblas_handle handle, rocblas_operation op_a, rocblas_operation op_b,       \
                     rocblas_int m, rocblas_int n, rocblas_int k, const T *alpha, const T *a,     \
                     rocblas_int lda, const T *b, rocblas_int ldb, const T *beta, T *c,           \
                     rocblas_int ldc) {                                                           \
    return answer(__func__, [&] {                                                                 \
      gemm_of(handle, {op_a, op_b, m, n, k, 1}, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0);    \
    });                                                                                           \
  }                                                                                               \
  API rocblas_##NAME##_strided_batched(                                                           \
      rocblas_handle handle, rocblas_operation op_a, rocblas_operation op_b, rocblas_int m,       \
      rocblas_int n, rocblas_int k, const T *alpha, const T *a, rocblas_int lda,                  \
      rocblas_stride stride_a, const T *b, rocblas_int ldb, rocblas_stride stride_b,              \
      const T *beta, T *c, rocblas_int ldc, rocblas_stride stride_c, rocblas_int batch) {         \
    return answer(__func__, [&] {                                                                 \
      gemm_of(handle, {op_a, op_b, m, n, k, batch}, alpha, a, lda, stride_a, b, ldb, stride_b,    \
              beta, c, ldc, stride_c);                                                            \
    });                                                                                           \
  }
GEMM(sgemm, float)
GEMM(dgemm, double)
GEMM(hgemm, __half)
#undef GEMM

API rocblas_gemm_ex(rocblas_handle handle, rocblas_operation op_a, rocblas_operation op_b,
                    rocblas_int m, rocblas_int n, rocblas_int k, const void *alpha, const void *a,
                    rocblas_datatype a_type, rocblas_int lda, const void *b,
                    rocblas_datatype b_type, rocblas_int ldb, const void *beta, const void *c,
                    rocblas_datatype c_type, rocblas_int ldc, void *d, rocblas_datatype d_type,
                    rocblas_int ldd, rocblas_datatype compute, int, int32_t, uint32_t) {
  return answer(__func__, [&] {
    gemm(handle, {op_a, op_b, m, n, k, 1}, alpha, {a, a_type, lda, 0}, {b, b_type, ldb, 0}, beta,
         {c, c_type, ldc, 0}, {d, d_type, ldd, 0}, compute);
  });
}

API rocblas_gemm_strided_batched_ex(
    rocblas_handle handle, rocblas_operation op_a, rocblas_operation op_b, rocblas_int m,
    rocblas_int n, rocblas_int k, const void *alpha, const void *a, rocblas_datatype a_type,
    rocblas_int lda, rocblas_stride stride_a, const void *b, rocblas_datatype b_type,
    rocblas_int ldb, rocblas_stride stride_b, const void *beta, const void *c,
    rocblas_datatype c_type, rocblas_int ldc, rocblas_stride stride_c, void *d,
    rocblas_datatype d_type, rocblas_int ldd, rocblas_stride stride_d, rocblas_int batch,
    rocblas_datatype compute, int, int32_t, uint32_t) {
  return answer(__func__, [&] {
    gemm(handle, {op_a, op_b, m, n, k, batch}, alpha, {a, a_type, lda, stride_a},
         {b, b_type, ldb, stride_b}, beta, {c, c_type, ldc, stride_c}, {d, d_type, ldd, stride_d},
         compute);
  });
}
