// hipRAND's host interface. Every pseudo-random kind of generator is Philox here: hipRAND promises
// that one seed gives the same numbers in one version, not which numbers.
#include <math.h>
#include <stddef.h>

#include <cmath>

#include "../runtime/device_work.h"
#include "generator.h"

enum hiprandStatus_t : int {
  HIPRAND_STATUS_SUCCESS = 0,
  HIPRAND_STATUS_NOT_INITIALIZED = 101,
  HIPRAND_STATUS_TYPE_ERROR = 103,
  HIPRAND_STATUS_OUT_OF_RANGE = 104,
  HIPRAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
  HIPRAND_STATUS_LAUNCH_FAILURE = 201,
};

enum hiprandRngType_t : int {
  HIPRAND_RNG_PSEUDO_DEFAULT = 400,
  HIPRAND_RNG_PSEUDO_PHILOX4_32_10 = 405,
};

struct hiprandGenerator_st {
  hipStream_t stream = nullptr;
  uint64_t seed = 0;
  uint64_t place = 0;  // of the next word
};
using hiprandGenerator_t = hiprandGenerator_st *;

#define API extern "C" __attribute__((visibility("default"))) hiprandStatus_t

namespace hipcpu::rand {

namespace {

struct Failure {
  hiprandStatus_t status;
};

void require(bool holds, hiprandStatus_t otherwise) {
  if (!holds) throw Failure{otherwise};
}

template <typename Body>
hiprandStatus_t answer(const char *name, Body body) {
  count_library_call(name);
  try {
    body();
  } catch (const Failure &failure) {
    return failure.status;
  }
  return HIPRAND_STATUS_SUCCESS;
}

constexpr double turn = 6.283185307179586476925286766559;

// Two normally distributed numbers of two evenly distributed ones (G. Box and M. Muller, 1958).
template <typename T>
struct Pair {
  T first, second;
};

template <typename T>
Pair<T> normal(T u, T v) {
  const T radius = std::sqrt(T(-2) * std::log(u)), angle = T(turn) * v;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

// Fills `count` values; `value(seed, place)` gives each, `words` words after one another.
template <typename T, typename Value>
void fill(hiprandGenerator_t generator, T *output, size_t count, unsigned words, Value value) {
  require(generator != nullptr, HIPRAND_STATUS_NOT_INITIALIZED);
  require(output != nullptr || count == 0, HIPRAND_STATUS_OUT_OF_RANGE);
  const uint64_t seed = generator->seed, place = generator->place;
  generator->place += uint64_t{words} * count;
  const bool done = do_in_stream(generator->stream, [=] {
    work_writes(output, count * sizeof(T), "hipRAND");
    constexpr size_t piece = 16384;
    for_each_piece((count + piece - 1) / piece, [&](size_t p) {
      const size_t end = count < (p + 1) * piece ? count : (p + 1) * piece;
      for (size_t i = p * piece; i < end; ++i) output[i] = value(seed, place, i);
    });
  });
  require(done, HIPRAND_STATUS_LAUNCH_FAILURE);
}

template <typename T>
T uniform_at(uint64_t seed, uint64_t place, uint64_t i) {
  if constexpr (sizeof(T) == 4) {
    return uniform(word_at(seed, place + i));
  } else {
    return uniform(word_at(seed, place + 2 * i), word_at(seed, place + 2 * i + 1));
  }
}

template <typename T>
T normal_at(uint64_t seed, uint64_t place, uint64_t i) {
  const uint64_t even = i / 2 * 2;
  const Pair<T> both =
      normal(uniform_at<T>(seed, place, even), uniform_at<T>(seed, place, even + 1));
  return i % 2 == 0 ? both.first : both.second;
}

template <typename T>
constexpr unsigned words = sizeof(T) / 4;

template <typename T>
hiprandStatus_t fill_uniform(const char *name, hiprandGenerator_t generator, T *output,
                             size_t count) {
  return answer(name, [&] {
    fill(generator, output, count, words<T>,
         [](uint64_t seed, uint64_t place, uint64_t i) { return uniform_at<T>(seed, place, i); });
  });
}

// Numbers come in pairs, so there has to be an even number of them.
template <typename T>
hiprandStatus_t fill_normal(const char *name, hiprandGenerator_t generator, T *output,
                            size_t count, T mean, T deviation, bool logarithmic) {
  return answer(name, [&] {
    require(count % 2 == 0, HIPRAND_STATUS_LENGTH_NOT_MULTIPLE);
    fill(generator, output, count, words<T>, [=](uint64_t seed, uint64_t place, uint64_t i) {
      const T value = mean + deviation * normal_at<T>(seed, place, i);
      return logarithmic ? std::exp(value) : value;
    });
  });
}

}  // namespace

}  // namespace hipcpu::rand

using namespace hipcpu::rand;

API hiprandCreateGenerator(hiprandGenerator_t *generator, hiprandRngType_t kind) {
  return answer(__func__, [&] {
    require(generator != nullptr, HIPRAND_STATUS_OUT_OF_RANGE);
    require(kind >= HIPRAND_RNG_PSEUDO_DEFAULT && kind <= HIPRAND_RNG_PSEUDO_PHILOX4_32_10,
            HIPRAND_STATUS_TYPE_ERROR);
    *generator = new hiprandGenerator_st;
  });
}

API hiprandDestroyGenerator(hiprandGenerator_t generator) {
  return answer(__func__, [&] {
    require(generator != nullptr, HIPRAND_STATUS_NOT_INITIALIZED);
    delete generator;
  });
}

API hiprandGetVersion(int *version) {
  return answer(__func__, [&] {
    require(version != nullptr, HIPRAND_STATUS_OUT_OF_RANGE);
    *version = 300000;
  });
}

API hiprandSetStream(hiprandGenerator_t generator, hipStream_t stream) {
  return answer(__func__, [&] {
    require(generator != nullptr, HIPRAND_STATUS_NOT_INITIALIZED);
    generator->stream = stream;
  });
}

API hiprandSetPseudoRandomGeneratorSeed(hiprandGenerator_t generator, unsigned long long seed) {
  return answer(__func__, [&] {
    require(generator != nullptr, HIPRAND_STATUS_NOT_INITIALIZED);
    generator->seed = seed;
    generator->place = 0;
  });
}

API hiprandSetGeneratorOffset(hiprandGenerator_t generator, unsigned long long offset) {
  return answer(__func__, [&] {
    require(generator != nullptr, HIPRAND_STATUS_NOT_INITIALIZED);
    generator->place = offset;
  });
}

API hiprandGenerate(hiprandGenerator_t generator, unsigned *output, size_t count) {
  return answer(__func__, [&] {
    fill(generator, output, count, 1,
         [](uint64_t seed, uint64_t place, uint64_t i) { return word_at(seed, place + i); });
  });
}

API hiprandGenerateUniform(hiprandGenerator_t generator, float *output, size_t count) {
  return fill_uniform(__func__, generator, output, count);
}

API hiprandGenerateUniformDouble(hiprandGenerator_t generator, double *output, size_t count) {
  return fill_uniform(__func__, generator, output, count);
}

API hiprandGenerateNormal(hiprandGenerator_t generator, float *output, size_t count, float mean,
                          float deviation) {
  return fill_normal(__func__, generator, output, count, mean, deviation, false);
}

API hiprandGenerateNormalDouble(hiprandGenerator_t generator, double *output, size_t count,
                                double mean, double deviation) {
  return fill_normal(__func__, generator, output, count, mean, deviation, false);
}

API hiprandGenerateLogNormal(hiprandGenerator_t generator, float *output, size_t count, float mean,
                             float deviation) {
  return fill_normal(__func__, generator, output, count, mean, deviation, true);
}

API hiprandGenerateLogNormalDouble(hiprandGenerator_t generator, double *output, size_t count,
                                   double mean, double deviation) {
  return fill_normal(__func__, generator, output, count, mean, deviation, true);
}
