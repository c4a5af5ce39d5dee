#include "division.h"

#include <stdint.h>

namespace hipcpu {

#if defined(__x86_64__)

namespace {

// The length of the operand that follows an opcode, by its ModRM byte (Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 2, 2.1.5).
int operand_length(const uint8_t *modrm) {
  const int mode = *modrm >> 6, base = *modrm & 7;
  if (mode == 3) return 1;
  const bool scaled = base == 4;
  int length = scaled ? 2 : 1;
  if (mode == 1) length += 1;
  if (mode == 2 || (mode == 0 && (base == 5 || (scaled && (modrm[1] & 7) == 5)))) length += 4;
  return length;
}

}  // namespace

bool skip_division(ucontext_t *context) {
  auto &registers = context->uc_mcontext.gregs;
  const auto *begin = reinterpret_cast<const uint8_t *>(registers[REG_RIP]);
  const uint8_t *at = begin;
  bool half = false, wide = false;
  if (*at == 0x66) {
    half = true;
    ++at;
  }
  if ((*at & 0xf0) == 0x40) wide = (*at++ & 8) != 0;
  const bool byte = *at == 0xf6;
  if (!byte && *at != 0xf7) return false;
  ++at;
  const int operation = *at >> 3 & 7;  // 6: unsigned, 7: signed
  if (operation < 6) return false;
  const uint64_t dividend = static_cast<uint64_t>(registers[REG_RAX]);
  if (byte) {  // AX by a byte: AL is the quotient, AH the remainder
    registers[REG_RAX] =
        static_cast<greg_t>((dividend & ~uint64_t{0xffff}) | 0xff | (dividend & 0xff) << 8);
  } else {
    const uint64_t mask = wide ? ~uint64_t{0} : half ? 0xffff : 0xffffffff;
    const uint64_t kept = half ? ~mask : 0;  // writing 32 bits clears the others
    registers[REG_RAX] = static_cast<greg_t>((dividend & kept) | mask);
    registers[REG_RDX] = static_cast<greg_t>(
        (static_cast<uint64_t>(registers[REG_RDX]) & kept) | (dividend & mask));
  }
  registers[REG_RIP] += at - begin + operand_length(at);
  return true;
}

#else

// Others give a number themselves.
bool skip_division(ucontext_t *) { return false; }

#endif

}  // namespace hipcpu
