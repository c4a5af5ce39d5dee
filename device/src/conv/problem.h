// A convolution forward, of what its descriptors say.
#pragma once

#include <stdint.h>

#include <string>
#include <vector>

#include "types.h"

namespace hipcpu::conv {

// Places of an index beyond the batch and the channels, outermost first.
constexpr size_t most_dimensions = 3;

// One that is looked at has its numbers checked against each other: sizes are those of the formula.
struct Problem {
  miopenTensorDescriptor x, w, y;
  miopenConvolutionDescriptor convolution;

  // Throws for what is not a convolution.
  static Problem of(miopenTensorDescriptor_t x, miopenTensorDescriptor_t w,
                    miopenConvolutionDescriptor_t convolution, miopenTensorDescriptor_t y);

  size_t dimensions() const { return convolution.padding.size(); }
  size_t element() const { return x.type == miopenFloat ? 4 : 2; }
  // Channels of the input and of the output in each group.
  int taken() const { return w.sizes[1]; }
  int given() const { return y.sizes[1] / convolution.groups; }
  // Places of the filter, and of the output of one image and channel.
  size_t window() const { return count(w.sizes); }
  size_t places() const { return count(y.sizes); }

  // What it is known by, in one line.
  std::string name() const;

 private:
  static size_t count(const std::vector<int> &sizes);
};

// How it may be computed.
struct Solution {
  uint64_t id;
  miopenConvAlgorithm_t algorithm;
};
constexpr Solution gemm{91, miopenConvolutionAlgoGEMM}, direct{85, miopenConvolutionAlgoDirect};

// The workspace that a solution needs: a product of matrices, the columns of one image.
size_t workspace(const Problem &problem, const Solution &solution);

// Puts one into a stream.
void compute(hipStream_t stream, const Problem &problem, const Solution &solution, const void *x,
             const void *w, void *y, void *space);

}  // namespace hipcpu::conv
