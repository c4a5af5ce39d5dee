// bfloat16: the upper half of a float, rounded to nearest, ties to even.
struct bf16 {
  unsigned short bits;
};

static inline __device__ float to_float(bf16 x) {
  return __builtin_bit_cast(float, static_cast<unsigned>(x.bits) << 16);
}

static inline __device__ bf16 to_bf16(float x) {
  const unsigned bits = __builtin_bit_cast(unsigned, x);
  if (x != x) return {static_cast<unsigned short>((bits >> 16) | 0x40)};
  return {static_cast<unsigned short>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}
