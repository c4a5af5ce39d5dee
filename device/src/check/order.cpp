#include "order.h"

#include <algorithm>
#include <mutex>

#include "cell.h"
#include "checker.h"

namespace hipcpu::check {

namespace {

struct Place {
  uint64_t stream, position;
};

struct Orders {
  std::mutex mutex;
  Clock host;
  unsigned last_work = 0;
  Place places[works];  // of each work that cells still name
};

Orders &orders() {
  static Orders *orders = new Orders;
  return *orders;
}

const Ticket *&current() {
  static thread_local const Ticket *ticket = nullptr;
  return ticket;
}

}  // namespace

void merge(Clock &into, const Clock &other) {
  for (const auto &[stream, position] : other) {
    uint64_t &known = into[stream];
    known = std::max(known, position);
  }
}

Ticket issue(uint64_t stream, uint64_t position, Clock before) {
  Orders &all = orders();
  std::lock_guard<std::mutex> lock(all.mutex);
  merge(before, all.host);
  if (++all.last_work == works) {
    forget_accesses();
    all.last_work = 1;
  }
  all.places[all.last_work] = {stream, position};
  return {all.last_work, stream, position, std::make_shared<const Clock>(std::move(before))};
}

void host_waited(const Clock &clock) {
  Orders &all = orders();
  std::lock_guard<std::mutex> lock(all.mutex);
  merge(all.host, clock);
}

Doing::Doing(const Ticket &ticket) : outer_(current()) { current() = &ticket; }

Doing::~Doing() { current() = outer_; }

const Ticket *doing() { return current(); }

bool comes_before(unsigned earlier_work) {
  const Ticket *now = current();
  if (now == nullptr) return true;
  const Place earlier = orders().places[earlier_work];
  if (earlier.stream == now->stream) return true;
  const auto known = now->before->find(earlier.stream);
  return known != now->before->end() && known->second >= earlier.position;
}

}  // namespace hipcpu::check
