// Source lines of addresses in code objects.
#pragma once

#include <string>

namespace hipcpu {

// The file and line of the call that returns to `address`, innermost first where functions were
// inlined, without the device's own headers. Empty where there is no debug information or no
// addr2line.
std::string source_line(const void *address);

}  // namespace hipcpu
