#include "options.h"

#include <stdlib.h>

#include <algorithm>
#include <thread>

namespace hipcpu {

namespace {

std::string text(const char *name, const char *otherwise) {
  const char *value = getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

// A value that is no number counts as absent.
size_t number(const char *name, size_t otherwise) {
  const std::string value = text(name, "");
  char *end = nullptr;
  const unsigned long long parsed = strtoull(value.c_str(), &end, 10);
  return value.empty() || *end != '\0' || parsed == 0 ? otherwise : static_cast<size_t>(parsed);
}

Options read() {
  Options o;
  o.arch = text("PORTKIT_DEVICE_ARCH", "gfx1100");
  o.devices = static_cast<int>(std::min<size_t>(number("PORTKIT_DEVICE_COUNT", 1), 16));
  o.memory = number("PORTKIT_DEVICE_MEMORY", 16384) << 20;
  const size_t processors = std::max(1u, std::thread::hardware_concurrency());
  o.threads = static_cast<unsigned>(number("PORTKIT_DEVICE_THREADS", processors));
  o.report = text("PORTKIT_DEVICE_REPORT", "");
  o.fail = text("PORTKIT_DEVICE_FAIL", "");
  o.check = text("PORTKIT_DEVICE_CHECK", "") == "1";
  o.peers = text("PORTKIT_DEVICE_PEERS", "") != "no";
  o.chaos = number("PORTKIT_DEVICE_CHAOS", 0);
  o.behaviours = text("PORTKIT_DEVICE_BEHAVIOURS", "");
  o.lazy = o.chaos != 0 || text("PORTKIT_DEVICE_STREAMS", "") == "lazy";
  return o;
}

}  // namespace

const Options &options() {
  static const Options *read_once = new Options(read());
  return *read_once;
}

}  // namespace hipcpu
