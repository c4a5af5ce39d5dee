// Vectors of up to four numbers, with HIP's names and operators.
#pragma once

#include <hip/hip_runtime_api.h>

#include <type_traits>

template <typename T, unsigned N>
struct HIP_vector_type;

template <typename T>
struct HIP_vector_type<T, 1> {
  T x;
  HIP_vector_type() = default;
  constexpr HIP_vector_type(T x) : x(x) {}
};

template <typename T>
struct alignas(2 * sizeof(T)) HIP_vector_type<T, 2> {
  T x, y;
  HIP_vector_type() = default;
  explicit constexpr HIP_vector_type(T all) : x(all), y(all) {}
  constexpr HIP_vector_type(T x, T y) : x(x), y(y) {}
};

template <typename T>
struct HIP_vector_type<T, 3> {
  T x, y, z;
  HIP_vector_type() = default;
  explicit constexpr HIP_vector_type(T all) : x(all), y(all), z(all) {}
  constexpr HIP_vector_type(T x, T y, T z) : x(x), y(y), z(z) {}
  template <typename U = T, typename = std::enable_if_t<std::is_same<U, unsigned>::value>>
  operator dim3() const {
    return dim3(x, y, z);
  }
};

template <typename T>
struct alignas(4 * sizeof(T)) HIP_vector_type<T, 4> {
  T x, y, z, w;
  HIP_vector_type() = default;
  explicit constexpr HIP_vector_type(T all) : x(all), y(all), z(all), w(all) {}
  constexpr HIP_vector_type(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {}
};

// An operator on two vectors, and on a vector and a number on either side.
#define HIPCPU_VECTOR_OPERATOR(OP)                                                              \
  template <typename T, unsigned N>                                                             \
  constexpr HIP_vector_type<T, N> &operator OP##=(HIP_vector_type<T, N> &a,                     \
                                                  const HIP_vector_type<T, N> &b) {             \
    a.x OP##= b.x;                                                                             \
    if constexpr (N > 1) a.y OP##= b.y;                                                        \
    if constexpr (N > 2) a.z OP##= b.z;                                                        \
    if constexpr (N > 3) a.w OP##= b.w;                                                        \
    return a;                                                                                   \
  }                                                                                             \
  template <typename T, unsigned N>                                                             \
  constexpr HIP_vector_type<T, N> operator OP(HIP_vector_type<T, N> a,                          \
                                              const HIP_vector_type<T, N> &b) {                 \
    return a OP##= b;                                                                          \
  }                                                                                             \
  template <typename T, unsigned N, typename U,                                                 \
            typename = std::enable_if_t<std::is_arithmetic<U>::value>>                          \
  constexpr HIP_vector_type<T, N> operator OP(HIP_vector_type<T, N> a, U b) {                   \
    return a OP##= HIP_vector_type<T, N>(static_cast<T>(b));                                   \
  }                                                                                             \
  template <typename T, unsigned N, typename U,                                                 \
            typename = std::enable_if_t<std::is_arithmetic<U>::value>>                          \
  constexpr HIP_vector_type<T, N> operator OP(U a, const HIP_vector_type<T, N> &b) {            \
    HIP_vector_type<T, N> all(static_cast<T>(a));                                               \
    return all OP##= b;                                                                        \
  }
HIPCPU_VECTOR_OPERATOR(+)
HIPCPU_VECTOR_OPERATOR(-)
HIPCPU_VECTOR_OPERATOR(*)
HIPCPU_VECTOR_OPERATOR(/)
#undef HIPCPU_VECTOR_OPERATOR

template <typename T, unsigned N>
constexpr HIP_vector_type<T, N> operator-(const HIP_vector_type<T, N> &a) {
  return HIP_vector_type<T, N>(T(0)) - a;
}

template <typename T, unsigned N>
constexpr bool operator==(const HIP_vector_type<T, N> &a, const HIP_vector_type<T, N> &b) {
  bool equal = a.x == b.x;
  if constexpr (N > 1) equal = equal && a.y == b.y;
  if constexpr (N > 2) equal = equal && a.z == b.z;
  if constexpr (N > 3) equal = equal && a.w == b.w;
  return equal;
}

template <typename T, unsigned N>
constexpr bool operator!=(const HIP_vector_type<T, N> &a, const HIP_vector_type<T, N> &b) {
  return !(a == b);
}

#define HIPCPU_VECTOR(T, NAME)                                                       \
  using NAME##1 = HIP_vector_type<T, 1>;                                             \
  using NAME##2 = HIP_vector_type<T, 2>;                                             \
  using NAME##3 = HIP_vector_type<T, 3>;                                             \
  using NAME##4 = HIP_vector_type<T, 4>;                                             \
  constexpr NAME##1 make_##NAME##1(T x) { return {x}; }                              \
  constexpr NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                      \
  constexpr NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; }              \
  constexpr NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }
HIPCPU_VECTOR(signed char, char)
HIPCPU_VECTOR(unsigned char, uchar)
HIPCPU_VECTOR(short, short)
HIPCPU_VECTOR(unsigned short, ushort)
HIPCPU_VECTOR(int, int)
HIPCPU_VECTOR(unsigned, uint)
HIPCPU_VECTOR(long, long)
HIPCPU_VECTOR(unsigned long, ulong)
HIPCPU_VECTOR(long long, longlong)
HIPCPU_VECTOR(unsigned long long, ulonglong)
HIPCPU_VECTOR(float, float)
HIPCPU_VECTOR(double, double)
#undef HIPCPU_VECTOR
