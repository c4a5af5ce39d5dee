// Convolutions forward: which solutions there are, the search for the fastest, and the work itself.
#include <algorithm>
#include <array>

#include "answer.h"
#include "database.h"
#include "problem.h"

namespace hipcpu::conv {

namespace {

// The fastest first: by an estimate a product of matrices, measured the other.
std::array<Solution, 2> solutions(const Problem &problem) {
  if (was_searched(problem.name())) return {direct, gemm};
  return {gemm, direct};
}

void check_memory(const Problem &problem, const Solution &solution, const void *x, const void *w,
                  const void *y, const void *space, size_t bytes) {
  expect(x != nullptr && w != nullptr && y != nullptr, "a tensor is at no address");
  const size_t needed = workspace(problem, solution);
  expect(bytes >= needed, "the workspace is smaller than the solution needs");
  expect(needed == 0 || space != nullptr, "the workspace is at no address");
}

}  // namespace

}  // namespace hipcpu::conv

using namespace hipcpu::conv;

API miopenConvolutionForwardGetSolutionCount(miopenHandle_t handle, miopenTensorDescriptor_t w,
                                             miopenTensorDescriptor_t x,
                                             miopenConvolutionDescriptor_t convolution,
                                             miopenTensorDescriptor_t y, size_t *count) {
  return answer(__func__, [&] {
    handles().at(handle);
    expect(count != nullptr, "there is no place for the number");
    *count = solutions(Problem::of(x, w, convolution, y)).size();
  });
}

API miopenConvolutionForwardGetSolution(miopenHandle_t handle, miopenTensorDescriptor_t w,
                                        miopenTensorDescriptor_t x,
                                        miopenConvolutionDescriptor_t convolution,
                                        miopenTensorDescriptor_t y, size_t most, size_t *count,
                                        miopenConvSolution_t *found) {
  return answer(__func__, [&] {
    handles().at(handle);
    expect(count != nullptr && found != nullptr, "there is no place for the solutions");
    const Problem problem = Problem::of(x, w, convolution, y);
    const auto all = solutions(problem);
    *count = std::min(most, all.size());
    for (size_t i = 0; i < *count; ++i) {
      found[i] = {static_cast<float>(i + 1), workspace(problem, all[i]), all[i].id,
                  all[i].algorithm};
    }
  });
}

API miopenConvolutionForwardImmediate(miopenHandle_t handle, miopenTensorDescriptor_t w_of,
                                      const void *w, miopenTensorDescriptor_t x_of, const void *x,
                                      miopenConvolutionDescriptor_t convolution,
                                      miopenTensorDescriptor_t y_of, void *y, void *space,
                                      size_t bytes, uint64_t id) {
  return answer(__func__, [&] {
    const hipStream_t stream = handles().at(handle).stream;
    const Problem problem = Problem::of(x_of, w_of, convolution, y_of);
    expect(id == gemm.id || id == direct.id, "there is no such solution");
    const Solution solution = id == gemm.id ? gemm : direct;
    check_memory(problem, solution, x, w, y, space, bytes);
    compute(stream, problem, solution, x, w, y, space);
  });
}

API miopenConvolutionForwardGetWorkSpaceSize(miopenHandle_t handle, miopenTensorDescriptor_t w,
                                             miopenTensorDescriptor_t x,
                                             miopenConvolutionDescriptor_t convolution,
                                             miopenTensorDescriptor_t y, size_t *bytes) {
  return answer(__func__, [&] {
    handles().at(handle);
    expect(bytes != nullptr, "there is no place for the number");
    *bytes = workspace(Problem::of(x, w, convolution, y), gemm);
  });
}

API miopenFindConvolutionForwardAlgorithm(miopenHandle_t handle, miopenTensorDescriptor_t x_of,
                                          const void *x, miopenTensorDescriptor_t w_of,
                                          const void *w, miopenConvolutionDescriptor_t convolution,
                                          miopenTensorDescriptor_t y_of, void *y, int most,
                                          int *count, miopenConvAlgoPerf_t *found, void *space,
                                          size_t bytes, bool) {
  return answer(__func__, [&] {
    const hipStream_t stream = handles().at(handle).stream;
    expect(most >= 1 && count != nullptr && found != nullptr, "there is no place for the outcome");
    const Problem problem = Problem::of(x_of, w_of, convolution, y_of);
    check_memory(problem, gemm, x, w, y, space, bytes);
    // It runs each of them, and waits.
    for (const Solution &solution : {gemm, direct}) {
      compute(stream, problem, solution, x, w, y, space);
    }
    require(hipStreamSynchronize(stream) == hipSuccess, miopenStatusInternalError);
    keep_search(problem.name());
    *found = {direct.algorithm, 1, 0};
    *count = 1;
  });
}
