// What is known of memory by its address.
#pragma once

namespace hipcpu {

// Whether an address lies in host memory that was allocated by HIP or made known to it.
bool is_locked_host_memory(const void *address);

// Whether an address lies in memory of a device's pool. Other devices reach that only where the pool
// was told so (HIP, hipMemPoolSetAccess), which cannot be done here.
bool is_of_pool(const void *address);

// The pool no longer has a block; what is none of its is left alone.
void forget_block(void *pointer);

// The pool may have unmapped what it holds while the host waited.
void lose_pages();

// Where an allocation begins, on whichever device. Throws for everything else.
void require_allocation(void *pointer);

}  // namespace hipcpu
