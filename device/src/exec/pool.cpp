#include "pool.h"

#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

#include "../runtime/options.h"

namespace hipcpu {

namespace {

struct Offer {
  const std::function<void()> &work;
  unsigned helpers = 0;
  bool ended = false;  // somebody found nothing left
};

class Pool {
 public:
  void share(const std::function<void()> &work) {
    Offer offer{work};
    {
      std::lock_guard<std::mutex> lock(mutex_);
      start_helpers();
      offers_.push_back(&offer);
      offered_.notify_all();
    }
    work();
    std::unique_lock<std::mutex> lock(mutex_);
    offers_.remove(&offer);
    left_.wait(lock, [&] { return offer.helpers == 0; });
  }

 private:
  void start_helpers() {
    for (; started_ + 1 < options().threads; ++started_) {
      std::thread([this] { help(); }).detach();
    }
  }

  void help() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      Offer *offer = nullptr;
      offered_.wait(lock, [&] { return (offer = open()) != nullptr; });
      ++offer->helpers;
      lock.unlock();
      offer->work();
      lock.lock();
      offer->ended = true;
      --offer->helpers;
      left_.notify_all();
    }
  }

  Offer *open() const {
    for (Offer *offer : offers_) {
      if (!offer->ended) return offer;
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::condition_variable offered_, left_;
  std::list<Offer *> offers_;
  unsigned started_ = 0;
};

}  // namespace

void share(const std::function<void()> &work) {
  if (options().threads < 2) {
    work();
    return;
  }
  // Never destroyed: helpers run until the process ends.
  static Pool *pool = new Pool;
  pool->share(work);
}

}  // namespace hipcpu
