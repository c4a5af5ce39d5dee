// What the compiler wrapper puts in place of __global__ and <<<>>> (portkit/device/rewrite.py).
//
// Sources are compiled twice, as hipcc does it. In the code object a kernel is a function that the
// runtime calls once for each thread; its registration puts it into the table. In the host object
// it is a function with the same parameters that asks the runtime for a launch; its registration
// tells the runtime which kernel the function's address stands for.
#pragma once

#include <hip/hip_runtime_api.h>

#include "abi.h"

#include <type_traits>
#include <utility>

namespace hipcpu {

template <auto Function>
struct Call;

template <typename... Parameters, void (*Function)(Parameters...)>
struct Call<Function> {
  // One more than there are, since an array needs an element.
  static constexpr unsigned sizes[] = {sizeof(Parameters)..., 0};
  static constexpr unsigned aligns[] = {alignof(Parameters)..., 0};
  static constexpr unsigned count = sizeof...(Parameters);

  static void with(void **arguments) { with(arguments, std::index_sequence_for<Parameters...>{}); }

 private:
  template <size_t... I>
  static void with([[maybe_unused]] void **arguments, std::index_sequence<I...>) {
    Function(*static_cast<std::remove_reference_t<Parameters> *>(arguments[I])...);
  }
};

// The arguments of a kernel template.
template <typename...>
struct Instance;
template <auto>
struct Value;

// One text for one kernel in both passes. `Here` is a class whose name has the kernel's in it;
// compilers leave out one or another of what they print, but not all three.
template <typename Here, typename Function, typename Arguments>
const char *signature() {
  return __PRETTY_FUNCTION__;
}

}  // namespace hipcpu

// Before each kernel launch: what stands between <<< and >>>.
inline void hipcpu_configure(dim3 grid, dim3 block, size_t shared = 0,
                             hipStream_t stream = nullptr) {
  (void)__hipPushCallConfiguration(grid, block, shared, stream);
}

#if defined(HIPCPU_DEVICE_PASS)

namespace hipcpu {

// Each code object has a list of its own: symbols are hidden unless they say otherwise.
inline const Kernel *kernels = nullptr;

struct Entry : Kernel {
  explicit Entry(const Kernel &kernel) : Kernel(kernel) {
    next = kernels;
    kernels = this;
  }
};

// Used in a kernel's body, so that there is an entry for each kernel and each instance of a
// template that the source needs.
template <auto Function, unsigned Bounds, typename Here, typename Arguments>
struct Registration {
  static inline const Entry entry{Kernel{
      Here::name(), signature<Here, decltype(Function), Arguments>(),
      reinterpret_cast<const void *>(Function), Call<Function>::with, Call<Function>::sizes,
      Call<Function>::aligns, Call<Function>::count, Bounds, nullptr}};
};

}  // namespace hipcpu

#else

namespace hipcpu {

// What __hipRegisterFatBinary is given (clang, CodeGen/CGCUDANV.cpp).
struct FatBinary {
  unsigned magic, version;
  const void *bundle;
  void *unused;
};

}  // namespace hipcpu

// Of one source: the bundle of its code objects. A source that has kernels ends with it.
static void **hipcpu_bundle();

// Sources are linked with each other, and each registers its own.
namespace hipcpu {
namespace {

struct Entry {
  Entry(const void *function, const char *signature) {
    __hipRegisterFunction(hipcpu_bundle(), function, const_cast<char *>(signature), signature, -1u,
                          nullptr, nullptr, nullptr, nullptr, nullptr);
  }
};

template <auto Function, unsigned Bounds, typename Here, typename Arguments>
struct Registration {
  static inline const Entry entry{reinterpret_cast<const void *>(Function),
                                  signature<Here, decltype(Function), Arguments>()};
};

}  // namespace

inline void launch(const void *function, void **arguments) {
  dim3 grid, block;
  size_t shared = 0;
  hipStream_t stream = nullptr;
  (void)__hipPopCallConfiguration(&grid, &block, &shared, &stream);
  (void)hipLaunchKernel(function, grid, block, arguments, shared, stream);
}

}  // namespace hipcpu

#endif
