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
  snprintf(command, sizeof command, "addr2line -i -e '%s' 0x%lx 2>/dev/null",
           seen_from_outside(info.dli_fname).c_str(), static_cast<unsigned long>(offset));
  FILE *lines = popen(command, "r");
  if (lines == nullptr) return "";
  std::string result;
  char line[512];
  while (fgets(line, sizeof line, lines) != nullptr) {
    line[strcspn(line, " \n")] = '\0';  // after a blank comes a discriminator
    if (strstr(line, "??") != nullptr || strstr(line, "/hipcpu/") != nullptr) continue;
    result += (result.empty() ? "" : ", called at ") + std::string(line);
  }
  pclose(lines);
  return result;
}

}  // namespace hipcpu
