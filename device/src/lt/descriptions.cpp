// Handles, and what describes products.
#include "answer.h"

using namespace hipcpu::lt;

namespace {

// So much memory, and set from the stream of all: hipblaslt.cpp, hipblasLtCreate.
constexpr size_t synchronizer = 16 * 40960 * sizeof(int);

}  // namespace

HIPBLASLT_API hipblasLtCreate(hipblasLtHandle_t *handle) {
  return answer(__func__, [&] {
    require(handle != nullptr);
    Handle made{};
    require_hip(hipGetDevice(&made.device));
    void *memory = nullptr;
    require_hip(hipMalloc(&memory, synchronizer));
    made.synchronizer = static_cast<int *>(memory);
    if (const hipError_t status = hipMemset(memory, 0, synchronizer)) {
      (void)hipFree(memory);
      require_hip(status);
    }
    *handle = new Handle(made);
  });
}

HIPBLASLT_API hipblasLtDestroy(hipblasLtHandle_t handle) {
  return answer(__func__, [&] {
    require(handle != nullptr, HIPBLAS_STATUS_HANDLE_IS_NULLPTR);
    const hipError_t status = hipFree(handle->synchronizer);
    delete handle;
    require_hip(status);
  });
}

HIPBLASLT_API hipblasLtMatrixLayoutCreate(hipblasLtMatrixLayout_t *layout, hipDataType type, uint64_t rows,
                                uint64_t columns, int64_t leading) {
  return answer(__func__, [&] {
    require(layout != nullptr);
    *layout = new MatrixLayout{type, rows, columns, leading};
  });
}

HIPBLASLT_API hipblasLtMatrixLayoutDestroy(hipblasLtMatrixLayout_t layout) {
  return answer(__func__, [&] {
    require(layout != nullptr);
    delete layout;
  });
}

HIPBLASLT_API hipblasLtMatrixLayoutSetAttribute(hipblasLtMatrixLayout_t layout,
                                      hipblasLtMatrixLayoutAttribute_t attribute, const void *value,
                                      size_t size) {
  return answer(__func__, [&] {
    require(layout != nullptr);
    switch (attribute) {
      case HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT: layout->batch = given<int32_t>(value, size); break;
      case HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
        layout->stride = given<int64_t>(value, size);
        break;
      default: throw Failure{HIPBLAS_STATUS_NOT_SUPPORTED};
    }
  });
}

HIPBLASLT_API hipblasLtMatmulDescCreate(hipblasLtMatmulDesc_t *desc, hipblasComputeType_t compute,
                              hipDataType scale) {
  return answer(__func__, [&] {
    require(desc != nullptr);
    require(compute == HIPBLAS_COMPUTE_32F && scale == HIP_R_32F, HIPBLAS_STATUS_NOT_SUPPORTED);
    *desc = new MatmulDesc;
  });
}

HIPBLASLT_API hipblasLtMatmulDescDestroy(hipblasLtMatmulDesc_t desc) {
  return answer(__func__, [&] {
    require(desc != nullptr);
    delete desc;
  });
}

HIPBLASLT_API hipblasLtMatmulDescSetAttribute(hipblasLtMatmulDesc_t desc,
                                    hipblasLtMatmulDescAttributes_t attribute, const void *value,
                                    size_t size) {
  return answer(__func__, [&] {
    require(desc != nullptr);
    const auto operation = static_cast<hipblasOperation_t>(given<int32_t>(value, size));
    require(operation >= HIPBLAS_OP_N && operation <= HIPBLAS_OP_C);
    switch (attribute) {
      case HIPBLASLT_MATMUL_DESC_TRANSA: desc->a = operation; break;
      case HIPBLASLT_MATMUL_DESC_TRANSB: desc->b = operation; break;
      default: throw Failure{HIPBLAS_STATUS_NOT_SUPPORTED};
    }
  });
}

HIPBLASLT_API hipblasLtMatmulPreferenceCreate(hipblasLtMatmulPreference_t *preference) {
  return answer(__func__, [&] {
    require(preference != nullptr);
    *preference = new MatmulPreference;
  });
}

HIPBLASLT_API hipblasLtMatmulPreferenceDestroy(hipblasLtMatmulPreference_t preference) {
  return answer(__func__, [&] {
    require(preference != nullptr);
    delete preference;
  });
}

HIPBLASLT_API hipblasLtMatmulPreferenceSetAttribute(hipblasLtMatmulPreference_t preference,
                                          hipblasLtMatmulPreferenceAttributes_t attribute,
                                          const void *value, size_t size) {
  return answer(__func__, [&] {
    require(preference != nullptr);
    require(attribute == HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, HIPBLAS_STATUS_NOT_SUPPORTED);
    preference->workspace = given<uint64_t>(value, size);
  });
}
