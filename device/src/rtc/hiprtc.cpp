// hipRTC: the stand-in for hipcc beside this library compiles, in a process of its own.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "../runtime/device_work.h"

enum hiprtcResult : int {
  HIPRTC_SUCCESS = 0,
  HIPRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
  HIPRTC_ERROR_INVALID_INPUT = 3,
  HIPRTC_ERROR_INVALID_PROGRAM = 4,
  HIPRTC_ERROR_COMPILATION = 6,
  HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
  HIPRTC_ERROR_INTERNAL_ERROR = 11,
};

struct _hiprtcProgram {
  struct File {
    std::string name, text;
  };
  File source;
  std::vector<File> headers;
  std::string log, code;
};
using hiprtcProgram = _hiprtcProgram *;

#define API extern "C" __attribute__((visibility("default"))) hiprtcResult

namespace hipcpu::rtc {

namespace {

struct Failure {
  hiprtcResult status;
};

void require(bool holds, hiprtcResult otherwise) {
  if (!holds) throw Failure{otherwise};
}

template <typename Body>
hiprtcResult answer(const char *name, Body body) {
  count_library_call(name);
  try {
    body();
  } catch (const Failure &failure) {
    return failure.status;
  }
  return HIPRTC_SUCCESS;
}

// The folder of a compilation, which goes with it.
class Scratch {
 public:
  Scratch() {
    char pattern[] = "/tmp/hiprtc-XXXXXX";
    require(mkdtemp(pattern) != nullptr, HIPRTC_ERROR_INTERNAL_ERROR);
    folder_ = pattern;
  }
  ~Scratch() {
    const std::string command = "rm -rf '" + folder_ + "'";
    if (system(command.c_str()) != 0) return;  // it is in the way of nobody
  }
  std::string path(const std::string &name) const { return folder_ + "/" + name; }

  void write(const std::string &name, const std::string &text) const {
    require(name.find("..") == std::string::npos, HIPRTC_ERROR_INVALID_INPUT);
    for (size_t slash = name.find('/'); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
      mkdir(path(name.substr(0, slash)).c_str(), 0700);
    }
    FILE *file = fopen(path(name).c_str(), "w");
    require(file != nullptr, HIPRTC_ERROR_INTERNAL_ERROR);
    fwrite(text.data(), 1, text.size(), file);
    fclose(file);
  }

  std::string read(const std::string &name) const {
    std::string text;
    if (FILE *file = fopen(path(name).c_str(), "r")) {
      char part[65536];
      for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;) text.append(part, n);
      fclose(file);
    }
    return text;
  }

 private:
  std::string folder_;
};

std::string quoted(const std::string &text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string compiler() {
  Dl_info self;
  require(dladdr(reinterpret_cast<void *>(&compiler), &self) != 0, HIPRTC_ERROR_INTERNAL_ERROR);
  const std::string library = self.dli_fname;
  const char *check = getenv("PORTKIT_DEVICE_CHECK");  // it loads watched kernels alone
  const bool checked = check != nullptr && std::string(check) == "1";
  return library.substr(0, library.rfind('/')) + "/../bin/" + (checked ? "hipcc-checked" : "hipcc");
}

std::string own_arch() {
  hipDeviceProp_t properties;
  require(hipGetDeviceProperties(&properties, 0) == hipSuccess, HIPRTC_ERROR_INTERNAL_ERROR);
  return properties.gcnArchName;
}

void compile(hiprtcProgram program, const std::vector<std::string> &options) {
  const Scratch scratch;
  for (const auto &header : program->headers) scratch.write(header.name, header.text);
  // As hipRTC does it: what HIP has is there without an #include.
  const std::string first = "#include <hip/hip_runtime.h>\n#line 1 \"" + program->source.name + "\"\n";
  scratch.write("hiprtc-source.hip", first + program->source.text);
  std::string command = "cd " + quoted(scratch.path("")) + " && " + quoted(compiler()) +
                        " -c --offload-device-only --no-gpu-bundle-output -D__HIPCC_RTC__=1 -I.";
  bool has_arch = false;
  for (const std::string &option : options) {
    const bool is_arch = option.rfind("--offload-arch=", 0) == 0 ||
                         option.rfind("--gpu-architecture=", 0) == 0;
    has_arch |= is_arch;
    command += " " + quoted(is_arch ? "--offload-arch=" + option.substr(option.find('=') + 1)
                                    : option);
  }
  if (!has_arch) command += " --offload-arch=" + quoted(own_arch());
  command += " hiprtc-source.hip -o code > log 2>&1";
  const int status = system(command.c_str());
  program->log = scratch.read("log");
  program->code = status == 0 ? scratch.read("code") : "";
  require(status == 0, HIPRTC_ERROR_COMPILATION);
}

}  // namespace

}  // namespace hipcpu::rtc

using namespace hipcpu::rtc;

API hiprtcVersion(int *major, int *minor) {
  return answer(__func__, [&] {
    require(major != nullptr && minor != nullptr, HIPRTC_ERROR_INVALID_INPUT);
    *major = 9;
    *minor = 0;
  });
}

API hiprtcCreateProgram(hiprtcProgram *program, const char *source, const char *name, int count,
                        const char **headers, const char **names) {
  return answer(__func__, [&] {
    require(program != nullptr && source != nullptr, HIPRTC_ERROR_INVALID_INPUT);
    require(count == 0 || (headers != nullptr && names != nullptr), HIPRTC_ERROR_INVALID_INPUT);
    const bool named = name != nullptr && *name != '\0';
    auto made = new _hiprtcProgram{{named ? name : "CompileSourceXXXXXX", source}, {}, "", ""};
    for (int i = 0; i < count; ++i) made->headers.push_back({names[i], headers[i]});
    *program = made;
  });
}

API hiprtcDestroyProgram(hiprtcProgram *program) {
  return answer(__func__, [&] {
    require(program != nullptr && *program != nullptr, HIPRTC_ERROR_INVALID_PROGRAM);
    delete *program;
    *program = nullptr;
  });
}

API hiprtcCompileProgram(hiprtcProgram program, int count, const char **options) {
  return answer(__func__, [&] {
    require(program != nullptr, HIPRTC_ERROR_INVALID_PROGRAM);
    require(count == 0 || options != nullptr, HIPRTC_ERROR_INVALID_INPUT);
    compile(program, std::vector<std::string>(options, options + count));
  });
}

API hiprtcGetProgramLogSize(hiprtcProgram program, size_t *bytes) {
  return answer(__func__, [&] {
    require(program != nullptr && bytes != nullptr, HIPRTC_ERROR_INVALID_INPUT);
    *bytes = program->log.size() + 1;
  });
}

API hiprtcGetProgramLog(hiprtcProgram program, char *log) {
  return answer(__func__, [&] {
    require(program != nullptr && log != nullptr, HIPRTC_ERROR_INVALID_INPUT);
    memcpy(log, program->log.c_str(), program->log.size() + 1);
  });
}

API hiprtcGetCodeSize(hiprtcProgram program, size_t *bytes) {
  return answer(__func__, [&] {
    require(program != nullptr && bytes != nullptr, HIPRTC_ERROR_INVALID_INPUT);
    require(!program->code.empty(), HIPRTC_ERROR_INVALID_PROGRAM);
    *bytes = program->code.size();
  });
}

API hiprtcGetCode(hiprtcProgram program, char *code) {
  return answer(__func__, [&] {
    require(program != nullptr && code != nullptr, HIPRTC_ERROR_INVALID_INPUT);
    require(!program->code.empty(), HIPRTC_ERROR_INVALID_PROGRAM);
    memcpy(code, program->code.data(), program->code.size());
  });
}

extern "C" __attribute__((visibility("default"))) const char *hiprtcGetErrorString(
    hiprtcResult status) {
  switch (status) {
    case HIPRTC_SUCCESS: return "HIPRTC_SUCCESS";
    case HIPRTC_ERROR_PROGRAM_CREATION_FAILURE: return "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE";
    case HIPRTC_ERROR_INVALID_INPUT: return "HIPRTC_ERROR_INVALID_INPUT";
    case HIPRTC_ERROR_INVALID_PROGRAM: return "HIPRTC_ERROR_INVALID_PROGRAM";
    case HIPRTC_ERROR_COMPILATION: return "HIPRTC_ERROR_COMPILATION";
    case HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION:
      return "HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION";
    case HIPRTC_ERROR_INTERNAL_ERROR: return "HIPRTC_ERROR_INTERNAL_ERROR";
  }
  return "HIPRTC_ERROR_INTERNAL_ERROR";
}
