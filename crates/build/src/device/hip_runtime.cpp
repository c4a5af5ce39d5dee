// The HIP runtime as the launchers call it, found when the first kernel is launched.
//
// Linking libamdhip64 would keep a program from starting where ROCm is not installed. So each
// function that the launchers need stands here, hidden from the rest of the program, and calls the
// library's own. The code objects, which the compiler registers before main, are registered with
// the library once it is there.
//
// Memory in the order of a stream comes from the program, which has a pool of its own; of a stream
// that it does not know it is HIP's.
//
// Launchers return nothing, or what their author thought of: so the first failure of a thread is
// kept here, for whoever called the launcher.

#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

namespace {

// A library that the program has already loaded comes first: two of them would not know each
// other's devices and streams. Else the order is that of the bindings: what somebody configured, what
// the loader finds, the default installation.
void *runtime_library() {
  static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"};
  for (const char *name : names) {
    if (void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return library;
  }
  const char *const roots[] = {getenv("ROCM_PATH"), getenv("HIP_PATH"), "", "/opt/rocm"};
  for (const char *root : roots) {
    if (root == nullptr) continue;
    for (const char *name : names) {
      char path[4096];
      const char *const between = *root == '\0' ? "" : "/lib/";
      const int length = snprintf(path, sizeof path, "%s%s%s", root, between, name);
      if (length < 0 || static_cast<size_t>(length) >= sizeof path) continue;
      if (void *library = dlopen(path, RTLD_LAZY)) return library;
    }
  }
  return nullptr;
}

void *library = nullptr;

void *symbol(const char *name) { return library == nullptr ? nullptr : dlsym(library, name); }

// What the compiler registered, as a list of arguments of the calls to repeat.
struct Registration {
  Registration *next;
  void **binary;  // the handle that the compiler was given: the address of the entry below
  const void *data;
  const void *function;  // null for the binary itself
  char *device_function;
  const char *name;
  void **handle;  // of a binary, once the library gave one
};

Registration *first = nullptr;
Registration **last = &first;

Registration *record(Registration registration) {
  auto *entry = static_cast<Registration *>(malloc(sizeof(Registration)));
  if (entry == nullptr) abort();
  *entry = registration;
  *last = entry;
  last = &entry->next;
  return entry;
}

using RegisterBinary = void **(*)(const void *);
using RegisterFunction = void (*)(void **, const void *, char *, const char *, unsigned, void *,
                                  void *, void *, void *, int *);

void load_and_register() {
  library = runtime_library();
  const auto binary = reinterpret_cast<RegisterBinary>(symbol("__hipRegisterFatBinary"));
  const auto function = reinterpret_cast<RegisterFunction>(symbol("__hipRegisterFunction"));
  if (binary == nullptr || function == nullptr) return;
  for (Registration *entry = first; entry != nullptr; entry = entry->next) {
    if (entry->function == nullptr) {
      entry->handle = binary(entry->data);
    } else {
      auto *owner = reinterpret_cast<Registration *>(entry->binary);
      function(owner->handle, entry->function, entry->device_function, entry->name, -1, nullptr,
               nullptr, nullptr, nullptr, nullptr);
    }
  }
}

pthread_once_t loaded = PTHREAD_ONCE_INIT;

void *runtime(const char *name) {
  pthread_once(&loaded, load_and_register);
  return symbol(name);
}

struct Configuration {
  dim3 grid, block;
  size_t shared;
  hipStream_t stream;
};

thread_local Configuration configuration;

thread_local hipError_t failure = hipSuccess;

hipError_t noted(hipError_t status) {
  if (failure == hipSuccess) failure = status;
  return status;
}

// Of what only asks: a launcher may ask for what is not there.
hipError_t as_it_is(hipError_t status) { return status; }

using Allocate = hipError_t (*)(void **, size_t, hipStream_t);
using Free = hipError_t (*)(void *, hipStream_t, bool);

// What the program gives memory by, once it has said so.
Allocate allocate = nullptr;
Free release = nullptr;

hipError_t allocated(void **pointer, size_t bytes, hipStream_t stream) {
  const Allocate by = __atomic_load_n(&allocate, __ATOMIC_ACQUIRE);
  return by == nullptr ? hipErrorNotSupported : by(pointer, bytes, stream);
}

hipError_t freed(void *pointer, hipStream_t stream, bool waits) {
  const Free by = __atomic_load_n(&release, __ATOMIC_ACQUIRE);
  return by == nullptr ? hipErrorNotSupported : by(pointer, stream, waits);
}

}  // namespace

// The header declares the functions visible to everyone: ours have other names in C++, and only the
// linker knows them by the library's.
#define HIDDEN extern "C" __attribute__((visibility("hidden")))

// What the program does is not asked of the library.
#define FORWARD_UNLESS(DONE, STATUS, NAME, PARAMETERS, ARGUMENTS)                         \
  HIDDEN hipError_t forward_##NAME PARAMETERS __asm__(#NAME);                             \
  hipError_t forward_##NAME PARAMETERS {                                                  \
    const hipError_t done = DONE;                                                         \
    if (done != hipErrorNotSupported) return STATUS(done);                                \
    static void *found = nullptr;                                                         \
    void *function = __atomic_load_n(&found, __ATOMIC_RELAXED);                           \
    if (function == nullptr) {                                                            \
      function = runtime(#NAME);                                                          \
      if (function == nullptr) return STATUS(hipErrorSharedObjectInitFailed);             \
      __atomic_store_n(&found, function, __ATOMIC_RELAXED);                               \
    }                                                                                     \
    return STATUS(reinterpret_cast<hipError_t(*) PARAMETERS>(function) ARGUMENTS);        \
  }
// Through a second macro, so that names which the header redefines are looked up by the new one.
#define FORWARD(STATUS, NAME, PARAMETERS, ARGUMENTS) \
  FORWARD_UNLESS(hipErrorNotSupported, STATUS, NAME, PARAMETERS, ARGUMENTS)

FORWARD_UNLESS(freed(p, nullptr, true), noted, hipFree, (void *p), (p))
FORWARD_UNLESS(freed(p, s, false), noted, hipFreeAsync, (void *p, hipStream_t s), (p, s))
FORWARD(as_it_is, hipFuncGetAttributes, (hipFuncAttributes * a, const void *f), (a, f))
FORWARD(noted, hipFuncSetAttribute, (const void *f, hipFuncAttribute a, int v), (f, a, v))
FORWARD(as_it_is, hipGetDevice, (int *device), (device))
FORWARD(as_it_is, hipGetDeviceProperties, (hipDeviceProp_t * p, int device), (p, device))
FORWARD(as_it_is, hipGetLastError, (), ())
FORWARD(noted, hipLaunchKernel,
        (const void *f, dim3 grid, dim3 block, void **arguments, size_t shared, hipStream_t s),
        (f, grid, block, arguments, shared, s))
FORWARD(noted, hipMalloc, (void **p, size_t n), (p, n))
FORWARD_UNLESS(allocated(p, n, s), noted, hipMallocAsync, (void **p, size_t n, hipStream_t s),
               (p, n, s))
FORWARD(noted, hipMemcpyAsync,
        (void *to, const void *from, size_t n, hipMemcpyKind kind, hipStream_t s),
        (to, from, n, kind, s))
FORWARD(noted, hipMemsetAsync, (void *p, int v, size_t n, hipStream_t s), (p, v, n, s))
FORWARD(noted, hipStreamSynchronize, (hipStream_t s), (s))

// The first failure of the calling thread since this was asked last. HIP forgets it as well: what
// was dealt with is not the failure of a later launch.
HIDDEN hipError_t hip_runtime_failure() {
  const hipError_t status = failure;
  failure = hipSuccess;
  if (status != hipSuccess) (void)forward_hipGetLastError();
  return status;
}

// What memory in the order of a stream is had by from now on.
HIDDEN void hip_runtime_memory(Allocate by, Free back) {
  __atomic_store_n(&release, back, __ATOMIC_RELEASE);
  __atomic_store_n(&allocate, by, __ATOMIC_RELEASE);
}

// The compiler's own calls: registration at program start, and the two halves of <<<>>>.

HIDDEN void **__hipRegisterFatBinary(const void *data) {
  Registration *entry = record({nullptr, nullptr, data, nullptr, nullptr, nullptr, nullptr});
  return reinterpret_cast<void **>(entry);
}

HIDDEN void __hipRegisterFunction(void **binary, const void *function, char *device_function,
                                  const char *name, unsigned, void *, void *, void *, void *,
                                  int *) {
  record({nullptr, binary, nullptr, function, device_function, name, nullptr});
}

// The host reads and writes no variable of the device, so they need not be known to it.
HIDDEN void __hipRegisterVar(void **, void *, char *, char *, int, size_t, int, int) {}

// The library frees what it registered when the process ends.
HIDDEN void __hipUnregisterFatBinary(void **) {}

HIDDEN hipError_t push_configuration(dim3 grid, dim3 block, size_t shared,
                                     hipStream_t stream) __asm__("__hipPushCallConfiguration");
hipError_t push_configuration(dim3 grid, dim3 block, size_t shared, hipStream_t stream) {
  configuration = {grid, block, shared, stream};
  return hipSuccess;
}

HIDDEN hipError_t pop_configuration(dim3 *grid, dim3 *block, size_t *shared,
                                    hipStream_t *stream) __asm__("__hipPopCallConfiguration");
hipError_t pop_configuration(dim3 *grid, dim3 *block, size_t *shared, hipStream_t *stream) {
  *grid = configuration.grid;
  *block = configuration.block;
  *shared = configuration.shared;
  *stream = configuration.stream;
  return hipSuccess;
}
