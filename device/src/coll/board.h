// What the ranks of a communicator share, whether they are of one process or many: a folder with one
// file that all of them map, and a file for each piece of data on its way.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "types.h"

namespace hipcpu::coll {

constexpr int most_ranks = 64;

// What a rank does: all have to do the same. `number` is the root, or the rank of a pair.
struct Post {
  enum Kind : int { all_reduce, reduce, broadcast, all_gather, reduce_scatter, send, receive };
  Kind kind;
  ncclDataType_t datatype;
  int op;
  int number;
  uint64_t count;

  bool operator==(const Post &other) const {
    return kind == other.kind && datatype == other.datatype && op == other.op &&
           number == other.number && count == other.count;
  }
  // Such as "all_reduce of 8 float32 (sum)".
  std::string text() const;
};

class Board {
 public:
  // The board of an id, made when its first rank comes. Throws ncclSystemError.
  explicit Board(const std::string &folder);
  ~Board();
  Board(const Board &) = delete;

  // The folder of a new id.
  static std::string fresh_folder();

  // The same, with a seat that is taken.
  static std::shared_ptr<Board> taken(const std::string &folder, int rank, int ranks, int device);

  // Takes a seat. Throws ncclInvalidUsage where the ranks disagree on how many there are, or two
  // want one seat.
  void join(int rank, int ranks, int device);
  // Gives the seat up; the last one takes the folder with it.
  void leave(int rank);
  bool is_taken(int rank) const;
  // Ranks are of different devices.
  bool is_on_own_device(int rank, int ranks) const;
  // Why a rank that has come is there no more; empty while it is.
  std::string gone(int rank) const;

  // Asks a rank to let its streams get on, as another waits for it; waits until that is asked, for so
  // long at most, and says whether it was.
  void ask(int rank);
  bool wait_to_be_asked(int rank, std::chrono::milliseconds limit);

  // The first thing that went wrong for any rank.
  void fail(ncclResult_t status);
  ncclResult_t failure() const;

  // Data, by a name such as "3.1", and who has told the others of how much.
  void write(const std::string &name, const Post &post, const void *data, size_t bytes) const;
  Post read(const std::string &name, std::vector<char> &data) const;
  void remove(const std::string &name) const;
  std::atomic<uint64_t> &posted(int rank);
  std::atomic<uint64_t> &finished(int rank);
  std::atomic<uint64_t> &sent(int from, int to);
  std::atomic<uint64_t> &received(int from, int to);

 private:
  struct Seat;
  struct Shared;
  std::string folder_;
  Shared *shared_ = nullptr;
};

}  // namespace hipcpu::coll
