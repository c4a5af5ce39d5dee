// Who touched a place in memory last, in 64 bits.
#pragma once

#include <stdint.h>

#include <algorithm>

namespace hipcpu::check {

struct Cell {
  uint64_t bits = 0;

  bool empty() const { return bits == 0; }
  unsigned work() const { return field(50, 14); }      // of the device: a launch, a copy; never 0
  unsigned block() const { return field(30, 20); }     // of the launch
  unsigned barrier() const { return field(19, 11); }   // how many the block has passed
  unsigned meeting() const { return field(11, 8); }    // how often the wavefront has met since
  unsigned thread() const { return field(1, 10); }     // of the block
  bool atomic() const { return field(0, 1) != 0; }

  bool same_block(Cell other) const { return (bits ^ other.bits) >> 30 == 0; }
  // Whether both are of one block between the same barriers and meetings.
  bool same_time(Cell other) const { return (bits ^ other.bits) >> 11 == 0; }
  // Whether both are of one thread: all but what a thread does in the course of time is equal.
  bool same_thread(Cell other) const {
    constexpr uint64_t who = ~((uint64_t{1} << 30) - 1) | uint64_t{1023} << 1;
    return (bits & who) == (other.bits & who);
  }

 private:
  unsigned field(unsigned from, unsigned width) const {
    return static_cast<unsigned>(bits >> from & ((uint64_t{1} << width) - 1));
  }
};

constexpr unsigned works = 1 << 14;

// From so many meetings on they are not told apart.
constexpr unsigned meetings = (1 << 8) - 1;

inline Cell cell_of(unsigned work, uint64_t block, unsigned barrier, unsigned meeting,
                    unsigned thread) {
  const auto part = [](uint64_t value, unsigned from, unsigned width) {
    return (value & ((uint64_t{1} << width) - 1)) << from;
  };
  return {part(work, 50, 14) | part(block, 30, 20) | part(barrier, 19, 11) |
          part(std::min(meeting, meetings), 11, 8) | part(thread, 1, 10)};
}

}  // namespace hipcpu::check
