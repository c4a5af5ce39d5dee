// Runs the blocks of a launch on several host threads.
//
// The thread that launches always takes part, so a launch never waits for a helper to be free.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "../runtime/options.h"
#include "block.h"
#include "fault.h"

namespace hipcpu {

namespace {

// Waking a helper takes longer than so many GPU threads.
constexpr uint64_t worth_sharing = 16384;

struct Work {
  explicit Work(const Launch &launch) : launch(launch), blocks(launch.blocks()) {
    chunk = std::max<uint64_t>(1, std::min<uint64_t>(1024 / launch.threads_per_block(), blocks / 64));
  }
  const Launch &launch;
  const uint64_t blocks;
  uint64_t chunk;
  std::atomic<uint64_t> next{0};
  unsigned helpers = 0;  // guarded by the pool

  bool left() const { return next.load(std::memory_order_relaxed) < blocks; }

  void run(BlockRunner &runner) {
    runner.begin(launch);
    for (;;) {
      const uint64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= blocks) break;
      const uint64_t end = std::min(begin + chunk, blocks);
      for (uint64_t block = begin; block < end; ++block) runner.run(block);
    }
    runner.end();
  }
};

class Pool {
 public:
  void run(const Launch &launch) {
    Work work(launch);
    const bool shared = work.blocks > 1 && options().threads > 1 &&
                        work.blocks * launch.threads_per_block() >= worth_sharing;
    std::unique_ptr<BlockRunner> runner;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      runner = idle_runner();
      if (shared) {
        start_helpers();
        offered_.push_back(&work);
        offer_.notify_all();
      }
    }
    work.run(*runner);
    std::unique_lock<std::mutex> lock(mutex_);
    runners_.push_back(std::move(runner));
    if (shared) {
      offered_.remove(&work);
      left_.wait(lock, [&] { return work.helpers == 0; });
    }
  }

 private:
  // Runners are kept: making their fibers takes a while.
  std::unique_ptr<BlockRunner> idle_runner() {
    if (runners_.empty()) return std::make_unique<BlockRunner>();
    std::unique_ptr<BlockRunner> runner = std::move(runners_.back());
    runners_.pop_back();
    return runner;
  }

  void start_helpers() {
    for (; started_ + 1 < options().threads; ++started_) {
      std::thread([this] { help(); }).detach();
    }
  }

  void help() {
    BlockRunner runner;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      Work *work = nullptr;
      offer_.wait(lock, [&] { return (work = unfinished()) != nullptr; });
      ++work->helpers;
      lock.unlock();
      work->run(runner);
      lock.lock();
      --work->helpers;
      left_.notify_all();
    }
  }

  Work *unfinished() const {
    for (Work *work : offered_) {
      if (work->left()) return work;
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::condition_variable offer_, left_;
  std::list<Work *> offered_;
  std::vector<std::unique_ptr<BlockRunner>> runners_;
  unsigned started_ = 0;
};

}  // namespace

void run_blocks(const Launch &launch) {
  install_handlers();
  // Never destroyed: helpers run until the process ends.
  static Pool *pool = new Pool;
  pool->run(launch);
}

}  // namespace hipcpu
