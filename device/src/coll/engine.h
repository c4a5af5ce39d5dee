// What lets the streams of a rank get on while other ranks wait for it. A collective's kernels need no
// host once they are in their streams: each GPU does its own (NCCL's user guide, "CUDA Stream Semantics":
// calls return when the operation has been enqueued, and it is done on the device). Here work is done by
// host threads, and as late as may be, so each rank has a thread that does it when another rank asks.
#pragma once

#include <hip/hip_runtime_api.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "../runtime/device_work.h"
#include "board.h"

namespace hipcpu::coll {

class Engine {
 public:
  // Begins to move the streams of a rank; it ends with `stop`, which waits for nothing.
  static std::shared_ptr<Engine> start(std::shared_ptr<Board> board, int rank);
  void stop();

  void add(hipStream_t handle, std::shared_ptr<Stream> stream);
  std::map<hipStream_t, std::shared_ptr<Stream>> streams() const;

 private:
  Engine(std::shared_ptr<Board> board, int rank) : board_(std::move(board)), rank_(rank) {}
  void run();

  const std::shared_ptr<Board> board_;
  const int rank_;
  std::atomic<bool> stopped_{false};
  mutable std::mutex mutex_;
  std::map<hipStream_t, std::shared_ptr<Stream>> streams_;
};

}  // namespace hipcpu::coll
