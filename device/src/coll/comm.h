// A rank of a communicator.
#pragma once

#include <hip/hip_runtime_api.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../runtime/device_work.h"
#include "board.h"
#include "engine.h"

namespace hipcpu::coll {

using Clock = std::chrono::steady_clock;

// Since when another rank is waited for, and when it was last seen to be there.
struct Wait {
  Clock::time_point since{}, looked{};
};

// How far an operation has come.
struct Progress {
  std::map<int, Wait> waits;  // for each rank
  std::vector<std::vector<char>> data;  // of each rank
  std::vector<bool> has_come;
  bool done = false;
};

// One operation: what is put into the stream, twice. First the rank tells the others what it does and
// hands over its data, then it waits for theirs. Between the two, those of one group are all told.
struct Task {
  Post post;
  const void *send;
  void *receive;
  std::vector<char> scalar;  // of an operation that ncclRedOpCreatePreMulSum has made
  hipStream_t stream;
  uint64_t place = 0;  // of all that the rank does, or sends to or receives from another
  Progress progress{};
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
  // Gets on with an operation as far as the others have come, and says whether it has ended: it has not
  // where it failed and nobody has aborted.
  bool advance(Task &task);
  void complete(Task &task);
  // The same for each kind of operation; false while another rank is waited for, or has failed.
  bool sent(Task &task);
  bool received(Task &task);
  bool gathered(Task &task);
  // Whether another rank has come so far. One that has not is asked to; that it will not is a failure.
  bool has_come(int other, Wait &wait, const Task *task, const std::function<bool()> &come);
  void fail(ncclResult_t status, const std::string &reason);
  // Lets what is put into a stream from now on come after what the rank has put in before, in whatever
  // stream.
  void keep_order(hipStream_t handle);
  // Puts half of a task into its stream. Throws.
  static void put_half(Comm &comm, const Task &task, std::function<void()> work,
                       std::function<bool()> ready);

  const std::string folder_;
  const std::shared_ptr<Board> board_;
  const std::shared_ptr<Engine> engine_;
  std::atomic<int> error_{0};
  std::atomic<Clock::rep> failed_{0};  // when
  std::atomic<bool> aborted_{false};
  uint64_t told_ = 0;
  std::deque<uint64_t> kept_;  // data that not all have read
  std::map<int, uint64_t> sent_, received_;
  std::mutex mutex_;  // of what follows
  std::shared_ptr<Stream> latest_;  // into which something was put last
  std::map<int, std::pair<ncclDataType_t, std::vector<char>>> scalars_;
  int next_op_ = ncclNumOps;
};

}  // namespace hipcpu::coll
