#include "module.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <set>
#include <vector>

#include "../check/checker.h"
#include "device.h"
#include "stream.h"

namespace hipcpu {

namespace {

struct Functions {
  std::mutex mutex;
  std::set<const Function *> alive;
  std::map<const char *, size_t> variables;  // bytes by address
};

Functions &functions() {
  static Functions *functions = new Functions;
  return *functions;
}

// A file that holds an image and has a name for the dynamic loader.
int file_of(const Image &image) {
  const int file = memfd_create("code-object", MFD_CLOEXEC);
  require(file >= 0, hipErrorOperatingSystem);
  for (size_t done = 0; done < image.bytes;) {
    const ssize_t written = write(file, image.begin + done, image.bytes - done);
    if (written <= 0) {
      close(file);
      throw Failure{hipErrorOperatingSystem};
    }
    done += static_cast<size_t>(written);
  }
  return file;
}

// Why the table of a code object is of no use; null where it is.
const char *problem_of(const Module &table) {
  if (table.abi != abi_version) return "it was compiled for another version of the CPU device";
  if (check::enabled() && !table.checked) return "it was compiled without checks";
  return nullptr;
}

void complain(const char *what) { fprintf(stderr, "HIP device: a code object: %s\n", what); }

}  // namespace

LoadedModule::LoadedModule(const void *data, int device) : device(device) {
  file_ = file_of(code_object(data, hipcpu::device(device).arch));
  const std::string path = "/proc/self/fd/" + std::to_string(file_);
  // The file stays open: the loader knows libraries by their names, and a name that is given again
  // would stand for the old one.
  library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto table = library_ == nullptr
                         ? nullptr
                         : reinterpret_cast<const Module *(*)()>(dlsym(library_, "hipcpu_module"));
  const char *problem = library_ == nullptr ? dlerror()
                        : table == nullptr  ? "it was not compiled for the CPU device"
                                            : problem_of(*(table_ = table()));
  if (problem != nullptr) {
    complain(problem);
    if (library_ != nullptr) dlclose(library_);
    close(file_);
    throw Failure{hipErrorInvalidImage};
  }
  std::lock_guard<std::mutex> lock(functions().mutex);
  for (const Kernel *kernel = table_->kernels; kernel != nullptr; kernel = kernel->next) {
    know_kernel(kernel->name);
    const auto [entry, fresh] = by_signature_.emplace(kernel->signature, Function{kernel, this});
    if (!fresh) continue;
    by_address_[kernel->address] = &entry->second;
    functions().alive.insert(&entry->second);
  }
}

LoadedModule::~LoadedModule() {
  {
    std::lock_guard<std::mutex> lock(functions().mutex);
    for (const auto &[signature, function] : by_signature_) functions().alive.erase(&function);
    for (const char *address : variables_) functions().variables.erase(address);
  }
  dlclose(library_);
  close(file_);
}

const Function *LoadedModule::by_symbol(const char *name) const {
  const auto found = by_address_.find(dlsym(library_, name));
  return found == by_address_.end() ? nullptr : found->second;
}

const Function *LoadedModule::by_signature(const char *signature) const {
  const auto found = by_signature_.find(signature);
  return found == by_signature_.end() ? nullptr : &found->second;
}

void *LoadedModule::variable(const char *name, size_t *bytes) const {
  void *address = dlsym(library_, name);
  Dl_info info;
  const ElfW(Sym) *symbol = nullptr;
  if (address == nullptr || by_address_.count(address) > 0 ||
      dladdr1(address, &info, reinterpret_cast<void **>(const_cast<ElfW(Sym) **>(&symbol)),
              RTLD_DL_SYMENT) == 0 ||
      symbol == nullptr) {
    return nullptr;
  }
  *bytes = symbol->st_size;
  std::lock_guard<std::mutex> lock(functions().mutex);
  variables_.insert(static_cast<const char *>(address));
  functions().variables[static_cast<const char *>(address)] = *bytes;
  return address;
}

bool is_variable(const void *address, size_t bytes) {
  const auto *at = static_cast<const char *>(address);
  std::lock_guard<std::mutex> lock(functions().mutex);
  auto after = functions().variables.upper_bound(at);
  if (after == functions().variables.begin()) return false;
  const auto &[begin, size] = *--after;
  return at + bytes <= begin + size;
}

const Function &function_of(hipFunction_t handle) {
  const auto *function = reinterpret_cast<const Function *>(handle);
  std::lock_guard<std::mutex> lock(functions().mutex);
  require(functions().alive.count(function) > 0, hipErrorInvalidHandle);
  return *function;
}

namespace {

LoadedModule *module_of(hipModule_t handle) {
  require(handle != nullptr, hipErrorInvalidHandle);
  return reinterpret_cast<LoadedModule *>(handle);
}

void load(hipModule_t *module, const void *image) {
  require(module != nullptr && image != nullptr, hipErrorInvalidValue);
  *module = reinterpret_cast<hipModule_t>(new LoadedModule(image, current_device()));
}

}  // namespace

}  // namespace hipcpu

using namespace hipcpu;

HIP_EXPORT hipError_t hipModuleLoadData(hipModule_t *module, const void *image) {
  return answer(__func__, [&] { load(module, image); });
}

HIP_EXPORT hipError_t hipModuleLoadDataEx(hipModule_t *module, const void *image, unsigned, void *,
                                          void **) {
  return answer(__func__, [&] { load(module, image); });
}

HIP_EXPORT hipError_t hipModuleLoad(hipModule_t *module, const char *path) {
  return answer(__func__, [&] {
    require(path != nullptr, hipErrorInvalidValue);
    FILE *file = fopen(path, "rb");
    require(file != nullptr, hipErrorFileNotFound);
    std::vector<char> image;
    char part[65536];
    for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;) {
      image.insert(image.end(), part, part + n);
    }
    fclose(file);
    require(image.size() > 64, hipErrorInvalidImage);
    load(module, image.data());
  });
}

HIP_EXPORT hipError_t hipModuleUnload(hipModule_t module) {
  return answer(__func__, [&] {
    LoadedModule *loaded = module_of(module);
    wait_for_device(loaded->device);
    delete loaded;
  });
}

HIP_EXPORT hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module,
                                           const char *name) {
  return answer(__func__, [&] {
    require(function != nullptr && name != nullptr, hipErrorInvalidValue);
    require(*name != '\0', hipErrorNotFound);
    const Function *found = module_of(module)->by_symbol(name);
    require(found != nullptr, hipErrorNotFound);
    *function = reinterpret_cast<hipFunction_t>(const_cast<Function *>(found));
  });
}

HIP_EXPORT hipError_t hipModuleGetGlobal(hipDeviceptr_t *pointer, size_t *bytes,
                                         hipModule_t module, const char *name) {
  return answer(__func__, [&] {
    require(name != nullptr && (pointer != nullptr || bytes != nullptr), hipErrorInvalidValue);
    size_t size = 0;
    void *address = module_of(module)->variable(name, &size);
    require(address != nullptr, hipErrorNotFound);
    if (pointer != nullptr) *pointer = address;
    if (bytes != nullptr) *bytes = size;
  });
}
