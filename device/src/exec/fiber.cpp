#include "fiber.h"

#include <atomic>
#include <iterator>
#include <mutex>
#include <new>
#include <set>

#include <sys/mman.h>

#if defined(__x86_64__) && !defined(HIPCPU_UCONTEXT)
#define HIPCPU_SWITCH_X86_64 1
#else
#include <ucontext.h>
#endif

namespace hipcpu {

namespace {

constexpr size_t stack_size = size_t{256} << 10;
constexpr size_t guard_size = 4096;

// Stacks begin at different places of a page, or else what is used most of each would compete for
// the same lines of the cache.
constexpr size_t colours = 32, colour_size = 128;
std::atomic<size_t> made{0};

// The pages below stacks that must not be reached. Processes have a limited number of those: where
// there are too many, the last stacks have none.
std::mutex guards_mutex;
std::set<const char *> guards;

}  // namespace

#if defined(HIPCPU_SWITCH_X86_64)

// Saves what the System V calling convention lets a function expect to find unchanged, less the
// floating-point control words, which kernels do not change.
extern "C" __attribute__((visibility("hidden"))) void hipcpu_switch(void **from, void *to);
__asm__(R"(
.text
.globl hipcpu_switch
.hidden hipcpu_switch
.type hipcpu_switch, @function
hipcpu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size hipcpu_switch, . - hipcpu_switch
)");

static void *first_context(char *, char *end, void (*entry)()) {
  auto **top = reinterpret_cast<void **>(end);
  *--top = nullptr;  // no caller: a function begins 8 bytes below a multiple of 16
  *--top = reinterpret_cast<void *>(entry);
  for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
  return top;
}

void Fiber::switch_to(Fiber &to) { hipcpu_switch(&context_, to.context_); }

#else

static void *first_context(char *stack, char *end, void (*entry)()) {
  // At the far end, which is free until the first switch at least.
  auto *context = new (stack + guard_size) ucontext_t;
  getcontext(context);
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = static_cast<size_t>(end - stack);
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
  return context;
}

void Fiber::switch_to(Fiber &to) {
  ucontext_t here;
  context_ = &here;
  swapcontext(&here, static_cast<ucontext_t *>(to.context_));
}

#endif

Fiber::Fiber(void (*entry)()) {
  void *memory = mmap(nullptr, stack_size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  stack_ = static_cast<char *>(memory);
  top_ = stack_ + stack_size - made++ % colours * colour_size;
  context_ = first_context(stack_, top_, entry);
  if (mprotect(stack_, guard_size, PROT_NONE) == 0) {
    std::lock_guard<std::mutex> lock(guards_mutex);
    guards.insert(stack_);
  }
}

Fiber::~Fiber() {
  if (stack_ == nullptr) return;
  std::lock_guard<std::mutex> lock(guards_mutex);
  guards.erase(stack_);
  munmap(stack_, stack_size);
}

size_t Fiber::depth(const void *frame) const {
  return static_cast<size_t>(top_ - static_cast<const char *>(frame));
}

bool Fiber::is_below_a_stack(const void *address) {
  std::lock_guard<std::mutex> lock(guards_mutex);
  const auto *at = static_cast<const char *>(address);
  const auto after = guards.upper_bound(at);
  return after != guards.begin() && at < *std::prev(after) + guard_size;
}

}  // namespace hipcpu
