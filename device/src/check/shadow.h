// What the checker knows of a range of memory, byte by byte.
//
// Each byte has a state. Each word of four bytes has the last thread that wrote it and up to two
// that read it since; from when a part of a word is accessed by itself, each of its bytes has the
// same. Two readers are enough: whoever writes differs from one of them.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cell.h"

namespace hipcpu {
class BlockRunner;
}

namespace hipcpu::check {

enum class State : uint8_t {
  nobodys = 0,  // never handed out, or between two allocations
  freed,
  uninitialised,
  initialised,
};

// What is wrong with an access.
enum class Defect { none, outside, after_free, uninitialised, race };

enum class Kind : uint8_t {
  read,
  write,
  change,  // reads what there is, and writes
  move,    // reads what may be uninitialised, to write it elsewhere
};

struct Access {
  uintptr_t address;
  size_t bytes;
  Kind kind;
  Cell by;

  bool writes() const { return kind == Kind::write || kind == Kind::change; }
};

// Says whether what `earlier` did is known to come before what `now` does.
using Ordered = bool (*)(Cell earlier, Cell now, BlockRunner *runner);

class Shadow {
 public:
  Shadow(const void *begin, size_t bytes);
  ~Shadow();
  Shadow(const Shadow &) = delete;
  Shadow &operator=(const Shadow &) = delete;

  bool contains(uintptr_t address) const { return address - begin_ < bytes_; }

  // Gives bytes a state, and forgets who touched them.
  void set(uintptr_t address, size_t bytes, State state);
  // Copies the states of one range to another of the same size.
  void copy_states(uintptr_t to, const Shadow &from_shadow, uintptr_t from, size_t bytes);

  struct Found {
    Defect defect = Defect::none;
    uintptr_t address = 0;  // of the first byte that is wrong
    Cell other;             // of a race
    bool other_wrote = false;
  };
  // Notes an access if it is of the most frequent kind, which cannot be wrong: of one aligned word
  // that has been written, and that nobody has touched but the same thread and one piece of work
  // that is known to come before, but as readers. Returns whether it was.
  bool note_ordered(uintptr_t address, size_t bytes, bool writes, Cell by, unsigned before) {
    const size_t first = address - begin_;
    if (bytes != 4 || first % 4 != 0 || first + bytes > bytes_) return false;
    constexpr auto each = static_cast<uint32_t>(State::initialised) * 0x01010101u;
    uint32_t states;
    memcpy(&states, states_ + first, sizeof states);
    Word &word = words_[first / 4];
    Cells &cells = word.cells;
    const auto goes_before = [&](Cell cell) {
      return cell.empty() || cell.same_thread(by) || cell.work() == before ||
             (cell.same_block(by) && cell.barrier() != by.barrier());
    };
    if (states != each || word.split || !goes_before(cells.writer)) return false;
    Cell &first_reader = cells.readers[0], &second = cells.readers[1];
    if (writes) {
      if (!goes_before(first_reader) || !goes_before(second)) return false;
      cells = {by, {}};
    } else if (goes_before(first_reader)) {
      first_reader = by;
    } else if (goes_before(second)) {
      second = by;
    } else {
      // Two others have read it meanwhile, which is enough to know.
      return first_reader.same_time(by) && second.same_time(by);
    }
    return true;
  }
  // Notes an access and says what is wrong with it.
  Found access(const Access &access, Ordered ordered, BlockRunner *runner);

  // Forgets who touched what, everywhere.
  void forget();

 private:
  struct Cells {
    Cell writer, readers[2];
  };
  struct Word {
    Cells cells;
    bool split;  // what is known stands with the bytes
  };

  bool touch(Cells &cells, const Access &access, Ordered ordered, BlockRunner *runner,
             Found &found) const;

  uintptr_t begin_;
  size_t bytes_;
  State *states_;
  Word *words_;
  Cells *byte_cells_;
};

}  // namespace hipcpu::check
