// Functions of this library by name.
#include <dlfcn.h>

#include <string>

#include "answer.h"

using namespace hipcpu;

HIP_EXPORT hipError_t hipGetProcAddress(const char *name, void **function, int, uint64_t,
                                        void *status) {
  return answer(__func__, [&] {
    require(name != nullptr && function != nullptr, hipErrorInvalidValue);
    // Of a name with several layouts the newest.
    const std::string wanted =
        std::string(name) == "hipGetDeviceProperties" ? "hipGetDevicePropertiesR0600" : name;
    Dl_info self;
    require(dladdr(reinterpret_cast<void *>(&hipGetProcAddress), &self) != 0, hipErrorUnknown);
    void *library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    *function = library == nullptr ? nullptr : dlsym(library, wanted.c_str());
    if (library != nullptr) dlclose(library);
    // hipDriverProcAddressQueryResult: found, or no such symbol.
    if (status != nullptr) *static_cast<int *>(status) = *function == nullptr ? 1 : 0;
    require(*function != nullptr, hipErrorInvalidValue);
  });
}
