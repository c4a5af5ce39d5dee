// hipBLASLt's types, with the values of hipblaslt/hipblaslt.h and hipblas-common/hipblas-common.h (ROCm
// 6.0 and later).
#pragma once

#include <hip/hip_runtime_api.h>

#include <stdint.h>

enum hipblasStatus_t : int {
  HIPBLAS_STATUS_SUCCESS = 0,
  HIPBLAS_STATUS_ALLOC_FAILED = 2,
  HIPBLAS_STATUS_INVALID_VALUE = 3,
  HIPBLAS_STATUS_INTERNAL_ERROR = 6,
  HIPBLAS_STATUS_NOT_SUPPORTED = 7,
  HIPBLAS_STATUS_HANDLE_IS_NULLPTR = 9,
};

enum hipblasOperation_t : int32_t { HIPBLAS_OP_N = 111, HIPBLAS_OP_T = 112, HIPBLAS_OP_C = 113 };

enum hipblasComputeType_t : int { HIPBLAS_COMPUTE_32F = 2 };

enum hipDataType : int { HIP_R_32F = 0, HIP_R_16F = 2, HIP_R_16BF = 14 };

enum hipblasLtMatrixLayoutAttribute_t : int {
  HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 0,           // int32_t
  HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 1,  // int64_t
};

enum hipblasLtMatmulDescAttributes_t : int {
  HIPBLASLT_MATMUL_DESC_TRANSA = 0,  // int32_t
  HIPBLASLT_MATMUL_DESC_TRANSB = 1,  // int32_t
};

enum hipblasLtMatmulPreferenceAttributes_t : int {
  HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,  // uint64_t
};

struct hipblasLtMatmulAlgo_t {
  uint8_t data[16];
  size_t max_workspace_bytes;
};

struct hipblasLtMatmulHeuristicResult_t {
  hipblasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  hipblasStatus_t state;
  float wavesCount;
  int reserved[4];
};

struct MatrixLayout {
  hipDataType type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t stride = 0;
};
using hipblasLtMatrixLayout_t = MatrixLayout *;

struct MatmulDesc {
  hipblasOperation_t a = HIPBLAS_OP_N, b = HIPBLAS_OP_N;
};
using hipblasLtMatmulDesc_t = MatmulDesc *;

struct MatmulPreference {
  uint64_t workspace = 0;
};
using hipblasLtMatmulPreference_t = MatmulPreference *;

// hipBLASLt has memory beside each handle by which the blocks of a product wait for each other: two products
// of a handle at once spoil it.
struct Handle {
  int device;
  int *synchronizer;
};
using hipblasLtHandle_t = Handle *;

#define HIPBLASLT_API extern "C" __attribute__((visibility("default"))) hipblasStatus_t
