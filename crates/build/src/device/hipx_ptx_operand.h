// The operands of PTX instructions (`hipx_ptx.h`): a register has a size and no type.
#pragma once

#include "hipx.h"

namespace hipx {
namespace ptx {

typedef unsigned short b16;
typedef unsigned b32;
typedef unsigned long long b64;

// The bits of an operand as another type of its size.
template <typename To, typename From>
HIPX_DEVICE To as(From from) {
  static_assert(sizeof(To) == sizeof(From), "a PTX operand of another size");
  To to;
  __builtin_memcpy((void *)&to, &from, sizeof to);
  return to;
}

// What an instruction writes to `_`.
struct ignored {};

template <typename D, typename V>
HIPX_DEVICE void set(D &d, V value) {
  d = as<D>(value);
}
template <typename V>
HIPX_DEVICE void set(ignored &, V) {}

#define HIPX_PTX_UNARY(NAME, A, RESULT) \
  template <typename D, typename X>     \
  HIPX_DEVICE void NAME(D &&d, X x) {   \
    const A a = as<A>(x);               \
    set(d, RESULT);                     \
  }
#define HIPX_PTX_BINARY(NAME, A, B, RESULT)     \
  template <typename D, typename X, typename Y> \
  HIPX_DEVICE void NAME(D &&d, X x, Y y) {      \
    const A a = as<A>(x);                       \
    const B b = as<B>(y);                       \
    set(d, RESULT);                             \
  }
#define HIPX_PTX_TERNARY(NAME, A, B, C, RESULT)             \
  template <typename D, typename X, typename Y, typename Z> \
  HIPX_DEVICE void NAME(D &&d, X x, Y y, Z z) {             \
    const A a = as<A>(x);                                   \
    const B b = as<B>(y);                                   \
    const C c = as<C>(z);                                   \
    set(d, RESULT);                                         \
  }

}  // namespace ptx
}  // namespace hipx
