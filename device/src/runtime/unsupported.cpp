// What functions that the device does not have answer (portkit/device/stubs.py).
#include <stdio.h>

#include <mutex>
#include <set>
#include <string>

#include "answer.h"

using namespace hipcpu;

HIP_EXPORT int hipcpu_not_supported(const char *function, int status) {
  static std::mutex mutex;
  static auto *told = new std::set<std::string>;
  count_call(function);
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (told->insert(function).second) {
      fprintf(stderr, "HIP device: %s is not supported by the CPU device\n", function);
    }
  }
  if (status == hipErrorNotSupported) last_error() = hipErrorNotSupported;
  return status;
}

