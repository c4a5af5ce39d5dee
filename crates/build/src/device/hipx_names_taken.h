// Names that HIP's headers leave behind as macros of their own, free again for sources that use them
// (HIP headers, amd_device_functions.h, which is done with them).
#pragma once

#include "hipx.h"

#undef MASK1
#undef MASK2
