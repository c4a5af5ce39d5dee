// What a code object and the runtime know of each other.
//
// A code object is a shared library for the host. It holds the kernels, a table of them that
// `hipcpu_module` gives, and calls the functions below, which libamdhip64 exports.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HIPCPU_EXPORT extern "C" __attribute__((visibility("default")))

namespace hipcpu {

// Changes with every change of this file: the runtime refuses code objects of another one.
constexpr unsigned abi_version = 1;

struct Index {
  unsigned x, y, z;
};

// The GPU thread that a host thread runs now. The runtime fills it in, kernels read it.
struct Thread {
  Index thread, block, block_size, grid_size;
  unsigned lane;
  unsigned shared_count;
  void **shared;  // where the variables in shared memory lie, by their numbers; null: nowhere yet
  void *dynamic_shared;
  void *runner;  // the runtime's own; null while no kernel runs
};

// A kernel as the code object describes it.
struct Kernel {
  const char *name;          // as it is declared
  const char *signature;     // the same in the code object and in the host object of one source
  const void *address;       // of the function
  void (*call)(void **);     // calls it with pointers to the arguments
  const unsigned *sizes;     // of the arguments in bytes
  const unsigned *aligns;    // of the arguments
  unsigned count;            // of the arguments
  unsigned bounds;           // the largest number of threads of a block
  const Kernel *next;
};

struct Module {
  unsigned abi;
  unsigned wavefront;
  const char *arch;
  bool checked;  // compiled for the checker: memory accesses are reported to the runtime
  const Kernel *kernels;
};

// A variable in shared memory. Its number is given when a thread first comes to it.
struct SharedSlot {
  unsigned number;  // 0: none yet
  const char *name;
};

// What all lanes of a wavefront do together; gets what each of them brought, null for lanes that
// take no part.
using Together = void (*)(void *const *brought, unsigned lanes);

}  // namespace hipcpu

// The model is the fastest one; a few dozen bytes of it fit where the loader has room for
// libraries that are opened late.
extern "C" {
extern __thread __attribute__((visibility("default"), tls_model("initial-exec")))
hipcpu::Thread hipcpu_thread;
}

// Waits for all threads of the block.
HIPCPU_EXPORT void hipcpu_barrier();
// The value that lane `source` of the wavefront brought.
HIPCPU_EXPORT uint64_t hipcpu_shuffle(uint64_t value, unsigned source);
// The lanes whose predicate holds.
HIPCPU_EXPORT uint64_t hipcpu_ballot(bool predicate);
// Waits for the lanes of the wavefront that come here too.
HIPCPU_EXPORT void hipcpu_meet();
// Calls `together` once for the wavefront. Where it says `whole`, it is a defect if a lane is
// missing.
HIPCPU_EXPORT void hipcpu_collective(hipcpu::Together together, void *brought, bool whole);
// Finds a place in the block's shared memory for a variable that has none.
HIPCPU_EXPORT void *hipcpu_shared(hipcpu::SharedSlot *slot, size_t size, size_t align);
// Ends the process with a message that names the kernel and the thread.
HIPCPU_EXPORT [[noreturn]] void hipcpu_trap(const char *message);
