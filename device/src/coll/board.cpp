#include "board.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <sstream>

namespace hipcpu::coll {

// A new file is all zeros, which is what each of these begins with.
struct Board::Seat {
  std::atomic<int> pid;
  std::atomic<int> device;
  std::atomic<uint64_t> started;
  std::atomic<uint32_t> asked;
  std::atomic<bool> there, left;
  std::atomic<uint64_t> posted, finished;
};

struct Board::Shared {
  std::atomic<int> ranks;
  std::atomic<int> failure;
  Seat seats[most_ranks];
  std::atomic<uint64_t> sent[most_ranks][most_ranks], received[most_ranks][most_ranks];
};

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free);
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));  // futex(2) waits for 32 bits

namespace {

// When a process began, in clock ticks, by which it differs from a later one of its number, and 0
// for one that is no more: field 22 and state of /proc/PID/stat (proc(5)).
uint64_t started(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(line.substr(name_end + 1));
  std::string word;
  for (int field = 3; field <= 22 && rest >> word; ++field) {
    if (field == 3 && (word == "Z" || word == "X")) return 0;
  }
  return strtoull(word.c_str(), nullptr, 10);
}

const char *const kinds[] = {"all_reduce",     "reduce", "broadcast", "all_gather",
                             "reduce_scatter", "send",   "receive"};
const char *const datatypes[] = {"int8",   "uint8",   "int32",   "uint32",  "int64",
                                 "uint64", "float16", "float32", "float64", "bfloat16"};
const char *const ops[] = {"sum", "product", "maximum", "minimum", "average"};

}  // namespace

std::string Post::text() const {
  std::string said = std::string(kinds[kind]) + " of " + std::to_string(count) + " " +
                     datatypes[datatype];
  if (kind == reduce || kind == broadcast) said += ", root " + std::to_string(number);
  const bool reduces = kind == all_reduce || kind == reduce || kind == reduce_scatter;
  if (reduces) said += op < ncclNumOps ? std::string(" (") + ops[op] + ")" : " (an own operation)";
  return said;
}

std::string Board::fresh_folder() {
  const char *named = getenv("TMPDIR");
  const bool in_memory = access("/dev/shm", W_OK) == 0;
  std::string parent = in_memory ? "/dev/shm" : "/tmp";
  if (named != nullptr && *named != '\0') parent = named;
  std::random_device random;
  char number[40];
  snprintf(number, sizeof number, "%08x%08x", random(), random());
  return parent + "/hipcpu-ranks-" + number;
}

Board::Board(const std::string &folder) : folder_(folder) {
  mkdir(folder.c_str(), 0700);
  const int file = open((folder + "/board").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  require(file >= 0, ncclSystemError);
  void *mapped = MAP_FAILED;
  if (ftruncate(file, sizeof(Shared)) == 0) {
    mapped = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  require(mapped != MAP_FAILED, ncclSystemError);
  shared_ = static_cast<Shared *>(mapped);
}

Board::~Board() {
  if (shared_ != nullptr) munmap(shared_, sizeof(Shared));
}

std::shared_ptr<Board> Board::taken(const std::string &folder, int rank, int ranks, int device) {
  auto board = std::make_shared<Board>(folder);
  board->join(rank, ranks, device);
  return board;
}

void Board::join(int rank, int ranks, int device) {
  int others = 0;
  const bool agreed = shared_->ranks.compare_exchange_strong(others, ranks) || others == ranks;
  Seat &seat = shared_->seats[rank];
  int nobody = 0;
  if (!agreed || !seat.pid.compare_exchange_strong(nobody, getpid())) {
    fail(ncclInvalidUsage);
    throw Failure{ncclInvalidUsage};
  }
  seat.device = device;
  seat.started = started(getpid());
  seat.there = true;
}

void Board::leave(int rank) {
  shared_->seats[rank].left = true;
  for (int other = 0; other < shared_->ranks; ++other) {
    if (!is_taken(other)) {
      fail(ncclRemoteError);  // whoever comes from now on comes too late
    } else if (gone(other).empty()) {
      return;
    }
  }
  DIR *listed = opendir(folder_.c_str());
  if (listed == nullptr) return;
  while (const dirent *entry = readdir(listed)) remove(entry->d_name);
  closedir(listed);
  rmdir(folder_.c_str());
}

bool Board::is_taken(int rank) const { return shared_->seats[rank].there; }

bool Board::is_on_own_device(int rank, int ranks) const {
  for (int other = 0; other < ranks; ++other) {
    const Seat *seats = shared_->seats;
    if (other != rank && seats[other].device == seats[rank].device) return false;
  }
  return true;
}

std::string Board::gone(int rank) const {
  const Seat &seat = shared_->seats[rank];
  if (!seat.there) return "";
  if (seat.left) return "has left";
  if (seat.pid == getpid() || started(seat.pid) == seat.started) return "";
  return "has died: its process, " + std::to_string(seat.pid) + ", is no more";
}

void Board::ask(int rank) {
  std::atomic<uint32_t> &asked = shared_->seats[rank].asked;
  if (asked.exchange(1) == 0) syscall(SYS_futex, &asked, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

bool Board::wait_to_be_asked(int rank, std::chrono::milliseconds limit) {
  std::atomic<uint32_t> &asked = shared_->seats[rank].asked;
  if (asked.exchange(0) != 0) return true;
  timespec time{};
  time.tv_sec = limit.count() / 1000;
  time.tv_nsec = limit.count() % 1000 * 1000000;
  syscall(SYS_futex, &asked, FUTEX_WAIT, 0, &time, nullptr, 0);
  return asked.exchange(0) != 0;
}

void Board::fail(ncclResult_t status) {
  int none = 0;
  shared_->failure.compare_exchange_strong(none, status);
}

ncclResult_t Board::failure() const { return static_cast<ncclResult_t>(shared_->failure.load()); }

void Board::write(const std::string &name, const Post &post, const void *data,
                  size_t bytes) const {
  std::ofstream file(folder_ + "/" + name, std::ios::binary);
  file.write(reinterpret_cast<const char *>(&post), sizeof post);
  file.write(static_cast<const char *>(data), static_cast<std::streamsize>(bytes));
  file.close();
  require(file.good(), ncclSystemError);
}

Post Board::read(const std::string &name, std::vector<char> &data) const {
  std::ifstream file(folder_ + "/" + name, std::ios::binary);
  Post post;
  require(static_cast<bool>(file.read(reinterpret_cast<char *>(&post), sizeof post)),
          ncclSystemError);
  data.assign(std::istreambuf_iterator<char>(file), {});
  return post;
}

void Board::remove(const std::string &name) const { unlink((folder_ + "/" + name).c_str()); }

std::atomic<uint64_t> &Board::posted(int rank) { return shared_->seats[rank].posted; }

std::atomic<uint64_t> &Board::finished(int rank) { return shared_->seats[rank].finished; }

std::atomic<uint64_t> &Board::sent(int from, int to) { return shared_->sent[from][to]; }

std::atomic<uint64_t> &Board::received(int from, int to) { return shared_->received[from][to]; }

}  // namespace hipcpu::coll
