// Fibers: stacks that one host thread changes between by itself.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace hipcpu {

class Fiber {
 public:
  // The host thread's own stack, as something to come back to.
  Fiber() = default;
  // A stack on which `entry` begins when it is first switched to. It must not return.
  explicit Fiber(void (*entry)());
  ~Fiber();
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  // Goes on where `to` was left; returns when something switches back to this one.
  void switch_to(Fiber &to);

  // How much of the stack lies above a frame.
  size_t depth(const void *frame) const;

  // Whether an address is where a stack has no room any more.
  static bool is_below_a_stack(const void *address);

 private:
  void *context_ = nullptr;  // where it was left
  char *stack_ = nullptr;
  char *top_ = nullptr;
};

}  // namespace hipcpu
