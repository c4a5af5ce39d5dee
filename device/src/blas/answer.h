// How each function of rocBLAS answers.
#pragma once

#include "../runtime/device_work.h"
#include "types.h"

namespace hipcpu::blas {

// Thrown inside of an answer.
struct Failure {
  rocblas_status status;
};

inline void require(bool holds, rocblas_status otherwise) {
  if (!holds) throw Failure{otherwise};
}

template <typename Body>
rocblas_status answer(const char *name, Body body) {
  if (const int asked = count_failing_call(name, true)) return static_cast<rocblas_status>(asked);
  try {
    body();
  } catch (const Failure &failure) {
    return failure.status;
  }
  return rocblas_status_success;
}

// Does work in the stream of a handle.
inline void enqueue(rocblas_handle handle, std::function<void()> work) {
  require(do_in_stream(handle->stream, std::move(work)), rocblas_status_internal_error);
}

// A number that a caller gives by pointer: read now, or when the work is done if it is the
// device's.
template <typename T>
class Scalar {
 public:
  Scalar(rocblas_handle handle, const void *pointer)
      : pointer_(handle->pointer_mode == rocblas_pointer_mode_device ? pointer : nullptr),
        value_(pointer_ == nullptr ? *static_cast<const T *>(pointer) : T()) {}
  T get() const { return pointer_ == nullptr ? value_ : *static_cast<const T *>(pointer_); }

 private:
  const void *pointer_;
  T value_;
};

}  // namespace hipcpu::blas
