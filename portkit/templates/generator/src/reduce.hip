struct Sum {
  template <typename T> __device__ T operator()(T a, T b) const { return a + b; }
};

struct Min {
  __device__ float operator()(float a, float b) const { return fminf(a, b); }
  template <typename T> __device__ T operator()(T a, T b) const { return a < b ? a : b; }
};

struct Max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
  template <typename T> __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};

// Over all threads of the block, halving them until one is left. The parts lie in shared memory, not
// in the registers of a wavefront: so it does not matter how many lanes that has, nor whether its
// threads fill it.
template <typename Op, typename T> static __device__ T block_reduce(T x) {
  constexpr unsigned most_threads = 1024;
  __shared__ T parts[most_threads];
  parts[threadIdx.x] = x;
  __syncthreads();
  for (unsigned left = blockDim.x; left > 1;) {
    const unsigned half = (left + 1) / 2;
    if (threadIdx.x < left - half) {
      parts[threadIdx.x] = Op()(parts[threadIdx.x], parts[threadIdx.x + half]);
    }
    __syncthreads();
    left = half;
  }
  x = parts[0];
  // The next reduction writes to the same place.
  __syncthreads();
  return x;
}
