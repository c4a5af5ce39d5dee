// MIOpen's types, with the values of miopen/miopen.h (MIOpen 3.0 and later).
#pragma once

#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#include <vector>

enum miopenStatus_t : int {
  miopenStatusSuccess = 0,
  miopenStatusInvalidValue = 2,
  miopenStatusBadParm = 3,
  miopenStatusInternalError = 5,
  miopenStatusNotImplemented = 6,
};

enum miopenDataType_t : int { miopenHalf = 0, miopenFloat = 1, miopenBFloat16 = 5 };

enum miopenConvolutionMode_t : int { miopenConvolution = 0 };

enum miopenConvAlgorithm_t : int {
  miopenConvolutionAlgoGEMM = 0,
  miopenConvolutionAlgoDirect = 1,
};

struct miopenConvAlgoPerf_t {
  int fwd_algo;
  float time;
  size_t memory;
};

struct miopenConvSolution_t {
  float time;
  size_t workspace_size;
  uint64_t solution_id;
  miopenConvAlgorithm_t algorithm;
};

struct miopenHandle {
  hipStream_t stream;
};
using miopenHandle_t = miopenHandle *;

// Sizes and strides are empty until they are set.
struct miopenTensorDescriptor {
  int type = -1;
  std::vector<int> sizes, strides;
};
using miopenTensorDescriptor_t = miopenTensorDescriptor *;

struct miopenConvolutionDescriptor {
  std::vector<int> padding, stride, dilation;
  int groups = 1;
};
using miopenConvolutionDescriptor_t = miopenConvolutionDescriptor *;

#define API extern "C" __attribute__((visibility("default"))) miopenStatus_t
