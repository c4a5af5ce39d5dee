#include "comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "values.h"

namespace hipcpu::coll {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// RCCL waits for ever. Here a rank that waits longer has failed.
seconds limit() {
  const char *said = getenv("PORTKIT_DEVICE_RANKS_LIMIT");
  const long parsed = said == nullptr ? 0 : strtol(said, nullptr, 10);
  return seconds(parsed > 0 ? parsed : 60);
}

// How long work that has failed stays where it is, as RCCL's does until it is aborted.
constexpr seconds until_abort{5};

// The ranks of this process, by the folder of their board.
struct Here {
  std::mutex mutex;
  std::multimap<std::string, Comm *> comms;
};

void leave_all();

Here &here() {
  static Here *here = [] {
    atexit(leave_all);
    return new Here;
  }();
  return *here;
}

// Those that nobody destroyed end with their process.
void leave_all() {
  std::lock_guard<std::mutex> lock(here().mutex);
  for (const auto &[folder, comm] : here().comms) comm->leave();
}

std::string data_of(uint64_t place, int rank) {
  return std::to_string(place) + "." + std::to_string(rank);
}

std::string data_between(int from, int to, uint64_t place) {
  return "from." + data_of(static_cast<uint64_t>(from), to) + "." + std::to_string(place);
}

void rest(unsigned round) {
  if (round < 100) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(round < 1000 ? 200 : 1000));
  }
}

// While it lives, a device is the thread's: which default stream is meant is up to the communicator,
// not to the device on which a group ends.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    require(hipGetDevice(&before_) == hipSuccess, ncclUnhandledCudaError);
    if (device == before_) return;
    require(hipSetDevice(device) == hipSuccess, ncclUnhandledCudaError);
    changed_ = true;
  }
  ~OnDevice() {
    if (changed_) static_cast<void>(hipSetDevice(before_));
  }
  OnDevice(const OnDevice &) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

std::string name_of(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

Comm::Comm(const std::string &folder, int rank, int ranks, int device)
    : rank(rank),
      ranks(ranks),
      device(device),
      folder_(folder),
      board_(Board::taken(folder, rank, ranks, device)),
      engine_(Engine::start(board_, rank)) {
  std::lock_guard<std::mutex> lock(here().mutex);
  here().comms.emplace(folder_, this);
}

Comm::~Comm() {
  {
    std::lock_guard<std::mutex> lock(here().mutex);
    const auto [first, last] = here().comms.equal_range(folder_);
    for (auto each = first; each != last; ++each) {
      if (each->second == this) {
        here().comms.erase(each);
        break;
      }
    }
  }
  leave();
}

void Comm::leave() {
  engine_->stop();
  board_->leave(rank);
}

void Comm::wait_for_others() {
  for (int other = 0; other < ranks; ++other) {
    Wait wait;
    const auto come = [&] { return board_->is_taken(other); };
    for (unsigned round = 0; !has_come(other, wait, nullptr, come); ++round) {
      require(error() == ncclSuccess, error());
      rest(round);
    }
  }
  if (!board_->is_on_own_device(rank, ranks)) {
    fail(ncclInvalidUsage, "another rank has the same device");
    throw Failure{ncclInvalidUsage};
  }
}

void Comm::put(const std::vector<std::pair<std::shared_ptr<Comm>, Task>> &tasks) {
  std::vector<std::pair<std::shared_ptr<Comm>, std::shared_ptr<Task>>> shared;
  for (const auto &[comm, task] : tasks) {
    const OnDevice on_device(comm->device);
    const std::shared_ptr<Stream> stream = stream_at(task.stream);
    require(stream != nullptr, ncclUnhandledCudaError);
    comm->engine_->add(task.stream, stream);
    shared.emplace_back(comm, std::make_shared<Task>(task));
  }
  // All streams of a group wait for one another before it and after it (NCCL's user guide, "Mixing
  // Multiple Streams within the same ncclGroupStart/End() group").
  const auto meet = [&] {
    for (const auto &[comm, task] : shared) {
      const OnDevice on_device(comm->device);
      comm->keep_order(task->stream);
    }
  };
  meet();
  for (const auto &[comm, task] : shared) {
    put_half(*comm, *task, [comm = comm, task = task] { comm->tell(*task); }, nullptr);
  }
  // A thread that does the work itself has to receive before it can wait for what it sends.
  std::stable_partition(shared.begin(), shared.end(),
                        [](const auto &each) { return each.second->post.kind != Post::send; });
  for (const auto &[comm, task] : shared) {
    put_half(
        *comm, *task, [comm = comm, task = task] { comm->complete(*task); },
        [comm = comm, task = task] { return comm->advance(*task); });
  }
  meet();
  for (const auto &[comm, task] : shared) require(comm->error() == ncclSuccess, comm->error());
}

void Comm::put_half(Comm &comm, const Task &task, std::function<void()> work,
                    std::function<bool()> ready) {
  const OnDevice on_device(comm.device);
  comm.keep_order(task.stream);
  const bool done = do_in_stream(task.stream, std::move(work), std::move(ready));
  require(done, ncclUnhandledCudaError);
}

// A communicator's operations are done in the order of the calls, also where those name several streams
// (NCCL's enqueue.cc, ncclLaunchPrepare, lets each launch wait for the one before it).
void Comm::keep_order(hipStream_t handle) {
  std::shared_ptr<Stream> before;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    before = std::exchange(latest_, stream_at(handle));
  }
  if (before != nullptr) follow(handle, before);
}

void Comm::tell(Task &task) {
  task.progress = {};
  if (error() != ncclSuccess) return;
  const uint64_t all = static_cast<uint64_t>(ranks);
  const Post &post = task.post;
  const uint64_t parts = post.kind == Post::reduce_scatter ? all : 1;
  const size_t bytes = post.count * parts * size_of(post.datatype);
  const bool gives = post.kind != Post::receive &&
                     (post.kind != Post::broadcast || post.number == rank);
  std::vector<char> data(gives ? bytes : 0);
  if (gives && bytes > 0) {
    work_reads(task.send, bytes, "RCCL");
    memcpy(data.data(), task.send, bytes);
    if (!task.scalar.empty()) {
      scale(post.datatype, task.scalar.data(), post.count * parts, data.data());
    }
  }
  try {
    if (post.kind == Post::receive) {
      task.place = ++received_[post.number];
    } else if (post.kind == Post::send) {
      task.place = ++sent_[post.number];
      board_->write(data_between(rank, post.number, task.place), post, data.data(), data.size());
      board_->sent(rank, post.number) = task.place;
    } else {
      task.place = ++told_;
      board_->write(data_of(task.place, rank), post, data.data(), data.size());
      kept_.push_back(task.place);
      board_->posted(rank) = task.place;
    }
  } catch (const Failure &failure) {
    fail(failure.status, "its data cannot be written to " + folder_);
  }
}

void Comm::complete(Task &task) {
  for (unsigned round = 0; !advance(task); ++round) rest(round);
}

bool Comm::advance(Task &task) {
  if (task.progress.done) return true;
  if (board_->failure() != ncclSuccess) fail(ncclRemoteError, "another rank has failed");
  if (error_ == ncclSuccess) {
    try {
      task.progress.done = task.post.kind == Post::send      ? sent(task)
                           : task.post.kind == Post::receive ? received(task)
                                                             : gathered(task);
    } catch (const Failure &failure) {
      fail(failure.status, "what another rank has written cannot be read from " + folder_);
    }
  }
  if (error_ != ncclSuccess) {
    // RCCL's work does not end by itself.
    const Clock::duration since(Clock::now().time_since_epoch().count() - failed_);
    task.progress.done = aborted_ || since > until_abort;
  }
  return task.progress.done;
}

bool Comm::sent(Task &task) {
  const int other = task.post.number;
  const auto come = [&] { return board_->received(rank, other) >= task.place; };
  return has_come(other, task.progress.waits[other], &task, come);
}

bool Comm::received(Task &task) {
  const int other = task.post.number;
  const auto come = [&] { return board_->sent(other, rank) >= task.place; };
  if (!has_come(other, task.progress.waits[other], &task, come)) return false;
  std::vector<char> data;
  const std::string name = data_between(other, rank, task.place);
  const Post theirs = board_->read(name, data);
  if (theirs.count != task.post.count || theirs.datatype != task.post.datatype) {
    fail(ncclInvalidUsage, "it does a " + task.post.text() + ", and " + name_of(other) + " a " +
                               theirs.text());
    return false;
  }
  work_writes(task.receive, data.size(), "RCCL");
  memcpy(task.receive, data.data(), data.size());
  board_->remove(name);
  board_->received(other, rank) = task.place;
  return true;
}

// Takes what all ranks have handed over, and makes of it what this one gets.
bool Comm::gathered(Task &task) {
  const Post &post = task.post;
  std::vector<std::vector<char>> &data = task.progress.data;
  std::vector<bool> &there = task.progress.has_come;
  data.resize(static_cast<size_t>(ranks));
  there.resize(static_cast<size_t>(ranks));
  for (int other = 0; other < ranks; ++other) {
    const size_t place = static_cast<size_t>(other);
    const auto come = [&] { return board_->posted(other) >= task.place; };
    if (there[place] || !has_come(other, task.progress.waits[other], &task, come)) continue;
    const Post theirs = board_->read(data_of(task.place, other), data[place]);
    if (!(theirs == post)) {
      fail(ncclInvalidUsage, "its operation " + std::to_string(task.place) + " is " + post.text() +
                                 ", and that of " + name_of(other) + " " + theirs.text());
      return false;
    }
    there[place] = true;
  }
  if (std::find(there.begin(), there.end(), false) != there.end()) return false;
  const size_t size = size_of(post.datatype), bytes = post.count * size;
  std::vector<char> out;
  std::vector<const char *> parts;
  const size_t from = post.kind == Post::reduce_scatter ? static_cast<size_t>(rank) * bytes : 0;
  for (const auto &each : data) parts.push_back(each.data() + from);
  if (post.kind == Post::broadcast) {
    out = data[static_cast<size_t>(post.number)];
  } else if (post.kind == Post::all_gather) {
    for (const auto &each : data) out.insert(out.end(), each.begin(), each.end());
  } else if (post.kind != Post::reduce || post.number == rank) {
    out.resize(bytes);
    reduce(post.datatype, post.op, parts, post.count, out.data());
  }
  if (!out.empty()) {
    work_writes(task.receive, out.size(), "RCCL");
    memcpy(task.receive, out.data(), out.size());
  }
  board_->finished(rank) = task.place;
  uint64_t all = task.place;
  for (int other = 0; other < ranks; ++other) {
    all = std::min(all, board_->finished(other).load());
  }
  for (; !kept_.empty() && kept_.front() <= all; kept_.pop_front()) {
    board_->remove(data_of(kept_.front(), rank));
  }
  data.clear();
  return true;
}

bool Comm::has_come(int other, Wait &wait, const Task *task, const std::function<bool()> &come) {
  if (come()) return true;
  if (board_->failure() != ncclSuccess) {
    fail(ncclRemoteError, "another rank has failed");
    return false;
  }
  board_->ask(other);
  const auto now = Clock::now();
  if (wait.since == Clock::time_point()) wait = {now, now};
  if (now - wait.looked < milliseconds(50)) return false;
  wait.looked = now;
  const std::string gone = board_->gone(other);
  // It may have come and gone between the two.
  if (come()) return true;
  if (!gone.empty()) {
    fail(ncclRemoteError, name_of(other) + " " + gone);
  } else if (now - wait.since > limit()) {
    const std::string what = task == nullptr ? "" : " to its " + task->post.text();
    fail(ncclSystemError, name_of(other) + " has not come" + what + " in " +
                              std::to_string(limit().count()) +
                              " s; the operations of several ranks of one thread belong into a group");
  }
  return false;
}

void Comm::fail(ncclResult_t status, const std::string &reason) {
  Clock::rep never = 0;
  failed_.compare_exchange_strong(never, Clock::now().time_since_epoch().count());
  int none = 0;
  if (!error_.compare_exchange_strong(none, status)) return;
  board_->fail(status);
  fprintf(stderr, "HIP device: RCCL, rank %d of %d: %s\n", rank, ranks, reason.c_str());
}

ncclResult_t Comm::error() const {
  const auto own = static_cast<ncclResult_t>(error_.load());
  if (own != ncclSuccess) return own;
  return board_->failure() == ncclSuccess ? ncclSuccess : ncclRemoteError;
}

void Comm::finish() {
  for (const auto &[handle, stream] : engine_->streams()) wait_for_stream(*stream);
}

void Comm::abort() {
  aborted_ = true;
  // It is known to the others as soon as it is no more; what they wait for does not come.
  board_->fail(ncclRemoteError);
}

int Comm::add_scalar(ncclDataType_t datatype, std::vector<char> scalar) {
  std::lock_guard<std::mutex> lock(mutex_);
  scalars_[next_op_] = {datatype, std::move(scalar)};
  return next_op_++;
}

bool Comm::remove_scalar(int op) {
  std::lock_guard<std::mutex> lock(mutex_);
  return scalars_.erase(op) > 0;
}

const std::vector<char> &Comm::scalar(int op, ncclDataType_t datatype) const {
  const auto found = scalars_.find(op);
  require(found != scalars_.end() && found->second.first == datatype, ncclInvalidArgument);
  return found->second.second;
}

}  // namespace hipcpu::coll
