// Which work of the device is known to come before which, by streams, events and waits.
//
// Work of one stream is ordered. What another stream did comes before new work only where an event,
// a wait of the host or the default stream's rules say so. Host threads are taken as one: what one
// of them has waited for, all know.
#pragma once

#include <stdint.h>

#include <map>
#include <memory>

namespace hipcpu::check {

// Up to which position the work of each stream, by its number, is known to be done.
using Clock = std::map<uint64_t, uint64_t>;

void merge(Clock &into, const Clock &other);

// A piece of work: what it is, and what comes before it.
struct Ticket {
  unsigned work;  // as cells name it
  uint64_t stream, position;
  std::shared_ptr<const Clock> before;
};

// A ticket for work that is put into a stream, `before` aside from what the host has waited for.
Ticket issue(uint64_t stream, uint64_t position, Clock before);

// The host has waited for all that a clock knows.
void host_waited(const Clock &clock);

// While it lives, the calling thread does the work of a ticket.
class Doing {
 public:
  explicit Doing(const Ticket &ticket);
  ~Doing();
  Doing(const Doing &) = delete;
  Doing &operator=(const Doing &) = delete;

 private:
  const Ticket *outer_;
};

// The ticket of what the calling thread does; null for nothing.
const Ticket *doing();

// Whether work that a cell names is known to come before what the calling thread does.
bool comes_before(unsigned earlier_work);

}  // namespace hipcpu::check
