// What the device has seen: calls, launches, and defects of kernels and callers.
#pragma once

#include <stdint.h>

#include <string>

#include "../../include/hipcpu/abi.h"

namespace hipcpu {

enum class Finding {
  divergent_barrier,
  inactive_lane,
  out_of_bounds,
  use_after_free,
  uninitialised_read,
  shared_race,
  global_race,
  host_access,
  missing_dependency,
  division_by_zero,
};

// Tells of a defect: on standard error when it is the first of its kind at its place, and in the
// report. `site` is an address in the code object, or null; `thread` is the GPU thread, or null
// for the one that runs.
void report(Finding kind, const void *site, const Index *thread, const std::string &what);

// Counts a call of a function of the interface.
void count_call(const char *name);

// Counts a launch. Kernels of a loaded module are known from `know_kernel`, launched or not.
void know_kernel(const char *name);
void count_launch(const char *kernel, uint64_t threads);

// Writes the report now, if one is asked for. Otherwise it is written when the process ends.
void write_report();

// Where the running kernel is: "kernel k, block (0,0,0), thread (1,0,0)"; empty when none runs.
std::string where(const Index *thread);

}  // namespace hipcpu
