// hipGetLastError and what statuses are called.
#include "answer.h"

namespace hipcpu {

hipError_t &last_error() {
  static thread_local hipError_t error = hipSuccess;
  return error;
}

}  // namespace hipcpu

using namespace hipcpu;

HIP_EXPORT hipError_t hipGetLastError() {
  count_call(__func__);
  const hipError_t error = last_error();
  last_error() = hipSuccess;
  return error;
}

HIP_EXPORT hipError_t hipExtGetLastError() { return hipGetLastError(); }

HIP_EXPORT hipError_t hipPeekAtLastError() {
  count_call(__func__);
  return last_error();
}

HIP_EXPORT const char *hipGetErrorName(hipError_t error) {
  switch (error) {
#define HIP_STATUS(NAME, NUMBER, TEXT) \
  case NAME:                           \
    return #NAME;
#define HIP_ALIAS(NAME, NUMBER)
#include <hipcpu/errors.def>
#undef HIP_STATUS
  }
  return "hipErrorUnknown";
}

HIP_EXPORT const char *hipGetErrorString(hipError_t error) {
  switch (error) {
#define HIP_STATUS(NAME, NUMBER, TEXT) \
  case NAME:                           \
    return TEXT;
#include <hipcpu/errors.def>
#undef HIP_STATUS
#undef HIP_ALIAS
  }
  return "an unknown error";
}

HIP_EXPORT hipError_t hipDrvGetErrorName(hipError_t error, const char **name) {
  return answer(__func__, [&] {
    require(name != nullptr, hipErrorInvalidValue);
    *name = hipGetErrorName(error);
  });
}

HIP_EXPORT hipError_t hipDrvGetErrorString(hipError_t error, const char **text) {
  return answer(__func__, [&] {
    require(text != nullptr, hipErrorInvalidValue);
    *text = hipGetErrorString(error);
  });
}
