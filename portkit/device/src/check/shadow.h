// What the checker knows of a range of memory, byte by byte.
//
// Each byte has a state. Each word of four bytes has the last thread that wrote it and up to two
// that read it since; from when a part of a word is accessed by itself, each of its bytes has the
// same. Two readers are enough: whoever writes differs from one of them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cell.h"

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
using Ordered = bool (*)(Cell earlier, Cell now, const void *context);

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
  // Notes an access and says what is wrong with it.
  Found access(const Access &access, Ordered ordered, const void *context);

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

  bool touch(Cells &cells, const Access &access, Ordered ordered, const void *context,
             Found &found) const;

  uintptr_t begin_;
  size_t bytes_;
  State *states_;
  Word *words_;
  Cells *byte_cells_;
};

}  // namespace hipcpu::check
