#include "gpu_worker/backends/cuda/cublaslt/library.h"

#include "gpu_worker/backends/cuda/driver/dynamic_library.h"

namespace plait::cuda {
namespace {

const CublasLtLibrary* used_cublaslt = nullptr;  // in the place of the process's

// The soname pins version 13, whose enumerations the headers have; the path helps where the
// toolkit's folder is not among the loader's.
Result<CublasLtLibrary> Open() {
  const Result<DynamicLibrary> opened =
      DynamicLibrary::Open({"libcublasLt.so.13", "/usr/local/cuda/lib64/libcublasLt.so.13"});
  if (!opened.ok()) return Error{ErrorCode::kUnavailable, "cuBLASLt: " + opened.error().message};
  const DynamicLibrary& from = opened.value();
  CublasLtLibrary library;
  Status status = Ok();
  from.Load("cublasLtCreate", &library.create, &status);
  from.Load("cublasLtGetVersion", &library.get_version, &status);
  from.Load("cublasLtGetStatusString", &library.get_status_string, &status);
  from.Load("cublasLtMatmulDescCreate", &library.matmul_create, &status);
  from.Load("cublasLtMatmulDescDestroy", &library.matmul_destroy, &status);
  from.Load("cublasLtMatmulDescSetAttribute", &library.matmul_set, &status);
  from.Load("cublasLtMatrixLayoutCreate", &library.layout_create, &status);
  from.Load("cublasLtMatrixLayoutDestroy", &library.layout_destroy, &status);
  from.Load("cublasLtMatrixLayoutSetAttribute", &library.layout_set, &status);
  from.Load("cublasLtMatmulPreferenceCreate", &library.preference_create, &status);
  from.Load("cublasLtMatmulPreferenceDestroy", &library.preference_destroy, &status);
  from.Load("cublasLtMatmulPreferenceSetAttribute", &library.preference_set, &status);
  from.Load("cublasLtMatmulAlgoGetHeuristic", &library.get_heuristic, &status);
  from.Load("cublasLtMatmulAlgoCheck", &library.algo_check, &status);
  from.Load("cublasLtMatmulAlgoCapGetAttribute", &library.algo_get_capability, &status);
  from.Load("cublasLtMatmulAlgoConfigGetAttribute", &library.algo_get, &status);
  from.Load("cublasLtMatmulAlgoConfigSetAttribute", &library.algo_set, &status);
  from.Load("cublasLtMatmul", &library.matmul, &status);
  PLAIT_CUDA_RETURN_IF_ERROR(status);
  return library;
}

// NOT_INITIALIZED is what cublasLtCreate says on a machine without a GPU.
ErrorCode CublasCodeOf(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return ErrorCode::kUnavailable;
    case CUBLAS_STATUS_INVALID_VALUE:
      return ErrorCode::kInvalid;
    case CUBLAS_STATUS_NOT_SUPPORTED:
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return ErrorCode::kUnsupported;
    case CUBLAS_STATUS_EXECUTION_FAILED:
    case CUBLAS_STATUS_MAPPING_ERROR:
      return ErrorCode::kDevice;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace

void CublasLtLibrary::Use(const CublasLtLibrary* library) { used_cublaslt = library; }

Result<const CublasLtLibrary*> CublasLtLibrary::Get() {
  if (used_cublaslt != nullptr) return used_cublaslt;
  // A static is opened once, also when several threads come first.
  static const Result<CublasLtLibrary> library = Open();
  if (!library.ok()) return library.error();
  return &library.value();
}

Status CublasLtLibrary::Check(cublasStatus_t status, const std::string& what) const {
  if (status == CUBLAS_STATUS_SUCCESS) return Ok();
  return Error{CublasCodeOf(status), what + ": " + get_status_string(status)};
}

Result<cublasLtHandle_t> ProcessCublasLtHandle(const CublasLtLibrary& library) {
  // Never destroyed: at exit the driver may be gone before it.
  static const Result<cublasLtHandle_t> handle = [&]() -> Result<cublasLtHandle_t> {
    cublasLtHandle_t created = nullptr;
    PLAIT_CUDA_RETURN_IF_ERROR(library.Check(library.create(&created), "cublasLtCreate"));
    return created;
  }();
  return handle;
}

}  // namespace plait::cuda
