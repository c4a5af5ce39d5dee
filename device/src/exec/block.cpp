#include "block.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <atomic>

#include "../check/checker.h"
#include "../check/order.h"
#include "../runtime/report.h"

__thread hipcpu::Thread hipcpu_thread;

namespace hipcpu {

namespace {

// Fresh shared memory holds what an earlier kernel left: not zeros, and not a number.
constexpr int garbage = 0xff;

// Room for variables and what the checker leaves free between them, then for the launch's part.
constexpr size_t variables_room = 2 * shared_limit;
constexpr size_t shared_room = variables_room + 2 * shared_limit;
constexpr size_t gap = 64;

uint64_t lowest(unsigned count) { return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }

unsigned take_lowest(uint64_t &mask) {
  const auto bit = static_cast<unsigned>(__builtin_ctzll(mask));
  mask &= mask - 1;
  return bit;
}

}  // namespace

// Fibers outlive the host thread that made them, and a compiler may keep the address of a
// thread-local variable while a fiber waits: so it is only taken where no switch is near.
__attribute__((noinline)) BlockRunner *current_runner() {
  return static_cast<BlockRunner *>(hipcpu_thread.runner);
}

BlockRunner::BlockRunner()
    : shared_memory_(static_cast<char *>(aligned_alloc(4096, shared_room)), free) {
  if (check::enabled()) {
    shared_shadow_ = std::make_unique<check::Shadow>(shared_memory_.get(), shared_room);
  }
}

void BlockRunner::begin(const Launch &launch) {
  launch_ = &launch;
  threads_ = launch.threads_per_block();
  waves_ = (threads_ + launch.wavefront - 1) / launch.wavefront;
  if (wave_state_.size() < waves_) wave_state_.resize(waves_);
  if (holder_.size() < threads_) {
    holder_.resize(threads_);
    sites_.resize(threads_);
    requests_.resize(threads_);
  }
  const Index &shape = launch.block;
  if (shape.x != indexed_for_.x || shape.y != indexed_for_.y || shape.z != indexed_for_.z) {
    index_.resize(threads_);
    size_t i = 0;
    for (unsigned z = 0; z < shape.z; ++z) {
      for (unsigned y = 0; y < shape.y; ++y) {
        for (unsigned x = 0; x < shape.x; ++x) index_[i++] = {x, y, z};
      }
    }
    indexed_for_ = shape;
  }
  leave_shared_memory();
  dynamic_shared_ = launch.dynamic_shared;
  // Where a kernel's variables lie is found anew for each launch: so it is known what it uses.
  std::fill(shared_.begin(), shared_.end(), nullptr);
  variables_.clear();
  static_used_ = 0;
  if (const check::Ticket *ticket = check::doing()) work_ = ticket->work;
  known_before_ = 0;
  Thread &thread = hipcpu_thread;
  thread.block_size = launch.block;
  thread.grid_size = launch.grid;
  thread.dynamic_shared = shared_memory_.get() + variables_room;
  thread.shared = shared_.data();
  thread.shared_count = static_cast<unsigned>(shared_.size());
  thread.runner = this;
}

void BlockRunner::end() {
  hipcpu_thread.runner = nullptr;
  launch_ = nullptr;
}

void BlockRunner::run(uint64_t block) {
  const Index &grid = launch_->grid;
  hipcpu_thread.block = {static_cast<unsigned>(block % grid.x),
                         static_cast<unsigned>(block / grid.x % grid.y),
                         static_cast<unsigned>(block / grid.x / grid.y)};
  block_ = block;
  barriers_ = 0;
  prepare_shared_memory();
  const unsigned lanes = launch_->wavefront;
  for (unsigned w = 0; w < waves_; ++w) {
    wave_state_[w] = {lowest(std::min(lanes, threads_ - w * lanes)), 0, 0, 0, 0};
  }
  wave_ = 0;
  chosen_ = pick();
  fiber_ = &free_fiber();
  host_.switch_to(*fiber_);
}

// ---- which thread runs ----------------------------------------------------------------------

// What every fiber does.
void BlockRunner::carry() {
  for (;;) {
    current_runner()->start_chosen();
    current_runner()->go_on();
  }
}

// Runs a thread from its beginning to its end.
__attribute__((noinline)) void BlockRunner::start_chosen() {
  enter(chosen_);
  launch_->kernel->call(launch_->arguments);
}

// After the end of a thread: this fiber is free for another. Returns when there is one to start.
__attribute__((noinline)) void BlockRunner::go_on() {
  chosen_ = pick();
  if (chosen_ != none && holder_[chosen_] == nullptr) return;
  Fiber &own = *fiber_;
  free_.push_back(&own);
  fiber_ = chosen_ == none ? nullptr : holder_[chosen_];
  own.switch_to(fiber_ == nullptr ? host_ : *fiber_);
}

// Lets other threads run until this one has been chosen again.
void BlockRunner::wait() {
  const int own_thread = chosen_;
  Fiber &own = *fiber_;
  holder_[own_thread] = &own;
  chosen_ = pick();
  if (chosen_ != own_thread) {
    fiber_ = holder_[chosen_] == nullptr ? &free_fiber() : holder_[chosen_];
    own.switch_to(*fiber_);
  }
  holder_[own_thread] = nullptr;
  enter(own_thread);
}

void BlockRunner::enter(int thread) {
  Thread &context = hipcpu_thread;
  context.thread = index_[thread];
  context.lane = static_cast<unsigned>(thread) % launch_->wavefront;
  if (check::enabled()) {
    const auto number = static_cast<unsigned>(thread);
    const Wave &wave = wave_state_[number / launch_->wavefront];
    now_ = check::cell_of(work_, block_, barriers_, wave.meetings, number);
  }
}

// The next thread that can run; none when all have ended.
int BlockRunner::pick() {
  const unsigned lanes = launch_->wavefront;
  for (;;) {
    for (; wave_ < waves_; ++wave_) {
      Wave &wave = wave_state_[wave_];
      const unsigned first = wave_ * lanes;
      if (wave.ready == 0 && wave.unstarted == 0 && wave.together != 0) answer(wave, first);
      if (wave.ready != 0) return static_cast<int>(first + take_lowest(wave.ready));
      if (wave.unstarted != 0) return static_cast<int>(first + take_lowest(wave.unstarted));
    }
    // Every wavefront waits at the barrier or has ended.
    if (!release_barrier()) return none;
    wave_ = 0;
  }
}

Fiber &BlockRunner::free_fiber() {
  if (free_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(&BlockRunner::carry));
    return *fibers_.back();
  }
  Fiber &fiber = *free_.back();
  free_.pop_back();
  return fiber;
}

// ---- barriers ---------------------------------------------------------------------------------

void BlockRunner::barrier(const void *site) {
  const unsigned lanes = launch_->wavefront;
  const auto thread = static_cast<unsigned>(chosen_);
  sites_[thread] = site;
  wave_state_[thread / lanes].barrier |= uint64_t{1} << thread % lanes;
  wait();
}

// Lets all threads that wait at the barrier go on. Returns whether there are any.
bool BlockRunner::release_barrier() {
  const unsigned lanes = launch_->wavefront;
  const void *any = nullptr;
  bool differ = false;
  unsigned waiting_threads = 0;
  for (unsigned w = 0; w < waves_; ++w) {
    Wave &wave = wave_state_[w];
    waiting_threads += static_cast<unsigned>(__builtin_popcountll(wave.barrier));
    for (uint64_t waiting = wave.barrier; waiting != 0;) {
      const void *site = sites_[w * lanes + take_lowest(waiting)];
      differ |= any != nullptr && any != site;
      any = site;
    }
    wave.ready = wave.barrier;
    wave.barrier = 0;
    wave.meetings = 0;
  }
  ++barriers_;
  if (differ) {
    report(Finding::divergent_barrier, any, nullptr,
           "threads of one block wait at different barriers");
  } else if (any != nullptr && waiting_threads < threads_ && check::enabled()) {
    report(Finding::divergent_barrier, any, nullptr,
           std::to_string(threads_ - waiting_threads) + " of the " + std::to_string(threads_) +
               " threads of the block have ended without coming to the barrier");
  }
  return any != nullptr;
}

// ---- what the lanes of a wavefront do together --------------------------------------------------

uint64_t BlockRunner::shuffle(uint64_t value, unsigned source, const void *site,
                              const void *frame) {
  const int thread = chosen_;
  request({Operation::shuffle, false, source, value, nullptr, nullptr}, site, frame);
  return requests_[thread].value;
}

uint64_t BlockRunner::ballot(bool predicate, const void *site, const void *frame) {
  const int thread = chosen_;
  request({Operation::ballot, false, 0, predicate, nullptr, nullptr}, site, frame);
  return requests_[thread].value;
}

void BlockRunner::collective(Together together, void *brought, bool whole, const void *site,
                             const void *frame) {
  request({Operation::collective, whole, 0, 0, together, brought}, site, frame);
}

void BlockRunner::meet(const void *site, const void *frame) {
  request({Operation::meeting, false, 0, 0, nullptr, nullptr}, site, frame);
}

void BlockRunner::request(const Request &request, const void *site, const void *frame) {
  const unsigned lanes = launch_->wavefront;
  const auto thread = static_cast<unsigned>(chosen_);
  requests_[thread] = request;
  requests_[thread].depth = fiber_->depth(frame);
  sites_[thread] = site;
  wave_state_[thread / lanes].together |= uint64_t{1} << thread % lanes;
  wait();
}

// Every lane of a wavefront waits or has ended, some for the others: answers those whose turn it is.
void BlockRunner::answer(Wave &wave, unsigned first) {
  const uint64_t group = group_of(wave, first);
  switch (requests_[first + __builtin_ctzll(group)].operation) {
    case Operation::shuffle:
      answer_shuffles(group, first);
      break;
    case Operation::ballot:
      answer_ballots(group, first);
      break;
    case Operation::collective:
      answer_collectives(group, first);
      break;
    case Operation::meeting:
      ++wave.meetings;
      break;
  }
  wave.together &= ~group;
  wave.ready |= group;
}

// The lanes that wait at one place. Where branches have parted the lanes there are several such
// groups; a GPU runs the branches before the lanes meet again, so the group that is deepest in
// calls, then that which is first in the code, is ahead of where the others wait.
uint64_t BlockRunner::group_of(const Wave &wave, unsigned first) const {
  unsigned ahead = first + static_cast<unsigned>(__builtin_ctzll(wave.together));
  uint64_t group = 0;
  for (uint64_t waiting = wave.together; waiting != 0;) {
    const unsigned lane = take_lowest(waiting);
    const unsigned thread = first + lane;
    const size_t depth = requests_[thread].depth, ahead_depth = requests_[ahead].depth;
    if (sites_[thread] == sites_[ahead]) {
      group |= uint64_t{1} << lane;
    } else if (depth != ahead_depth ? depth > ahead_depth : sites_[thread] < sites_[ahead]) {
      ahead = thread;
      group = uint64_t{1} << lane;
    }
  }
  return group;
}

void BlockRunner::answer_shuffles(uint64_t group, unsigned first) {
  uint64_t brought[lanes_limit];
  for (uint64_t rest = group; rest != 0;) {
    const unsigned lane = take_lowest(rest);
    brought[lane] = requests_[first + lane].value;
  }
  for (uint64_t rest = group; rest != 0;) {
    const unsigned lane = take_lowest(rest);
    Request &request = requests_[first + lane];
    if (request.source < lanes_limit && (group >> request.source & 1) != 0) {
      request.value = brought[request.source];
    } else {
      report(Finding::inactive_lane, sites_[first + lane], &index_[first + lane],
             "a shuffle reads lane " + std::to_string(request.source) + ", which takes no part");
      request.value = 0;
    }
  }
}

void BlockRunner::answer_ballots(uint64_t group, unsigned first) {
  uint64_t votes = 0;
  for (uint64_t rest = group; rest != 0;) {
    const unsigned lane = take_lowest(rest);
    votes |= requests_[first + lane].value << lane;
  }
  for (uint64_t rest = group; rest != 0;) requests_[first + take_lowest(rest)].value = votes;
}

void BlockRunner::answer_collectives(uint64_t group, unsigned first) {
  void *brought[lanes_limit] = {};
  for (uint64_t rest = group; rest != 0;) {
    const unsigned lane = take_lowest(rest);
    brought[lane] = requests_[first + lane].brought;
  }
  const unsigned leader = first + static_cast<unsigned>(__builtin_ctzll(group));
  const Request &request = requests_[leader];
  if (request.whole && group != lowest(launch_->wavefront)) {
    report(Finding::inactive_lane, sites_[leader], &index_[leader],
           "a matrix instruction is reached by " + std::to_string(__builtin_popcountll(group)) +
               " of the " + std::to_string(launch_->wavefront) + " lanes of the wavefront");
  }
  request.together(brought, launch_->wavefront);
}

// ---- shared memory ------------------------------------------------------------------------------

void *BlockRunner::shared_variable(SharedSlot &slot, size_t size, size_t align) {
  static std::atomic<unsigned> numbers{1};
  unsigned number = __atomic_load_n(&slot.number, __ATOMIC_ACQUIRE);
  if (number == 0) {
    const unsigned fresh = numbers++;
    number = __atomic_compare_exchange_n(&slot.number, &number, fresh, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE)
                 ? fresh
                 : number;
  }
  if (number >= shared_.size()) {
    shared_.resize(number + 64, nullptr);
    hipcpu_thread.shared = shared_.data();
    hipcpu_thread.shared_count = static_cast<unsigned>(shared_.size());
  }
  if (shared_[number] == nullptr) {
    size_t begin = (static_used_ + align - 1) / align * align;
    if (begin + size + launch_->dynamic_shared > shared_limit) {
      hipcpu_trap("it needs more shared memory than the 64 KiB that a block can have");
    }
    static_used_ = begin + size;
    // With the checker variables have room between them, which does not count.
    begin += check::enabled() ? gap * variables_.size() / align * align : 0;
    variables_.push_back({begin, size, slot.name});
    char *place = shared_memory_.get() + begin;
    shared_[number] = place;
    memset(place, garbage, size);
    if (check::enabled()) {
      shared_shadow_->set(reinterpret_cast<uintptr_t>(place), size, check::State::uninitialised);
    }
  }
  return shared_[number];
}

// Before each block: shared memory holds garbage.
void BlockRunner::prepare_shared_memory() {
  char *begin = shared_memory_.get(), *dynamic = begin + variables_room;
  for (const Variable &variable : variables_) {
    memset(begin + variable.begin, garbage, variable.bytes);
  }
  memset(dynamic, garbage, launch_->dynamic_shared);
  if (check::enabled()) mark_shared_memory(check::State::uninitialised);
}

// What a launch has used is nobody's after it. So are variables that a kernel has not come to yet,
// and what lies between them.
void BlockRunner::leave_shared_memory() {
  if (check::enabled()) mark_shared_memory(check::State::nobodys);
}

void BlockRunner::mark_shared_memory(check::State state) {
  const auto begin = reinterpret_cast<uintptr_t>(shared_memory_.get());
  for (const Variable &variable : variables_) {
    shared_shadow_->set(begin + variable.begin, variable.bytes, state);
  }
  shared_shadow_->set(begin + variables_room, dynamic_shared_, state);
}

// ---- for the checker ------------------------------------------------------------------------------

std::string BlockRunner::shared_place(uintptr_t address) const {
  const size_t at = address - reinterpret_cast<uintptr_t>(shared_memory_.get());
  if (at >= variables_room) {
    const size_t offset = at - variables_room, bytes = launch_->dynamic_shared;
    return "byte " + std::to_string(offset) + " of " + std::to_string(bytes) +
           " bytes of dynamic shared memory";
  }
  const Variable *nearest = nullptr;
  for (const Variable &variable : variables_) {
    if (variable.begin <= at) nearest = &variable;
  }
  if (nearest == nullptr) return "no shared variable";
  return "byte " + std::to_string(at - nearest->begin) + " of the " +
         std::to_string(nearest->bytes) + " bytes of shared " + nearest->name;
}

}  // namespace hipcpu

// ---- what kernels call ----------------------------------------------------------------------------

using hipcpu::current_runner;

void hipcpu_barrier() { current_runner()->barrier(__builtin_return_address(0)); }

uint64_t hipcpu_shuffle(uint64_t value, unsigned source) {
  return current_runner()->shuffle(value, source, __builtin_return_address(0),
                                   __builtin_frame_address(0));
}

uint64_t hipcpu_ballot(bool predicate) {
  return current_runner()->ballot(predicate, __builtin_return_address(0),
                                  __builtin_frame_address(0));
}

void hipcpu_collective(hipcpu::Together together, void *brought, bool whole) {
  current_runner()->collective(together, brought, whole, __builtin_return_address(0),
                               __builtin_frame_address(0));
}

void hipcpu_meet() {
  current_runner()->meet(__builtin_return_address(0), __builtin_frame_address(0));
}

void *hipcpu_shared(hipcpu::SharedSlot *slot, size_t size, size_t align) {
  return current_runner()->shared_variable(*slot, size, align);
}
