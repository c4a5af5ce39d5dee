// The devices.
#pragma once

#include "arch.h"
#include "heap.h"

namespace hipcpu {

struct Device {
  Arch arch;
  Heap heap;
};

// Throws hipErrorInvalidDevice for a number that no device has.
Device &device(int ordinal);

// Of the calling thread.
int current_device();

// The device whose memory holds an address; -1 for none.
int device_of(const void *address);

// Of streams; a lower number goes first. AMD's runtime has these three.
constexpr int greatest_priority = -1, least_priority = 1;

// Threads that a compute unit holds.
constexpr int threads_per_unit = 2048;

}  // namespace hipcpu
