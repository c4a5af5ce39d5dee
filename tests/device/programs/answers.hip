// Questions to a HIP runtime, each for a process of its own: the CPU device and AMD's runtime answer
// the same ones. Without an argument the program lists them.
#include <hip/hip_runtime.h>

#include <stdio.h>
#include <string.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

using Answer = std::string;

static std::map<std::string, Answer (*)()> &questions() {
  static std::map<std::string, Answer (*)()> all;
  return all;
}

static bool add_question(const char *name, Answer (*ask)()) {
  return questions().emplace(name, ask).second;
}

#define QUESTION(NAME)                                            \
  static Answer NAME();                                           \
  static const bool has_##NAME = add_question(#NAME, NAME);       \
  static Answer NAME()

// The name of a status, without the prefix that all share.
static Answer name_of(hipError_t status) { return hipGetErrorName(status) + strlen("hip"); }

template <typename First, typename... Rest>
static Answer join(const First &first, const Rest &...rest) {
  Answer all;
  if constexpr (std::is_same_v<First, hipError_t>) {
    all = name_of(first);
  } else if constexpr (std::is_convertible_v<First, Answer>) {
    all = first;
  } else {
    all = std::to_string(first);
  }
  if constexpr (sizeof...(rest) > 0) all += " " + join(rest...);
  return all;
}

// A call that the question rests on.
#define NEED(CALL)                                                                         \
  do {                                                                                     \
    const hipError_t need_status = (CALL);                                                 \
    if (need_status != hipSuccess) return Answer(#CALL) + ": " + name_of(need_status);     \
  } while (false)

__global__ void add(int *values, int n, int by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += by;
}

__global__ void __launch_bounds__(64) bounded(int *values) { values[threadIdx.x] = 1; }

__global__ void divide(int *values, const int *zero) { values[0] = 7 / *zero; }

static int *zeros(int count) {
  void *made = nullptr;
  if (hipMalloc(&made, count * sizeof(int)) != hipSuccess) return nullptr;
  if (hipMemset(made, 0, count * sizeof(int)) != hipSuccess) return nullptr;
  // Streams that do not block would not wait for it.
  if (hipDeviceSynchronize() != hipSuccess) return nullptr;
  return static_cast<int *>(made);
}

static hipStream_t stream() {
  hipStream_t made = nullptr;
  (void)hipStreamCreateWithFlags(&made, hipStreamNonBlocking);
  return made;
}

static hipEvent_t event() {
  hipEvent_t made = nullptr;
  (void)hipEventCreate(&made);
  return made;
}

static int attribute(hipDeviceAttribute_t which) {
  int value = -1;
  (void)hipDeviceGetAttribute(&value, which, 0);
  return value;
}

// Memory.

QUESTION(memory_has_no_size) {
  void *made = &made;
  const hipError_t status = hipMalloc(&made, 0);
  return join(status, made == nullptr ? "null" : "not null");
}

QUESTION(memory_is_aligned_to_256) {
  void *made = nullptr;
  NEED(hipMalloc(&made, 1));
  return join(reinterpret_cast<uintptr_t>(made) % 256);
}

QUESTION(more_memory_than_there_is) {
  size_t free = 0, total = 0;
  NEED(hipMemGetInfo(&free, &total));
  void *made = nullptr;
  const hipError_t status = hipMalloc(&made, total + 1);
  return join(status, hipGetLastError());
}

QUESTION(free_memory_is_at_most_all) {
  size_t free = 0, total = 0;
  NEED(hipMemGetInfo(&free, &total));
  return join(free <= total ? "yes" : "no");
}

QUESTION(null_is_freed) { return join(hipFree(nullptr), hipHostFree(nullptr)); }

QUESTION(null_is_freed_on_a_stream) { return join(hipFreeAsync(nullptr, nullptr)); }

QUESTION(host_memory_is_freed) {
  int host = 0;
  return join(hipFree(&host));
}

QUESTION(memory_is_freed_twice) {
  int *made = zeros(1);
  NEED(hipFree(made));
  return join(hipFree(made));
}

QUESTION(the_middle_of_memory_is_freed) { return join(hipFree(zeros(100) + 1)); }

QUESTION(attributes_of_device_memory) {
  hipPointerAttribute_t found;
  NEED(hipPointerGetAttributes(&found, zeros(1)));
  return join(found.type == hipMemoryTypeDevice ? "device" : "other", found.device);
}

QUESTION(attributes_of_host_memory) {
  hipPointerAttribute_t found;
  int host = 0;
  const hipError_t status = hipPointerGetAttributes(&found, &host);
  return join(status, found.type == hipMemoryTypeUnregistered ? "unregistered" : "other");
}

QUESTION(attributes_of_page_locked_memory) {
  void *made = nullptr;
  NEED(hipHostMalloc(&made, 64));
  hipPointerAttribute_t found;
  NEED(hipPointerGetAttributes(&found, made));
  return join(found.type == hipMemoryTypeHost ? "host" : "other");
}

QUESTION(memory_of_the_pool_comes_back) {
  hipStream_t on = stream();
  void *first = nullptr, *second = nullptr;
  NEED(hipMallocAsync(&first, 4096, on));
  NEED(hipFreeAsync(first, on));
  NEED(hipMallocAsync(&second, 4096, on));
  return join(first == second ? "the same" : "other");
}

QUESTION(memory_of_the_pool_is_freed_by_free) {
  void *made = nullptr;
  NEED(hipMallocAsync(&made, 64, nullptr));
  return join(hipFree(made));
}

QUESTION(plain_memory_is_freed_on_a_stream) { return join(hipFreeAsync(zeros(1), nullptr)); }

// Copies.

QUESTION(nothing_is_copied) { return join(hipMemcpy(nullptr, nullptr, 0, hipMemcpyDeviceToDevice)); }

QUESTION(a_copy_in_no_direction) {
  return join(hipMemcpy(zeros(1), zeros(1), 4, static_cast<hipMemcpyKind>(9)));
}

QUESTION(a_copy_to_null) { return join(hipMemcpy(nullptr, zeros(1), 4, hipMemcpyDeviceToDevice)); }

QUESTION(device_memory_is_copied_as_the_host_s) {
  return join(hipMemcpy(zeros(1), zeros(1), 4, hipMemcpyHostToDevice));
}

QUESTION(a_copy_past_the_end) {
  std::vector<char> much(1 << 20);
  return join(hipMemcpy(zeros(1), much.data(), much.size(), hipMemcpyHostToDevice));
}

QUESTION(a_copy_from_the_host_is_read_before_the_call_returns) {
  hipStream_t on = stream();
  std::vector<int> from(1 << 16, 5), back(1 << 16);
  int *to = zeros(1 << 16);
  NEED(hipMemcpyAsync(to, from.data(), from.size() * 4, hipMemcpyHostToDevice, on));
  for (int &each : from) each = 6;
  NEED(hipStreamSynchronize(on));
  NEED(hipMemcpy(back.data(), to, back.size() * 4, hipMemcpyDeviceToHost));
  return join(back.front(), back.back());
}

QUESTION(page_locked_memory_has_the_same_address) {
  std::vector<char> own(1 << 16);
  NEED(hipHostRegister(own.data(), own.size(), 0));
  void *there = nullptr;
  NEED(hipHostGetDevicePointer(&there, own.data(), 0));
  return join(there == own.data() ? "the same" : "other", hipHostUnregister(own.data()));
}

QUESTION(memory_is_registered_twice) {
  std::vector<char> own(1 << 16);
  NEED(hipHostRegister(own.data(), own.size(), 0));
  return join(hipHostRegister(own.data(), own.size(), 0));
}

QUESTION(what_was_not_registered_is_unregistered) {
  std::vector<char> own(1 << 16);
  return join(hipHostUnregister(own.data()));
}

// Streams and events.

QUESTION(an_event_that_was_never_recorded) {
  hipEvent_t on = event();
  return join(hipEventQuery(on), hipEventSynchronize(on), hipStreamWaitEvent(stream(), on, 0));
}

QUESTION(time_between_events_without_times) {
  hipEvent_t first = nullptr, second = nullptr;
  NEED(hipEventCreateWithFlags(&first, hipEventDisableTiming));
  NEED(hipEventCreateWithFlags(&second, hipEventDisableTiming));
  NEED(hipEventRecord(first, nullptr));
  NEED(hipEventRecord(second, nullptr));
  NEED(hipDeviceSynchronize());
  float ms = 0;
  return join(hipEventElapsedTime(&ms, first, second));
}

QUESTION(time_between_events_that_were_not_recorded) {
  float ms = 0;
  return join(hipEventElapsedTime(&ms, event(), event()));
}

QUESTION(the_null_stream_is_destroyed) { return join(hipStreamDestroy(nullptr)); }

QUESTION(a_destroyed_stream_is_waited_for) {
  hipStream_t gone = stream();
  NEED(hipStreamDestroy(gone));
  return join(hipStreamSynchronize(gone));
}

static hipStream_t destroyed() {
  hipStream_t gone = stream();
  return hipStreamDestroy(gone) == hipSuccess ? gone : nullptr;
}

QUESTION(a_destroyed_stream_is_asked) { return join(hipStreamQuery(destroyed())); }

QUESTION(a_destroyed_stream_is_destroyed) { return join(hipStreamDestroy(destroyed())); }

QUESTION(a_destroyed_stream_waits_for_an_event) {
  hipEvent_t on = event();
  NEED(hipEventRecord(on, nullptr));
  return join(hipStreamWaitEvent(destroyed(), on, 0));
}

QUESTION(an_event_is_recorded_on_a_destroyed_stream) {
  return join(hipEventRecord(event(), destroyed()));
}

QUESTION(memory_is_copied_on_a_destroyed_stream) {
  return join(hipMemcpyAsync(zeros(1), zeros(1), 4, hipMemcpyDeviceToDevice, destroyed()));
}

QUESTION(a_kernel_is_launched_on_a_destroyed_stream) {
  add<<<1, 1, 0, destroyed()>>>(zeros(1), 1, 1);
  return join(hipGetLastError());
}

QUESTION(a_null_event) { return join(hipEventQuery(nullptr), hipEventRecord(nullptr, nullptr)); }

QUESTION(a_stream_ends_before_its_work) {
  int *values = zeros(100), back = 0;
  hipStream_t on = stream();
  for (int i = 0; i < 20; ++i) add<<<1, 100, 0, on>>>(values, 100, 1);
  const hipError_t status = hipStreamDestroy(on);
  NEED(hipDeviceSynchronize());
  NEED(hipMemcpy(&back, values + 99, 4, hipMemcpyDeviceToHost));
  return join(status, back);
}

QUESTION(work_of_the_null_stream_waits_for_a_blocking_stream) {
  int *values = zeros(100), back = 0;
  hipStream_t on;
  NEED(hipStreamCreate(&on));
  for (int i = 0; i < 20; ++i) add<<<1, 100, 0, on>>>(values, 100, 1);
  NEED(hipMemcpy(&back, values + 99, 4, hipMemcpyDeviceToHost));
  return join(back);
}

QUESTION(host_functions_run_in_order) {
  std::vector<int> order;
  const auto note = [](void *to) {
    auto *list = static_cast<std::vector<int> *>(to);
    list->push_back(static_cast<int>(list->size()));
  };
  hipStream_t on = stream();
  NEED(hipLaunchHostFunc(on, note, &order));
  NEED(hipLaunchHostFunc(on, note, &order));
  NEED(hipStreamSynchronize(on));
  return join(order.size());
}

QUESTION(priorities_of_streams) {
  int least = 9, greatest = 9;
  NEED(hipDeviceGetStreamPriorityRange(&least, &greatest));
  return join(least, greatest);
}

QUESTION(flags_of_a_stream) {
  unsigned plain = 9, apart = 9;
  hipStream_t blocking;
  NEED(hipStreamCreate(&blocking));
  NEED(hipStreamGetFlags(blocking, &plain));
  NEED(hipStreamGetFlags(stream(), &apart));
  return join(plain, apart);
}

// Captures.

using Mode = hipStreamCaptureMode;
constexpr Mode GLOBAL = hipStreamCaptureModeGlobal, LOCAL = hipStreamCaptureModeThreadLocal,
               RELAXED = hipStreamCaptureModeRelaxed;

// What an action beside a capture answers, and what the end of the capture then does.
template <typename Ask>
static Answer beside(Mode mode, Ask ask) {
  hipStream_t captured = stream();
  NEED(hipStreamBeginCapture(captured, mode));
  const Answer said = ask(captured);
  hipGraph_t graph;
  return said + ", then " + name_of(hipStreamEndCapture(captured, &graph));
}

template <typename Ask>
static Answer elsewhere(Ask ask) {
  Answer said;
  std::thread([&] { said = ask(); }).join();
  return said;
}

QUESTION(a_capture_runs_when_it_is_launched) {
  int *values = zeros(10), before = 0, after = 0;
  hipStream_t on = stream();
  hipGraph_t graph;
  hipGraphExec_t exec;
  NEED(hipStreamBeginCapture(on, GLOBAL));
  add<<<1, 10, 0, on>>>(values, 10, 3);
  add<<<1, 10, 0, on>>>(values, 10, 4);
  NEED(hipStreamEndCapture(on, &graph));
  NEED(hipMemcpy(&before, values, 4, hipMemcpyDeviceToHost));
  NEED(hipGraphInstantiateWithFlags(&exec, graph, 0));
  NEED(hipGraphDestroy(graph));
  NEED(hipGraphLaunch(exec, on));
  NEED(hipGraphLaunch(exec, on));
  NEED(hipStreamSynchronize(on));
  NEED(hipMemcpy(&after, values, 4, hipMemcpyDeviceToHost));
  return join(before, after);
}

QUESTION(the_null_stream_is_captured) { return join(hipStreamBeginCapture(nullptr, GLOBAL)); }

QUESTION(a_capture_begins_twice) {
  return beside(GLOBAL, [](hipStream_t s) { return join(hipStreamBeginCapture(s, GLOBAL)); });
}

QUESTION(a_capture_ends_that_never_began) {
  hipGraph_t graph;
  return join(hipStreamEndCapture(stream(), &graph));
}

QUESTION(a_captured_stream_is_waited_for) {
  return beside(RELAXED, [](hipStream_t s) { return join(hipStreamSynchronize(s)); });
}

QUESTION(a_captured_stream_is_asked) {
  return beside(RELAXED, [](hipStream_t s) { return join(hipStreamQuery(s)); });
}

QUESTION(a_stream_is_waited_for_beside_a_relaxed_capture) {
  hipStream_t other = stream();
  return beside(RELAXED, [=](hipStream_t) { return join(hipStreamSynchronize(other)); });
}

QUESTION(a_stream_is_waited_for_beside_a_thread_local_capture) {
  hipStream_t other = stream();
  return beside(LOCAL, [=](hipStream_t) { return join(hipStreamSynchronize(other)); });
}

QUESTION(a_stream_is_asked_beside_a_thread_local_capture) {
  hipStream_t other = stream();
  return beside(LOCAL, [=](hipStream_t) { return join(hipStreamQuery(other)); });
}

QUESTION(another_thread_waits_beside_a_thread_local_capture) {
  hipStream_t other = stream();
  return beside(LOCAL, [=](hipStream_t) {
    return elsewhere([=] { return join(hipStreamSynchronize(other)); });
  });
}

QUESTION(another_thread_waits_beside_a_global_capture) {
  hipStream_t other = stream();
  return beside(GLOBAL, [=](hipStream_t) {
    return elsewhere([=] { return join(hipStreamSynchronize(other)); });
  });
}

QUESTION(a_thread_that_exchanged_its_mode_waits_beside_a_global_capture) {
  hipStream_t other = stream();
  return beside(GLOBAL, [=](hipStream_t) {
    Mode mode = RELAXED;
    const hipError_t exchanged = hipThreadExchangeStreamCaptureMode(&mode);
    return join(exchanged, hipStreamSynchronize(other));
  });
}

QUESTION(an_event_from_before_a_capture_is_asked) {
  hipEvent_t before = event();
  hipStream_t captured = stream();
  hipGraph_t graph;
  NEED(hipEventRecord(before, captured));
  NEED(hipStreamBeginCapture(captured, RELAXED));
  const Answer said = join(hipEventQuery(before));
  return said + ", then " + name_of(hipStreamEndCapture(captured, &graph));
}

QUESTION(an_event_from_before_a_capture_is_waited_for) {
  hipEvent_t before = event();
  hipStream_t captured = stream();
  hipGraph_t graph;
  NEED(hipEventRecord(before, captured));
  NEED(hipStreamBeginCapture(captured, RELAXED));
  const Answer said = join(hipEventSynchronize(before));
  return said + ", then " + name_of(hipStreamEndCapture(captured, &graph));
}

QUESTION(an_event_of_another_stream_is_asked_beside_a_thread_local_capture) {
  hipEvent_t there = event();
  NEED(hipEventRecord(there, stream()));
  NEED(hipEventSynchronize(there));
  return beside(LOCAL, [=](hipStream_t) { return join(hipEventQuery(there)); });
}

QUESTION(a_captured_stream_waits_for_another_s_event) {
  hipEvent_t there = event();
  NEED(hipEventRecord(there, stream()));
  return beside(RELAXED, [=](hipStream_t s) { return join(hipStreamWaitEvent(s, there, 0)); });
}

QUESTION(a_stream_waits_for_what_came_before_a_capture) {
  hipEvent_t before = event();
  hipStream_t captured = stream(), other = stream();
  hipGraph_t graph;
  NEED(hipEventRecord(before, captured));
  NEED(hipStreamBeginCapture(captured, RELAXED));
  const Answer said = join(hipStreamWaitEvent(other, before, 0));
  return said + ", then " + name_of(hipStreamEndCapture(captured, &graph));
}

QUESTION(the_device_is_waited_for_beside_a_relaxed_capture) {
  return beside(RELAXED, [](hipStream_t) { return join(hipDeviceSynchronize()); });
}

QUESTION(another_thread_waits_for_the_device_beside_a_relaxed_capture) {
  return beside(RELAXED, [](hipStream_t) {
    return elsewhere([] { return join(hipDeviceSynchronize()); });
  });
}

QUESTION(a_copy_to_the_host_beside_a_relaxed_capture) {
  int *values = zeros(1);
  return beside(RELAXED, [=](hipStream_t) {
    int there = 0;
    return join(hipMemcpyDtoH(&there, values, 4));
  });
}

QUESTION(work_of_the_null_stream_beside_a_capture) {
  int *values = zeros(1);
  return beside(RELAXED, [=](hipStream_t) { return join(hipMemsetAsync(values, 0, 4, nullptr)); });
}

QUESTION(work_of_the_null_stream_beside_a_blocking_stream_s_capture) {
  int *values = zeros(1);
  hipStream_t captured;
  hipGraph_t graph;
  NEED(hipStreamCreate(&captured));
  NEED(hipStreamBeginCapture(captured, RELAXED));
  const Answer said = join(hipMemsetAsync(values, 0, 4, nullptr));
  return said + ", then " + name_of(hipStreamEndCapture(captured, &graph));
}

QUESTION(the_stream_of_a_thread_is_captured) {
  hipGraph_t graph;
  NEED(hipStreamBeginCapture(hipStreamPerThread, RELAXED));
  return join(hipStreamEndCapture(hipStreamPerThread, &graph));
}

QUESTION(another_thread_ends_a_thread_local_capture) {
  return beside(LOCAL, [](hipStream_t s) {
    return elsewhere([=] {
      hipGraph_t graph;
      return join(hipStreamEndCapture(s, &graph));
    });
  });
}

QUESTION(another_thread_ends_a_relaxed_capture) {
  hipStream_t captured = stream();
  NEED(hipStreamBeginCapture(captured, RELAXED));
  return elsewhere([=] {
    hipGraph_t graph;
    return join(hipStreamEndCapture(captured, &graph));
  });
}

QUESTION(memory_is_allocated_beside_a_global_capture) {
  return beside(GLOBAL, [](hipStream_t) {
    void *made = nullptr;
    return join(hipMalloc(&made, 4));
  });
}

QUESTION(memory_is_allocated_beside_a_thread_local_capture) {
  return beside(LOCAL, [](hipStream_t) {
    void *made = nullptr;
    return join(hipMalloc(&made, 4));
  });
}

QUESTION(memory_is_allocated_beside_a_relaxed_capture) {
  return beside(RELAXED, [](hipStream_t) {
    void *made = nullptr;
    return join(hipMalloc(&made, 4));
  });
}

QUESTION(memory_is_freed_beside_a_thread_local_capture) {
  int *made = zeros(1);
  return beside(LOCAL, [=](hipStream_t) { return join(hipFree(made)); });
}

QUESTION(memory_of_the_pool_in_a_capture) {
  return beside(LOCAL, [](hipStream_t s) {
    void *made = nullptr;
    const hipError_t status = hipMallocAsync(&made, 64, s);
    return status == hipSuccess ? join(status, hipFreeAsync(made, s)) : join(status);
  });
}

QUESTION(a_stream_whose_capture_was_broken) {
  hipStream_t captured = stream();
  hipGraph_t graph;
  int *values = zeros(1);
  NEED(hipStreamBeginCapture(captured, RELAXED));
  (void)hipStreamSynchronize(captured);
  (void)hipStreamEndCapture(captured, &graph);
  const hipError_t waited = hipStreamSynchronize(captured);
  return join(waited, hipMemsetAsync(values, 0, 4, captured));
}

QUESTION(a_stream_is_captured_again_after_its_capture_was_broken) {
  hipStream_t captured = stream();
  hipGraph_t graph;
  NEED(hipStreamBeginCapture(captured, RELAXED));
  (void)hipStreamSynchronize(captured);
  (void)hipStreamEndCapture(captured, &graph);
  NEED(hipStreamBeginCapture(captured, RELAXED));
  NEED(hipStreamEndCapture(captured, &graph));
  return join(hipStreamSynchronize(captured));
}

QUESTION(a_captured_stream_is_destroyed) {
  hipStream_t gone = stream();
  NEED(hipStreamBeginCapture(gone, GLOBAL));
  const hipError_t status = hipStreamDestroy(gone);
  return join(status, hipDeviceSynchronize());
}

QUESTION(a_stream_that_joined_does_not_come_back) {
  hipStream_t captured = stream(), other = stream();
  hipEvent_t fork = event();
  hipGraph_t graph;
  int *values = zeros(1);
  NEED(hipStreamBeginCapture(captured, LOCAL));
  NEED(hipEventRecord(fork, captured));
  NEED(hipStreamWaitEvent(other, fork, 0));
  NEED(hipMemsetAsync(values, 0, 4, other));
  const Answer said = join(hipStreamEndCapture(captured, &graph));
  hipStreamCaptureStatus status;
  NEED(hipStreamIsCapturing(captured, &status));
  return said + (status == hipStreamCaptureStatusNone ? ", then none" : ", then a capture");
}

QUESTION(a_stream_that_joined_does_nothing) {
  int *values = zeros(1);
  hipStream_t captured = stream(), other = stream();
  hipEvent_t fork = event();
  hipGraph_t graph;
  NEED(hipStreamBeginCapture(captured, LOCAL));
  NEED(hipMemsetAsync(values, 0, 4, captured));
  NEED(hipEventRecord(fork, captured));
  NEED(hipStreamWaitEvent(other, fork, 0));
  return join(hipStreamEndCapture(captured, &graph));
}

QUESTION(an_empty_graph_is_launched) {
  hipStream_t on = stream();
  hipGraph_t graph;
  hipGraphExec_t exec;
  NEED(hipStreamBeginCapture(on, LOCAL));
  NEED(hipStreamEndCapture(on, &graph));
  NEED(hipGraphInstantiateWithFlags(&exec, graph, 0));
  const hipError_t launched = hipGraphLaunch(exec, on);
  return join(launched, hipStreamSynchronize(on));
}

// Modules.

// A bundle with one entry, without code.
static std::vector<char> bundle_for(const Answer &arch) {
  const Answer magic = "__CLANG_OFFLOAD_BUNDLE__", entry = "hipv4-amdgcn-amd-amdhsa--" + arch;
  const uint64_t numbers[] = {1, 4096, 0, entry.size()};
  std::vector<char> page(4096);
  memcpy(page.data(), magic.data(), magic.size());
  memcpy(page.data() + magic.size(), numbers, sizeof numbers);
  memcpy(page.data() + magic.size() + sizeof numbers, entry.data(), entry.size());
  return page;
}

QUESTION(a_module_that_is_not_there) {
  hipModule_t module;
  return join(hipModuleLoad(&module, "/nowhere"));
}

QUESTION(a_module_without_code) {
  hipModule_t module;
  std::vector<char> page(4096, 'x');
  return join(hipModuleLoadData(&module, page.data()));
}

QUESTION(a_bundle_for_another_gpu) {
  hipModule_t module;
  return join(hipModuleLoadData(&module, bundle_for("gfx801").data()));
}

QUESTION(a_bundle_for_other_generic_gpus) {
  hipModule_t module;
  return join(hipModuleLoadData(&module, bundle_for("gfx12-5-generic").data()));
}

// Launches.

QUESTION(a_launch_of_no_blocks) {
  add<<<0, 64>>>(zeros(1), 1, 1);
  return join(hipGetLastError());
}

QUESTION(a_launch_of_no_threads) {
  add<<<1, 0>>>(zeros(1), 1, 1);
  return join(hipGetLastError());
}

QUESTION(a_launch_of_too_many_threads) {
  add<<<1, dim3(1024, 2)>>>(zeros(1), 1, 1);
  return join(hipGetLastError());
}

QUESTION(a_launch_of_65535_blocks_in_y) {
  add<<<dim3(1, 65535), 1>>>(zeros(1), 0, 1);
  const hipError_t launched = hipGetLastError();
  return join(launched, hipDeviceSynchronize());
}

QUESTION(a_launch_of_70000_blocks_in_y) {
  add<<<dim3(1, 70000), 1>>>(zeros(1), 0, 1);
  return join(hipGetLastError());
}

QUESTION(a_launch_beyond_the_bounds_of_the_kernel) {
  bounded<<<1, 65>>>(zeros(100));
  return join(hipGetLastError());
}

QUESTION(a_launch_with_too_much_shared_memory) {
  add<<<1, 1, 100000>>>(zeros(1), 1, 1);
  return join(hipGetLastError());
}

QUESTION(an_integer_divided_by_zero) {
  int *values = zeros(1), back = 0;
  divide<<<1, 1>>>(values, zeros(1));
  NEED(hipMemcpy(&back, values, 4, hipMemcpyDeviceToHost));
  return join(back);
}

// Occupancy: of a kernel that the program launches, by its function.

QUESTION(blocks_of_256_threads) {
  int blocks = -1;
  NEED(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
  return join(blocks);
}

QUESTION(blocks_of_32_kib) {
  int blocks = -1;
  NEED(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 128, 32 * 1024));
  return join(blocks);
}

QUESTION(blocks_beyond_the_bounds_of_the_kernel) {
  int blocks = -1;
  const hipError_t status = hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 128, 0);
  return join(status, blocks);
}

QUESTION(blocks_of_nothing) {
  int blocks = -1;
  return join(hipOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, add, 128, 0),
              hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &blocks, 128, 0));
}

// Errors.

QUESTION(the_last_error_is_cleared_when_it_is_read) {
  (void)hipSetDevice(99);
  const hipError_t peeked = hipPeekAtLastError(), first = hipGetLastError();
  return join(peeked, first, hipGetLastError());
}

QUESTION(the_last_error_after_a_success) {
  (void)hipSetDevice(99);
  int device = -1;
  NEED(hipGetDevice(&device));
  return join(hipGetLastError());
}

QUESTION(the_last_error_of_another_thread) {
  (void)hipSetDevice(99);
  return elsewhere([] { return join(hipPeekAtLastError()); });
}

QUESTION(an_event_that_is_not_ready_is_an_error) {
  int *values = zeros(1 << 20);
  hipEvent_t on = event();
  for (int i = 0; i < 4; ++i) add<<<1 << 12, 256>>>(values, 1 << 20, 1);
  NEED(hipEventRecord(on, nullptr));
  const hipError_t asked = hipEventQuery(on), last = hipGetLastError();
  return join(asked == hipSuccess || last == asked ? "yes" : "no");
}

QUESTION(the_name_of_no_error) { return hipGetErrorName(static_cast<hipError_t>(4321)); }

QUESTION(a_device_that_is_not_there) {
  hipDevice_t device;
  char name[64];
  return join(hipSetDevice(-1), hipDeviceGet(&device, 99), hipDeviceGetName(name, 64, 99));
}

// Devices.

QUESTION(access_of_a_device_to_itself) {
  int can = -1;
  const hipError_t status = hipDeviceCanAccessPeer(&can, 0, 0);
  return join(status, can, hipDeviceEnablePeerAccess(0, 0));
}

QUESTION(a_copy_between_the_same_device) {
  return join(hipMemcpyPeer(zeros(1), 0, zeros(1), 0, 4));
}

QUESTION(limits_of_a_launch) {
  return join(attribute(hipDeviceAttributeMaxBlockDimX), attribute(hipDeviceAttributeMaxBlockDimY),
              attribute(hipDeviceAttributeMaxBlockDimZ), attribute(hipDeviceAttributeMaxGridDimX),
              attribute(hipDeviceAttributeMaxGridDimY), attribute(hipDeviceAttributeMaxGridDimZ));
}

QUESTION(shared_memory_of_a_block) {
  return join(attribute(hipDeviceAttributeMaxSharedMemoryPerBlock),
              attribute(hipDeviceAttributeSharedMemPerBlockOptin));
}

QUESTION(threads_of_a_block_and_a_wavefront) {
  return join(attribute(hipDeviceAttributeMaxThreadsPerBlock),
              attribute(hipDeviceAttributeWarpSize));
}

QUESTION(compute_capability) {
  return join(attribute(hipDeviceAttributeComputeCapabilityMajor),
              attribute(hipDeviceAttributeComputeCapabilityMinor));
}

QUESTION(the_device_has_pools) {
  return join(attribute(hipDeviceAttributeMemoryPoolsSupported));
}

QUESTION(page_locked_memory_is_supported) {
  return join(attribute(hipDeviceAttributeHostRegisterSupported),
              attribute(hipDeviceAttributeCanMapHostMemory));
}

QUESTION(a_function_that_is_not_there) {
  void *found = nullptr;
  return join(hipGetProcAddress("hipDoesNotExist", &found, 600, 0, nullptr));
}

int main(int count, char **arguments) {
  for (int i = 1; i < count; ++i) {
    const auto found = questions().find(arguments[i]);
    if (found == questions().end()) return 2;
    printf("%s\n", found->second().c_str());
    fflush(stdout);
  }
  if (count == 1) {
    for (const auto &each : questions()) printf("%s\n", each.first.c_str());
  }
}
