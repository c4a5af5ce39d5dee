// Loaded code objects and their kernels.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "answer.h"
#include "code_object.h"

namespace hipcpu {

class LoadedModule;

struct Function {
  const Kernel *kernel;
  const LoadedModule *module;
};

class LoadedModule {
 public:
  // Throws what `code_object` does, and hipErrorInvalidImage where it cannot be loaded.
  LoadedModule(const void *data, int device);
  ~LoadedModule();
  LoadedModule(const LoadedModule &) = delete;
  LoadedModule &operator=(const LoadedModule &) = delete;

  const int device;

  // The kernel whose symbol has this name; null where there is none.
  const Function *by_symbol(const char *name) const;
  // The kernel with this signature.
  const Function *by_signature(const char *signature) const;
  // The variable of this name and its size; null where there is none.
  void *variable(const char *name, size_t *bytes) const;

  unsigned wavefront() const { return table_->wavefront; }

 private:
  int file_ = -1;
  void *library_ = nullptr;
  const Module *table_ = nullptr;
  std::map<std::string, Function> by_signature_;
  std::map<const void *, const Function *> by_address_;
  mutable std::set<const char *> variables_;  // that were asked for
};

// Whether the bytes are of a variable that a loaded module was asked for: a device has them.
bool is_variable(const void *address, size_t bytes);

// Throws hipErrorInvalidHandle for what is no kernel of a loaded module.
const Function &function_of(hipFunction_t handle);

// The kernel that a function in the host program stands for, on a device; what it was registered
// with is loaded when it is first asked for. Throws hipErrorInvalidDeviceFunction.
const Function &registered_function(const void *host_function, int device);

}  // namespace hipcpu
