
// What launchers may need beyond those.

FORWARD(noted, hipDeviceGetAttribute, (int *value, hipDeviceAttribute_t a, int device),
        (value, a, device))
FORWARD(noted, hipDeviceSynchronize, (), ())
FORWARD(noted, hipLaunchCooperativeKernel,
        (const void *f, dim3 grid, dim3 block, void **arguments, unsigned shared, hipStream_t s),
        (f, grid, block, arguments, shared, s))
FORWARD(noted, hipMemcpy, (void *to, const void *from, size_t n, hipMemcpyKind kind),
        (to, from, n, kind))
FORWARD(noted, hipMemset, (void *p, int v, size_t n), (p, v, n))
FORWARD(noted, hipOccupancyMaxActiveBlocksPerMultiprocessor,
        (int *blocks, const void *f, int block, size_t shared), (blocks, f, block, shared))
FORWARD(as_it_is, hipPeekAtLastError, (), ())

HIDDEN const char *error_string(hipError_t status) __asm__("hipGetErrorString");
const char *error_string(hipError_t status) {
  void *function = runtime("hipGetErrorString");
  if (function == nullptr) return "the HIP runtime is not there";
  return reinterpret_cast<const char *(*)(hipError_t)>(function)(status);
}
