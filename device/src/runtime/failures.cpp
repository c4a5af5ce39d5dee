#include "failures.h"

#include <stdio.h>
#include <stdlib.h>

#include <atomic>
#include <string>

#include "options.h"

namespace hipcpu {

namespace {

// Of PORTKIT_DEVICE_FAIL: a function or *, which of its calls, and with what status.
struct Asked {
  std::string function;
  unsigned long call = 0;
  hipError_t status = hipErrorUnknown;
  std::atomic<unsigned long> calls{0};

  explicit Asked(const std::string &text) {
    const size_t first = text.find(':');
    if (first == std::string::npos) return;
    function = text.substr(0, first);
    char *end = nullptr;
    call = strtoul(text.c_str() + first + 1, &end, 10);
    if (*end == ':') status = static_cast<hipError_t>(strtoul(end + 1, nullptr, 10));
  }
};

}  // namespace

namespace {

hipError_t asked_of(const char *function, bool named) {
  static Asked *asked = new Asked(options().fail);
  if (asked->call == 0) return hipSuccess;
  if (asked->function != function && (named || asked->function != "*")) return hipSuccess;
  if (++asked->calls != asked->call) return hipSuccess;
  fprintf(stderr, "HIP device: %s fails, as PORTKIT_DEVICE_FAIL asks\n", function);
  return asked->status;
}

}  // namespace

hipError_t asked_failure(const char *function) { return asked_of(function, false); }

int asked_failure_of_library(const char *function) { return asked_of(function, true); }

bool acts_though_failing(const char *function) {
  return std::string(function) == "hipStreamEndCapture";
}

}  // namespace hipcpu
