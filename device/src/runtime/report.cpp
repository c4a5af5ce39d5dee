#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <mutex>
#include <tuple>

#include "../check/checker.h"
#include "../check/traffic.h"
#include "../exec/block.h"
#include "options.h"
#include "source_line.h"

namespace hipcpu {

namespace {

const char *title(Finding kind) {
  switch (kind) {
    case Finding::divergent_barrier: return "divergent-barrier";
    case Finding::inactive_lane: return "inactive-lane";
    case Finding::out_of_bounds: return "out-of-bounds";
    case Finding::use_after_free: return "use-after-free";
    case Finding::uninitialised_read: return "uninitialised-read";
    case Finding::shared_race: return "shared-race";
    case Finding::global_race: return "global-race";
    case Finding::host_access: return "host-access";
    case Finding::missing_dependency: return "missing-dependency";
    case Finding::division_by_zero: return "division-by-zero";
  }
  return "";
}

struct Defect {
  std::string kind, kernel, message;
  uint64_t times = 0;
};

using Counts = std::map<std::string, uint64_t, std::less<>>;

struct Seen {
  std::mutex mutex;
  Counts calls, launches;
  uint64_t threads = 0;
  std::map<std::tuple<Finding, std::string, const void *>, Defect> defects;
};

Seen &seen() {
  // Never destroyed: other threads may still call when the process ends.
  static Seen *seen = [] {
    atexit(write_report);
    return new Seen;
  }();
  return *seen;
}

void increment(Counts &counts, const char *name) {
  const auto found = counts.find(name);
  if (found == counts.end()) {
    counts.emplace(name, 1);
  } else {
    ++found->second;
  }
}

std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      result += code;
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string counts(const Counts &numbers) {
  std::string result = "{";
  for (const auto &[name, number] : numbers) {
    result += (result.size() > 1 ? ", " : "") + quoted(name) + ": " + std::to_string(number);
  }
  return result + "}";
}

std::string shown(const Index &index) {
  return "(" + std::to_string(index.x) + "," + std::to_string(index.y) + "," +
         std::to_string(index.z) + ")";
}

std::string running_kernel() {
  const BlockRunner *runner = current_runner();
  return runner == nullptr ? "" : runner->launch()->kernel->name;
}

}  // namespace

std::string where(const Index *thread) {
  if (current_runner() == nullptr) return "";
  const Index &index = thread == nullptr ? hipcpu_thread.thread : *thread;
  return "kernel " + running_kernel() + ", block " + shown(hipcpu_thread.block) + ", thread " +
         shown(index);
}

void report(Finding kind, const void *site, const Index *thread, const std::string &what) {
  Seen &all = seen();
  std::unique_lock<std::mutex> lock(all.mutex);
  Defect &defect = all.defects[{kind, running_kernel(), site}];
  if (defect.times++ > 0) return;
  std::string message = what;
  const std::string place = where(thread);
  if (!place.empty()) message += ": " + place;
  const std::string line = site == nullptr ? "" : source_line(site);
  if (!line.empty()) message += ", " + line;
  defect.kind = title(kind);
  defect.kernel = running_kernel();
  defect.message = message;
  lock.unlock();
  fprintf(stderr, "HIP device: %s: %s\n", title(kind), message.c_str());
}

void count_call(const char *name) {
  Seen &all = seen();
  std::lock_guard<std::mutex> lock(all.mutex);
  increment(all.calls, name);
}

void know_kernel(const char *name) {
  Seen &all = seen();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.launches.try_emplace(name, 0);
}

void count_launch(const char *kernel, uint64_t threads) {
  Seen &all = seen();
  std::lock_guard<std::mutex> lock(all.mutex);
  increment(all.launches, kernel);
  all.threads += threads;
}

void write_report() {
  const std::string &folder = options().report;
  if (folder.empty()) return;
  Seen &all = seen();
  std::lock_guard<std::mutex> lock(all.mutex);
  mkdir(folder.c_str(), 0777);
  const std::string path = folder + "/" + std::to_string(getpid()) + ".json";
  FILE *file = fopen(path.c_str(), "w");
  if (file == nullptr) return;
  fprintf(file, "{\n\"arch\": %s,\n\"threads\": %llu,\n", quoted(options().arch).c_str(),
          static_cast<unsigned long long>(all.threads));
  if (check::enabled()) {
    fprintf(file, "\"traffic\": {\"read\": %llu, \"fetched\": %llu, \"written\": %llu},\n",
            static_cast<unsigned long long>(check::traffic.read()),
            static_cast<unsigned long long>(check::traffic.fetched()),
            static_cast<unsigned long long>(check::traffic.written()));
  }
  fprintf(file, "\"calls\": %s,\n\"kernels\": %s,\n\"findings\": [", counts(all.calls).c_str(),
          counts(all.launches).c_str());
  const char *comma = "\n";
  for (const auto &[key, defect] : all.defects) {
    fprintf(file, "%s{\"kind\": %s, \"kernel\": %s, \"times\": %llu, \"message\": %s}", comma,
            quoted(defect.kind).c_str(), quoted(defect.kernel).c_str(),
            static_cast<unsigned long long>(defect.times), quoted(defect.message).c_str());
    comma = ",\n";
  }
  fprintf(file, "\n]\n}\n");
  fclose(file);
}

}  // namespace hipcpu
