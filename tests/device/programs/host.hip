// The host's side: memory, copies, streams, events, captures, modules, errors.
#include "check.h"

#include <string.h>

#include <string>
#include <thread>

__global__ void add(int *values, int n, int by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += by;
}

static void test_memory() {
  size_t before = 0, after = 0, total = 0;
  void *a = nullptr, *b = nullptr;
  HIP(hipMemGetInfo(&before, &total));
  HIP(hipMalloc(&a, 1000));
  HIP(hipMalloc(&b, 1));
  HIP(hipMemGetInfo(&after, &total));
  CHECK(before - after == 1024 + 256);
  CHECK(reinterpret_cast<uintptr_t>(a) % 256 == 0);
  CHECK(reinterpret_cast<uintptr_t>(b) % 256 == 0);
  hipPointerAttribute_t attributes;
  HIP(hipPointerGetAttributes(&attributes, a));
  CHECK(attributes.type == hipMemoryTypeDevice);
  int host = 0;
  CHECK(hipPointerGetAttributes(&attributes, &host) == hipSuccess);
  CHECK(attributes.type == hipMemoryTypeUnregistered);
  HIP(hipFree(a));
  HIP(hipFree(b));
  HIP(hipMemGetInfo(&after, &total));
  CHECK(before == after);
  CHECK(hipFree(nullptr) == hipSuccess);
  CHECK(hipFree(&host) == hipErrorInvalidValue);
  CHECK(hipFreeAsync(nullptr, nullptr) == hipErrorInvalidValue);
  CHECK(hipMalloc(&a, total + 1) == hipErrorOutOfMemory);
  CHECK(hipMalloc(&a, 0) == hipSuccess);
  CHECK(a == nullptr);
}

static void test_copies() {
  std::vector<int> values(1000);
  for (int i = 0; i < 1000; ++i) values[i] = i;
  int *a, *b;
  HIP(hipMalloc(&a, 4000));
  HIP(hipMalloc(&b, 4000));
  HIP(hipMemcpy(a, values.data(), 4000, hipMemcpyHostToDevice));
  HIP(hipMemcpy(b + 10, a, 3960, hipMemcpyDeviceToDevice));
  HIP(hipMemset(b, 0xff, 40));
  std::vector<int> back(1000);
  HIP(hipMemcpy(back.data(), b, 4000, hipMemcpyDefault));
  CHECK(back[0] == -1);
  CHECK(back[9] == -1);
  CHECK(back[10] == 0);
  CHECK(back[999] == 989);
  HIP(hipMemsetD32(a, 0x01020304, 3));
  HIP(hipMemsetD16(a + 3, 0x0506, 2));
  HIP(hipMemsetD8(a + 4, 7, 4));
  HIP(hipMemcpyDtoH(back.data(), a, 24));
  CHECK(back[2] == 0x01020304);
  CHECK(back[3] == 0x05060506);
  CHECK(back[4] == 0x07070707);
  CHECK(back[5] == 5);
  CHECK(hipMemcpy(a, values.data(), 4001, hipMemcpyHostToDevice) == hipErrorInvalidValue);
  CHECK(hipMemcpy(a, b, 4, hipMemcpyHostToDevice) == hipErrorInvalidValue);
  CHECK(hipMemcpy(nullptr, b, 4, hipMemcpyDeviceToDevice) == hipErrorInvalidValue);
  CHECK(hipMemcpy(nullptr, nullptr, 0, hipMemcpyDeviceToDevice) == hipSuccess);
  CHECK(hipMemcpy(a, b, 4, static_cast<hipMemcpyKind>(9)) == hipErrorInvalidMemcpyDirection);
  HIP(hipFree(a));
  HIP(hipFree(b));
}

static void test_streams() {
  hipStream_t first, second;
  HIP(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  HIP(hipStreamCreate(&second));
  hipEvent_t start, ready;
  HIP(hipEventCreate(&start));
  HIP(hipEventCreate(&ready));
  CHECK(hipEventQuery(ready) == hipSuccess);
  int *values, *pinned;
  HIP(hipMallocAsync(&values, 400, first));
  HIP(hipHostMalloc(&pinned, 400));
  HIP(hipEventRecord(start, first));
  HIP(hipMemsetAsync(values, 0, 400, first));
  add<<<1, 128, 0, first>>>(values, 100, 5);
  HIP(hipEventRecord(ready, first));
  HIP(hipStreamWaitEvent(second, ready, 0));
  add<<<1, 128, 0, second>>>(values, 100, 2);
  HIP(hipMemcpyAsync(pinned, values, 400, hipMemcpyDeviceToHost, second));
  HIP(hipStreamSynchronize(second));
  CHECK(pinned[0] == 7);
  CHECK(pinned[99] == 7);
  CHECK(hipStreamQuery(second) == hipSuccess);
  HIP(hipEventSynchronize(ready));
  float ms = -1;
  HIP(hipEventElapsedTime(&ms, start, ready));
  CHECK(ms >= 0);
  HIP(hipFreeAsync(values, first));
  HIP(hipDeviceSynchronize());
  HIP(hipHostFree(pinned));
  HIP(hipEventDestroy(start));
  HIP(hipEventDestroy(ready));
  HIP(hipStreamDestroy(first));
  HIP(hipStreamDestroy(second));
  CHECK(hipStreamSynchronize(second) == hipErrorContextIsDestroyed);
  CHECK(hipEventQuery(ready) == hipErrorInvalidHandle);
  CHECK(hipStreamDestroy(nullptr) == hipErrorInvalidHandle);
}

static void test_host_functions() {
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  std::vector<int> order;
  const auto note = [](void *to) {
    auto *list = static_cast<std::vector<int> *>(to);
    list->push_back(static_cast<int>(list->size()));
  };
  HIP(hipLaunchHostFunc(stream, note, &order));
  HIP(hipLaunchHostFunc(stream, note, &order));
  HIP(hipStreamSynchronize(stream));
  CHECK(order.size() == 2);
  HIP(hipStreamDestroy(stream));
}

static void test_captures() {
  hipStream_t stream;
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  Device<int> values(std::vector<int>(10, 1));
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  hipStreamCaptureStatus status;
  HIP(hipStreamIsCapturing(stream, &status));
  CHECK(status == hipStreamCaptureStatusActive);
  add<<<1, 10, 0, stream>>>(values, 10, 3);
  add<<<1, 10, 0, stream>>>(values, 10, 4);
  hipGraph_t graph;
  HIP(hipStreamEndCapture(stream, &graph));
  CHECK(values.values()[0] == 1);
  hipGraphExec_t exec;
  HIP(hipGraphInstantiateWithFlags(&exec, graph, 0));
  HIP(hipGraphDestroy(graph));
  HIP(hipGraphLaunch(exec, stream));
  HIP(hipGraphLaunch(exec, stream));
  HIP(hipStreamSynchronize(stream));
  CHECK(values.values()[9] == 15);
  HIP(hipGraphExecDestroy(exec));
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  CHECK(hipStreamSynchronize(stream) == hipErrorStreamCaptureUnsupported);
  CHECK(hipStreamEndCapture(stream, &graph) == hipErrorStreamCaptureInvalidated);
  CHECK(hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal) ==
        hipErrorStreamCaptureUnsupported);
  HIP(hipStreamDestroy(stream));
}

// What is forbidden beside a capture, and what breaks it (clr, hip_stream.cpp and hip_event.cpp).
static void test_beside_a_capture() {
  hipStream_t captured, other;
  HIP(hipStreamCreateWithFlags(&captured, hipStreamNonBlocking));
  HIP(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
  hipEvent_t before, elsewhere;
  HIP(hipEventCreate(&before));
  HIP(hipEventCreate(&elsewhere));
  HIP(hipEventRecord(before, captured));
  HIP(hipEventRecord(elsewhere, other));
  hipGraph_t graph;
  const auto begin = [&](hipStreamCaptureMode mode) { HIP(hipStreamBeginCapture(captured, mode)); };
  const auto holds = [&] {
    HIP(hipStreamEndCapture(captured, &graph));
    HIP(hipGraphDestroy(graph));
  };
  const auto broken = [&] {
    CHECK(hipStreamEndCapture(captured, &graph) == hipErrorStreamCaptureInvalidated);
  };
  begin(hipStreamCaptureModeRelaxed);
  CHECK(hipStreamWaitEvent(other, before, 0) == hipErrorStreamCaptureIsolation);
  CHECK(hipStreamWaitEvent(captured, elsewhere, 0) == hipErrorStreamCaptureIsolation);
  HIP(hipEventSynchronize(elsewhere));
  HIP(hipEventQuery(elsewhere));
  HIP(hipStreamSynchronize(other));
  HIP(hipStreamQuery(other));
  holds();
  HIP(hipStreamWaitEvent(other, before, 0));
  HIP(hipEventSynchronize(before));
  HIP(hipStreamSynchronize(other));
  for (const auto ask : {hipEventQuery, hipEventSynchronize}) {
    begin(hipStreamCaptureModeRelaxed);
    CHECK(ask(before) == hipErrorCapturedEvent);
    broken();
    begin(hipStreamCaptureModeThreadLocal);
    CHECK(ask(elsewhere) == hipErrorStreamCaptureUnsupported);
    broken();
  }
  for (const auto ask : {hipStreamQuery, hipStreamSynchronize}) {
    begin(hipStreamCaptureModeThreadLocal);
    CHECK(ask(other) == hipErrorStreamCaptureUnsupported);
    broken();
    begin(hipStreamCaptureModeThreadLocal);
    std::thread([&] { HIP(ask(other)); }).join();
    holds();
    begin(hipStreamCaptureModeGlobal);
    std::thread([&] { CHECK(ask(other) == hipErrorStreamCaptureUnsupported); }).join();
    broken();
    begin(hipStreamCaptureModeGlobal);
    hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
    HIP(hipThreadExchangeStreamCaptureMode(&mode));
    HIP(ask(other));
    HIP(hipThreadExchangeStreamCaptureMode(&mode));
    holds();
  }
  begin(hipStreamCaptureModeRelaxed);
  std::thread([] { CHECK(hipDeviceSynchronize() == hipErrorStreamCaptureUnsupported); }).join();
  broken();
  Device<int> value(std::vector<int>(1, 1));
  int there = 0;
  begin(hipStreamCaptureModeRelaxed);
  CHECK(hipMemcpyDtoH(&there, static_cast<int *>(value), 4) == hipErrorStreamCaptureImplicit);
  broken();
  begin(hipStreamCaptureModeRelaxed);
  HIP(hipMemsetD8Async(static_cast<int *>(value), 0, 4, nullptr));
  holds();
  hipStream_t blocking = hipStreamPerThread;
  HIP(hipStreamBeginCapture(blocking, hipStreamCaptureModeRelaxed));
  CHECK(hipMemsetD8Async(static_cast<int *>(value), 0, 4, nullptr) == hipErrorStreamCaptureImplicit);
  CHECK(hipStreamEndCapture(blocking, &graph) == hipErrorStreamCaptureInvalidated);
  begin(hipStreamCaptureModeThreadLocal);
  std::thread([&] {
    CHECK(hipStreamEndCapture(captured, &graph) == hipErrorStreamCaptureWrongThread);
  }).join();
  holds();
  // What was broken leaves the stream as it is until it is captured again.
  begin(hipStreamCaptureModeRelaxed);
  CHECK(hipStreamSynchronize(captured) == hipErrorStreamCaptureUnsupported);
  broken();
  CHECK(hipStreamSynchronize(captured) == hipErrorStreamCaptureUnsupported);
  CHECK(hipMemsetD8Async(static_cast<int *>(value), 0, 4, captured) ==
        hipErrorStreamCaptureInvalidated);
  begin(hipStreamCaptureModeRelaxed);
  holds();
  HIP(hipStreamSynchronize(captured));
  // A capture ends with its stream.
  hipStream_t gone;
  HIP(hipStreamCreateWithFlags(&gone, hipStreamNonBlocking));
  HIP(hipStreamBeginCapture(gone, hipStreamCaptureModeGlobal));
  HIP(hipStreamDestroy(gone));
  HIP(hipDeviceSynchronize());
  begin(hipStreamCaptureModeThreadLocal);
  void *memory;
  CHECK(hipMalloc(&memory, 4) == hipErrorStreamCaptureUnsupported);
  broken();
  HIP(hipEventDestroy(elsewhere));
  HIP(hipEventDestroy(before));
  HIP(hipStreamDestroy(other));
  HIP(hipStreamDestroy(captured));
}

// A bundle with one entry, without code.
static std::vector<char> bundle_for(const std::string &arch) {
  const std::string magic = "__CLANG_OFFLOAD_BUNDLE__", entry = "hipv4-amdgcn-amd-amdhsa--" + arch;
  const uint64_t numbers[] = {1, 4096, 0, entry.size()};
  std::vector<char> page(4096);
  memcpy(page.data(), magic.data(), magic.size());
  memcpy(page.data() + magic.size(), numbers, sizeof numbers);
  memcpy(page.data() + magic.size() + sizeof numbers, entry.data(), entry.size());
  return page;
}

static void test_modules(const char *path) {
  hipModule_t module;
  HIP(hipModuleLoad(&module, path));
  hipFunction_t function;
  HIP(hipModuleGetFunction(&function, module, "scale"));
  Device<float> values(std::vector<float>(100, 2.0f));
  float *data = values, by = 3.0f;
  int n = 100;
  void *arguments[] = {&data, &by, &n};
  HIP(hipModuleLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(values.values()[99] == 6.0f);
  struct {
    float *data;
    float by;
    int n;
  } packed{data, 0.5f, 50};
  size_t size = sizeof packed;
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  HIP(hipModuleLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra));
  CHECK(values.values()[49] == 3.0f);
  CHECK(values.values()[50] == 6.0f);
  CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 0, 1, 1, 0, nullptr, arguments, nullptr) ==
        hipErrorInvalidValue);
  CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 2000, 1, 1, 0, nullptr, arguments, nullptr) ==
        hipErrorInvalidValue);
  CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) ==
        hipErrorInvalidValue);
  int most = 0;
  HIP(hipFuncGetAttribute(&most, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  CHECK(most == 256);
  hipDeviceptr_t table;
  HIP(hipModuleGetGlobal(&table, &size, module, "table"));
  CHECK(size == 4 * sizeof(float));
  hipFunction_t none;
  CHECK(hipModuleGetFunction(&none, module, "nothing") == hipErrorNotFound);
  CHECK(hipModuleGetFunction(&none, module, "hipMalloc") == hipErrorNotFound);
  HIP(hipModuleUnload(module));
  CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr) ==
        hipErrorInvalidHandle);
  CHECK(hipModuleLoad(&module, "/nowhere") == hipErrorFileNotFound);
  CHECK(hipModuleLoadData(&module, "neither code nor a bundle of it: more than 64 characters...") ==
        hipErrorInvalidImage);
  // What HIP 6.4.3 answers where a bundle has no code for the device (clr, hip_fatbin.cpp).
  CHECK(hipModuleLoadData(&module, bundle_for("gfx801").data()) == hipErrorInvalidValue);
  CHECK(hipModuleLoadData(&module, bundle_for("gfx12-5-generic").data()) == hipErrorNoBinaryForGpu);
}

static void test_errors() {
  (void)hipGetLastError();
  CHECK(hipSetDevice(99) == hipErrorInvalidDevice);
  CHECK(hipPeekAtLastError() == hipErrorInvalidDevice);
  int device = -1;
  CHECK(hipGetDevice(&device) == hipSuccess);
  CHECK(device == 0);
  CHECK(hipGetLastError() == hipErrorInvalidDevice);
  CHECK(hipGetLastError() == hipSuccess);
  CHECK(hipSetDevice(-1) == hipErrorInvalidDevice);
  hipError_t elsewhere = hipErrorUnknown;
  std::thread([&] { elsewhere = hipPeekAtLastError(); }).join();
  CHECK(elsewhere == hipSuccess);
  CHECK(strcmp(hipGetErrorName(hipErrorNoBinaryForGpu), "hipErrorNoBinaryForGpu") == 0);
  CHECK(strlen(hipGetErrorString(hipErrorNoBinaryForGpu)) > 0);
  (void)hipGetLastError();
  void *function = nullptr;
  HIP(hipGetProcAddress("hipMemPoolCreate", &function, 0, 0, nullptr));
  CHECK(reinterpret_cast<hipError_t (*)()>(function)() == hipErrorNotSupported);
  CHECK(hipGetLastError() == hipErrorNotSupported);
}

static void test_threads() {
  Device<int> values(std::vector<int>(1000));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        hipStream_t stream;
        HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
        add<<<1, 250, 0, stream>>>(values + 250 * t, 250, 1);
        HIP(hipStreamSynchronize(stream));
        HIP(hipStreamDestroy(stream));
      }
    });
  }
  for (auto &thread : threads) thread.join();
  const auto got = values.values();
  bool right = true;
  for (const int value : got) right &= value == 50;
  check("several host threads launch at the same time", right);
}

__global__ void __launch_bounds__(64) bounded(int *values) { values[threadIdx.x] = 1; }

// The HIP API reference, "Occupancy": of a kernel that the program launches, by its function.
static void test_occupancy() {
  int blocks = -1;
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
  CHECK(blocks == 8);
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 128, 32 * 1024));
  CHECK(blocks == 2);
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 128, 0));
  CHECK(blocks == 0);
  CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, add, 128, 0) ==
        hipErrorInvalidValue);
  CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &blocks, 128, 0) ==
        hipErrorInvalidDeviceFunction);
}

int main(int, char **arguments) {
  test_memory();
  test_copies();
  test_streams();
  test_host_functions();
  test_captures();
  test_beside_a_capture();
  test_modules(arguments[1]);
  test_errors();
  test_occupancy();
  test_threads();
}
