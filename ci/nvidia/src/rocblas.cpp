// rocBLAS over cuBLAS: the functions that the ported tree calls. A handle is cuBLAS's own.
#include <cublas_v2.h>

#include "library.h"

namespace {

// rocblas/internal/rocblas-types.h.
enum Status {
  success = 0,
  invalid_handle = 1,
  not_implemented = 2,
  memory_error = 5,
  internal_error = 6,
  invalid_value = 11,
};
enum Operation { none = 111, transpose = 112, conjugate_transpose = 113 };
enum Type { f16 = 150, f32 = 151, f64 = 152, i8 = 160, i32 = 162, bf16 = 168 };

int status(cublasStatus_t of) {
  switch (of) {
    case CUBLAS_STATUS_SUCCESS: return success;
    case CUBLAS_STATUS_NOT_INITIALIZED: return invalid_handle;
    case CUBLAS_STATUS_ALLOC_FAILED: return memory_error;
    case CUBLAS_STATUS_INVALID_VALUE: return invalid_value;
    case CUBLAS_STATUS_NOT_SUPPORTED: return not_implemented;
    default: return internal_error;
  }
}

cublasOperation_t operation(int of) {
  return of == none ? CUBLAS_OP_N : of == transpose ? CUBLAS_OP_T : CUBLAS_OP_C;
}

bool is_type(int of, cudaDataType_t *type) {
  switch (of) {
    case f16: *type = CUDA_R_16F; return true;
    case f32: *type = CUDA_R_32F; return true;
    case f64: *type = CUDA_R_64F; return true;
    case bf16: *type = CUDA_R_16BF; return true;
    case i8: *type = CUDA_R_8I; return true;
    case i32: *type = CUDA_R_32I; return true;
    default: return false;
  }
}

bool is_compute(int of, cublasComputeType_t *type) {
  switch (of) {
    case f16: *type = CUBLAS_COMPUTE_16F; return true;
    case f32: *type = CUBLAS_COMPUTE_32F; return true;
    case f64: *type = CUBLAS_COMPUTE_64F; return true;
    case i32: *type = CUBLAS_COMPUTE_32I; return true;
    default: return false;
  }
}

}  // namespace

API rocblas_create_handle(cublasHandle_t *handle) {
  return bind() ? status(cublasCreate(handle)) : internal_error;
}

API rocblas_destroy_handle(cublasHandle_t handle) { return status(cublasDestroy(handle)); }

API rocblas_get_stream(cublasHandle_t handle, hipStream_t *stream) {
  return status(cublasGetStream(handle, reinterpret_cast<cudaStream_t *>(stream)));
}

API rocblas_set_stream(cublasHandle_t handle, hipStream_t stream) {
  return status(cublasSetStream(handle, reinterpret_cast<cudaStream_t>(stream)));
}

// Pointer modes have the same numbers.
API rocblas_set_pointer_mode(cublasHandle_t handle, int mode) {
  return status(cublasSetPointerMode(handle, static_cast<cublasPointerMode_t>(mode)));
}

API rocblas_get_pointer_mode(cublasHandle_t handle, int *mode) {
  return status(cublasGetPointerMode(handle, reinterpret_cast<cublasPointerMode_t *>(mode)));
}

// So have the modes of atomic operations.
API rocblas_set_atomics_mode(cublasHandle_t handle, unsigned mode) {
  return status(cublasSetAtomicsMode(handle, static_cast<cublasAtomicsMode_t>(mode)));
}

// cuBLAS computes in place: what is added has to lie where the result goes.
API rocblas_gemm_strided_batched_ex(cublasHandle_t handle, int trans_a, int trans_b, int m, int n,
                                    int k, const void *alpha, const void *a, int a_type, int lda,
                                    int64_t stride_a, const void *b, int b_type, int ldb,
                                    int64_t stride_b, const void *beta, const void *c, int c_type,
                                    int ldc, int64_t stride_c, void *d, int d_type, int ldd,
                                    int64_t stride_d, int batch, int compute_type, int, int32_t,
                                    uint32_t) {
  cudaDataType_t ta, tb, td;
  cublasComputeType_t compute;
  if (c != d || c_type != d_type || ldc != ldd || stride_c != stride_d || !is_type(a_type, &ta) ||
      !is_type(b_type, &tb) || !is_type(d_type, &td) || !is_compute(compute_type, &compute)) {
    return not_implemented;
  }
  return status(cublasGemmStridedBatchedEx(handle, operation(trans_a), operation(trans_b), m, n, k,
                                           alpha, a, ta, lda, stride_a, b, tb, ldb, stride_b, beta,
                                           d, td, ldd, stride_d, batch, compute,
                                           CUBLAS_GEMM_DEFAULT_TENSOR_OP));
}

API rocblas_gemm_ex(cublasHandle_t handle, int trans_a, int trans_b, int m, int n, int k,
                    const void *alpha, const void *a, int a_type, int lda, const void *b,
                    int b_type, int ldb, const void *beta, const void *c, int c_type, int ldc,
                    void *d, int d_type, int ldd, int compute_type, int algorithm,
                    int32_t solution, uint32_t flags) {
  return rocblas_gemm_strided_batched_ex(handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda,
                                         0, b, b_type, ldb, 0, beta, c, c_type, ldc, 0, d, d_type,
                                         ldd, 0, 1, compute_type, algorithm, solution, flags);
}

#define OF_TYPE(T, s, S)                                                                         \
  API rocblas_##s##gemm(cublasHandle_t handle, int trans_a, int trans_b, int m, int n, int k,    \
                        const T *alpha, const T *a, int lda, const T *b, int ldb, const T *beta, \
                        T *c, int ldc) {                                                         \
    return status(cublas##S##gemm(handle, operation(trans_a), operation(trans_b), m, n, k,       \
                                  alpha, a, lda, b, ldb, beta, c, ldc));                         \
  }                                                                                              \
  API rocblas_##s##gemm_strided_batched(                                                         \
      cublasHandle_t handle, int trans_a, int trans_b, int m, int n, int k, const T *alpha,      \
      const T *a, int lda, int64_t stride_a, const T *b, int ldb, int64_t stride_b,              \
      const T *beta, T *c, int ldc, int64_t stride_c, int batch) {                               \
    return status(cublas##S##gemmStridedBatched(                                                 \
        handle, operation(trans_a), operation(trans_b), m, n, k, alpha, a, lda, stride_a, b,     \
        ldb, stride_b, beta, c, ldc, stride_c, batch));                                          \
  }                                                                                              \
  API rocblas_##s##gemv(cublasHandle_t handle, int trans, int m, int n, const T *alpha,          \
                        const T *a, int lda, const T *x, int incx, const T *beta, T *y,          \
                        int incy) {                                                              \
    return status(cublas##S##gemv(handle, operation(trans), m, n, alpha, a, lda, x, incx, beta,  \
                                  y, incy));                                                     \
  }                                                                                              \
  API rocblas_##s##asum(cublasHandle_t handle, int n, const T *x, int incx, T *result) {         \
    return status(cublas##S##asum(handle, n, x, incx, result));                                  \
  }
OF_TYPE(float, s, S)
OF_TYPE(double, d, D)
