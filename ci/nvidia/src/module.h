// Code objects.
#pragma once

#include "arch.h"

namespace hipcuda {

// As which architecture the device answers: the one that the compiler wrapper compiles for.
const hipcpu::Arch &architecture();

}  // namespace hipcuda
