// Checks of the programs that run on the device: each prints one line.
#pragma once

#include <hip/hip_runtime.h>

#include <stdio.h>
#include <stdlib.h>

#include <vector>

#define CHECK(WHAT) check(#WHAT, (WHAT))

inline void check(const char *what, bool holds) { printf("%s %s\n", holds ? "ok" : "FAILED", what); }

// The status of a call that has to succeed.
#define HIP(CALL)                                                     \
  do {                                                                \
    const hipError_t hip_status = (CALL);                             \
    if (hip_status != hipSuccess) {                                   \
      printf("FAILED %s: %s\n", #CALL, hipGetErrorName(hip_status));  \
      exit(1);                                                        \
    }                                                                 \
  } while (false)

// Values on the device.
template <typename T>
class Device {
 public:
  explicit Device(const std::vector<T> &values) : count_(values.size()) {
    HIP(hipMalloc(&data_, count_ * sizeof(T)));
    HIP(hipMemcpy(data_, values.data(), count_ * sizeof(T), hipMemcpyHostToDevice));
  }
  explicit Device(size_t count) : Device(std::vector<T>(count)) {}
  ~Device() { (void)hipFree(data_); }
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  operator T *() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> result(count_);
    HIP(hipMemcpy(result.data(), data_, count_ * sizeof(T), hipMemcpyDeviceToHost));
    return result;
  }

 private:
  size_t count_;
  T *data_ = nullptr;
};
