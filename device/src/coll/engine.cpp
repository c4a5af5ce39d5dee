#include "engine.h"

#include <chrono>
#include <thread>
#include <utility>

namespace hipcpu::coll {

namespace {

// How long a rank that nobody asks sleeps until it sees that it has left.
constexpr std::chrono::milliseconds pause{200};

}  // namespace

std::shared_ptr<Engine> Engine::start(std::shared_ptr<Board> board, int rank) {
  std::shared_ptr<Engine> engine(new Engine(std::move(board), rank));
  // It may be this thread that does the last work of the communicator, and ends it with that.
  std::thread([engine] { engine->run(); }).detach();
  return engine;
}

void Engine::stop() {
  stopped_ = true;
  board_->ask(rank_);
}

void Engine::add(hipStream_t handle, std::shared_ptr<Stream> stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  streams_[handle] = std::move(stream);
}

std::map<hipStream_t, std::shared_ptr<Stream>> Engine::streams() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return streams_;
}

void Engine::run() {
  while (!stopped_) {
    if (!board_->wait_to_be_asked(rank_, pause)) continue;
    for (const auto &[handle, stream] : streams()) {
      if (!stopped_) step_stream(*stream);
    }
  }
}

}  // namespace hipcpu::coll
