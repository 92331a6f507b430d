#include "gpu_worker/backends/cuda/driver/nvrtc.h"

#include <iterator>
#include <memory>

#include <nvrtc.h>

#include "gpu_worker/backends/cuda/driver/dynamic_library.h"

namespace plait::cuda {
namespace {

// Opened at run time, as machines that only run plans need no compiler.
struct Nvrtc {
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;
  decltype(&nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&nvrtcGetCUBIN) cubin = nullptr;
};

Result<Nvrtc> Load() {
  const Result<DynamicLibrary> library = DynamicLibrary::Open(
      {"libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.13", "libnvrtc.so"});
  if (!library.ok()) return library.error();
  const DynamicLibrary& from = library.value();
  Nvrtc nvrtc;
  Status status = Ok();
  from.Load("nvrtcCreateProgram", &nvrtc.create, &status);
  from.Load("nvrtcDestroyProgram", &nvrtc.destroy, &status);
  from.Load("nvrtcCompileProgram", &nvrtc.compile, &status);
  from.Load("nvrtcGetProgramLogSize", &nvrtc.log_size, &status);
  from.Load("nvrtcGetProgramLog", &nvrtc.log, &status);
  from.Load("nvrtcGetCUBINSize", &nvrtc.cubin_size, &status);
  from.Load("nvrtcGetCUBIN", &nvrtc.cubin, &status);
  PLAIT_CUDA_RETURN_IF_ERROR(status);
  return nvrtc;
}

// Returns the log of a compilation that failed.
std::string LogOf(const Nvrtc& nvrtc, nvrtcProgram program) {
  size_t size = 0;
  if (nvrtc.log_size(program, &size) != NVRTC_SUCCESS || size == 0) return "no log";
  std::string log(size, '\0');
  if (nvrtc.log(program, log.data()) != NVRTC_SUCCESS) return "no log";
  // The first errors say most; a log in whole can be as long as the source.
  return log.substr(0, 2000);
}

}  // namespace

Result<std::string> CompileToCubin(const std::string& source, const std::string& architecture) {
  // Loading once is safe from several threads, and NVRTC compiles on several at once.
  static const Result<Nvrtc> loaded = Load();
  if (!loaded.ok()) return loaded.error();
  const Nvrtc& nvrtc = loaded.value();
  nvrtcProgram raw = nullptr;
  if (nvrtc.create(&raw, source.c_str(), "plait_kernel.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS) {
    return Error{ErrorCode::kInternal, "nvrtcCreateProgram failed"};
  }
  const auto destroy = [&nvrtc](nvrtcProgram program) { nvrtc.destroy(&program); };
  const std::unique_ptr<_nvrtcProgram, decltype(destroy)> program(raw, destroy);
  const std::string architecture_option = "--gpu-architecture=" + architecture;
  // C++17 is what the kernels' texts need; the host's emulation compiles the same text.
  const char* options[] = {architecture_option.c_str(), "--std=c++17",
                           "--extra-device-vectorization"};
  if (nvrtc.compile(raw, std::size(options), options) != NVRTC_SUCCESS) {
    return Error{ErrorCode::kInternal, "NVRTC for " + architecture + ": " + LogOf(nvrtc, raw)};
  }
  size_t size = 0;
  if (nvrtc.cubin_size(raw, &size) != NVRTC_SUCCESS || size == 0) {
    return Error{ErrorCode::kInternal, "NVRTC for " + architecture + ": no cubin"};
  }
  std::string cubin(size, '\0');
  if (nvrtc.cubin(raw, cubin.data()) != NVRTC_SUCCESS) {
    return Error{ErrorCode::kInternal, "nvrtcGetCUBIN failed"};
  }
  return cubin;
}

std::string ArchitectureOf(int sm_major, int sm_minor) {
  const std::string name = "sm_" + std::to_string(sm_major) + std::to_string(sm_minor);
  return name == "sm_90" ? "sm_90a" : name;
}

}  // namespace plait::cuda
