// A rank of a communicator.
#pragma once

#include <hip/hip_runtime_api.h>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../runtime/device_work.h"
#include "board.h"

namespace hipcpu::coll {

// One operation: what is put into the stream, twice. First the rank tells the others what it does and
// hands over its data, then it waits for theirs. Between the two, those of one group are all told.
struct Task {
  Post post;
  const void *send;
  void *receive;
  std::vector<char> scalar;  // of an operation that ncclRedOpCreatePreMulSum has made
  hipStream_t stream;
  uint64_t place = 0;  // of all that the rank does, or sends to or receives from another
};

class Comm : public std::enable_shared_from_this<Comm> {
 public:
  // Takes a seat; the others need not be there.
  Comm(const std::string &folder, int rank, int ranks, int device);
  ~Comm();

  const int rank, ranks, device;

  // Waits for the others. Throws.
  void wait_for_others();
  // Puts both halves of tasks into their streams. Throws.
  static void put(const std::vector<std::pair<std::shared_ptr<Comm>, Task>> &tasks);
  // Waits for what was put in.
  void finish();
  // Ends what is under way where it stands.
  void abort();
  ncclResult_t error() const;
  // Gives up the seat.
  void leave();

  // Operations of its own.
  int add_scalar(ncclDataType_t datatype, std::vector<char> scalar);
  bool remove_scalar(int op);
  const std::vector<char> &scalar(int op, ncclDataType_t datatype) const;

 private:
  void tell(Task &task);
  void complete(const Task &task);
  void gather(const Task &task);
  // Waits until another rank has come so far, and lets streams of this process get on meanwhile. False
  // where that will not be: then it has failed.
  bool wait_for(int other, const Task *task, const std::function<bool()> &has_come);
  void fail(ncclResult_t status, const std::string &reason);
  void note_stream(hipStream_t handle);

  const std::string folder_;
  Board board_;
  std::atomic<int> error_{0};
  std::atomic<bool> aborted_{false};
  std::mutex mutex_;  // of what follows
  std::map<hipStream_t, std::shared_ptr<Stream>> streams_;
  uint64_t told_ = 0;
  std::deque<uint64_t> kept_;  // data that not all have read
  std::map<int, uint64_t> sent_, received_;
  std::map<int, std::pair<ncclDataType_t, std::vector<char>>> scalars_;
  int next_op_ = ncclNumOps;
};

}  // namespace hipcpu::coll
