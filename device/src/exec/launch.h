// A kernel with all that a launch gives it.
#pragma once

#include "../../include/hipcpu/abi.h"

namespace hipcpu {

struct Launch {
  const Kernel *kernel;
  void **arguments;
  Index grid, block;
  size_t dynamic_shared;  // bytes
  unsigned wavefront;     // lanes

  uint64_t blocks() const { return uint64_t{grid.x} * grid.y * grid.z; }
  unsigned threads_per_block() const { return block.x * block.y * block.z; }
};

// Runs every thread of every block: on the calling host thread, and on others where there is
// enough to do.
void run_blocks(const Launch &launch);

// Shared memory that a block of a kernel can have, in bytes: the local data share of a workgroup
// (all architectures from gfx9 to gfx12).
constexpr size_t shared_limit = 65536;

// Threads that a block can have.
constexpr unsigned block_limit = 1024;

}  // namespace hipcpu
