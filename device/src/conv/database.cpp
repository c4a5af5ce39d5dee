#include "database.h"

#include <stdlib.h>

#include <fstream>
#include <mutex>
#include <set>

namespace hipcpu::conv {

namespace {

struct Database {
  std::mutex mutex;
  std::set<std::string> searched;
  std::string file;

  Database() {
    const char *folder = getenv("MIOPEN_USER_DB_PATH");
    if (folder == nullptr || *folder == '\0') return;
    file = std::string(folder) + "/hipcpu.ufdb.txt";
    std::ifstream kept(file);
    for (std::string line; std::getline(kept, line);) searched.insert(line);
  }
};

// It is not destroyed, as somebody may use it while the process ends.
Database &database() {
  static auto *one = new Database;
  return *one;
}

}  // namespace

bool was_searched(const std::string &problem) {
  Database &all = database();
  const std::lock_guard<std::mutex> hold(all.mutex);
  return all.searched.count(problem) == 1;
}

void keep_search(const std::string &problem) {
  Database &all = database();
  const std::lock_guard<std::mutex> hold(all.mutex);
  if (!all.searched.insert(problem).second || all.file.empty()) return;
  std::ofstream(all.file, std::ios::app) << problem + '\n';
}

}  // namespace hipcpu::conv
