// How each function of MIOpen answers, and which of its objects are alive.
#pragma once

#include <mutex>
#include <set>

#include "../runtime/device_work.h"
#include "types.h"

namespace hipcpu::conv {

// Thrown inside of an answer; what is wrong is said on standard error, where it is a caller's mistake.
struct Failure {
  miopenStatus_t status;
};

void complain(const char *function, const char *what);

inline void require(bool holds, miopenStatus_t otherwise) {
  if (!holds) throw Failure{otherwise};
}

// What the caller has to see to: MIOpen may not notice it.
struct Mistake {
  const char *what;
};

inline void expect(bool holds, const char *otherwise) {
  if (!holds) throw Mistake{otherwise};
}

template <typename Body>
miopenStatus_t answer(const char *name, Body body) {
  if (const int asked = count_failing_call(name, true)) {
    return static_cast<miopenStatus_t>(asked);
  }
  try {
    body();
  } catch (const Failure &failure) {
    return failure.status;
  } catch (const Mistake &mistake) {
    complain(name, mistake.what);
    return miopenStatusBadParm;
  }
  return miopenStatusSuccess;
}

// The objects of a kind that were made and not destroyed. One that is used when it is gone, or that is
// of another kind, is a mistake and no crash.
template <typename T>
class Alive {
 public:
  T *make(T made) {
    T *object = new T(std::move(made));
    const std::lock_guard<std::mutex> hold(mutex_);
    all_.insert(object);
    return object;
  }
  void destroy(T *object) {
    {
      const std::lock_guard<std::mutex> hold(mutex_);
      expect(all_.erase(object) == 1, "what is to be destroyed is not alive");
    }
    delete object;
  }
  T &at(T *object) {
    const std::lock_guard<std::mutex> hold(mutex_);
    expect(all_.count(object) == 1, "a handle or a descriptor is not alive");
    return *object;
  }

 private:
  std::mutex mutex_;
  std::set<T *> all_;
};

Alive<miopenHandle> &handles();
Alive<miopenTensorDescriptor> &tensors();
Alive<miopenConvolutionDescriptor> &convolutions();

}  // namespace hipcpu::conv
