// Handles and descriptors.
#include <stdio.h>

#include <algorithm>

#include "answer.h"

namespace hipcpu::conv {

void complain(const char *function, const char *what) {
  fprintf(stderr, "HIP device: %s: %s\n", function, what);
}

// They are not destroyed, as somebody may use them while the process ends.
Alive<miopenHandle> &handles() {
  static auto *all = new Alive<miopenHandle>;
  return *all;
}

Alive<miopenTensorDescriptor> &tensors() {
  static auto *all = new Alive<miopenTensorDescriptor>;
  return *all;
}

Alive<miopenConvolutionDescriptor> &convolutions() {
  static auto *all = new Alive<miopenConvolutionDescriptor>;
  return *all;
}

namespace {

std::vector<int> numbers(const int *from, int count) {
  expect(from != nullptr, "numbers are at no address");
  return {from, from + count};
}

bool all_at_least(const std::vector<int> &all, int least) {
  return std::all_of(all.begin(), all.end(), [=](int each) { return each >= least; });
}

}  // namespace

}  // namespace hipcpu::conv

using namespace hipcpu::conv;

API miopenGetVersion(size_t *major, size_t *minor, size_t *patch) {
  return answer(__func__, [&] {
    if (major != nullptr) *major = 3;
    if (minor != nullptr) *minor = 4;
    if (patch != nullptr) *patch = 0;
  });
}

API miopenCreateWithStream(miopenHandle_t *handle, hipStream_t stream) {
  return answer(__func__, [&] {
    expect(handle != nullptr, "there is no place for the handle");
    expect(hipcpu::stream_at(stream) != nullptr, "the stream is not alive");
    *handle = handles().make({stream});
  });
}

API miopenDestroy(miopenHandle_t handle) {
  return answer(__func__, [&] { handles().destroy(handle); });
}

API miopenSetStream(miopenHandle_t handle, hipStream_t stream) {
  return answer(__func__, [&] {
    expect(hipcpu::stream_at(stream) != nullptr, "the stream is not alive");
    handles().at(handle).stream = stream;
  });
}

API miopenCreateTensorDescriptor(miopenTensorDescriptor_t *tensor) {
  return answer(__func__, [&] {
    expect(tensor != nullptr, "there is no place for the descriptor");
    *tensor = tensors().make({});
  });
}

API miopenSetTensorDescriptor(miopenTensorDescriptor_t tensor, int type, int dimensions,
                              const int *sizes, const int *strides) {
  return answer(__func__, [&] {
    miopenTensorDescriptor &set = tensors().at(tensor);
    require(dimensions >= 1 && dimensions <= 5, miopenStatusBadParm);
    const auto all = numbers(sizes, dimensions), steps = numbers(strides, dimensions);
    require(all_at_least(all, 1) && all_at_least(steps, 0), miopenStatusBadParm);
    set = {type, all, steps};
  });
}

API miopenDestroyTensorDescriptor(miopenTensorDescriptor_t tensor) {
  return answer(__func__, [&] { tensors().destroy(tensor); });
}

API miopenCreateConvolutionDescriptor(miopenConvolutionDescriptor_t *convolution) {
  return answer(__func__, [&] {
    expect(convolution != nullptr, "there is no place for the descriptor");
    *convolution = convolutions().make({});
  });
}

API miopenInitConvolutionNdDescriptor(miopenConvolutionDescriptor_t convolution, int dimensions,
                                      const int *padding, const int *stride, const int *dilation,
                                      miopenConvolutionMode_t mode) {
  return answer(__func__, [&] {
    miopenConvolutionDescriptor &set = convolutions().at(convolution);
    require(dimensions == 2 || dimensions == 3, miopenStatusBadParm);
    const auto pad = numbers(padding, dimensions), step = numbers(stride, dimensions),
               apart = numbers(dilation, dimensions);
    require(all_at_least(pad, 0) && all_at_least(step, 1) && all_at_least(apart, 1),
            miopenStatusBadParm);
    require(mode == miopenConvolution, miopenStatusNotImplemented);
    set = {pad, step, apart, 1};
  });
}

API miopenSetConvolutionGroupCount(miopenConvolutionDescriptor_t convolution, int groups) {
  return answer(__func__, [&] {
    miopenConvolutionDescriptor &set = convolutions().at(convolution);
    require(groups >= 1, miopenStatusBadParm);
    set.groups = groups;
  });
}

API miopenDestroyConvolutionDescriptor(miopenConvolutionDescriptor_t convolution) {
  return answer(__func__, [&] { convolutions().destroy(convolution); });
}
