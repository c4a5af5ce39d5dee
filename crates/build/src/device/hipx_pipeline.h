// CUDA's <cuda_pipeline.h>: copies from global to shared memory are made at once by the thread
// itself, so that to wait for them is nothing (CUDA C++ Programming Guide, "Pipeline Primitives
// Interface").
#pragma once

#include "hipx.h"

#include "hipx_ptx_memory.h"

namespace hipx {

// Copies `bytes`, 4, 8 or 16, of which the last `zeros` are zero and not read.
HIPX_DEVICE void pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zeros = 0) {
  ptx::copied((char *)to, (const char *)from, (unsigned)bytes, (unsigned)(bytes - zeros));
}

HIPX_DEVICE void pipeline_commit() {}

HIPX_DEVICE void pipeline_wait_prior(size_t) {}

}  // namespace hipx
