// Handles.
#include "answer.h"

using namespace hipcpu::blas;

// Less than rocBLAS takes, 32 MiB or more, which a host has no use for.
static constexpr size_t MEMORY = 256;

API rocblas_create_handle(rocblas_handle *handle) {
  return answer(__func__, [&] {
    require(handle != nullptr, rocblas_status_invalid_handle);
    // It has memory, which is asked for as any other is (rocBLAS, library/src/handle.cpp).
    void *memory = nullptr;
    const hipError_t asked = hipMalloc(&memory, MEMORY);
    require(asked != hipErrorOutOfMemory, rocblas_status_memory_error);
    require(asked == hipSuccess, rocblas_status_internal_error);
    *handle = new _rocblas_handle{memory};
  });
}

API rocblas_destroy_handle(rocblas_handle handle) {
  return answer(__func__, [&] {
    require(handle != nullptr, rocblas_status_invalid_handle);
    (void)hipStreamSynchronize(handle->stream);
    (void)hipFree(handle->memory);
    delete handle;
  });
}

API rocblas_set_stream(rocblas_handle handle, hipStream_t stream) {
  return answer(__func__, [&] {
    require(handle != nullptr, rocblas_status_invalid_handle);
    handle->stream = stream;
  });
}

API rocblas_get_stream(rocblas_handle handle, hipStream_t *stream) {
  return answer(__func__, [&] {
    require(handle != nullptr, rocblas_status_invalid_handle);
    require(stream != nullptr, rocblas_status_invalid_pointer);
    *stream = handle->stream;
  });
}

API rocblas_set_pointer_mode(rocblas_handle handle, rocblas_pointer_mode mode) {
  return answer(__func__, [&] {
    require(handle != nullptr, rocblas_status_invalid_handle);
    handle->pointer_mode = mode;
  });
}

API rocblas_get_pointer_mode(rocblas_handle handle, rocblas_pointer_mode *mode) {
  return answer(__func__, [&] {
    require(handle != nullptr, rocblas_status_invalid_handle);
    require(mode != nullptr, rocblas_status_invalid_pointer);
    *mode = handle->pointer_mode;
  });
}

// Atomics and faster kinds of arithmetic are permissions that nothing here needs.
API rocblas_set_atomics_mode(rocblas_handle handle, int) {
  return answer(__func__, [&] { require(handle != nullptr, rocblas_status_invalid_handle); });
}

API rocblas_set_math_mode(rocblas_handle handle, int) {
  return answer(__func__, [&] { require(handle != nullptr, rocblas_status_invalid_handle); });
}
