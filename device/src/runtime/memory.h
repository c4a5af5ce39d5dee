// Host memory as HIP sees it.
#pragma once

namespace hipcpu {

// Whether an address lies in host memory that was allocated by HIP or made known to it.
bool is_locked_host_memory(const void *address);

}  // namespace hipcpu
