// Divisions of integers that the processor refuses.
#pragma once

#include <ucontext.h>

namespace hipcpu {

// Goes on after the division at which a SIGFPE was raised, with what AMD GPUs give: all ones as
// the quotient, the dividend as the remainder. False where it is no division.
bool skip_division(ucontext_t *context);

}  // namespace hipcpu
