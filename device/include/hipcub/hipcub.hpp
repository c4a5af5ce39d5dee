// The part of hipCUB that ported sources use: functions of a block (hipCUB documentation, "Block
// wide"). Threads are numbered with x fastest.
#pragma once

#include <hip/hip_runtime.h>

namespace hipcub {

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS
};

struct Sum {
  template <typename T>
  constexpr T operator()(const T &a, const T &b) const {
    return a + b;
  }
};
struct Max {
  template <typename T>
  constexpr T operator()(const T &a, const T &b) const {
    return b > a ? b : a;
  }
};
struct Min {
  template <typename T>
  constexpr T operator()(const T &a, const T &b) const {
    return b < a ? b : a;
  }
};

namespace detail {

// One value of each thread of the block.
template <typename T, int Threads>
class Block {
 public:
  struct TempStorage {
    T values[Threads];
  };
  explicit Block(TempStorage &storage)
      : values_(storage.values),
        own_(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) {}

 protected:
  // Between two barriers every thread sees every value.
  void bring(T value) {
    values_[own_] = value;
    __syncthreads();
  }
  void leave() { __syncthreads(); }

  T *values_;
  unsigned own_;
};

}  // namespace detail

template <typename T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1>
class BlockScan : public detail::Block<T, X * Y * Z> {
  using Base = detail::Block<T, X * Y * Z>;
  static constexpr unsigned threads = X * Y * Z;

 public:
  using TempStorage = typename Base::TempStorage;
  using Base::Base;

  void ExclusiveSum(T in, T &out) {
    T total;
    ExclusiveSum(in, out, total);
  }
  void ExclusiveSum(T in, T &out, T &total) { Exclusive(in, out, T(0), Sum(), total); }
  void InclusiveSum(T in, T &out) {
    T total;
    InclusiveSum(in, out, total);
  }
  void InclusiveSum(T in, T &out, T &total) { Inclusive(in, out, Sum(), total); }
  template <typename Op>
  void ExclusiveScan(T in, T &out, T initial, Op op) {
    T total;
    Exclusive(in, out, initial, op, total);
  }
  template <typename Op>
  void InclusiveScan(T in, T &out, Op op) {
    T total;
    Inclusive(in, out, op, total);
  }

 private:
  template <typename Op>
  void Exclusive(T in, T &out, T initial, Op op, T &total) {
    this->bring(in);
    T sum = initial;
    for (unsigned i = 0; i < this->own_; ++i) sum = op(sum, this->values_[i]);
    out = sum;
    for (unsigned i = this->own_; i < threads; ++i) sum = op(sum, this->values_[i]);
    total = sum;
    this->leave();
  }
  template <typename Op>
  void Inclusive(T in, T &out, Op op, T &total) {
    this->bring(in);
    T sum = this->values_[0];
    if (this->own_ == 0) out = sum;
    for (unsigned i = 1; i < threads; ++i) {
      sum = op(sum, this->values_[i]);
      if (i == this->own_) out = sum;
    }
    total = sum;
    this->leave();
  }
};

template <typename T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1,
          int Z = 1>
class BlockReduce : public detail::Block<T, X * Y * Z> {
  using Base = detail::Block<T, X * Y * Z>;

 public:
  using TempStorage = typename Base::TempStorage;
  using Base::Base;

  T Sum(T in) { return Reduce(in, hipcub::Sum(), X * Y * Z); }
  T Sum(T in, int valid) { return Reduce(in, hipcub::Sum(), valid); }
  template <typename Op>
  T Reduce(T in, Op op) {
    return Reduce(in, op, X * Y * Z);
  }
  template <typename Op>
  T Reduce(T in, Op op, int valid) {
    this->bring(in);
    T result = this->values_[0];
    for (int i = 1; i < valid; ++i) result = op(result, this->values_[i]);
    this->leave();
    return result;
  }
};

}  // namespace hipcub
