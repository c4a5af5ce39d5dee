// How many bytes of the devices' memory are read and written: all that kernels, copies, fills and the
// other libraries ask for, each time that they do, as if there were no cache; and how many of those
// that are read a cache of the GPU would fetch, if nothing left it while a kernel runs.
//
// The checker counts, since accesses of kernels are told to it alone. Atomic operations read and write.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <atomic>
#include <new>

namespace hipcpu::check {

class Traffic {
 public:
  // The memory of all devices, before anything is read.
  void watch(const void *begin, size_t bytes) {
    first_ = reinterpret_cast<uintptr_t>(begin) / line;
    void *memory = mmap(nullptr, (bytes / line + 1) * sizeof(Last), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    last_ = static_cast<Last *>(memory);  // zeros, which take no memory until they are written
  }

  // What a kernel reads of the watched memory; `work` is the number of its launch.
  void kernel_reads(uintptr_t address, size_t bytes, unsigned work) {
    reads(bytes);
    const uintptr_t end = (address + bytes - 1) / line;
    for (uintptr_t at = address / line; at <= end; ++at) {
      Last &last = last_[at - first_];
      // Most threads ask for what another has asked for.
      if (last.load(std::memory_order_relaxed) != work &&
          last.exchange(static_cast<uint16_t>(work), std::memory_order_relaxed) != work) {
        fetched_.fetch_add(line, std::memory_order_relaxed);
      }
    }
  }

  // What a copy or another library reads: each byte once.
  void other_reads(size_t bytes) {
    reads(bytes);
    fetched_.fetch_add(bytes, std::memory_order_relaxed);
  }

  void writes(size_t bytes) { written_.fetch_add(bytes, std::memory_order_relaxed); }
  uint64_t read() const { return read_; }
  uint64_t fetched() const { return fetched_; }
  uint64_t written() const { return written_; }

 private:
  // The L2 of AMD's GPUs asks the memory for 64 bytes, seldom for 32 (ROCm Compute Profiler, L2-Fabric
  // reads, TCC_EA_RDREQ).
  static constexpr uintptr_t line = 64;
  // The launch that has read a line last; the checker's numbers of work have 14 bits (cell.h).
  using Last = std::atomic<uint16_t>;

  void reads(size_t bytes) { read_.fetch_add(bytes, std::memory_order_relaxed); }

  std::atomic<uint64_t> read_{0}, fetched_{0}, written_{0};
  Last *last_ = nullptr;
  uintptr_t first_ = 0;
};

inline Traffic traffic;

}  // namespace hipcpu::check
