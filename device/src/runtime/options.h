// What the environment says of the device.
#pragma once

#include <stddef.h>

#include <string>

namespace hipcpu {

struct Options {
  std::string arch;    // PORTKIT_DEVICE_ARCH: as which GPU it answers; gfx1100
  int devices;         // PORTKIT_DEVICE_COUNT: how many there are; 1
  size_t memory;       // PORTKIT_DEVICE_MEMORY: of each, in MiB; 16384
  unsigned threads;    // PORTKIT_DEVICE_THREADS: host threads that run blocks; one a processor
  std::string report;  // PORTKIT_DEVICE_REPORT: a folder; each process writes PID.json into it
  std::string fail;    // PORTKIT_DEVICE_FAIL=FUNCTION:N:STATUS: its N-th call fails so; * is any
  bool check;          // PORTKIT_DEVICE_CHECK=1: defects of kernels and callers are looked for
  bool peers;          // PORTKIT_DEVICE_PEERS=no: no device has access to another's memory
  size_t chaos;        // PORTKIT_DEVICE_CHAOS: the seed of what HIP leaves open; 0 is none
  std::string behaviours;  // PORTKIT_DEVICE_BEHAVIOURS: those of a seed, with commas between
  bool lazy;           // PORTKIT_DEVICE_STREAMS=lazy: work is done when something waits for it
};

// Read when the first function is called.
const Options &options();

}  // namespace hipcpu
