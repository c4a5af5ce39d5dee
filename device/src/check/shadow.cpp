#include "shadow.h"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace hipcpu::check {

namespace {

// Zeros that take no memory until they are written.
template <typename T>
T *reserve(size_t count) {
  void *memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<T *>(memory);
}

template <typename T>
void clear(T *memory, size_t count) {
  madvise(memory, count * sizeof(T), MADV_DONTNEED);
}

}  // namespace

Shadow::Shadow(const void *begin, size_t bytes)
    : begin_(reinterpret_cast<uintptr_t>(begin)),
      bytes_(bytes),
      states_(reserve<State>(bytes)),
      words_(reserve<Word>(bytes / 4)),
      byte_cells_(reserve<Cells>(bytes)) {}

Shadow::~Shadow() {
  munmap(states_, bytes_);
  munmap(words_, bytes_ / 4 * sizeof(Word));
  munmap(byte_cells_, bytes_ * sizeof(Cells));
}

void Shadow::set(uintptr_t address, size_t bytes, State state) {
  const size_t first = address - begin_, end = first + bytes;
  memset(states_ + first, static_cast<int>(state), bytes);
  for (size_t w = first / 4; w < (end + 3) / 4; ++w) words_[w] = {};
}

void Shadow::copy_states(uintptr_t to, const Shadow &from_shadow, uintptr_t from, size_t bytes) {
  memmove(states_ + (to - begin_), from_shadow.states_ + (from - from_shadow.begin_), bytes);
}

void Shadow::forget() {
  clear(words_, bytes_ / 4);
  clear(byte_cells_, bytes_);
}

Shadow::Found Shadow::access(const Access &access, Ordered ordered, BlockRunner *runner) {
  Found found;
  const size_t first = access.address - begin_;
  const size_t end = first + access.bytes;
  if (end > bytes_) return {Defect::outside, access.address, {}, false};
  for (size_t i = first; i < end; ++i) {
    State &state = states_[i];
    if (state == State::initialised) continue;
    if (state != State::uninitialised) {
      return {state == State::freed ? Defect::after_free : Defect::outside, begin_ + i, {}, false};
    }
    if (access.writes()) state = State::initialised;
    if (access.kind == Kind::write || access.kind == Kind::move) continue;
    if (found.defect == Defect::none) found = {Defect::uninitialised, begin_ + i, {}, false};
  }
  const auto check = [&](Cells &cells, size_t at) {
    if (!touch(cells, access, ordered, runner, found)) return false;
    found.address = begin_ + at;
    return true;
  };
  for (size_t i = first; i < end;) {
    Word &word = words_[i / 4];
    const bool whole = i % 4 == 0 && end - i >= 4;
    if (whole && !word.split) {
      if (check(word.cells, i)) break;
      i += 4;
      continue;
    }
    if (!word.split) {
      std::fill_n(byte_cells_ + i / 4 * 4, 4, word.cells);
      word.split = true;
    }
    if (check(byte_cells_[i], i)) break;
    i += 1;
  }
  return found;
}

bool Shadow::touch(Cells &cells, const Access &access, Ordered ordered, BlockRunner *runner,
                   Found &found) const {
  const auto conflicts = [&](Cell earlier) {
    if (earlier.empty() || earlier.same_thread(access.by)) return false;
    if (earlier.atomic() && access.by.atomic()) return false;
    return !ordered(earlier, access.by, runner);
  };
  const auto race_with = [&](Cell earlier, bool wrote) {
    found.defect = Defect::race;
    found.other = earlier;
    found.other_wrote = wrote;
    return true;
  };
  // Loops around a compare-and-swap begin with an ordinary read: one that only meets atomic
  // accesses is no defect.
  const bool reads = !access.writes();
  bool result = false;
  if (!(reads && cells.writer.atomic()) && conflicts(cells.writer)) {
    result = race_with(cells.writer, true);
  }
  if (access.writes()) {
    for (const Cell reader : cells.readers) {
      if (!result && !access.by.atomic() && conflicts(reader)) result = race_with(reader, false);
    }
    cells.writer = access.by;
    cells.readers[0] = cells.readers[1] = {};
    return result;
  }
  // A reader that comes after another in any order that there is takes its place.
  for (Cell &reader : cells.readers) {
    if (reader.empty() || reader.same_thread(access.by) || ordered(reader, access.by, runner)) {
      reader = access.by;
      return result;
    }
  }
  return result;
}

}  // namespace hipcpu::check
