#include "gpu_worker/simulated_gpu/compile_ptx.h"

#include <iterator>
#include <memory>

#include <nvrtc.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/driver/dynamic_library.h"

namespace plait::simulated_gpu {
namespace {

struct Nvrtc {
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;
  decltype(&nvrtcGetPTXSize) ptx_size = nullptr;
  decltype(&nvrtcGetPTX) ptx = nullptr;
};

absl::StatusOr<Nvrtc> LoadNvrtc() {
  const cuda::Result<cuda::DynamicLibrary> library = cuda::DynamicLibrary::Open(
      {"libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.13", "libnvrtc.so"});
  if (!library.ok()) return absl::UnavailableError(library.error().message);
  const cuda::DynamicLibrary& from = library.value();
  Nvrtc nvrtc;
  cuda::Status status = cuda::Ok();
  from.Load("nvrtcCreateProgram", &nvrtc.create, &status);
  from.Load("nvrtcDestroyProgram", &nvrtc.destroy, &status);
  from.Load("nvrtcCompileProgram", &nvrtc.compile, &status);
  from.Load("nvrtcGetProgramLogSize", &nvrtc.log_size, &status);
  from.Load("nvrtcGetProgramLog", &nvrtc.log, &status);
  from.Load("nvrtcGetPTXSize", &nvrtc.ptx_size, &status);
  from.Load("nvrtcGetPTX", &nvrtc.ptx, &status);
  if (!status.ok()) return absl::UnavailableError(status.error().message);
  return nvrtc;
}

std::string LogOf(const Nvrtc& nvrtc, nvrtcProgram program) {
  size_t size = 0;
  if (nvrtc.log_size(program, &size) != NVRTC_SUCCESS || size == 0) return "no log";
  std::string log(size, '\0');
  if (nvrtc.log(program, log.data()) != NVRTC_SUCCESS) return "no log";
  return log.substr(0, 2000);
}

}  // namespace

absl::StatusOr<std::string> CompileToPtx(const std::string& source,
                                         const std::string& architecture) {
  static const absl::StatusOr<Nvrtc> loaded = LoadNvrtc();
  PLAIT_RETURN_IF_ERROR(loaded.status());
  const Nvrtc& nvrtc = *loaded;
  nvrtcProgram raw = nullptr;
  if (nvrtc.create(&raw, source.c_str(), "plait_kernel.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS) {
    return absl::InternalError("nvrtcCreateProgram failed");
  }
  const auto destroy = [&nvrtc](nvrtcProgram program) { nvrtc.destroy(&program); };
  const std::unique_ptr<_nvrtcProgram, decltype(destroy)> program(raw, destroy);
  const std::string architecture_option = absl::StrCat("--gpu-architecture=", architecture);
  const char* options[] = {architecture_option.c_str(), "--std=c++17",
                           "--extra-device-vectorization"};
  if (nvrtc.compile(raw, std::size(options), options) != NVRTC_SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat("NVRTC for ", architecture, ": ", LogOf(nvrtc, raw)));
  }
  size_t size = 0;
  if (nvrtc.ptx_size(raw, &size) != NVRTC_SUCCESS || size == 0) {
    return absl::InternalError("nvrtcGetPTXSize failed");
  }
  std::string ptx(size, '\0');
  if (nvrtc.ptx(raw, ptx.data()) != NVRTC_SUCCESS) {
    return absl::InternalError("nvrtcGetPTX failed");
  }
  ptx.resize(size - 1);  // without the final zero
  return ptx;
}

}  // namespace plait::simulated_gpu
