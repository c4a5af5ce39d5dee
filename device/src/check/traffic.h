// How many bytes of the devices' memory are read and written: all that kernels, copies, fills and the
// other libraries ask for, each time that they do, as if there were no cache.
//
// The checker counts, since accesses of kernels are told to it alone. Atomic operations read and write.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <atomic>

namespace hipcpu::check {

class Traffic {
 public:
  void reads(size_t bytes) { read_.fetch_add(bytes, std::memory_order_relaxed); }
  void writes(size_t bytes) { written_.fetch_add(bytes, std::memory_order_relaxed); }
  uint64_t read() const { return read_; }
  uint64_t written() const { return written_; }

 private:
  std::atomic<uint64_t> read_{0}, written_{0};
};

inline Traffic traffic;

}  // namespace hipcpu::check
