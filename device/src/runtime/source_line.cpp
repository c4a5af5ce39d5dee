#include "source_line.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace hipcpu {

namespace {

// Code objects are loaded from a descriptor of this process, which addr2line is not.
std::string seen_from_outside(const std::string &path) {
  static const std::string self = "/proc/self/";
  if (path.compare(0, self.size(), self) != 0) return path;
  return "/proc/" + std::to_string(getpid()) + "/" + path.substr(self.size());
}

}  // namespace

std::string source_line(const void *address) {
  Dl_info info;
  link_map *map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP) == 0) return "";
  const auto offset = reinterpret_cast<uintptr_t>(address) - map->l_addr - 1;
  char command[512];
  snprintf(command, sizeof command, "addr2line -f -i -e '%s' 0x%lx 2>/dev/null",
           seen_from_outside(info.dli_fname).c_str(), static_cast<unsigned long>(offset));
  FILE *lines = popen(command, "r");
  if (lines == nullptr) return "";
  // For each function a line with its name and one with the place, innermost first.
  std::string result, last_function;
  char function[4096], place[4096];
  while (fgets(function, sizeof function, lines) != nullptr &&
         fgets(place, sizeof place, lines) != nullptr) {
    place[strcspn(place, " \n")] = '\0';  // after a blank comes a discriminator
    const bool own = strstr(place, "/hipcpu/") != nullptr || strstr(place, "??") != nullptr;
    // A part of a function that stands by itself counts as inlined into the function.
    if (own || last_function == function) continue;
    result += (result.empty() ? "" : ", called at ") + std::string(place);
    last_function = function;
  }
  pclose(lines);
  return result;
}

}  // namespace hipcpu
