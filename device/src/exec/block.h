// Runs the threads of one block after another on one host thread.
//
// A thread runs until it ends or has to wait for others. One that does not wait costs a function
// call: the fiber that ran it goes on with the next thread. One that waits keeps its fiber, and
// another fiber goes on. Threads of one wavefront come first, so that they meet in its shuffles.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../check/shadow.h"

#include "fiber.h"
#include "launch.h"

namespace hipcpu {

class BlockRunner {
 public:
  BlockRunner();

  // Prepares for blocks of a launch. The calling host thread runs them.
  void begin(const Launch &launch);
  void run(uint64_t block);
  void end();

  // What the running thread asks for.
  void barrier(const void *site);
  uint64_t shuffle(uint64_t value, unsigned source, const void *site, const void *frame);
  uint64_t ballot(bool predicate, const void *site, const void *frame);
  void collective(Together together, void *brought, bool whole, const void *site,
                  const void *frame);
  void meet(const void *site, const void *frame);
  void *shared_variable(SharedSlot &slot, size_t size, size_t align);

  const Launch *launch() const { return launch_; }

  // For the checker: the running thread and the time, what is known of shared memory, and what
  // lies at an address of it.
  check::Cell cell(bool atomic) const { return {now_.bits | uint64_t{atomic}}; }
  // Work that is known to come before the launch; 0 for none.
  unsigned known_before() const { return known_before_; }
  void know_before(unsigned work) { known_before_ = work; }
  check::Shadow &shared_shadow() { return *shared_shadow_; }
  std::string shared_place(uintptr_t address) const;

 private:
  static constexpr int none = -1;
  static constexpr unsigned lanes_limit = 64;

  // The lanes of a wavefront by what they do; those in no mask run or have ended.
  struct Wave {
    uint64_t unstarted, ready, together, barrier;
    unsigned meetings;  // since the last barrier
  };

  enum class Operation : unsigned char { shuffle, ballot, collective, meeting };

  // What a waiting thread asked for, and the answer.
  struct Request {
    Operation operation;
    bool whole;
    unsigned source;
    uint64_t value;
    Together together;
    void *brought;
    size_t depth = 0;  // of its stack
  };

  static void carry();
  void start_chosen();
  void go_on();
  void wait();
  void enter(int thread);
  int pick();
  bool release_barrier();
  void request(const Request &request, const void *site, const void *frame);
  void answer(Wave &wave, unsigned first);
  uint64_t group_of(const Wave &wave, unsigned first) const;
  void answer_shuffles(uint64_t group, unsigned first);
  void answer_ballots(uint64_t group, unsigned first);
  void answer_collectives(uint64_t group, unsigned first);
  Fiber &free_fiber();

  const Launch *launch_ = nullptr;
  unsigned threads_ = 0;
  unsigned waves_ = 0;
  uint64_t block_ = 0;
  unsigned barriers_ = 0;  // that the block has passed
  unsigned work_ = 1;      // the launch, as the checker names it
  unsigned known_before_ = 0;
  check::Cell now_;        // of the running thread

  int chosen_ = none;   // the thread that runs, or is about to
  unsigned wave_ = 0;   // the wavefront whose turn it is
  std::vector<Wave> wave_state_;
  std::vector<Index> index_;        // of each thread
  std::vector<Fiber *> holder_;     // of each waiting thread
  std::vector<const void *> sites_; // where in the code object each waiting thread waits
  std::vector<Request> requests_;   // of each waiting thread that does not wait at the barrier
  Index indexed_for_{0, 0, 0};

  Fiber host_;
  Fiber *fiber_ = nullptr;  // that runs
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber *> free_;

  // Shared memory: first the variables, then what the launch asks for.
  struct Variable {
    size_t begin, bytes;
    const char *name;
  };
  void prepare_shared_memory();
  void leave_shared_memory();
  void mark_shared_memory(check::State state);
  std::unique_ptr<char, void (*)(void *)> shared_memory_;
  std::unique_ptr<check::Shadow> shared_shadow_;
  std::vector<Variable> variables_;  // that the kernel has used so far
  size_t static_used_ = 0, dynamic_shared_ = 0;
  std::vector<void *> shared_;  // where they lie, by the number of the slot
};

// The runner of the calling host thread while it runs a block, else null.
BlockRunner *current_runner();

}  // namespace hipcpu
