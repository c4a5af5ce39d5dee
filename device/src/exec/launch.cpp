#include "launch.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "../check/checker.h"
#include "block.h"
#include "fault.h"
#include "pool.h"

namespace hipcpu {

namespace {

// Waking a helper takes longer than so many GPU threads.
constexpr uint64_t worth_sharing = 16384;

// Runners are kept: making their fibers takes a while.
class Runners {
 public:
  std::unique_ptr<BlockRunner> take() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty()) return std::make_unique<BlockRunner>();
    std::unique_ptr<BlockRunner> runner = std::move(idle_.back());
    idle_.pop_back();
    return runner;
  }
  void give_back(std::unique_ptr<BlockRunner> runner) {
    std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(runner));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<BlockRunner>> idle_;
};

Runners &runners() {
  static Runners *runners = new Runners;
  return *runners;
}

}  // namespace

void run_blocks(const Launch &launch) {
  const uint64_t blocks = launch.blocks(), threads = launch.threads_per_block();
  // Small blocks are taken several at once, as long as there are enough for everybody.
  const uint64_t chunk = std::max<uint64_t>(1, std::min<uint64_t>(1024 / threads, blocks / 64));
  std::atomic<uint64_t> next{0};
  const auto work = [&] {
    uint64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
    if (begin >= blocks) return;
    install_handlers();
    std::unique_ptr<BlockRunner> runner = runners().take();
    runner->begin(launch);
    for (; begin < blocks; begin = next.fetch_add(chunk, std::memory_order_relaxed)) {
      const uint64_t end = std::min(begin + chunk, blocks);
      for (uint64_t block = begin; block < end; ++block) runner->run(block);
    }
    runner->end();
    runners().give_back(std::move(runner));
  };
  // The checker takes one access after the other.
  if (blocks > 1 && blocks * threads >= worth_sharing && !check::enabled()) {
    share(work);
  } else {
    work();
  }
}

}  // namespace hipcpu
