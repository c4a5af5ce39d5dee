// rocBLAS's types, with the values of rocblas/rocblas.h (ROCm 6.0 and later).
#pragma once

#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime_api.h>

#include <stdint.h>

enum rocblas_status : int {
  rocblas_status_success = 0,
  rocblas_status_invalid_handle = 1,
  rocblas_status_not_implemented = 2,
  rocblas_status_invalid_pointer = 3,
  rocblas_status_invalid_size = 4,
  rocblas_status_memory_error = 5,
  rocblas_status_internal_error = 6,
  rocblas_status_invalid_value = 11,
};

enum rocblas_operation : int {
  rocblas_operation_none = 111,
  rocblas_operation_transpose = 112,
  rocblas_operation_conjugate_transpose = 113,
};

enum rocblas_datatype : int {
  rocblas_datatype_f16_r = 150,
  rocblas_datatype_f32_r = 151,
  rocblas_datatype_f64_r = 152,
  rocblas_datatype_i8_r = 160,
  rocblas_datatype_i32_r = 162,
  rocblas_datatype_bf16_r = 168,
};

enum rocblas_pointer_mode : int { rocblas_pointer_mode_host = 0, rocblas_pointer_mode_device = 1 };

using rocblas_int = int32_t;
using rocblas_stride = int64_t;

struct _rocblas_handle {
  void *memory;
  hipStream_t stream = nullptr;
  rocblas_pointer_mode pointer_mode = rocblas_pointer_mode_host;
};
using rocblas_handle = _rocblas_handle *;

#define API extern "C" __attribute__((visibility("default"))) rocblas_status
