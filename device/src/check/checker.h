// The checker: what it is told of the device's memory, and of accesses to it.
//
// It works where it is asked for (PORTKIT_DEVICE_CHECK=1) and for code objects that were compiled
// by hipcc-checked, whose memory accesses call the functions of accesses.cpp.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <string>

#include "shadow.h"

namespace hipcpu {
class BlockRunner;
}

namespace hipcpu::check {

bool enabled();

// The memory of all devices.
void watch(const void *begin, size_t bytes);
void allocated(const void *begin, size_t bytes);
void freed(const void *begin, size_t bytes);

// Accesses of what is not a kernel: copies, fills, the other libraries. `what` names it.
void reads(const void *begin, size_t bytes, const char *what);
void writes(const void *begin, size_t bytes, const char *what);
// From one place of a device to another: what was not initialised is not after it either.
void copies(const void *to, const void *from, size_t bytes, const char *what);
// From here on in the order of a stream nobody may use memory. `what` names the reason.
void gives_up(const void *begin, size_t bytes, const char *what);

// What is known of the memory of all devices; null without the checker.
extern Shadow *device_shadow;

// An access of the thread that the calling host thread runs, to memory that a shadow is of.
void access(BlockRunner &runner, Shadow &shadow, const Access &access, const void *site);

// What lies at an address: "byte 12 of 400 bytes of device memory".
std::string place(const void *address);

// Forgets who touched what, when numbers begin anew.
void forget_accesses();

// While one lives, the memory of devices can be reached; the host by itself cannot.
class Reach {
 public:
  Reach();
  ~Reach();
  Reach(const Reach &) = delete;
  Reach &operator=(const Reach &) = delete;
};

}  // namespace hipcpu::check
