// Signals that kernels raise.
#pragma once

namespace hipcpu {

// Handles SIGSEGV and SIGFPE of kernels on the calling thread from now on; those of others go to
// who handled them before.
void install_handlers();

}  // namespace hipcpu
