// Products of matrices, with rocBLAS's arithmetic.
#include <stdio.h>

#include <limits>

#include "../blas/product.h"
#include "answer.h"

namespace hipcpu::lt {

namespace {

using blas::Shape;

// From this depth on a solution adds in parts, which lie in the workspace; one that may have none does not.
constexpr uint64_t deep = 256;

struct Problem {
  const MatmulDesc &desc;
  const MatrixLayout &a, &b, &c, &d;

  Shape shape() const {
    const auto op = [](hipblasOperation_t given) {
      return given == HIPBLAS_OP_N ? rocblas_operation_none : rocblas_operation_transpose;
    };
    const uint64_t depth = desc.a == HIPBLAS_OP_N ? a.columns : a.rows;
    const auto size = [](uint64_t of) { return static_cast<rocblas_int>(of); };
    return {op(desc.a), op(desc.b), size(c.rows), size(c.columns), size(depth), c.batch};
  }

  size_t parts() const {
    return c.rows * c.columns * static_cast<size_t>(c.batch) * sizeof(float);
  }

  // Of which the values decide what a solution is for.
  uint64_t digest() const {
    uint64_t result = 1469598103934665603u;
    const auto add = [&](uint64_t value) { result = (result ^ value) * 1099511628211u; };
    add(desc.a), add(desc.b);
    for (const MatrixLayout *each : {&a, &b, &c, &d}) {
      add(each->type), add(each->rows), add(each->columns);
      add(static_cast<uint64_t>(each->leading)), add(static_cast<uint64_t>(each->batch));
      add(static_cast<uint64_t>(each->stride));
    }
    return result;
  }
};

void require_valid(const Problem &p) {
  const auto swapped = [](hipblasOperation_t op) { return op != HIPBLAS_OP_N; };
  const auto rows = [&](const MatrixLayout &of, hipblasOperation_t op) {
    return swapped(op) ? of.columns : of.rows;
  };
  const auto columns = [&](const MatrixLayout &of, hipblasOperation_t op) {
    return swapped(op) ? of.rows : of.columns;
  };
  require(rows(p.a, p.desc.a) == p.c.rows && columns(p.b, p.desc.b) == p.c.columns);
  require(columns(p.a, p.desc.a) == rows(p.b, p.desc.b));
  require(p.d.rows == p.c.rows && p.d.columns == p.c.columns);
  for (const MatrixLayout *each : {&p.a, &p.b, &p.c, &p.d}) {
    require(each->rows > 0 && each->columns > 0 && each->batch == p.c.batch && each->batch > 0);
    require(each->leading >= 0 && static_cast<uint64_t>(each->leading) >= each->rows);
    require(each->batch == 1 || each->stride > 0);
    require(each->type == p.a.type, HIPBLAS_STATUS_NOT_SUPPORTED);
  }
  require(p.a.type == HIP_R_16F || p.a.type == HIP_R_16BF, HIPBLAS_STATUS_NOT_SUPPORTED);
}

// Marks the memory of a handle as used, as long as this is there.
class Synchronizer {
 public:
  explicit Synchronizer(int *at) : at_(at) {
    work_reads(at, sizeof(int), "a product of hipBLASLt");
    work_writes(at, sizeof(int), "a product of hipBLASLt");
    alone_ = __atomic_exchange_n(at_, 1, __ATOMIC_SEQ_CST) == 0;
  }
  ~Synchronizer() { __atomic_store_n(at_, 0, __ATOMIC_SEQ_CST); }
  bool alone() const { return alone_; }

 private:
  int *at_;
  bool alone_;
};

template <typename T>
std::function<void()> work(Handle *handle, const Problem &p, float alpha, const void *a,
                           const void *b, float beta, const void *c, void *d, void *workspace,
                           size_t parts) {
  const auto matrices = [](auto *data, const MatrixLayout &layout) {
    return blas::Matrices<std::remove_pointer_t<decltype(data)>>{
        data, static_cast<rocblas_int>(layout.leading), layout.stride};
  };
  const Shape shape = p.shape();
  const auto at_a = matrices(static_cast<const T *>(a), p.a);
  const auto at_b = matrices(static_cast<const T *>(b), p.b);
  const auto at_c = matrices(static_cast<const T *>(c), p.c);
  const auto at_d = matrices(static_cast<T *>(d), p.d);
  int *const synchronizer = handle->synchronizer;
  return [=] {
    const Synchronizer held(synchronizer);
    if (parts > 0) {
      work_writes(workspace, parts, "a product of hipBLASLt");
      memset(workspace, 0xff, parts);
    }
    blas::products<T, T, float>(shape, alpha, at_a, at_b, beta, at_c, at_d);
    if (!held.alone()) {
      fprintf(stderr, "HIP device: two products of one handle of hipBLASLt at once\n");
      at_d.data[0] = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
    }
  };
}

}  // namespace

}  // namespace hipcpu::lt

using namespace hipcpu;
using namespace hipcpu::lt;

HIPBLASLT_API hipblasLtMatmulAlgoGetHeuristic(hipblasLtHandle_t handle, hipblasLtMatmulDesc_t desc,
                                    hipblasLtMatrixLayout_t a, hipblasLtMatrixLayout_t b,
                                    hipblasLtMatrixLayout_t c, hipblasLtMatrixLayout_t d,
                                    hipblasLtMatmulPreference_t preference, int asked,
                                    hipblasLtMatmulHeuristicResult_t *results, int *found) {
  return answer(__func__, [&] {
    require(handle != nullptr, HIPBLAS_STATUS_HANDLE_IS_NULLPTR);
    require(desc && a && b && c && d && preference && results && found && asked > 0);
    const Problem problem{*desc, *a, *b, *c, *d};
    require_valid(problem);
    *found = 0;
    // As on gfx1201 for f16 with a bias (ROCm/rocm-libraries 8033): a success, and nothing found.
    if (desc->a != HIPBLAS_OP_N && desc->b != HIPBLAS_OP_N) return;
    hipblasLtMatmulHeuristicResult_t best{};
    const bool split = static_cast<uint64_t>(problem.shape().k) >= deep &&
                       problem.parts() <= preference->workspace;
    const uint64_t digest = problem.digest();
    memcpy(best.algo.data, &digest, sizeof digest);
    best.algo.data[8] = split;
    best.algo.max_workspace_bytes = preference->workspace;
    best.workspaceSize = split ? problem.parts() : 0;
    best.wavesCount = 1;
    results[0] = best;
    *found = 1;
  });
}

HIPBLASLT_API hipblasLtMatmul(hipblasLtHandle_t handle, hipblasLtMatmulDesc_t desc, const void *alpha,
                    const void *a, hipblasLtMatrixLayout_t a_layout, const void *b,
                    hipblasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                    hipblasLtMatrixLayout_t c_layout, void *d, hipblasLtMatrixLayout_t d_layout,
                    const hipblasLtMatmulAlgo_t *algo, void *workspace, size_t workspace_size,
                    hipStream_t stream) {
  return answer(__func__, [&] {
    require(handle != nullptr, HIPBLAS_STATUS_HANDLE_IS_NULLPTR);
    require(desc && a_layout && b_layout && c_layout && d_layout && algo);
    require(alpha && beta && a && b && c && d);
    require(workspace != nullptr || workspace_size == 0);
    int device = 0;
    require_hip(hipGetDevice(&device));
    require(device == handle->device);
    const Problem problem{*desc, *a_layout, *b_layout, *c_layout, *d_layout};
    require_valid(problem);
    uint64_t digest = 0;
    memcpy(&digest, algo->data, sizeof digest);
    require(digest == problem.digest());
    const size_t parts = algo->data[8] ? problem.parts() : 0;
    require(workspace_size >= parts);
    const float by = *static_cast<const float *>(alpha), kept = *static_cast<const float *>(beta);
    const auto put = [&](std::function<void()> work) {
      require(do_in_stream(stream, std::move(work)), HIPBLAS_STATUS_INTERNAL_ERROR);
    };
    if (a_layout->type == HIP_R_16F) {
      put(work<__half>(handle, problem, by, a, b, kept, c, d, workspace, parts));
    } else {
      put(work<__hip_bfloat16>(handle, problem, by, a, b, kept, c, d, workspace, parts));
    }
  });
}
