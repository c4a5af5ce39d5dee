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
  return is_chaotic() ? patterns[any_below(4)] : garbage;
}
constexpr int given_back = 0xfb;

size_t rounded(size_t bytes) { return std::max((bytes + align - 1) / align * align, align); }

// With the checker there is room between allocations that is nobody's, and what was freed is
// handed out again late: what uses either is found.
size_t room_for(size_t bytes) { return rounded(bytes) + (check::enabled() ? align : 0); }
constexpr size_t withheld_part = 4;  // of the whole memory, at most one in so many bytes

}  // namespace

Heap::Heap(char *base, size_t bytes) : base_(base), bytes_(bytes) { add_free({0, bytes}); }

void *Heap::allocate(size_t bytes) {
  if (bytes > bytes_) return nullptr;
  const size_t needed = room_for(bytes);
  std::unique_lock<std::mutex> lock(mutex_);
  const auto fitting = free_by_size_.lower_bound({needed, 0});
  if (fitting == free_by_size_.end()) return nullptr;
  const Range range{fitting->second, fitting->first};
  remove_free(range);
  if (range.bytes > needed) add_free({range.offset + needed, range.bytes - needed});
  taken_[range.offset] = {range.offset, bytes};
  used_ += needed;
  lock.unlock();
  char *begin = base_ + range.offset;
  check::allocated(begin, std::max<size_t>(bytes, 1));
  const check::Reach reach;
  memset(begin, fresh(), needed);
  return begin;
}

bool Heap::free(void *pointer) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = taken_.find(static_cast<size_t>(static_cast<char *>(pointer) - base_));
  if (found == taken_.end()) return false;
  const Range range = found->second;
  taken_.erase(found);
  used_ -= room_for(range.bytes);
  if (is_chaotic()) {
    const check::Reach reach;
    memset(pointer, given_back, range.bytes);
  }
  if (!check::enabled()) {
    merge_free({range.offset, room_for(range.bytes)});
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
