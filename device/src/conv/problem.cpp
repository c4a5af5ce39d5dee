// What descriptors say together.
#include "problem.h"

#include "answer.h"

namespace hipcpu::conv {

size_t Problem::count(const std::vector<int> &sizes) {
  size_t all = 1;
  for (size_t i = 2; i < sizes.size(); ++i) all *= static_cast<size_t>(sizes[i]);
  return all;
}

Problem Problem::of(miopenTensorDescriptor_t x, miopenTensorDescriptor_t w,
                    miopenConvolutionDescriptor_t convolution, miopenTensorDescriptor_t y) {
  const Problem found{tensors().at(x), tensors().at(w), tensors().at(y),
                      convolutions().at(convolution)};
  const miopenConvolutionDescriptor &of = found.convolution;
  const size_t spatial = found.dimensions();
  expect(spatial > 0, "the convolution was not described");
  for (const miopenTensorDescriptor *tensor : {&found.x, &found.w, &found.y}) {
    expect(tensor->sizes.size() == spatial + 2, "a tensor has another number of dimensions");
    require(tensor->type == found.x.type, miopenStatusBadParm);
  }
  require(found.x.type == miopenHalf || found.x.type == miopenFloat ||
              found.x.type == miopenBFloat16,
          miopenStatusNotImplemented);
  expect(found.x.sizes[0] == found.y.sizes[0], "input and output have batches of other sizes");
  expect(found.x.sizes[1] == found.w.sizes[1] * of.groups,
         "the filter takes another number of channels");
  expect(found.y.sizes[1] == found.w.sizes[0] && found.w.sizes[0] % of.groups == 0,
         "the filter gives another number of channels");
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t reach = int64_t{of.dilation[i]} * (found.w.sizes[i + 2] - 1);
    const int64_t steps = found.x.sizes[i + 2] + int64_t{2} * of.padding[i] - reach - 1;
    expect(steps >= 0 && found.y.sizes[i + 2] == steps / of.stride[i] + 1,
           "the output has another size than it has to have");
  }
  return found;
}

std::string Problem::name() const {
  std::string name = std::to_string(x.type);
  const auto add = [&](const std::vector<int> &numbers) {
    name += ':';
    for (const int number : numbers) name += ' ' + std::to_string(number);
  };
  for (const auto *tensor : {&x, &w, &y}) add(tensor->sizes), add(tensor->strides);
  add(convolution.padding), add(convolution.stride), add(convolution.dilation);
  add({convolution.groups});
  return name;
}

}  // namespace hipcpu::conv
