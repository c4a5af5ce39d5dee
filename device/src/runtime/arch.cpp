#include "arch.h"

#include <ctype.h>

#include <cstdlib>
#include <map>

namespace hipcpu {

namespace {

// As many as a card of the architecture has; what HIP counts are work group processors (pairs of
// compute units) from gfx10 on.
const std::map<std::string, int> compute_units = {
    {"gfx90a", 104}, {"gfx942", 304}, {"gfx1030", 40}, {"gfx1100", 48},
    {"gfx1151", 20}, {"gfx1200", 16}, {"gfx1201", 32},
};

// LLVM's generic targets: which processors they run on ("Generic Processors" of the same guide).
bool is_of_family(const std::string &family, const std::string &name) {
  const auto starts = [&](const char *prefix) { return name.rfind(prefix, 0) == 0; };
  if (family == "gfx9-generic") {
    return name == "gfx900" || name == "gfx902" || name == "gfx904" || name == "gfx906" ||
           name == "gfx909" || name == "gfx90c";
  }
  if (family == "gfx9-4-generic") return starts("gfx94") || name == "gfx950";
  if (family == "gfx10-1-generic") return starts("gfx101");
  if (family == "gfx10-3-generic") return starts("gfx103");
  if (family == "gfx11-generic") return starts("gfx110") || starts("gfx115");
  if (family == "gfx12-generic") return starts("gfx120");
  return false;
}

}  // namespace

Arch arch_of(const std::string &name) {
  const size_t size = name.size();
  if (size < 6 || name.rfind("gfx", 0) != 0) return arch_of("gfx1100");
  for (size_t i = 3; i < size; ++i) {
    if (!isxdigit(static_cast<unsigned char>(name[i]))) return arch_of("gfx1100");
  }
  const int major = std::atoi(name.substr(3, size - 5).c_str());
  const int minor = static_cast<int>(std::strtol(name.substr(size - 2, 1).c_str(), nullptr, 16));
  const auto known = compute_units.find(name);
  return {name, major, minor, major < 10 ? 64u : 32u,
          known == compute_units.end() ? 32 : known->second};
}

int suits(const std::string &target, const Arch &arch) {
  const std::string processor = target.substr(0, target.find(':'));
  if (processor == arch.name) return 2;
  return is_of_family(processor, arch.name) ? 1 : 0;
}

}  // namespace hipcpu
