// Handles.
#include "answer.h"

using namespace hipcpu::blas;

API rocblas_create_handle(rocblas_handle *handle) {
  return answer(__func__, [&] {
    require(handle != nullptr, rocblas_status_invalid_handle);
    *handle = new _rocblas_handle;
  });
}

API rocblas_destroy_handle(rocblas_handle handle) {
  return answer(__func__, [&] {
    require(handle != nullptr, rocblas_status_invalid_handle);
    (void)hipStreamSynchronize(handle->stream);
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
