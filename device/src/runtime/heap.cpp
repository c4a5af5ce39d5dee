#include "heap.h"

#include <string.h>

#include <algorithm>
#include <iterator>

#include "../check/checker.h"
#include "chaos.h"

namespace hipcpu {

namespace {

constexpr size_t align = 256;  // of every allocation, as hipMalloc gives it

// Fresh memory holds garbage: as a floating-point number of any size it is not a number, so that
// what is computed from it shows.
constexpr int garbage = 0xff;

// With a seed it may be anything: also zeros, as memory reads that was freshly mapped
// (ROCm/rocm-systems 11693), and numbers that look like some. What was freed is written over.
int fresh() {
  constexpr int patterns[] = {garbage, 0x00, 0x3c, 0x7f};
  return may(Open::fresh) ? patterns[any_below(4)] : garbage;
}
constexpr int given_back = 0xfb;

void write_over(void *pointer, size_t bytes) {
  if (!may(Open::freed)) return;
  const check::Reach reach;
  memset(pointer, given_back, bytes);
}

size_t rounded(size_t bytes) { return std::max((bytes + align - 1) / align * align, align); }

// With the checker there is room between allocations that is nobody's, and what was freed is
// handed out again late: what uses either is found.
size_t room_for(size_t bytes) { return rounded(bytes) + (check::enabled() ? align : 0); }
constexpr size_t remembered = 16;  // of the offsets that were freed last
constexpr size_t withheld_part = 4;  // of the whole memory, at most one in so many bytes

}  // namespace

Heap::Heap(char *base, size_t bytes) : base_(base), bytes_(bytes) { add_free({0, bytes}); }

void *Heap::allocate(size_t bytes) {
  if (bytes > bytes_) return nullptr;
  const size_t needed = room_for(bytes);
  std::unique_lock<std::mutex> lock(mutex_);
  const Range range = place_for(needed);
  if (range.bytes == 0) return nullptr;
  const auto around = std::prev(free_by_offset_.upper_bound(range.offset));
  const Range whole{around->first, around->second};
  const size_t before = range.offset - whole.offset, after = whole.bytes - before - needed;
  remove_free(whole);
  if (before > 0) add_free({whole.offset, before});
  if (after > 0) add_free({range.offset + needed, after});
  taken_[range.offset] = {range.offset, bytes};
  used_ += needed;
  lock.unlock();
  char *begin = base_ + range.offset;
  check::allocated(begin, std::max<size_t>(bytes, 1));
  const check::Reach reach;
  memset(begin, fresh(), needed);
  return begin;
}

// Where so many bytes are free; none where they are not. What was freed last is handed out at once,
// if that is left open; else the smallest range that has room is.
Heap::Range Heap::place_for(size_t bytes) const {
  for (auto offset = last_freed_.rbegin(); offset != last_freed_.rend(); ++offset) {
    const auto after = free_by_offset_.upper_bound(*offset);
    if (after == free_by_offset_.begin()) continue;
    const auto &[begin, free] = *std::prev(after);
    if (*offset + bytes <= begin + free) return {*offset, bytes};
  }
  const auto fitting = free_by_size_.lower_bound({bytes, 0});
  if (fitting == free_by_size_.end()) return {0, 0};
  return {fitting->second, bytes};
}

void Heap::overwrite(void *pointer) { write_over(pointer, find(pointer).bytes); }

void Heap::resize(void *pointer, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  Range &range = taken_.at(static_cast<size_t>(static_cast<char *>(pointer) - base_));
  const size_t before = room_for(range.bytes), after = room_for(bytes);
  range.bytes = bytes;
  used_ -= before - after;
  if (after < before) merge_free({range.offset + after, before - after});
}

void Heap::lose() {
  std::lock_guard<std::mutex> lock(mutex_);
  used_ = bytes_;
  free_by_offset_.clear();
  free_by_size_.clear();
}

bool Heap::free(void *pointer) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = taken_.find(static_cast<size_t>(static_cast<char *>(pointer) - base_));
  if (found == taken_.end()) return false;
  const Range range = found->second;
  taken_.erase(found);
  used_ -= room_for(range.bytes);
  write_over(pointer, range.bytes);
  if (!check::enabled()) {
    merge_free({range.offset, room_for(range.bytes)});
    if (may(Open::reuse)) {
      last_freed_.push_back(range.offset);
      if (last_freed_.size() > remembered) last_freed_.pop_front();
    }
    return true;
  }
  check::freed(base_ + range.offset, std::max<size_t>(range.bytes, 1));
  withheld_.push_back(range);
  for (withheld_bytes_ += room_for(range.bytes); withheld_bytes_ > bytes_ / withheld_part;) {
    const Range oldest = withheld_.front();
    withheld_.pop_front();
    withheld_bytes_ -= room_for(oldest.bytes);
    merge_free({oldest.offset, room_for(oldest.bytes)});
  }
  return true;
}

void Heap::merge_free(Range range) {
  const auto after = free_by_offset_.find(range.offset + range.bytes);
  if (after != free_by_offset_.end()) {
    const Range next{after->first, after->second};
    remove_free(next);
    range.bytes += next.bytes;
  }
  const auto behind = free_by_offset_.lower_bound(range.offset);
  if (behind != free_by_offset_.begin()) {
    const Range previous{std::prev(behind)->first, std::prev(behind)->second};
    if (previous.offset + previous.bytes == range.offset) {
      remove_free(previous);
      range = {previous.offset, previous.bytes + range.bytes};
    }
  }
  add_free(range);
}

Heap::Allocation Heap::find(const void *address) const {
  if (!contains(address)) return {nullptr, 0};
  const auto offset = static_cast<size_t>(static_cast<const char *>(address) - base_);
  std::lock_guard<std::mutex> lock(mutex_);
  auto after = taken_.upper_bound(offset);
  if (after == taken_.begin()) return {nullptr, 0};
  const Range &range = std::prev(after)->second;
  if (offset >= range.offset + std::max<size_t>(range.bytes, 1)) return {nullptr, 0};
  return {base_ + range.offset, range.bytes};
}

Heap::Allocation Heap::find_near(const void *address) const {
  const Allocation inside = find(address);
  if (inside.begin != nullptr || !contains(address)) return inside;
  const auto offset = static_cast<size_t>(static_cast<const char *>(address) - base_);
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto range = withheld_.rbegin(); range != withheld_.rend(); ++range) {
    if (offset >= range->offset && offset < range->offset + std::max<size_t>(range->bytes, 1)) {
      return {base_ + range->offset, range->bytes};
    }
  }
  const auto after = taken_.upper_bound(offset);
  if (after == taken_.begin()) return {nullptr, 0};
  const Range &range = std::prev(after)->second;
  return {base_ + range.offset, range.bytes};
}

bool Heap::contains(const void *address) const {
  const auto *at = static_cast<const char *>(address);
  return at >= base_ && at < base_ + bytes_;
}

size_t Heap::used() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return used_;
}

void Heap::add_free(Range range) {
  free_by_offset_[range.offset] = range.bytes;
  free_by_size_.insert({range.bytes, range.offset});
}

void Heap::remove_free(Range range) {
  free_by_offset_.erase(range.offset);
  free_by_size_.erase({range.bytes, range.offset});
}

}  // namespace hipcpu
