#include "values.h"

#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <string.h>

#include <algorithm>
#include <type_traits>

namespace hipcpu::coll {

namespace {

// The type that values are reduced in.
template <typename T>
struct Wide {
  using type = T;
};
template <>
struct Wide<__half> {
  using type = float;
};
template <>
struct Wide<__hip_bfloat16> {
  using type = float;
};

template <typename T>
T value(const char *from, size_t place) {
  T found;
  memcpy(&found, from + place * sizeof(T), sizeof(T));
  return found;
}

// Products and sums without the overflow that C++ leaves undefined.
template <typename W>
W times(W a, W b) {
  if constexpr (std::is_integral<W>::value) {
    return static_cast<W>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

template <typename W>
W plus(W a, W b) {
  if constexpr (std::is_integral<W>::value) {
    return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

template <typename T>
void put(char *to, size_t place, typename Wide<T>::type wide) {
  const T rounded = static_cast<T>(wide);
  memcpy(to + place * sizeof(T), &rounded, sizeof(T));
}

template <typename T>
void reduce_as(int op, const std::vector<const char *> &ranks, size_t count, char *out) {
  using W = typename Wide<T>::type;
  for (size_t i = 0; i < count; ++i) {
    W all{};
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      const W one = static_cast<W>(value<T>(ranks[rank], i));
      if (rank == 0) {
        all = one;
      } else if (op == ncclProd) {
        all = times(all, one);
      } else if (op == ncclMax) {
        all = std::max(all, one);
      } else if (op == ncclMin) {
        all = std::min(all, one);
      } else {
        all = plus(all, one);
      }
    }
    if (op == ncclAvg) all = static_cast<W>(all / static_cast<W>(ranks.size()));
    put<T>(out, i, all);
  }
}

template <typename T>
void scale_as(const char *scalar, size_t count, char *values) {
  using W = typename Wide<T>::type;
  const W factor = static_cast<W>(value<T>(scalar, 0));
  for (size_t i = 0; i < count; ++i) {
    put<T>(values, i, times(static_cast<W>(value<T>(values, i)), factor));
  }
}

// Calls `body` with a value of the type.
template <typename Body>
void with_type(ncclDataType_t datatype, Body body) {
  switch (datatype) {
    case ncclInt8: return body(int8_t());
    case ncclUint8: return body(uint8_t());
    case ncclInt32: return body(int32_t());
    case ncclUint32: return body(uint32_t());
    case ncclInt64: return body(int64_t());
    case ncclUint64: return body(uint64_t());
    case ncclFloat16: return body(__half());
    case ncclFloat32: return body(float());
    case ncclFloat64: return body(double());
    case ncclBfloat16: return body(__hip_bfloat16());
  }
}

}  // namespace

size_t size_of(ncclDataType_t datatype) {
  static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  require(datatype >= ncclInt8 && datatype <= ncclBfloat16, ncclInvalidArgument);
  return sizes[datatype];
}

void reduce(ncclDataType_t datatype, int op, const std::vector<const char *> &ranks, size_t count,
            char *out) {
  with_type(datatype, [&](auto type) { reduce_as<decltype(type)>(op, ranks, count, out); });
}

void scale(ncclDataType_t datatype, const char *scalar, size_t count, char *values) {
  with_type(datatype, [&](auto type) { scale_as<decltype(type)>(scalar, count, values); });
}

}  // namespace hipcpu::coll
