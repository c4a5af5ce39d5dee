// hipRAND over cuRAND: HIP's own library does the same on NVIDIA GPUs. A generator is cuRAND's own,
// and statuses have the same numbers.
#include <curand.h>

#include "library.h"

namespace {

// hiprand/hiprand.h, hiprandRngType_t: from 400 on.
constexpr curandRngType_t kinds[] = {
    CURAND_RNG_PSEUDO_DEFAULT, CURAND_RNG_PSEUDO_XORWOW,  CURAND_RNG_PSEUDO_MRG32K3A,
    CURAND_RNG_PSEUDO_MTGP32,  CURAND_RNG_PSEUDO_MT19937, CURAND_RNG_PSEUDO_PHILOX4_32_10,
};

}  // namespace

API hiprandCreateGenerator(curandGenerator_t *generator, int kind) {
  const int index = kind - 400;
  if (index < 0 || index >= static_cast<int>(sizeof kinds / sizeof kinds[0])) {
    return CURAND_STATUS_TYPE_ERROR;
  }
  return bind() ? curandCreateGenerator(generator, kinds[index])
                : CURAND_STATUS_INITIALIZATION_FAILED;
}

API hiprandDestroyGenerator(curandGenerator_t generator) {
  return curandDestroyGenerator(generator);
}

API hiprandSetStream(curandGenerator_t generator, hipStream_t stream) {
  return curandSetStream(generator, reinterpret_cast<cudaStream_t>(stream));
}

API hiprandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
  return curandSetPseudoRandomGeneratorSeed(generator, seed);
}

API hiprandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  return curandSetGeneratorOffset(generator, offset);
}

API hiprandGenerate(curandGenerator_t generator, unsigned *output, size_t n) {
  return curandGenerate(generator, output, n);
}

API hiprandGenerateUniform(curandGenerator_t generator, float *output, size_t n) {
  return curandGenerateUniform(generator, output, n);
}

API hiprandGenerateUniformDouble(curandGenerator_t generator, double *output, size_t n) {
  return curandGenerateUniformDouble(generator, output, n);
}

API hiprandGenerateNormal(curandGenerator_t generator, float *output, size_t n, float mean,
                          float deviation) {
  return curandGenerateNormal(generator, output, n, mean, deviation);
}

API hiprandGenerateNormalDouble(curandGenerator_t generator, double *output, size_t n, double mean,
                                double deviation) {
  return curandGenerateNormalDouble(generator, output, n, mean, deviation);
}

API hiprandGenerateLogNormal(curandGenerator_t generator, float *output, size_t n, float mean,
                             float deviation) {
  return curandGenerateLogNormal(generator, output, n, mean, deviation);
}

API hiprandGenerateLogNormalDouble(curandGenerator_t generator, double *output, size_t n,
                                   double mean, double deviation) {
  return curandGenerateLogNormalDouble(generator, output, n, mean, deviation);
}
