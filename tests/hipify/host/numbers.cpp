// Reads commands, one a line, and prints results: the fp8 conversions and the byte intrinsics.
#include "hipx.h"
#include "hipx_bytes.h"
#include "hipx_fp8.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string_view>

template <typename To, typename From>
To bits(From from) {
  To to;
  static_assert(sizeof to == sizeof from);
  std::memcpy(&to, &from, sizeof to);
  return to;
}

int main() {
  char word[32];
  uint64_t a, b, c;
  while (std::scanf("%31s %" SCNx64 " %" SCNx64 " %" SCNx64, word, &a, &b, &c) == 4) {
    const std::string_view command = word;
    const unsigned x = (unsigned)a, y = (unsigned)b, z = (unsigned)c;
    unsigned result = 0;
    if (command == "f32_e4m3") result = hipx::fp8_e4m3(bits<float>(x)).__x;
    if (command == "f32_e5m2") result = hipx::fp8_e5m2(bits<float>(x)).__x;
    if (command == "f64_e4m3") result = hipx::fp8_e4m3(bits<double>(a)).__x;
    if (command == "f64_e5m2") result = hipx::fp8_e5m2(bits<double>(a)).__x;
    if (command == "e4m3_f32") result = bits<unsigned>(hipx::fp8_to_float((unsigned char)x, hipx::E4M3));
    if (command == "e5m2_f32") result = bits<unsigned>(hipx::fp8_to_float((unsigned char)x, hipx::E5M2));
    if (command == "dp4a") result = (unsigned)hipx::dp4a((int)x, (int)y, (int)z);
    if (command == "dp4a_u") result = hipx::dp4a(x, y, z);
    if (command == "vsubss4") result = hipx::vsubss4(x, y);
    if (command == "vaddss4") result = hipx::vaddss4(x, y);
    if (command == "vsub4") result = hipx::vsub4(x, y);
    if (command == "vadd4") result = hipx::vadd4(x, y);
    if (command == "vcmpne4") result = hipx::vcmpne4(x, y);
    if (command == "vcmpeq4") result = hipx::vcmpeq4(x, y);
    std::printf("%08x\n", result);
  }
}
