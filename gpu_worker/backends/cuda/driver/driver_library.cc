#include "gpu_worker/backends/cuda/driver/driver_library.h"

#include <string>

#include "gpu_worker/backends/cuda/driver/dynamic_library.h"

namespace plait::cuda {

// Twice, so that a name is replaced by cuda.h before it becomes text: cuMemAlloc is found as
// "cuMemAlloc_v2".
#define PLAIT_TEXT_OF(name) #name
#define PLAIT_TEXT(name) PLAIT_TEXT_OF(name)

Result<DriverLibrary> DriverLibrary::Open(std::initializer_list<const char*> names) {
  const Result<DynamicLibrary> opened = DynamicLibrary::Open(names);
  if (!opened.ok()) {
    return Error{ErrorCode::kUnavailable, "CUDA driver: " + opened.error().message};
  }
  const DynamicLibrary& from = opened.value();
  DriverLibrary library;
  Status status = Ok();
#define PLAIT_DRIVER_FUNCTION(name) from.Load(PLAIT_TEXT(name), &library.name, &status);
#include "gpu_worker/backends/cuda/driver/driver_functions.def"
#undef PLAIT_DRIVER_FUNCTION
  PLAIT_CUDA_RETURN_IF_ERROR(status);
  library.takes_ptx = from.Symbol<int()>("plait_takes_ptx").ok();
  return library;
}

Result<const DriverLibrary*> DriverLibrary::Get() {
  static const Result<DriverLibrary> library = Open({"libcuda.so.1"});
  if (!library.ok()) return library.error();
  return &library.value();
}

Status DriverLibrary::Check(const char* call, CUresult code) const {
  if (code == CUDA_SUCCESS) return Ok();
  const char *name = nullptr, *words = nullptr;
  if (cuGetErrorName(code, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown error";
  if (cuGetErrorString(code, &words) != CUDA_SUCCESS || words == nullptr) words = "";
  // These are the machine's state, not a failure.
  const bool missing = code == CUDA_ERROR_NO_DEVICE || code == CUDA_ERROR_STUB_LIBRARY ||
                       code == CUDA_ERROR_DEVICE_UNAVAILABLE || code == CUDA_ERROR_DEINITIALIZED ||
                       code == CUDA_ERROR_SYSTEM_NOT_READY ||
                       code == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH ||
                       code == CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE;
  return Error{missing ? ErrorCode::kUnavailable : ErrorCode::kDevice,
               std::string(call) + ": " + name + " (" + std::to_string(code) + "): " + words};
}

}  // namespace plait::cuda
