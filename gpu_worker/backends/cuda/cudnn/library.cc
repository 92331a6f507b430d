#include "gpu_worker/backends/cuda/cudnn/library.h"

#include <array>
#include <mutex>
#include <vector>

#include "gpu_worker/backends/cuda/driver/dynamic_library.h"

namespace plait::cuda {
namespace {

const CudnnLibrary* used_cudnn = nullptr;  // in the place of the process's

// cuDNN 9 groups its status codes by thousands: 1000 not initialized or a part is missing, 2000 bad
// parameters, 3000 not supported, 4000 internal, 5000 execution failed.
ErrorCode CudnnCodeOf(cudnnStatus_t status) {
  switch (CUDNN_STATUS_CATEGORY(static_cast<int>(status))) {
    case 1000:
      return ErrorCode::kUnavailable;
    case 2000:
      return ErrorCode::kInvalid;
    case 3000:
      return ErrorCode::kUnsupported;
    case 5000:
      return ErrorCode::kDevice;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace

Result<CudnnLibrary> CudnnLibrary::Open(std::initializer_list<const char*> cublaslt_names,
                                        std::initializer_list<const char*> cudnn_names) {
  // With cuDNN 9.19 and no libcublasLt.so.13 the process aborts, and no status is returned.
  if (Result<DynamicLibrary> cublaslt = DynamicLibrary::Open(cublaslt_names); !cublaslt.ok()) {
    return Error{ErrorCode::kUnavailable, "cuDNN needs cuBLASLt: " + cublaslt.error().message};
  }
  Result<DynamicLibrary> opened = DynamicLibrary::Open(cudnn_names);
  if (!opened.ok()) return Error{ErrorCode::kUnavailable, "cuDNN: " + opened.error().message};
  const DynamicLibrary& from = opened.value();
  CudnnLibrary library;
  Status status = Ok();
  from.Load("cudnnGetVersion", &library.get_version, &status);
  from.Load("cudnnGetErrorString", &library.get_error_string, &status);
  from.Load("cudnnGetLastErrorString", &library.get_last_error_string, &status);
  from.Load("cudnnCreate", &library.create, &status);
  from.Load("cudnnSetStream", &library.set_stream, &status);
  from.Load("cudnnBackendCreateDescriptor", &library.create_descriptor, &status);
  from.Load("cudnnBackendDestroyDescriptor", &library.destroy_descriptor, &status);
  from.Load("cudnnBackendFinalize", &library.finalize, &status);
  from.Load("cudnnBackendSetAttribute", &library.set_attribute, &status);
  from.Load("cudnnBackendGetAttribute", &library.get_attribute, &status);
  from.Load("cudnnBackendExecute", &library.execute, &status);
  PLAIT_CUDA_RETURN_IF_ERROR(status);
  return library;
}

void CudnnLibrary::Use(const CudnnLibrary* library) { used_cudnn = library; }

Result<const CudnnLibrary*> CudnnLibrary::Get() {
  if (used_cudnn != nullptr) return used_cudnn;
  static const Result<CudnnLibrary> library =
      Open({"libcublasLt.so.13", "/usr/local/cuda/lib64/libcublasLt.so.13"},
           {"libcudnn.so.9", "/usr/local/cuda/lib64/libcudnn.so.9"});
  if (!library.ok()) return library.error();
  return &library.value();
}

std::string CudnnLibrary::Version() const {
  const size_t version = get_version();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

Status CudnnLibrary::Check(cudnnStatus_t status, const std::string& what) const {
  if (status == CUDNN_STATUS_SUCCESS) return Ok();
  std::array<char, 512> detail = {};
  // The status alone says little ("bad parameter"); this names the attribute and the condition.
  get_last_error_string(detail.data(), detail.size());
  std::string message = what + ": " + get_error_string(status);
  if (detail[0] != '\0') message += std::string(": ") + detail.data();
  for (char& letter : message) {
    if (letter == '\n') letter = ' ';
  }
  return Error{CudnnCodeOf(status), message};
}

namespace {

// Handles that no thread uses now. They are never destroyed: plans remember the handle that they
// were built with, and at exit the driver may be gone first.
// A handle has memory and loaded modules behind it, which threads that come and go should not pay
// for.
class HandlePool {
 public:
  Result<cudnnHandle_t> Take(const CudnnLibrary& library) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!free_.empty()) {
        cudnnHandle_t handle = free_.back();
        free_.pop_back();
        return handle;
      }
    }
    cudnnHandle_t created = nullptr;
    PLAIT_CUDA_RETURN_IF_ERROR(library.Check(library.create(&created), "cudnnCreate"));
    return created;
  }

  void Return(cudnnHandle_t handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(handle);
  }

  static HandlePool& Get() {
    static HandlePool pool;
    return pool;
  }

 private:
  std::mutex mutex_;
  std::vector<cudnnHandle_t> free_;
};

// What a thread borrows from the pool until it ends.
class BorrowedHandle {
 public:
  // The pool is made before the first thread-local that returns to it, so it is destroyed later.
  BorrowedHandle() : pool_(HandlePool::Get()) {}
  BorrowedHandle(const BorrowedHandle&) = delete;
  BorrowedHandle& operator=(const BorrowedHandle&) = delete;
  ~BorrowedHandle() {
    if (handle_ != nullptr) pool_.Return(handle_);
  }

  Result<cudnnHandle_t> Get(const CudnnLibrary& library) {
    if (handle_ != nullptr) return handle_;
    Result<cudnnHandle_t> taken = pool_.Take(library);
    if (taken.ok()) handle_ = taken.value();
    return taken;
  }

 private:
  HandlePool& pool_;
  cudnnHandle_t handle_ = nullptr;
};

}  // namespace

Result<cudnnHandle_t> ThreadCudnnHandle(const CudnnLibrary& library) {
  thread_local BorrowedHandle handle;
  return handle.Get(library);
}

}  // namespace plait::cuda
