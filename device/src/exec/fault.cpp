// What ends the process while a kernel runs, and what must not.
//
// A GPU that reaches an address that is not its own stops the program with a message. The message
// here says where. A division of integers by zero gives some number on a GPU, where an x86
// processor raises SIGFPE.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "../check/checker.h"
#include "../runtime/device.h"
#include "../runtime/report.h"
#include "../runtime/source_line.h"
#include "block.h"
#include "division.h"

namespace hipcpu {

namespace {

struct sigaction before_fault, before_division;

// Where the signal was raised.
const void *site(void *context) {
#if defined(__x86_64__)
  const auto &registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
  return reinterpret_cast<const void *>(registers[REG_RIP] + 1);  // as a call would return
#else
  (void)context;
  return nullptr;
#endif
}

void hand_on(int number, siginfo_t *info, void *context, const struct sigaction &before) {
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(number, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
  } else {
    signal(number, SIG_DFL);  // it is raised again, without a handler
  }
}

void on_fault(int number, siginfo_t *info, void *context) {
  signal(SIGSEGV, SIG_DFL);  // a fault in here ends the process
  const BlockRunner *runner = current_runner();
  if (runner == nullptr) {
    const int ordinal = device_of(info->si_addr);
    if (ordinal >= 0) {
      report(Finding::host_access, nullptr, nullptr,
             "the host uses a device pointer: " + check::place(info->si_addr));
      write_report();
    }
    sigaction(SIGSEGV, &before_fault, nullptr);
    hand_on(number, info, context, before_fault);
    return;
  }
  if (Fiber::is_below_a_stack(info->si_addr)) {
    hipcpu_trap("a thread needs more private memory than there is");
  }
  char address[32];
  snprintf(address, sizeof address, "%p", info->si_addr);
  report(Finding::out_of_bounds, site(context), nullptr,
         "memory access fault at " + std::string(address) + ": " +
             check::place(info->si_addr));
  write_report();
  signal(SIGABRT, SIG_DFL);
  abort();
}

void on_division(int number, siginfo_t *info, void *context) {
  if (current_runner() == nullptr || !skip_division(static_cast<ucontext_t *>(context))) {
    hand_on(number, info, context, before_division);
    return;
  }
  report(Finding::division_by_zero, site(context), nullptr, "an integer is divided by zero");
}

void handle(int number, void (*handler)(int, siginfo_t *, void *), struct sigaction *before) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(number, &action, before);
}

// The stack of handlers: that of a kernel may be what has overflown, and those that language
// runtimes set up are small.
class SignalStack {
 public:
  SignalStack() {
    memory_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) return;
    stack_t own{};
    own.ss_sp = memory_;
    own.ss_size = size;
    sigaltstack(&own, nullptr);
  }
  ~SignalStack() {
    if (memory_ == MAP_FAILED) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    munmap(memory_, size);
  }

 private:
  static constexpr size_t size = 256 << 10;
  void *memory_;
};

}  // namespace

void install_handlers() {
  static thread_local const SignalStack stack;
  (void)&stack;
  static const bool installed = [] {
    handle(SIGSEGV, on_fault, &before_fault);
    handle(SIGFPE, on_division, &before_division);
    return true;
  }();
  (void)installed;
}

}  // namespace hipcpu

void hipcpu_trap(const char *message) {
  fprintf(stderr, "HIP device: the kernel ends the process: %s: %s\n", message,
          hipcpu::where(nullptr).c_str());
  hipcpu::write_report();
  signal(SIGABRT, SIG_DFL);
  abort();
}
