#include "gpu_worker/backends/cuda/driver/nvrtc.h"

#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include <nvrtc.h>

#include "gpu_worker/backends/cuda/driver/dynamic_library.h"

namespace plait::cuda {
namespace {

// C++17 is what the kernels' texts need; the host's emulation compiles the same text.
// Sizes are constants of a text whether or not it needs each (177), and indices are compared with
// those that are zero (186): of anything else the compiler is to warn.
constexpr const char* kOptions[] = {"--std=c++17", "--extra-device-vectorization",
                                    "--diag-suppress=177,186"};

// Opened at run time, as machines that only run plans need no compiler.
struct Nvrtc {
  decltype(&nvrtcVersion) version = nullptr;
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;
  decltype(&nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&nvrtcGetCUBIN) cubin = nullptr;
  decltype(&nvrtcGetPTXSize) ptx_size = nullptr;
  decltype(&nvrtcGetPTX) ptx = nullptr;
};

Result<Nvrtc> Load() {
  const Result<DynamicLibrary> library = DynamicLibrary::Open(
      {"libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.13", "libnvrtc.so"});
  if (!library.ok()) return library.error();
  const DynamicLibrary& from = library.value();
  Nvrtc nvrtc;
  Status status = Ok();
  from.Load("nvrtcVersion", &nvrtc.version, &status);
  from.Load("nvrtcCreateProgram", &nvrtc.create, &status);
  from.Load("nvrtcDestroyProgram", &nvrtc.destroy, &status);
  from.Load("nvrtcCompileProgram", &nvrtc.compile, &status);
  from.Load("nvrtcGetProgramLogSize", &nvrtc.log_size, &status);
  from.Load("nvrtcGetProgramLog", &nvrtc.log, &status);
  from.Load("nvrtcGetCUBINSize", &nvrtc.cubin_size, &status);
  from.Load("nvrtcGetCUBIN", &nvrtc.cubin, &status);
  from.Load("nvrtcGetPTXSize", &nvrtc.ptx_size, &status);
  from.Load("nvrtcGetPTX", &nvrtc.ptx, &status);
  PLAIT_CUDA_RETURN_IF_ERROR(status);
  return nvrtc;
}

// Loading once is safe from several threads, and NVRTC compiles on several at once.
const Result<Nvrtc>& Loaded() {
  static const Result<Nvrtc> loaded = Load();
  return loaded;
}

std::string LogOf(const Nvrtc& nvrtc, nvrtcProgram program) {
  size_t size = 0;
  if (nvrtc.log_size(program, &size) != NVRTC_SUCCESS || size == 0) return "no log";
  std::string log(size, '\0');
  if (nvrtc.log(program, log.data()) != NVRTC_SUCCESS) return "no log";
  log.pop_back();  // NVRTC ends it with a zero
  return log;
}

// What a compilation gives: two functions of one form in NVRTC.
struct Product {
  const char* name;
  decltype(&nvrtcGetCUBINSize) Nvrtc::*size;
  decltype(&nvrtcGetCUBIN) Nvrtc::*bytes;
};
constexpr Product kCubin = {"cubin", &Nvrtc::cubin_size, &Nvrtc::cubin};
constexpr Product kPtx = {"PTX", &Nvrtc::ptx_size, &Nvrtc::ptx};

// `log`: where what ptxas says goes; null: it is not asked.
Result<std::string> Compile(const std::string& source, const std::string& architecture,
                            const Product& product, std::string* log = nullptr) {
  const Result<Nvrtc>& loaded = Loaded();
  if (!loaded.ok()) return loaded.error();
  const Nvrtc& nvrtc = loaded.value();
  nvrtcProgram raw = nullptr;
  if (nvrtc.create(&raw, source.c_str(), "plait_kernel.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS) {
    return Error{ErrorCode::kInternal, "nvrtcCreateProgram failed"};
  }
  const auto destroy = [&nvrtc](nvrtcProgram program) { nvrtc.destroy(&program); };
  const std::unique_ptr<_nvrtcProgram, decltype(destroy)> program(raw, destroy);
  const std::string architecture_option = "--gpu-architecture=" + architecture;
  std::vector<const char*> options(std::begin(kOptions), std::end(kOptions));
  options.push_back(architecture_option.c_str());
  if (log != nullptr) options.push_back("--ptxas-options=-v");
  if (nvrtc.compile(raw, static_cast<int>(options.size()), options.data()) != NVRTC_SUCCESS) {
    // The first errors say most; a log in whole can be as long as the source.
    return Error{ErrorCode::kInternal,
                 "NVRTC for " + architecture + ": " + LogOf(nvrtc, raw).substr(0, 2000)};
  }
  if (log != nullptr) *log = LogOf(nvrtc, raw);
  size_t size = 0;
  if ((nvrtc.*product.size)(raw, &size) != NVRTC_SUCCESS || size == 0) {
    return Error{ErrorCode::kInternal, "NVRTC for " + architecture + ": no " + product.name};
  }
  std::string bytes(size, '\0');
  if ((nvrtc.*product.bytes)(raw, bytes.data()) != NVRTC_SUCCESS) {
    return Error{ErrorCode::kInternal, std::string("NVRTC gives no ") + product.name};
  }
  return bytes;
}

}  // namespace

Result<std::string> CompileToCubin(const std::string& source, const std::string& architecture) {
  return Compile(source, architecture, kCubin);
}

Result<CubinWithLog> CompileToCubinWithLog(const std::string& source,
                                           const std::string& architecture) {
  CubinWithLog compiled;
  Result<std::string> cubin = Compile(source, architecture, kCubin, &compiled.log);
  if (!cubin.ok()) return cubin.error();
  compiled.cubin = std::move(cubin.value());
  return compiled;
}

Result<std::string> CompileToPtx(const std::string& source, const std::string& architecture) {
  Result<std::string> ptx = Compile(source, architecture, kPtx);
  // A text, which NVRTC ends with a zero.
  if (ptx.ok()) ptx.value().pop_back();
  return ptx;
}

Result<std::string> NvrtcVersion() {
  const Result<Nvrtc>& loaded = Loaded();
  if (!loaded.ok()) return loaded.error();
  int major = 0, minor = 0;
  if (loaded.value().version(&major, &minor) != NVRTC_SUCCESS) {
    return Error{ErrorCode::kInternal, "nvrtcVersion failed"};
  }
  return std::to_string(major) + "." + std::to_string(minor);
}

Result<std::string> CompilationKey(const std::string& source, const std::string& architecture) {
  const Result<std::string> version = NvrtcVersion();
  if (!version.ok()) return version.error();
  std::string key = "nvrtc " + version.value() + " " + architecture;
  for (const char* option : kOptions) key += std::string(" ") + option;
  return key + "\n" + source;
}

std::string ArchitectureOf(int sm_major, int sm_minor) {
  const std::string name = "sm_" + std::to_string(sm_major) + std::to_string(sm_minor);
  return name == "sm_90" ? "sm_90a" : name;
}

}  // namespace plait::cuda
