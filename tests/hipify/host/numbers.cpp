// Reads commands, one a line, and prints results: the fp8 conversions, the byte intrinsics and the
// extremes of bfloat16.
#include "hipx.h"
#include "lanes.h"

// HIP headers, amd_hip_bf16.h.
inline bool __hisnan(__hip_bfloat16 x) { return (float)x != (float)x; }
inline __hip_bfloat16 __hmax(__hip_bfloat16 a, __hip_bfloat16 b) {
  return (float)a < (float)b ? b : a;
}
inline __hip_bfloat16 __hmin(__hip_bfloat16 a, __hip_bfloat16 b) {
  return (float)a < (float)b ? a : b;
}

#include "hipx_bytes.h"
#include "hipx_float.h"
#include "hipx_fp8.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

template <typename To, typename From>
To bits(From from) {
  To to;
  static_assert(sizeof to == sizeof from);
  std::memcpy(&to, &from, sizeof to);
  return to;
}

__hip_bfloat16 bfloat16(unsigned code) { return bits<__hip_bfloat16>((uint16_t)code); }

// An fp8 code as each type of integer, widened with its sign.
template <typename Fp8>
uint64_t as_integer(unsigned code, std::string_view type) {
  Fp8 value;
  value.__x = (unsigned char)code;
  if (type == "bool") return (bool)value;
  if (type == "int8") return (uint64_t)(int8_t)value;
  if (type == "uint8") return (uint8_t)value;
  if (type == "int16") return (uint64_t)(int16_t)value;
  if (type == "uint16") return (uint16_t)value;
  if (type == "int32") return (uint64_t)(int32_t)value;
  if (type == "uint32") return (uint32_t)value;
  if (type == "int64") return (uint64_t)(int64_t)value;
  if (type == "uint64") return (uint64_t)value;
  std::abort();
}

int main() {
  char word[32];
  uint64_t a, b, c;
  while (std::scanf("%31s %" SCNx64 " %" SCNx64 " %" SCNx64, word, &a, &b, &c) == 4) {
    const std::string_view command = word;
    const unsigned x = (unsigned)a, y = (unsigned)b, z = (unsigned)c;
    uint64_t result = 0;
    if (command == "f32_e4m3") result = hipx::fp8_e4m3(bits<float>(x)).__x;
    if (command == "f32_e5m2") result = hipx::fp8_e5m2(bits<float>(x)).__x;
    if (command == "f64_e4m3") result = hipx::fp8_e4m3(bits<double>(a)).__x;
    if (command == "f64_e5m2") result = hipx::fp8_e5m2(bits<double>(a)).__x;
    if (command == "e4m3_f32") result = bits<unsigned>(hipx::fp8_to_float((unsigned char)x, hipx::E4M3));
    if (command == "e5m2_f32") result = bits<unsigned>(hipx::fp8_to_float((unsigned char)x, hipx::E5M2));
    if (command == "double_e4m3") result = bits<uint64_t>((double)bits<hipx::fp8_e4m3>((uint8_t)x));
    if (command == "double_e5m2") result = bits<uint64_t>((double)bits<hipx::fp8_e5m2>((uint8_t)x));
    if (command == "int64_e4m3") result = hipx::fp8_e4m3((int64_t)a).__x;
    if (command == "int64_e5m2") result = hipx::fp8_e5m2((int64_t)a).__x;
    if (command.starts_with("e4m3_as_")) result = as_integer<hipx::fp8_e4m3>(x, command.substr(8));
    if (command.starts_with("e5m2_as_")) result = as_integer<hipx::fp8_e5m2>(x, command.substr(8));
    if (command == "max_nan") result = __hmax_nan(bfloat16(x), bfloat16(y)).bits;
    if (command == "min_nan") result = __hmin_nan(bfloat16(x), bfloat16(y)).bits;
    if (command == "dp4a") result = (unsigned)hipx::dp4a((int)x, (int)y, (int)z);
    if (command == "dp4a_u") result = hipx::dp4a(x, y, z);
    if (command == "vsubss4") result = hipx::vsubss4(x, y);
    if (command == "vaddss4") result = hipx::vaddss4(x, y);
    if (command == "vsub4") result = hipx::vsub4(x, y);
    if (command == "vadd4") result = hipx::vadd4(x, y);
    if (command == "vcmpne4") result = hipx::vcmpne4(x, y);
    if (command == "vcmpeq4") result = hipx::vcmpeq4(x, y);
    std::printf("%" PRIx64 "\n", result);
  }
}
