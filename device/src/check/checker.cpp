#include "checker.h"

#include <string.h>
#include <sys/mman.h>

#include <mutex>
#include <string>

#include "../exec/block.h"
#include "../exec/fault.h"
#include "../runtime/device.h"
#include "../runtime/options.h"
#include "../runtime/report.h"
#include "order.h"
#include "traffic.h"

namespace hipcpu::check {

namespace {

// Of the memory of all devices. Host threads take turns.
struct Global {
  std::mutex mutex;
  std::unique_ptr<Shadow> shadow;
  void *begin = nullptr;
  size_t bytes = 0;
  unsigned reached = 0;  // how many work on it
};

Global &global() {
  static Global *global = new Global;
  return *global;
}

std::string plural(size_t bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

// "byte 12 of 400 bytes of device memory", counted from 0; more than there are is past the end.
std::string place_of(uintptr_t address) {
  const auto *at = reinterpret_cast<const char *>(address);
  const int ordinal = device_of(at);
  if (ordinal < 0) return "no memory of a device";
  const Heap::Allocation near = device(ordinal).heap.find_near(at);
  if (near.begin == nullptr) return "no allocated memory of a device";
  return "byte " + std::to_string(at - near.begin) + " of " + plural(near.bytes) +
         " of device memory";
}

std::string coordinates(const Index &shape, unsigned number) {
  return "(" + std::to_string(number % shape.x) + "," + std::to_string(number / shape.x % shape.y) +
         "," + std::to_string(number / shape.x / shape.y) + ")";
}

// What "the other thread" of a race was.
std::string other_of(const BlockRunner &runner, const Shadow::Found &found, bool shared) {
  const Launch &launch = *runner.launch();
  std::string who = "thread " + coordinates(launch.block, found.other.thread());
  if (!shared) who += " of block " + coordinates(launch.grid, found.other.block());
  return who + (found.other_wrote ? " has written" : " has read");
}

bool ordered_in_block(Cell earlier, Cell now, unsigned lanes) {
  if (earlier.block() != now.block()) return false;
  if (earlier.barrier() != now.barrier()) return true;
  if (earlier.thread() / lanes != now.thread() / lanes) return false;
  return earlier.meeting() != now.meeting() || now.meeting() == meetings;
}

bool ordered(Cell earlier, Cell now, BlockRunner *runner) {
  if (earlier.work() == now.work()) {
    return runner != nullptr && ordered_in_block(earlier, now, runner->launch()->wavefront);
  }
  const bool is = comes_before(earlier.work());
  if (is && runner != nullptr) runner->know_before(earlier.work());
  return is;
}

void tell(const BlockRunner &runner, const Access &access, const Shadow::Found &found, bool shared,
          const void *site) {
  const std::string verb = access.by.atomic() ? "changes" : access.writes() ? "writes" : "reads";
  const std::string what = verb + " " + plural(access.bytes);
  const std::string where =
      shared ? runner.shared_place(found.address) : place_of(found.address);
  switch (found.defect) {
    case Defect::none:
      return;
    case Defect::outside:
      report(Finding::out_of_bounds, site, nullptr, what + ", of which one is " + where);
      return;
    case Defect::after_free:
      report(Finding::use_after_free, site, nullptr,
             what + " of device memory that has been freed: " + where);
      return;
    case Defect::uninitialised:
      report(Finding::uninitialised_read, site, nullptr,
             what + " of which nothing has been written: " + where);
      return;
    case Defect::race:
      break;
  }
  if (found.other.work() != access.by.work()) {
    report(Finding::missing_dependency, site, nullptr,
           what + ", " + where + ", that work of another stream has " +
               (found.other_wrote ? "written" : "read") +
               ", which nothing orders before this");
    return;
  }
  report(shared ? Finding::shared_race : Finding::global_race, site, nullptr,
         what + ", " + where + ", that " + other_of(runner, found, shared) +
             " with no barrier between");
}

void access_by_host(const void *begin, size_t bytes, Kind kind, const char *what) {
  Global &all = global();
  const auto address = reinterpret_cast<uintptr_t>(begin);
  if (!enabled() || bytes == 0 || !all.shadow->contains(address)) return;
  const Ticket *ticket = doing();
  const Cell by = cell_of(ticket == nullptr ? 1 : ticket->work, ~uint64_t{0}, 0, 0, 1023);
  Shadow::Found found;
  {
    std::lock_guard<std::mutex> lock(all.mutex);
    found = all.shadow->access({address, bytes, kind, by}, ordered, nullptr);
  }
  const std::string verb = std::string(what) + (kind == Kind::write ? " writes " : " reads ");
  switch (found.defect) {
    case Defect::none:
      break;
    case Defect::outside:
      report(Finding::out_of_bounds, nullptr, nullptr, verb + place_of(found.address));
      break;
    case Defect::after_free:
      report(Finding::use_after_free, nullptr, nullptr,
             verb + "device memory that has been freed: " + place_of(found.address));
      break;
    case Defect::uninitialised:
      report(Finding::uninitialised_read, nullptr, nullptr,
             verb + "what nothing has been written to: " + place_of(found.address));
      break;
    case Defect::race:
      report(Finding::missing_dependency, nullptr, nullptr,
             verb + place_of(found.address) + ", that work of another stream has " +
                 (found.other_wrote ? "written" : "read") +
                 ", which nothing orders before this");
      break;
  }
}

void set(const void *begin, size_t bytes, State state) {
  if (!enabled() || bytes == 0) return;
  Global &all = global();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.shadow->set(reinterpret_cast<uintptr_t>(begin), bytes, state);
}

}  // namespace

Shadow *device_shadow = nullptr;

bool enabled() {
  static const bool asked_for = options().check;
  return asked_for;
}

void watch(const void *begin, size_t bytes) {
  if (!enabled()) return;
  Global &all = global();
  all.begin = const_cast<void *>(begin);
  all.bytes = bytes;
  all.shadow = std::make_unique<Shadow>(begin, bytes);
  traffic.watch(begin, bytes);
  device_shadow = all.shadow.get();
  mprotect(all.begin, all.bytes, PROT_NONE);
  install_handlers();
}

std::string place(const void *address) { return place_of(reinterpret_cast<uintptr_t>(address)); }

void allocated(const void *begin, size_t bytes) { set(begin, bytes, State::uninitialised); }

void freed(const void *begin, size_t bytes) { set(begin, bytes, State::freed); }

void reads(const void *begin, size_t bytes, const char *what) {
  if (enabled()) traffic.other_reads(bytes);
  access_by_host(begin, bytes, Kind::read, what);
}

void writes(const void *begin, size_t bytes, const char *what) {
  if (enabled()) traffic.writes(bytes);
  access_by_host(begin, bytes, Kind::write, what);
}

void copies(const void *to, const void *from, size_t bytes, const char *what) {
  if (!enabled() || bytes == 0) return;
  traffic.other_reads(bytes);
  traffic.writes(bytes);
  access_by_host(from, bytes, Kind::move, what);
  access_by_host(to, bytes, Kind::write, what);
  Global &all = global();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.shadow->copy_states(reinterpret_cast<uintptr_t>(to), *all.shadow,
                          reinterpret_cast<uintptr_t>(from), bytes);
}

void gives_up(const void *begin, size_t bytes, const char *what) {
  access_by_host(begin, bytes, Kind::write, what);
}

// Without a lock: launches at the same time are of different memory, or else it is a defect.
void access(BlockRunner &runner, Shadow &shadow, const Access &access, const void *site) {
  const Shadow::Found found = shadow.access(access, ordered, &runner);
  if (found.defect != Defect::none) tell(runner, access, found, &shadow != device_shadow, site);
}

void forget_accesses() {
  Global &all = global();
  if (all.shadow == nullptr) return;
  std::lock_guard<std::mutex> lock(all.mutex);
  all.shadow->forget();
}

Reach::Reach() {
  if (!enabled()) return;
  Global &all = global();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (all.reached++ == 0 && all.begin != nullptr) {
    mprotect(all.begin, all.bytes, PROT_READ | PROT_WRITE);
  }
}

Reach::~Reach() {
  if (!enabled()) return;
  Global &all = global();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (--all.reached == 0 && all.begin != nullptr) mprotect(all.begin, all.bytes, PROT_NONE);
}

}  // namespace hipcpu::check
