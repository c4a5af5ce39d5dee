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

  // Whether a kernel has used more private memory than there is.
  bool overflown() const;

 private:
  void *context_ = nullptr;  // where it was left
  char *stack_ = nullptr;
  char *top_ = nullptr;
};

}  // namespace hipcpu
