// The memory of one device: a range of addresses, handed out in pieces.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <map>
#include <mutex>
#include <set>

namespace hipcpu {

class Heap {
 public:
  // Of addresses that nobody else uses.
  Heap(char *base, size_t bytes);

  // Memory with garbage in it; null where there is no room. Zero bytes count as one.
  void *allocate(size_t bytes);
  // Whether there was an allocation at this address.
  bool free(void *pointer);

  struct Allocation {
    char *begin;
    size_t bytes;  // as asked for
  };
  // The allocation that holds an address; its `begin` is null where there is none.
  Allocation find(const void *address) const;

  // The same, also of one that was freed and not handed out again; else the last one that begins
  // before the address.
  Allocation find_near(const void *address) const;

  bool contains(const void *address) const;
  size_t total() const { return bytes_; }
  size_t used() const;

  // Writes over an allocation that was given up.
  void overwrite(void *pointer);
  // Lets an allocation that is not smaller be one of so many bytes.
  void resize(void *pointer, size_t bytes);
  // Nothing that is free now is handed out again.
  void lose();

 private:
  struct Range {
    size_t offset, bytes;
  };
  Range place_for(size_t bytes) const;
  void add_free(Range range);
  void remove_free(Range range);
  void merge_free(Range range);

  char *base_;
  size_t bytes_;
  size_t used_ = 0;
  mutable std::mutex mutex_;
  std::deque<Range> withheld_;  // freed, and not handed out again yet; `bytes` as asked for
  size_t withheld_bytes_ = 0;
  std::deque<size_t> last_freed_;  // offsets, the newest last
  std::map<size_t, Range> taken_;             // by offset; `bytes` as asked for
  std::map<size_t, size_t> free_by_offset_;   // offset to bytes
  std::set<std::pair<size_t, size_t>> free_by_size_;  // bytes, offset
};

}  // namespace hipcpu
