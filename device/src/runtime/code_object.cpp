#include "code_object.h"

#include <elf.h>
#include <string.h>

#include <algorithm>

#include "answer.h"

namespace hipcpu {

namespace {

// Clang's offload bundle (Clang documentation, "Clang Offload Bundler", "Bundled Binary File
// Layout"): the magic, the number of entries, and for each its offset, its size, the length of its
// name, its name.
constexpr char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
constexpr size_t magic_size = sizeof magic - 1;

uint64_t number(const char *at) {
  uint64_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

// Of "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-" what follows the four parts of the triple.
std::string target_of(const std::string &entry) {
  const size_t after = entry.find("--");
  return entry.rfind("hip", 0) == 0 && after != std::string::npos ? entry.substr(after + 2) : "";
}

Image from_bundle(const char *data, const Arch &arch) {
  const char *at = data + magic_size;
  const uint64_t entries = number(at);
  at += 8;
  Image best{nullptr, 0};
  int suited = 0;
  bool generic = false;
  for (uint64_t i = 0; i < entries; ++i) {
    const Image entry{data + number(at), number(at + 8)};
    const uint64_t length = number(at + 16);
    const std::string target = target_of(std::string(at + 24, length));
    generic = generic || target.find("-generic") != std::string::npos;
    const int suit = suits(target, arch);
    if (suit > suited) {
      suited = suit;
      best = entry;
    }
    at += 24 + length;
  }
  // HIP 6.4.3 looks for generic targets in another way, which has an answer of its own
  // (`FatBinaryInfo::ExtractFatBinary`, clr's hip_fatbin.cpp).
  if (suited == 0) throw NoCode{{generic ? hipErrorNoBinaryForGpu : hipErrorInvalidValue}};
  return best;
}

}  // namespace

Image code_object(const void *data, const Arch &arch) {
  const auto *begin = static_cast<const char *>(data);
  if (memcmp(begin, magic, magic_size) == 0) return from_bundle(begin, arch);
  require(memcmp(begin, ELFMAG, SELFMAG) == 0 && begin[EI_CLASS] == ELFCLASS64,
          hipErrorInvalidImage);
  Elf64_Ehdr header;
  memcpy(&header, begin, sizeof header);
  // The table of sections is the last thing that linkers write.
  const uint64_t sections = header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize;
  const uint64_t segments = header.e_phoff + uint64_t{header.e_phnum} * header.e_phentsize;
  return {begin, std::max(sections, segments)};
}

}  // namespace hipcpu
