#include "comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "values.h"

namespace hipcpu::coll {

namespace {

using Clock = std::chrono::steady_clock;
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

std::string name_of(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

Comm::Comm(const std::string &folder, int rank, int ranks, int device)
    : rank(rank), ranks(ranks), device(device), folder_(folder), board_(folder) {
  board_.join(rank, ranks, device);
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

void Comm::leave() { board_.leave(rank); }

void Comm::wait_for_others() {
  for (int other = 0; other < ranks; ++other) {
    if (!wait_for(other, nullptr, [&] { return board_.is_taken(other); })) throw Failure{error()};
  }
  if (!board_.is_on_own_device(rank, ranks)) {
    fail(ncclInvalidUsage, "another rank has the same device");
    throw Failure{ncclInvalidUsage};
  }
}

void Comm::put(const std::vector<std::pair<std::shared_ptr<Comm>, Task>> &tasks) {
  std::vector<std::pair<std::shared_ptr<Comm>, std::shared_ptr<Task>>> shared;
  for (const auto &[comm, task] : tasks) {
    comm->note_stream(task.stream);
    shared.emplace_back(comm, std::make_shared<Task>(task));
  }
  for (const auto &[comm, task] : shared) {
    const bool done = do_in_stream(task->stream, [comm = comm, task = task] { comm->tell(*task); });
    require(done, ncclUnhandledCudaError);
  }
  // A thread that does the work itself has to receive before it can wait for what it sends.
  std::stable_partition(shared.begin(), shared.end(),
                        [](const auto &each) { return each.second->post.kind != Post::send; });
  for (const auto &[comm, task] : shared) {
    const bool done =
        do_in_stream(task->stream, [comm = comm, task = task] { comm->complete(*task); });
    require(done, ncclUnhandledCudaError);
  }
  for (const auto &[comm, task] : shared) require(comm->error() == ncclSuccess, comm->error());
}

void Comm::note_stream(hipStream_t handle) {
  const std::shared_ptr<Stream> stream = stream_at(handle);
  require(stream != nullptr, ncclUnhandledCudaError);
  std::lock_guard<std::mutex> lock(mutex_);
  streams_[handle] = stream;
}

void Comm::tell(Task &task) {
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
      board_.write(data_between(rank, post.number, task.place), post, data.data(), data.size());
      board_.sent(rank, post.number) = task.place;
    } else {
      task.place = ++told_;
      board_.write(data_of(task.place, rank), post, data.data(), data.size());
      kept_.push_back(task.place);
      board_.posted(rank) = task.place;
    }
  } catch (const Failure &failure) {
    fail(failure.status, "its data cannot be written to " + folder_);
  }
}

void Comm::complete(const Task &task) {
  if (error() != ncclSuccess) return;
  const int other = task.post.number;
  try {
    if (task.post.kind == Post::send) {
      wait_for(other, &task, [&] { return board_.received(rank, other) >= task.place; });
    } else if (task.post.kind == Post::receive) {
      if (!wait_for(other, &task, [&] { return board_.sent(other, rank) >= task.place; })) return;
      std::vector<char> data;
      const std::string name = data_between(other, rank, task.place);
      const Post sent = board_.read(name, data);
      if (sent.count != task.post.count || sent.datatype != task.post.datatype) {
        fail(ncclInvalidUsage, "it does a " + task.post.text() + ", and " + name_of(other) + " a " +
                                   sent.text());
        return;
      }
      work_writes(task.receive, data.size(), "RCCL");
      memcpy(task.receive, data.data(), data.size());
      board_.remove(name);
      board_.received(other, rank) = task.place;
    } else {
      gather(task);
    }
  } catch (const Failure &failure) {
    fail(failure.status, "what another rank has written cannot be read from " + folder_);
  }
}

// Takes what all ranks have handed over, and makes of it what this one gets.
void Comm::gather(const Task &task) {
  const Post &post = task.post;
  std::vector<std::vector<char>> data(static_cast<size_t>(ranks));
  for (int other = 0; other < ranks; ++other) {
    const auto has_come = [&] { return board_.posted(other) >= task.place; };
    if (!wait_for(other, &task, has_come)) return;
    const Post theirs = board_.read(data_of(task.place, other), data[static_cast<size_t>(other)]);
    if (!(theirs == post)) {
      fail(ncclInvalidUsage, "its operation " + std::to_string(task.place) + " is " + post.text() +
                                 ", and that of " + name_of(other) + " " + theirs.text());
      return;
    }
  }
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
  board_.finished(rank) = task.place;
  uint64_t all = task.place;
  for (int other = 0; other < ranks; ++other) {
    all = std::min(all, board_.finished(other).load());
  }
  for (; !kept_.empty() && kept_.front() <= all; kept_.pop_front()) {
    board_.remove(data_of(kept_.front(), rank));
  }
}

bool Comm::wait_for(int other, const Task *task, const std::function<bool()> &has_come) {
  const auto begun = Clock::now();
  auto looked = begun;
  for (unsigned round = 0; !has_come(); ++round) {
    if (aborted_) return false;
    if (const ncclResult_t failed = board_.failure(); failed != ncclSuccess) {
      fail(ncclRemoteError, "another rank has failed");
      return false;
    }
    // A stream of this process may wait for this thread to let it get on.
    std::vector<std::shared_ptr<Stream>> streams;
    {
      std::lock_guard<std::mutex> lock(here().mutex);
      const auto [first, last] = here().comms.equal_range(folder_);
      for (auto each = first; each != last; ++each) {
        Comm *comm = each->second;
        if (comm == this || comm->rank != other) continue;
        std::lock_guard<std::mutex> inner(comm->mutex_);
        for (const auto &[handle, stream] : comm->streams_) streams.push_back(stream);
      }
    }
    for (const auto &stream : streams) {
      if (!has_come()) step_stream(*stream);
    }
    if (has_come()) break;
    if (round > 100) std::this_thread::sleep_for(std::chrono::microseconds(200));
    const auto now = Clock::now();
    if (now - looked < milliseconds(50)) continue;
    looked = now;
    // It may have come and gone between the two.
    const std::string gone = board_.gone(other);
    if (!gone.empty() && !has_come()) {
      fail(ncclRemoteError, name_of(other) + " " + gone);
      return false;
    }
    if (now - begun > limit()) {
      const std::string what = task == nullptr ? "" : " to its " + task->post.text();
      fail(ncclSystemError, name_of(other) + " has not come" + what + " in " +
                                std::to_string(limit().count()) +
                                " s; the operations of several ranks of one thread belong into a group");
      return false;
    }
  }
  return true;
}

void Comm::fail(ncclResult_t status, const std::string &reason) {
  int none = 0;
  if (!error_.compare_exchange_strong(none, status)) return;
  board_.fail(status);
  fprintf(stderr, "HIP device: RCCL, rank %d of %d: %s\n", rank, ranks, reason.c_str());
  // RCCL's work does not end by itself.
  const auto begun = Clock::now();
  while (!aborted_ && Clock::now() - begun < until_abort) {
    std::this_thread::sleep_for(milliseconds(1));
  }
}

ncclResult_t Comm::error() const {
  const auto own = static_cast<ncclResult_t>(error_.load());
  if (own != ncclSuccess) return own;
  return board_.failure() == ncclSuccess ? ncclSuccess : ncclRemoteError;
}

void Comm::finish() {
  std::map<hipStream_t, std::shared_ptr<Stream>> streams;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    streams = streams_;
  }
  for (const auto &[handle, stream] : streams) wait_for_stream(*stream);
}

void Comm::abort() {
  aborted_ = true;
  // It is known to the others as soon as it is no more; what they wait for does not come.
  board_.fail(ncclRemoteError);
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
